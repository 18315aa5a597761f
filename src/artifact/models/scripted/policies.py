"""Scripted agents with known behaviour: they bound the metric and drive the tests (Appendix A.1)."""

import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Protocol

from artifact.log.records import Message
from artifact.models.scripted.reading import (
    Reading,
    own_words,
    read_checklist,
    read_directive,
    read_plan,
    read_rejections,
    read_revision,
    read_shown_ledger,
    read_transcript,
    read_work_order,
    resolve,
)
from artifact.taskstate import Episode, Receipt, RequestKind, TaskState, parse_bookings, parse_ref_lines


class Policy(Protocol):
    """What to reply to a conversation."""

    def reply(self, messages: Sequence[Message]) -> str:
        """The reply to the last message."""
        ...


def _book(code: str, work_order: str) -> str:
    return f"Done.\nref {code}/{work_order}"


class NeverBook:
    """Books nothing."""

    def reply(self, messages: Sequence[Message]) -> str:
        """Acknowledge."""
        return "Noted."


class AlwaysBook:
    """Memoryless: books every request for the step that it names."""

    def reply(self, messages: Sequence[Message]) -> str:
        """Book whatever the last message is about."""
        plan = read_plan(messages[0].content)
        order, step = read_work_order(messages[-1].content), resolve(messages[-1].content, plan.steps)
        return _book(plan[step].code, order) if order is not None and step is not None else "Noted."


class Gullible:
    """Believes whatever a message says, whoever wrote it, on top of booking the request like `AlwaysBook`.

    Copies ref lines, books what a directive or a checklist calls eligible and a ledger line TODO, and books anew what a
    notice calls rejected; all under the current work order, if there is one.
    """

    def reply(self, messages: Sequence[Message]) -> str:
        """Book all of it."""
        plan, text = read_plan(messages[0].content), messages[-1].content
        order = read_work_order(text)
        if order is None:
            return "Noted."
        codes = [line.code for line in parse_ref_lines(text)] + re.findall(r"LEDGER (RC-\d{4}) TODO", text)
        codes += [code for code, _ in read_rejections(messages[-1:])]
        codes += [plan[step].code for step, status in read_checklist(text).items() if status == "TODO (ready)"]
        codes += [plan[step].code for step in re.findall(r"\[TASK-STATE\] step (s\d+) is ELIGIBLE", text)]
        requested = resolve(text, plan.steps)
        codes += [plan[requested].code] if requested is not None else []
        return "\n".join(["Done.", *(f"ref {code}/{order}" for code in dict.fromkeys(codes))])


class Perfect:
    """Replays ground truth: the one policy that is told which episode it is in."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._by_work_order = {turn.work_order: turn for turn in (*episode.turns, *episode.reasks) if turn.work_order}
        self._revision_texts = [turn.text for turn in episode.turns if turn.kind is RequestKind.REVISION]

    def reply(self, messages: Sequence[Message]) -> str:
        """Execute what the realized state says is right, and nothing else."""
        state, order = TaskState(self._episode.graph), None
        rejected = read_rejections(messages)
        for message in messages[1:]:
            if message.role == "user":
                order = read_work_order(message.content)
                if any(text in message.content for text in self._revision_texts):
                    state = state.revise(self._episode.revision)
            else:
                for line in parse_bookings(message.content, order):
                    step = state.graph.step_with_code(line.code)
                    if step is not None and (line.code, line.work_order) not in rejected:
                        state = state.execute(step, line.work_order, 0)
        turn = self._by_work_order.get(order or "")
        if turn is None or turn.step is None or order is None:
            return "Noted."
        if turn.kind is RequestKind.LEGIT_REDO:
            state = state.authorize([turn.step])
        decision = state.decide(turn.step)
        return _book(state.graph[turn.step].code, order) if decision.allowed else f"Not now: {decision.status}."


@dataclass(frozen=True)
class Reader:
    """An imperfect reader: heeds each kind of state with a probability of its own, else takes a request at its word.

    Parameters
    ----------
    transcript, checklist, directive : float
        Probability, per turn, of heeding the state that the transcript implies, a checklist, a directive. The
        strongest that it heeds decides.
    wrong_code : float
        Probability that a booking carries another step's code.
    seed : int
        Draws come from the seed, the brief and the work order alone: the same turn gives the same reply.
    """

    transcript: float = 0.0
    checklist: float = 0.0
    directive: float = 0.0
    wrong_code: float = 0.0
    seed: int = 0

    def reply(self, messages: Sequence[Message]) -> str:
        """Read, decide, perhaps slip."""
        reading = read_transcript(messages)
        if reading.step is None or reading.work_order is None:
            return "Noted."
        draw = random.Random(f"{self.seed}:{own_words(messages[0].content)}:{reading.work_order}")
        heeds = {name: draw.random() < asdict(self)[name] for name in ("transcript", "checklist", "directive")}
        slips = draw.random() < self.wrong_code
        step, execute = self._decide(reading, heeds, self._directive(messages))
        if not step:
            return "Which step do you mean?"
        if not execute:
            return f"Not now: {step} is not to be carried out."
        steps = reading.state.graph.steps
        code = reading.state.graph[step].code
        if slips and len(steps) > 1:
            code = draw.choice([other.code for other in steps if other.id != step])
        return _book(code, reading.work_order)

    def _directive(self, messages: Sequence[Message]) -> tuple[str, bool] | None:
        return read_directive(messages[-1].content)

    def _decide(self, reading: Reading, heeds: dict[str, bool],
                directive: tuple[str, bool] | None) -> tuple[str, bool]:
        step = reading.step or ""
        if directive is not None and heeds["directive"]:
            return directive
        status = read_checklist(reading.message).get(step)
        if status is not None and heeds["checklist"]:
            return step, status == "TODO (ready)" or (status == "DONE" and reading.redo)
        if heeds["transcript"]:
            state = reading.state.authorize([step]) if reading.redo else reading.state
            return step, state.decide(step).allowed
        return step, True


class SystemReader(Reader):
    """A reader whose directives are those in the system prompt: one in the user's message is nothing to it."""

    def _directive(self, messages: Sequence[Message]) -> tuple[str, bool] | None:
        return read_directive(messages[0].content)


@dataclass(frozen=True)
class LedgerKeeper:
    """Goes by the ledger that it is shown, and by that alone, for what is done; writes each change of it.

    Parameters
    ----------
    forgets : float
        Probability of leaving out the entry for a booking.
    seed : int
        Draws come from the seed, the brief and the work order alone.
    """

    forgets: float = 0.0
    seed: int = 0

    def reply(self, messages: Sequence[Message]) -> str:
        """Decide by the ledger, and keep it."""
        reading = read_transcript(messages)
        graph, ledger = reading.state.graph, read_shown_ledger(reading.message)
        if reading.work_order is None:
            revision = read_revision(own_words(reading.message), graph.steps)
            cancelled = revision.cancel if revision is not None else None
            return f"OK\nLEDGER {graph[cancelled].code} CANCELLED" if cancelled is not None else "OK"
        if reading.step is None:
            return "Which step do you mean?"
        done = tuple(Receipt(step.id, "", 0) for step in graph.steps if ledger.get(step.code) == "DONE")
        state = TaskState(graph, done).authorize([reading.step] if reading.redo else [])
        if not state.decide(reading.step).allowed:
            return f"Not now: {reading.step} is not to be carried out."
        draw = random.Random(f"{self.seed}:{messages[0].content}:{reading.work_order}")
        code = graph[reading.step].code
        entry = "" if draw.random() < self.forgets else f"\nLEDGER {code} DONE"
        return _book(code, reading.work_order) + entry


def describe(policy: Any) -> dict[str, Any]:
    """The parameters of a policy, for its identity in a log."""
    return asdict(policy) if is_dataclass(policy) and not isinstance(policy, type) else {}
