"""The words that this harness adds to the benchmark's: refusal, notice, state block, and the compiler's prompts."""

import hashlib
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("prompts")


@cache
def _texts() -> dict[str, str]:
    return {path.stem: path.read_text("utf-8").rstrip("\n") for path in sorted(_FOLDER.glob("*.txt"))}


def render(name: str, /, **values: str) -> str:
    """Fill in a text; values are data and are never formatted themselves."""
    return _texts()[name].format(**values)


@cache
def prompts_sha256() -> str:
    """Hash over names and texts: their identity in a log."""
    digest = hashlib.sha256()
    for name, text in _texts().items():
        digest.update(name.encode() + b"\0" + text.encode() + b"\0")
    return digest.hexdigest()
