"""A testbed for one question: how strongly should task state act on an LLM agent?"""

__version__ = "0.1.0"
