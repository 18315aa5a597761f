"""The gate: owned task state put in front of an agent's actions, in memory or kept on disk (DESIGN §9)."""

from artifact.gate.gate import DirectiveKind, Gate, Verdict
from artifact.gate.kept import Attempt, KeptGate

__all__ = ["Attempt", "DirectiveKind", "Gate", "KeptGate", "Verdict"]
