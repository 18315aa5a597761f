"""From records to one episode log, and what tells an edited log from a written one.

Invariant: an `EpisodeLog` that left this module agrees with its own header: the turns are those of the
schedule, in order, and the bookings are those that the replies contain.
"""

from dataclasses import dataclass, field

from artifact.errors import RequestError
from artifact.log.options import options_in
from artifact.log.records import (
    CompileRecord,
    EndReason,
    EndRecord,
    EpisodeRecord,
    MatchRecord,
    MemoryRecord,
    Record,
    TurnRecord,
)
from artifact.taskstate import NOT_A_REQUEST, BadGraph, RefLine, ScriptedTurn, parse_ref_lines


class EditedLog(RequestError):
    """A log that contradicts itself: its writer can't have written it so."""


@dataclass(frozen=True)
class EpisodeLog:
    """All that one log says.

    Parameters
    ----------
    header : EpisodeRecord
        What was run, on what, with what.
    compiles, matches, turns : tuple of CompileRecord, MatchRecord, TurnRecord
        The records of each type, in order.
    end : EndRecord or None
        Why the log ends; None while the episode isn't finished.
    source : str
        The file that it was read from.
    is_sealed : bool
        Whether its lines had checksums, which then agreed.
    memories : tuple of MemoryRecord
        What a memory arm kept and recalled, in order.
    """

    header: EpisodeRecord
    compiles: tuple[CompileRecord, ...]
    matches: tuple[MatchRecord, ...]
    turns: tuple[TurnRecord, ...]
    end: EndRecord | None
    source: str
    is_sealed: bool = field(default=False, compare=False)
    memories: tuple[MemoryRecord, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether the episode ran to its end, so that it says something about the agent."""
        return self.end is not None and self.end.reason is EndReason.COMPLETED

    def owned(self, stage: str) -> CompileRecord | None:
        """The compile of a stage (``"plan"``, ``"revision"``) that the module went on with; None where there is none.

        It is the second one where the first was flagged and compiled once more, unless that gave no answer.
        """
        made = {record.stage: record for record in self.compiles}
        again = made.get(f"{stage}_again")
        return again if again is not None and again.graph is not None else made.get(stage)

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the episode among all others: study, cell, arm, its options, seed."""
        header = self.header
        return header.study, header.cell.slug, header.arm.name, header.arm.canonical_options, header.seed


def replies(turn: TurnRecord) -> tuple[str, ...]:
    """Every reply that the agent gave in a turn, the final one last."""
    return (*(call.reply for call in turn.superseded_replies), turn.reply)


def ref_lines(turn: TurnRecord) -> list[tuple[str, RefLine]]:
    """The ref lines of a turn, each with the reply that it stands in; redisplays included."""
    return [(reply, line) for reply in replies(turn) for line in parse_ref_lines(reply)]


def check_bookings(turn: TurnRecord) -> None:
    """Raise `EditedLog` unless the recorded bookings are just those that the replies of the turn contain.

    A booking is a ref line with the turn's work order, each completion code once; a turn without a work
    order has none.
    """
    written = {line.code for _, line in ref_lines(turn) if line.work_order == turn.work_order}
    recorded = {booking.code for booking in turn.bookings}
    for booking in turn.bookings:
        if booking.code not in written or booking.work_order != turn.work_order:
            raise EditedLog(f"turn {turn.turn} records the booking {booking.code}/{booking.work_order}, which its "
                            "reply doesn't contain; the log was edited, take the original")
    if written - recorded:
        raise EditedLog(f"the reply of turn {turn.turn} books {min(written - recorded)}/{turn.work_order}, which the "
                        "turn doesn't record; the log was edited, take the original")


class Assembly:
    """Takes the records of one episode in the order of the file and gives its log.

    Exists apart from the reader because the order of the records and their agreement with the header are
    one question, whatever file they come from.

    Parameters
    ----------
    header : EpisodeRecord
        The episode record that opens the log.
    source : str
        The file, for the log.
    """

    def __init__(self, header: EpisodeRecord, source: str) -> None:
        _check_header(header)
        self._header = header
        self._source = source
        self._compiles: list[CompileRecord] = []
        self._matches: list[MatchRecord] = []
        self._memories: list[MemoryRecord] = []
        self._turns: list[TurnRecord] = []
        self._end: EndRecord | None = None
        self._scripted = 0
        self._matched: set[int] = set()
        self._work_orders: set[str] = set()

    @property
    def ended(self) -> bool:
        """Whether the `end` record is in."""
        return self._end is not None

    def add(self, record: Record) -> None:
        """Take the next record, or raise `EditedLog` when it can't come next."""
        if self._end is not None:
            raise EditedLog(f"a record of type {record.record!r} follows the `end` record; the log was edited, "
                            "take the original")
        match record:
            case EpisodeRecord():
                raise EditedLog("a second `episode` record stands within one log; the log was edited or two were "
                                "joined, take the originals")
            case CompileRecord():
                self._compiles.append(record)
            case MatchRecord():
                self._add_match(record)
            case MemoryRecord():
                self._add_memory(record)
            case TurnRecord():
                self._add_turn(record)
            case EndRecord():
                self._add_end(record)

    def finish(self, *, is_sealed: bool = False) -> EpisodeLog:
        """The log of the records taken so far."""
        return EpisodeLog(self._header, tuple(self._compiles), tuple(self._matches), tuple(self._turns), self._end,
                          self._source, is_sealed, tuple(self._memories))

    def _add_match(self, record: MatchRecord) -> None:
        # A match is recorded next to its turn: before it, or just after.
        if record.turn in self._matched or record.turn not in (len(self._turns) - 1, len(self._turns)):
            raise EditedLog(f"a `match` record for turn {record.turn} stands where turn {len(self._turns)} comes next; "
                            "the log was edited, take the original")
        self._matched.add(record.turn)
        self._matches.append(record)

    def _add_memory(self, record: MemoryRecord) -> None:
        if not len(self._memories) == len(self._turns) == record.turn:
            raise EditedLog(f"a `memory` record for turn {record.turn} stands where turn {len(self._turns)} comes "
                            "next; the log was edited, take the original")
        self._memories.append(record)

    def _add_turn(self, record: TurnRecord) -> None:
        if record.turn != len(self._turns):
            raise EditedLog(f"turn {record.turn} stands where turn {len(self._turns)} comes next; the log was edited, "
                            "take the original")
        self._check_schedule(record)
        if record.work_order is not None:
            if record.work_order in self._work_orders:
                raise EditedLog(f"turn {record.turn} uses the work order {record.work_order} a second time; the log "
                                "was edited, take the original")
            self._work_orders.add(record.work_order)
        check_bookings(record)
        self._turns.append(record)

    def _check_schedule(self, record: TurnRecord) -> None:
        episode = self._header.episode
        if record.scripted is None:
            agrees = any(_agrees(record, planned) for planned in episode.reasks)
        else:
            in_order = record.scripted == self._scripted and record.scripted < len(episode.turns)
            agrees = in_order and _agrees(record, episode.turns[record.scripted])
            self._scripted += 1
        if not agrees:
            raise EditedLog(f"turn {record.turn} isn't the one that the schedule in the episode record has next; "
                            "the log was edited, take the original")

    def _add_end(self, record: EndRecord) -> None:
        whole = record.reason is not EndReason.COMPLETED or self._scripted == len(self._header.episode.turns)
        if record.turns != len(self._turns) or not whole:
            raise EditedLog(f"the `end` record speaks of {record.turns} turns ({record.reason}), but the log holds "
                            f"{len(self._turns)}; the log was edited, take the original")
        self._end = record


def _agrees(record: TurnRecord, planned: ScriptedTurn) -> bool:
    if (record.kind, record.step) != (planned.kind, planned.step):
        return False
    # A stress option gives fillers a work order of their own, which the schedule doesn't know.
    return record.work_order == planned.work_order or planned.kind in NOT_A_REQUEST


def _check_header(header: EpisodeRecord) -> None:
    options_in(header.arm.options)
    episode = header.episode
    if episode.seed != header.seed or episode.size != header.cell.size or episode.domain != header.cell.domain:
        raise EditedLog("the episode record holds an episode of another seed, size or domain than it names; the log "
                        "was edited, take the original")
    try:
        episode.graph.check().revise(episode.revision)
        for turn in (*episode.turns, *episode.reasks):
            if turn.step is not None:
                episode.graph[turn.step]
    except BadGraph as error:
        raise EditedLog(f"the episode record holds a broken plan ({error}); the log was edited, take the original"
                        ) from error
