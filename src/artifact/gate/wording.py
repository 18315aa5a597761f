"""The state in words: the checklist and the directives that an agent is shown (Appendix B.1).

The arms and every gate say them by this one module. The words are protocol and lie in the prompt sets; whoever has no
set of his own gets the paper's.
"""

from collections.abc import Collection
from functools import cache
from typing import Protocol

from artifact import paths
from artifact.taskstate import Status, TaskState


class Render(Protocol):
    """Fills in one text of a prompt set, such as `PromptSet.render`."""

    def __call__(self, template: str, /, **values: str) -> str:
        """The text of that name with its placeholders filled in."""
        ...


def paper_words(template: str, /, **values: str) -> str:
    """A text of the prompt set `paper`, filled in."""
    return shipped_text(f"paper/{template}").format(**values)


@cache
def shipped_text(name: str) -> str:
    """A shipped text by its path among the prompts."""
    return (paths.PROMPTS / f"{name}.txt").read_text("utf-8").rstrip("\n")


def checklist_in_words(state: TaskState, render: Render = paper_words, open_steps: Collection[str] = ()) -> str:
    """The state as a plain-text checklist, one line a step.

    Parameters
    ----------
    state : TaskState
        What is shown.
    render : Render
        Gives the line on top.
    open_steps : collection of str
        Steps of which a call was begun and nothing is known since: their status would be a guess.
    """
    lines = []
    for step in state.graph.steps:
        words = {
            Status.TODO: "TODO (ready)",
            Status.BLOCKED: f"TODO (waiting on: {', '.join(state.missing(step.id))})",
            Status.DONE: "DONE",
            Status.CANCELLED: "CANCELLED",
        }[state.status(step.id)]
        lines.append(f"- {step.id}: {'OPEN (evidence is asked for)' if step.id in open_steps else words}")
    return render("checklist", lines="\n".join(lines))
