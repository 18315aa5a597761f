"""The trap turns of logged conversations: redo probes of a finished step, with all that was said before (Appendix A.4).

A trap turn is judged as the scorer judges it: scripted as a redo probe, and its step is done on the realized state
(DESIGN §8.5). A redo probe of a step that was never booked is a plain ask, and is no trap.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import RequestError
from artifact.log import EpisodeLog, Message, iter_logs
from artifact.log.probes import ProbeSource, TrapRecord
from artifact.log.records import RECORD_TYPES, Record
from artifact.taskstate import RequestKind, Status, TaskState

RAW = "raw"


@dataclass(frozen=True)
class Trap:
    """A trap turn, and the realized state at its start, which the log's `trap` record leaves out."""

    record: TrapRecord
    state: TaskState


@dataclass(frozen=True)
class TrapEpisode:
    """A logged episode with trap turns.

    Parameters
    ----------
    log : EpisodeLog
        The source.
    source : ProbeSource
        How a probe log names it.
    traps : tuple of Trap
        In order.
    """

    log: EpisodeLog
    source: ProbeSource
    traps: tuple[Trap, ...]

    @property
    def name(self) -> str:
        """Cell, arm and seed; where its probe's log lies in the study's folder, but for the suffix."""
        header = self.log.header
        return f"{header.cell.slug}/{header.arm.slug}/{header.seed}"


def traps_of(log: EpisodeLog) -> tuple[Trap, ...]:
    """The trap turns of a log, in order."""
    episode, found = log.header.episode, []
    state, conversation = TaskState(episode.graph), list[Message]()
    for turn in log.turns:
        conversation += turn.sent
        is_trap = turn.kind is RequestKind.REDO_PROBE and turn.step is not None \
            and state.status(turn.step) is Status.DONE
        if is_trap and turn.step is not None and turn.work_order is not None:
            step = state.graph[turn.step]
            found.append(Trap(TrapRecord(turn.turn, step.id, step.text, step.code, turn.work_order,
                                         tuple(conversation), turn.reply), state))
        conversation.append(Message("assistant", turn.reply))
        for booking in turn.bookings:
            owner = episode.graph.step_with_code(booking.code) if booking.accepted else None
            if owner is not None:
                state = state.execute(owner, booking.work_order, turn.turn)
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
    return tuple(found)


def trap_episodes(sources: Iterable[Path], *, model: str, regime: str,
                  seeds: Sequence[int] | None) -> list[TrapEpisode]:
    """The completed raw-arm episodes of one model that have trap turns.

    Parameters
    ----------
    sources : iterable of Path
        Episode logs, packed or not, and folders of them.
    model, regime : str
        The agent, by the name that its cells carry, and its regime; logs of others are passed over.
    seeds : sequence of int or None
        These seeds only; None for all.

    Raises
    ------
    RequestError
        When no such episode is there, none of them has a trap turn, or one is there twice from different runs.
    """
    raw = [log for log in iter_logs(sources) if log.header.arm.name == RAW and log.completed]
    if not raw:
        raise RequestError("the trap-turn probe asks the raw arm's conversations again, and there is no completed "
                           "raw-arm episode among the logs of --from; name others")
    of_model = [log for log in raw if (log.header.cell.model, log.header.cell.regime) == (model, regime)]
    if not of_model:
        others = ", ".join(sorted({f"{log.header.cell.model} ({log.header.cell.regime})" for log in raw}))
        raise RequestError(f"the raw-arm logs of --from are those of {others}, and none is of {model} ({regime}); the "
                           "probe asks the model that held the conversation")
    chosen = [log for log in of_model if seeds is None or log.header.seed in seeds]
    if not chosen:
        raise RequestError("none of the raw-arm episodes of --from has one of these seeds; name others with --seeds")
    episodes: dict[tuple[str, str, int], TrapEpisode] = {}
    for log in chosen:
        traps = traps_of(log)
        if not traps:
            continue
        header = log.header
        key = header.cell.slug, header.arm.slug, header.seed
        source = _source(log)
        if key in episodes and episodes[key].source.sha256 != source.sha256:
            raise RequestError(f"{log.source} and {episodes[key].log.source} hold different episodes of {key[0]}, arm "
                               f"{key[1]}, seed {key[2]}; name the logs of one study with --from")
        episodes.setdefault(key, TrapEpisode(log, source, traps))
    if not episodes:
        raise RequestError(f"there is nothing to probe: none of the {len(chosen)} raw-arm episodes of --from has a "
                           "redo turn whose step is done; name logs of an agent that books")
    return [episodes[key] for key in sorted(episodes)]


def _source(log: EpisodeLog) -> ProbeSource:
    digest = hashlib.sha256()
    records: list[Record] = [log.header, *log.compiles, *log.matches, *log.turns, *([log.end] if log.end else [])]
    for record in records:
        digest.update(RECORD_TYPES[record.record].dump_json(record) + b"\n")
    header = log.header
    return ProbeSource(Path(log.source).name, digest.hexdigest(), header.study, header.prompts_sha256, header.package,
                       header.model, header.sampling)
