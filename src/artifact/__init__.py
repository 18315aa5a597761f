"""A testbed for one question: how strongly should task state act on an LLM agent?"""

from typing import Any

from artifact.gate import Gate, KeptGate

__version__ = "0.1.0"

__all__ = ["Gate", "KeptGate", "__version__", "gate_from_text"]


def __getattr__(name: str) -> Any:
    # Compiling is the arms' business, and a gate without it shall import neither them nor a model.
    if name == "gate_from_text":
        from artifact.arms import gate_from_text
        return gate_from_text
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
