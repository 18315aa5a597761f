"""Compiling once more what the validator flagged, with the defects named in the request.

Invariant: the defects are seen without ground truth (Appendix D.3), and the compiler is told nothing else.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from artifact.arms.prompts import PromptSet
from artifact.log.records import CompileRecord, Message
from artifact.taskstate import Defect, Finding

_WORDS = {
    Defect.EMPTY_CODE: "{0} has no completion code of the form RC-1234",
    Defect.DUPLICATE_CODE: "{0} has a completion code that another step has too",
    Defect.CANCELLED_PREREQUISITE: "{0} requires {1}, which is cancelled",
}


def in_words(finding: Finding, name: Callable[[str], str] = str) -> str:
    """A defect as a model is told it; `name` says how steps are named to it."""
    steps = [name(step) for step in finding.steps]
    if finding.defect is Defect.CYCLE:
        return f"the prerequisites run in a circle ({' -> '.join(steps)})"
    return _WORDS[finding.defect].format(*steps)


@dataclass(frozen=True)
class Earlier:
    """A compile that was flagged.

    It exists so that a second compile continues the exchanges of the first where a defect concerns them, and leaves
    the others alone.

    Parameters
    ----------
    record : CompileRecord
        The first compile of this stage.
    findings : tuple of Finding
        The defects to be named: those of the record that were not there before it.
    """

    record: CompileRecord
    findings: tuple[Finding, ...]

    def concerning(self, *steps: str) -> tuple[Finding, ...]:
        """The defects that concern any of these steps."""
        return tuple(finding for finding in self.findings if not {*finding.steps}.isdisjoint(steps))

    def continued(self, prompts: PromptSet, prompt: str, findings: Collection[Finding],
                  name: Callable[[str], str] = str) -> tuple[Message, ...]:
        """What follows a question that was asked before: the answer to it, and what is wrong with that.

        Empty when it was not asked before, or nothing is known to be wrong with its answer.
        """
        calls = [call for call in self.record.calls if call.messages[0].content == prompt]
        problem = "; ".join(in_words(finding, name) for finding in findings)
        if self.record.graph is None and calls and calls[-1] is self.record.calls[-1]:
            problem = self.record.error or ""
        if not calls or not problem:
            return ()
        last = calls[-1]
        return (*last.messages[1:], Message("assistant", last.reply),
                Message("user", prompts.render("correction", problem=problem)))
