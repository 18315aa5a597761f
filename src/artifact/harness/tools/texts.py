"""The prompt sets of the tool harness: those of the lifecycle testbed with the words that tools need in their place."""

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

from artifact.arms import PromptSet, load_prompts

_FOLDER = Path(__file__).with_name("prompts")


def tool_prompts(name: str) -> PromptSet:
    """A prompt set, shipped or one's own, in the words of tools.

    Its texts on the brief, on refusals and on compiling a plan are replaced, and those that options add; how it asks
    stays. The hash says both.
    """
    return _over(load_prompts(name))


def _over(base: PromptSet) -> PromptSet:
    texts = _texts("common") | _texts(base.asking.compile)
    digest = hashlib.sha256(base.sha256.encode())
    for name, text in sorted(texts.items()):
        digest.update(name.encode() + b"\0" + text.encode() + b"\0")
    return replace(base, texts=base.texts | texts, added=base.added | _texts("options"), sha256=digest.hexdigest())


@cache
def _texts(folder: str) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8").rstrip("\n") for path in sorted((_FOLDER / folder).glob("*.txt"))}
