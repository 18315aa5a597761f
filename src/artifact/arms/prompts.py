"""Prompt sets: every word that reaches a model, as text files (DESIGN §5.4)."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from artifact import paths
from artifact.errors import RequestError
from artifact.gate.wording import checklist_in_words
from artifact.taskstate import Brief, Status, Step, TaskGraph, TaskState

# Texts that one option, or one arm, adds to a set. They lie in its folder ``options``, apart from the texts that every
# set must have, and are hashed only where they are used: an option leaves the identity of other logs as it was.
_ADDED_TEXTS = {
    "ledger": ("ledger", "ledger_order"),
    "matched_line": ("matched_line",),
    "named": ("named_step",),
    "notice": ("same_turn",),
    "mem0": ("recall",),
    "paged": ("paged_context", "paged_pressure", "paged_result", "paged_summary"),
    "stream": ("importance", "recall", "reflect_insights", "reflect_questions"),
    "topk": ("recall",),
    "unresolved": ("directive_ambiguous", "directive_unresolved"),
}
_MATCH_SEVERAL = {"joint": "match_several", "split": "match_step_several"}


@dataclass(frozen=True)
class Asking:
    """How a prompt set asks for state: the literals of its ``set.toml``."""

    about: str
    compile: Literal["plan", "step"]
    revise: Literal["whole", "parts"]
    match: Literal["joint", "split"]


@dataclass(frozen=True)
class PromptSet:
    """The texts of one prompt set.

    Parameters
    ----------
    name : str
        Name of the shipped set, or the name of its folder.
    texts : dict of str to str
        Template by file stem, with ``{placeholders}``.
    asking : Asking
        How many calls a compile and a match take.
    sha256 : str
        Hash over names and bytes of all files: the set's identity in a log.
    added : dict of str to str
        The texts that options and arms may add, by file stem.
    """

    name: str
    texts: dict[str, str] = field(repr=False)
    asking: Asking
    sha256: str
    added: dict[str, str] = field(repr=False, default_factory=dict)

    def adding(self, features: Iterable[str]) -> "PromptSet":
        """The set with what an arm and its options add to it, the hash included; the set itself where they add nothing.

        Parameters
        ----------
        features : iterable of str
            The arm's name and the options that differ from their defaults.

        Raises
        ------
        RequestError
            When the set has no such text.
        """
        names = sorted({name for feature in features for name in self._texts_added_by(feature)})
        if not names:
            return self
        missing = [name for name in names if name not in self.added]
        if missing:
            raise RequestError(f"prompt set {self.name!r} has no file options/{missing[0]}.txt; add it or use the set "
                               "'paper' or 'fewshot'")
        digest = hashlib.sha256(self.sha256.encode())
        for name in names:
            digest.update(b"\0" + name.encode() + b"\0" + self.added[name].encode())
        return replace(self, texts=self.texts | {name: self.added[name] for name in names}, sha256=digest.hexdigest())

    def _texts_added_by(self, feature: str) -> tuple[str, ...]:
        match = (self.match_several,) if feature == "unresolved" else ()
        return (*_ADDED_TEXTS.get(feature, ()), *match)

    @property
    def match_several(self) -> str:
        """Name of the matcher's question that lets it answer with two steps."""
        return _MATCH_SEVERAL[self.asking.match]

    def render(self, template: str, /, **values: str) -> str:
        """Fill in one template; values are data and are never formatted themselves.

        Raises
        ------
        RequestError
            When the set has no such text, or the text a placeholder that nobody fills.
        """
        try:
            return self.texts[template].format(**values)
        except KeyError as error:
            if template not in self.texts:
                raise RequestError(f"prompt set {self.name!r} has no file {template}.txt; add it or use the set "
                                   "'paper' or 'fewshot'") from None
            raise RequestError(f"{template}.txt of prompt set {self.name!r} uses the placeholder {error}, which is "
                               f"not filled; it may use {', '.join(values)}") from None

    def brief(self, graph: TaskGraph, wording: Brief, ends_with: Iterable[str] = ()) -> str:
        """The system prompt: plan, policy and booking protocol (Appendix B.1), and the texts an arm ends it with."""
        one_shot = self.render("one_shot") + "\n" if wording is Brief.AMENDED else ""
        brief = self.render("brief", plan="\n".join(self._plan_line(step) for step in graph.steps), one_shot=one_shot)
        return "\n".join([brief, *(self.render(text) for text in ends_with)])

    def _plan_line(self, step: Step) -> str:
        requires = self.render("plan_requires", prerequisites=", ".join(step.prerequisites))
        return self.render("plan_line", id=step.id, text=step.text, code=step.code,
                           requires=requires if step.prerequisites else "")

    def checklist(self, state: TaskState) -> str:
        """The state as a plain-text checklist, one line a step."""
        return checklist_in_words(state, self.render)

    def ledger(self, entries: Mapping[str, Status]) -> str:
        """A self-written ledger in the checklist's slot, one line a completion code."""
        lines = [f"- {code}: {status.upper()}" for code, status in entries.items()] or ["- no entry yet"]
        return self.render("ledger", lines="\n".join(lines))


def load_prompts(name: str | Path) -> PromptSet:
    """Load a shipped prompt set by name, or another by its folder.

    Raises
    ------
    RequestError
        When there is no such set, or its ``set.toml`` can't be read.
    """
    folder = paths.PROMPTS / name if isinstance(name, str) and "/" not in name else Path(name)
    return _load(folder.resolve())


@cache
def _load(folder: Path) -> PromptSet:
    description = folder / "set.toml"
    if not description.is_file():
        shipped = ", ".join(sorted(p.parent.name for p in paths.PROMPTS.glob("*/set.toml")))
        raise RequestError(f"there is no prompt set {folder.name!r}: name one of {shipped}, or a folder with a "
                           "set.toml")
    files = sorted([description, *folder.glob("*.txt")])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    try:
        asking = TypeAdapter(Asking).validate_python(tomllib.loads(description.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise RequestError(f"{folder.name}/set.toml can't be used ({first}); see prompts/paper/set.toml") from None
    return PromptSet(folder.name, _texts(folder), asking, digest.hexdigest(), _texts(folder / "options"))


def _texts(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text("utf-8").rstrip("\n") for file in sorted(folder.glob("*.txt"))}


def numbered_steps(steps: Iterable[tuple[str, str]]) -> str:
    """``- s1: text`` lines, as the matcher and the revision prompts show them."""
    return "\n".join(f"- {step}: {text}" for step, text in steps)
