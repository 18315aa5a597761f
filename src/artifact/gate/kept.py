"""A gate that outlives its process: its receipts are an append-only log, from which it rebuilds itself.

Invariant: what was begun and neither receipted nor found undone is never guessed. After a crash between a tool's work
and its receipt the gate admits no further call of that step until it is told the evidence.

Invariant: of the calls of one step, in whatever threads and processes, one at a time is let run.
"""

import errno
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from threading import RLock
from typing import Literal, Self

import orjson
from pydantic import TypeAdapter, ValidationError

from artifact.errors import ArtifactError, InfrastructureError, RequestError
from artifact.gate.gate import DirectiveKind, Gate, Verdict
from artifact.gate.wording import Render, checklist_in_words, paper_words, shipped_text
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

    event: Literal["plan", "begun", "receipt", "undone", "revision", "authorized"]
    plan: TaskGraph | None = None
    attempt: Attempt | None = None
    revision: Revision | None = None
    steps: tuple[str, ...] | None = None


_LINE = TypeAdapter(_Line)


class KeptGate(Gate):
    """A `Gate` kept in a file. Threads may share it.

    Parameters
    ----------
    graph : TaskGraph
        The plan as it was before any revision.
    path : Path
        The log; made when missing, taken up when there. It is this gate's alone until `close`, or until the process
        ends, however that happens.

    Raises
    ------
    RequestError
        When another gate has the log, or it is of another plan, or damaged.
    InfrastructureError
        When it can't be read or written.

    Examples
    --------
    >>> import tempfile
    >>> from artifact.taskstate import Step, TaskGraph
    >>> plan = TaskGraph((Step("s1", "order", "RC-1001"),)).check()
    >>> log = Path(tempfile.mkdtemp()) / "receipts.jsonl"
    >>> with KeptGate(plan, log) as gate:
    ...     gate.begin("s1", work_order="#W0001").allowed  # and here the process dies
    True
    >>> gate = KeptGate(plan, log)
    >>> gate.check("s1").reason
    'an earlier call of step s1 for #W0001 may have done its work; say by evidence whether it did'
    >>> gate.settle(lambda attempt: True)  # the evidence: its work was done
    >>> gate.check("s1").reason
    'step s1 is already DONE'
    """

    def __init__(self, graph: TaskGraph, path: Path) -> None:
        super().__init__(graph)
        self._path = path
        self._open: list[Attempt] = []
        self._process = os.getpid()
        self._lock = RLock()  # from a question to what is written down because of its answer
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: FileIO = path.open("ab+", buffering=0)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            self._take_up(graph)
        except ArtifactError:
            self.close()
            raise

    def close(self) -> None:
        """Leave the log to another gate. Closing twice does no harm."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def open_attempts(self) -> tuple[Attempt, ...]:
        """Calls that were begun and of which nothing is known since: under way, or cut off by a crash."""
        return tuple(self._open)

    def check(self, step: str | None) -> Verdict:
        """Ask before an action: as `Gate.check`, and refused while an earlier call of the step is open."""
        with self._lock:
            attempt = self._open_attempt(step)
            if attempt is None:
                return super().check(step)
            return Verdict(False, self.state.decide(attempt.step),
                           f"an earlier call of step {step} for {attempt.work_order} may have done its work; "
                           "say by evidence whether it did")

    def begin(self, step: str, *, work_order: str, turn: int = 0) -> Verdict:
        """Ask before an action, and where it is allowed write down that it begins."""
        with self._lock:
            verdict = self.check(step)
            if verdict.allowed and self._is_booked(step, work_order):
                return Verdict(False, verdict.decision, f"step {step} was done for {work_order} before")
            if verdict.allowed:
                attempt = Attempt(step, work_order, turn)
                self._append(_Line("begun", attempt=attempt))
                self._open.append(attempt)
            return verdict

    def receipt(self, step: str, *, work_order: str, turn: int = 0) -> None:
        """Tell the evidence after an action: the step was executed for this work order. Told twice, it counts once."""
        with self._lock:
            attempt = Attempt(self.state.graph[step].id, work_order, turn)
            if not self._is_booked(step, work_order):
                self._append(_Line("receipt", attempt=attempt))
                self._book(attempt)

    def undone(self, step: str, *, work_order: str) -> None:
        """Tell the evidence after an action that did not do its work: the step is owed as before."""
        with self._lock:
            attempt = Attempt(self.state.graph[step].id, work_order)
            self._append(_Line("undone", attempt=attempt))
            self._close_attempt(attempt)

    def settle(self, was_done: Callable[[Attempt], bool]) -> None:
        """Ask for the evidence of every open attempt; `was_done` says whether its work was done.

        A call that is still under way is open too, and of it there is no evidence yet: settle when none is.
        """
        for attempt in self.open_attempts:
            if was_done(attempt):
                self.receipt(attempt.step, work_order=attempt.work_order, turn=attempt.turn)
            else:
                self.undone(attempt.step, work_order=attempt.work_order)

    def authorize(self, *steps: str) -> None:
        """Let the current request redo these done steps (and no others)."""
        with self._lock:
            authorized = self.state.authorize(steps).authorized
            if authorized != self.state.authorized:
                self._append(_Line("authorized", steps=tuple(sorted(authorized))))
                super().authorize(*authorized)

    def directive(self, step: str) -> DirectiveKind:
        """What the state implies for a request of this step; open while an earlier call of it is."""
        return super().directive(step) if self._open_attempt(step) is None else DirectiveKind.OPEN

    def directive_text(self, step: str, render: Render = paper_words, named: str = "") -> str:
        """The directive for a request of this step, in words; that of an open step is the same in every prompt set."""
        attempt = self._open_attempt(step)
        if attempt is None:
            return super().directive_text(step, render, named)
        return shipped_text("directive_open").format(step=named or step, work_order=attempt.work_order)

    def checklist(self, render: Render = paper_words) -> str:
        """The state in words, one line a step."""
        return checklist_in_words(self.state, render, {attempt.step for attempt in self.open_attempts})

    def revise(self, revision: Revision) -> None:
        """Take a change of plan."""
        with self._lock:
            self.state.revise(revision)  # raises for one that can't be applied, which must not be written down
            self._append(_Line("revision", revision=revision))
            super().revise(revision)

    def _open_attempt(self, step: str | None) -> Attempt | None:
        return next((attempt for attempt in self.open_attempts if attempt.step == step), None)

    def _is_booked(self, step: str, work_order: str) -> bool:
        return any((receipt.step, receipt.work_order) == (step, work_order) for receipt in self.receipts)

    def _book(self, attempt: Attempt) -> None:
        self._close_attempt(attempt)
        super().receipt(attempt.step, work_order=attempt.work_order, turn=attempt.turn)

    def _close_attempt(self, attempt: Attempt) -> None:
        self._open = [one for one in self._open
                      if (one.step, one.work_order) != (attempt.step, attempt.work_order)]

    def _unusable(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(f"the receipts at {self._path} can't be used ({error.strerror}); make the file "
                                   "readable and writable")

    def _take_up(self, graph: TaskGraph) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.seek(0)
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):  # a torn last line: what was being written when the process died
                self._file.truncate(whole)
        except BlockingIOError:
            raise RequestError(f"the receipts at {self._path} are in use by another gate; close that one, share it "
                               "between threads, or name another file") from None
        except OSError as error:
            raise self._unusable(error) from None
        lines = content[:whole].split(b"\n")[:-1]
        for number, line in enumerate(lines, start=1):
            self._take(line, number, graph)
        if not lines:
            self._append(_Line("plan", plan=graph))

    def _take(self, line: bytes, number: int, graph: TaskGraph) -> None:
        try:
            entry = _LINE.validate_json(line)
            if (entry.event == "plan") != (number == 1):
                raise KeyError(entry.event)
            match entry:
                case _Line("plan"):
                    if entry.plan != graph:
                        raise RequestError(f"the receipts at {self._path} are of another plan; name another file")
                case _Line("revision", revision=Revision() as revision):
                    super().revise(revision)
                case _Line("authorized", steps=tuple() as steps):
                    super().authorize(*(self.state.graph[step].id for step in steps))
                case _Line(event, attempt=Attempt() as attempt) if attempt.step in self.state.graph:
                    self._take_attempt(event, attempt)
                case _:
                    raise KeyError(entry.event)
        except (ValidationError, KeyError, BadGraph):
            raise RequestError(f"line {number} of {self._path} is damaged; restore the file, for without it nothing "
                               "is known to be done") from None

    def _take_attempt(self, event: str, attempt: Attempt) -> None:
        if event == "begun":
            self._open.append(attempt)
        elif event == "undone":
            self._close_attempt(attempt)
        elif not self._is_booked(attempt.step, attempt.work_order):
            self._book(attempt)

    def _append(self, line: _Line) -> None:
        data = {key: value for key, value in _LINE.dump_python(line, mode="json").items() if value is not None}
        written = orjson.dumps(data) + b"\n"
        if self._file.closed or os.getpid() != self._process:  # a fork would share the lock on the file
            raise RequestError(f"the gate on {self._path} is closed, or another process opened it; open it here")
        try:
            size = os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(written) != len(written):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)  # a refused line must not stand in front of the next one
                raise
        except OSError as error:
            raise InfrastructureError(f"{self._path} can't be written ({error.strerror}); make room, for what isn't "
                                      "written down must not be done") from None
