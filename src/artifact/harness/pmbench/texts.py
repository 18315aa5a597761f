"""The words that this harness sends: what all sets share, and what a set says in its own way."""

import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from artifact.errors import RequestError

_FOLDER = Path(__file__).with_name("prompts")
SETS = ("fewshot", "paper")


@dataclass(frozen=True)
class Texts:
    """A prompt set of this harness.

    Parameters
    ----------
    name : str
        The set.
    compiles : str
        Whether a text is compiled whole or a line at a time.
    matches : str
        Whether the matcher lists handles, or is asked of each trigger that the text can show.
    sha256 : str
        Hash over names and texts: their identity in a log.
    """

    name: str
    compiles: Literal["whole", "line"]
    matches: Literal["list", "each"]
    sha256: str
    _texts: dict[str, str] = field(repr=False)

    def render(self, name: str, /, **values: str) -> str:
        """Fill in a text; values are data and are never formatted themselves."""
        return self._texts[name].format(**values)


@cache
def load_texts(name: str) -> Texts:
    """Load a set by name.

    Raises
    ------
    RequestError
        When there is no such set.
    """
    if name not in SETS:
        raise RequestError(f"the harness pmbench has no prompt set {name!r}; its sets are {', '.join(SETS)}")
    folder = _FOLDER / name
    texts = {path.stem: path.read_text("utf-8").rstrip("\n")
             for path in sorted([*_FOLDER.glob("*.txt"), *folder.glob("*.txt")])}
    asking = (folder / "set.toml").read_text("utf-8")
    digest = hashlib.sha256(asking.encode())
    for one, text in texts.items():
        digest.update(b"\0" + one.encode() + b"\0" + text.encode())
    literals = tomllib.loads(asking)
    return Texts(name, literals["compile"], literals["match"], digest.hexdigest(), texts)
