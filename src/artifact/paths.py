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

RUNS = ROOT / "runs"
WEIGHTS = Path(os.environ.get("ARTIFACT_WEIGHTS", ROOT / "weights")).resolve()

NOTEBOOKS = ROOT / "notebooks"
FIGURES = ROOT / "figures"
PAPER = ROOT / "paper"
TABLES = PAPER / "tables"
NUMBERS = PAPER / "numbers"

PROMPTS = PACKAGE / "prompts"
DOMAINS = PACKAGE / "generator" / "domains"
