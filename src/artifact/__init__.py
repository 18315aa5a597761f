"""A testbed for one question: how strongly should task state act on an LLM agent?"""

from artifact.gate import Gate

__version__ = "0.1.0"

__all__ = ["Gate", "__version__"]
