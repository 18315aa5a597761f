"""A gate that outlives its process: its receipts are an append-only log, from which it rebuilds itself.

Invariant: what was begun and neither receipted nor found undone is never guessed. After a crash between a tool's work
and its receipt the gate admits no further call of that step until it is told the evidence.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from artifact.errors import InfrastructureError, RequestError
from artifact.gate.gate import Gate, Verdict
from artifact.taskstate import BadGraph, Revision, TaskGraph


@dataclass(frozen=True)
class Attempt:
    """A call that the gate let run: of which step, for which work order."""

    step: str
    work_order: str
    turn: int = 0


@dataclass(frozen=True)
class _Line:
    """One line of the log: the plan on top, then what happened."""

    event: Literal["plan", "begun", "receipt", "undone", "revision"]
    plan: TaskGraph | None = None
    attempt: Attempt | None = None
    revision: Revision | None = None


_LINE = TypeAdapter(_Line)


class KeptGate(Gate):
    """A `Gate` kept in a file.

    Parameters
    ----------
    graph : TaskGraph
        The plan as it was before any revision.
    path : Path
        The log; made when missing, taken up when there. One process at a time may use it.

    Raises
    ------
    RequestError
        When the log is of another plan, or damaged.
    InfrastructureError
        When it can't be read or written.

    Examples
    --------
    >>> import tempfile
    >>> from artifact.taskstate import Step, TaskGraph
    >>> plan = TaskGraph((Step("s1", "order", "RC-1001"),)).check()
    >>> log = Path(tempfile.mkdtemp()) / "receipts.jsonl"
    >>> KeptGate(plan, log).begin("s1", work_order="#W0001").allowed  # and here the process dies
    True
    >>> gate = KeptGate(plan, log)
    >>> gate.check("s1").allowed
    False
    >>> gate.settle(lambda attempt: True)  # the evidence: its work was done
    >>> gate.check("s1").reason
    'step s1 is already DONE'
    """

    def __init__(self, graph: TaskGraph, path: Path) -> None:
        super().__init__(graph)
        self._path = path
        self._open: list[Attempt] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab+", buffering=0) as file:
                file.seek(0)
                content = file.read()
                whole = content.rfind(b"\n") + 1
                if whole < len(content):  # a torn last line: what was being written when the process died
                    file.truncate(whole)
        except OSError as error:
            raise InfrastructureError(f"the receipts at {path} can't be used ({error.strerror}); make the file "
                                      "readable and writable") from None
        lines = content[:whole].split(b"\n")[:-1]
        for number, line in enumerate(lines, start=1):
            self._take(line, number, graph)
        if not lines:
            self._append(_Line("plan", plan=graph))

    @property
    def open_attempts(self) -> tuple[Attempt, ...]:
        """Calls that were begun and of which nothing is known since: under way, or cut off by a crash."""
        return tuple(self._open)

    def check(self, step: str | None) -> Verdict:
        """Ask before an action: as `Gate.check`, and refused while an earlier call of the step is open."""
        for attempt in self._open:
            if attempt.step == step:
                return Verdict(False, self.state.decide(step),
                               f"an earlier call of step {step} for {attempt.work_order} may have done its work; "
                               "say by evidence whether it did")
        return super().check(step)

    def begin(self, step: str, *, work_order: str, turn: int = 0) -> Verdict:
        """Ask before an action, and where it is allowed write down that it begins."""
        verdict = self.check(step)
        if verdict.allowed:
            attempt = Attempt(step, work_order, turn)
            self._append(_Line("begun", attempt=attempt))
            self._open.append(attempt)
        return verdict

    def receipt(self, step: str, *, work_order: str, turn: int = 0) -> None:
        """Tell the evidence after an action: the step was executed for this work order."""
        attempt = Attempt(self.state.graph[step].id, work_order, turn)
        self._append(_Line("receipt", attempt=attempt))
        self._close(attempt)
        super().receipt(step, work_order=work_order, turn=turn)

    def undone(self, step: str, *, work_order: str) -> None:
        """Tell the evidence after an action that did not do its work: the step is owed as before."""
        attempt = Attempt(self.state.graph[step].id, work_order)
        self._append(_Line("undone", attempt=attempt))
        self._close(attempt)

    def settle(self, was_done: Callable[[Attempt], bool]) -> None:
        """Ask for the evidence of every open attempt; `was_done` says whether its work was done."""
        for attempt in self.open_attempts:
            if was_done(attempt):
                self.receipt(attempt.step, work_order=attempt.work_order, turn=attempt.turn)
            else:
                self.undone(attempt.step, work_order=attempt.work_order)

    def revise(self, revision: Revision) -> None:
        """Take a change of plan."""
        self.state.revise(revision)  # raises for one that can't be applied, which must not be written down
        self._append(_Line("revision", revision=revision))
        super().revise(revision)

    def _close(self, attempt: Attempt) -> None:
        self._open = [one for one in self._open
                      if (one.step, one.work_order) != (attempt.step, attempt.work_order)]

    def _take(self, line: bytes, number: int, graph: TaskGraph) -> None:
        try:
            entry = _LINE.validate_json(line)
            attempt = entry.attempt
            if (entry.event == "plan") != (number == 1):
                raise KeyError(entry.event)
            if entry.event == "plan":
                if entry.plan != graph:
                    raise RequestError(f"the receipts at {self._path} are of another plan; name another file")
            elif entry.event == "revision" and entry.revision is not None:
                super().revise(entry.revision)
            elif attempt is not None:
                if entry.event == "begun":
                    self._open.append(Attempt(self.state.graph[attempt.step].id, attempt.work_order, attempt.turn))
                else:
                    self._close(attempt)
                    if entry.event == "receipt":
                        super().receipt(attempt.step, work_order=attempt.work_order, turn=attempt.turn)
            else:
                raise KeyError(entry.event)
        except (ValidationError, KeyError, BadGraph):
            raise RequestError(f"line {number} of {self._path} is damaged; restore the file, for without it nothing "
                               "is known to be done") from None

    def _append(self, line: _Line) -> None:
        data = {key: value for key, value in _LINE.dump_python(line, mode="json").items() if value is not None}
        written = orjson.dumps(data) + b"\n"
        try:
            with self._path.open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    if file.write(written) != len(written):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)  # a refused line must not stand in front of the next one
                    raise
        except OSError as error:
            raise InfrastructureError(f"{self._path} can't be written ({error.strerror}); make room, for what isn't "
                                      "written down must not be done") from None
