"""A testbed for one question: how strongly should task state act on an LLM agent?"""

from artifact.gate import Gate, KeptGate

__version__ = "0.1.0"

__all__ = ["Gate", "KeptGate", "__version__"]
