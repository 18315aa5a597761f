"""How state reaches the agent: one file an arm (§3.3)."""

from artifact.arms.base import Arm, Opening, Outcome, Outgoing, Request, StateSource
from artifact.arms.from_text import gate_from_text
from artifact.arms.prompts import PromptSet, load_prompts
from artifact.arms.registry import ARMS, MEMORY_ARMS, RUNGS
from artifact.arms.spec import ArmSpec, make_arm, parse_arm, parse_arms
from artifact.log.options import ArmOptions

__all__ = ["ARMS", "MEMORY_ARMS", "RUNGS", "Arm", "ArmOptions", "ArmSpec", "Opening", "Outcome", "Outgoing",
           "PromptSet", "Request", "StateSource", "gate_from_text", "load_prompts", "make_arm", "parse_arm",
           "parse_arms"]
