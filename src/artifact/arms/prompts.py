"""Prompt sets: every word that reaches a model, as text files (DESIGN §5.4)."""

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from artifact import paths
from artifact.errors import RequestError
from artifact.taskstate import Brief, Status, Step, TaskGraph, TaskState


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
    """

    name: str
    texts: dict[str, str] = field(repr=False)
    asking: Asking
    sha256: str

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

    def brief(self, graph: TaskGraph, wording: Brief) -> str:
        """The system prompt: the plan, the policy and the booking protocol (Appendix B.1)."""
        one_shot = self.render("one_shot") + "\n" if wording is Brief.AMENDED else ""
        return self.render("brief", plan="\n".join(self._plan_line(step) for step in graph.steps), one_shot=one_shot)

    def _plan_line(self, step: Step) -> str:
        requires = self.render("plan_requires", prerequisites=", ".join(step.prerequisites))
        return self.render("plan_line", id=step.id, text=step.text, code=step.code,
                           requires=requires if step.prerequisites else "")

    def checklist(self, state: TaskState) -> str:
        """The state as a plain-text checklist, one line a step."""
        lines = []
        for step in state.graph.steps:
            status = state.status(step.id)
            words = {
                Status.TODO: "TODO (ready)",
                Status.BLOCKED: f"TODO (waiting on: {', '.join(state.missing(step.id))})",
                Status.DONE: "DONE",
                Status.CANCELLED: "CANCELLED",
            }[status]
            lines.append(f"- {step.id}: {words}")
        return self.render("checklist", lines="\n".join(lines))


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
    texts = {file.stem: file.read_text("utf-8").rstrip("\n") for file in files if file.suffix == ".txt"}
    return PromptSet(folder.name, texts, asking, digest.hexdigest())


def numbered_steps(steps: Iterable[tuple[str, str]]) -> str:
    """``- s1: text`` lines, as the matcher and the revision prompts show them."""
    return "\n".join(f"- {step}: {text}" for step, text in steps)
