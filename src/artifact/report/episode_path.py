"""One logged episode as a drawing needs it: where each turn stands, what was owed, what was booked."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifact.log import EpisodeLog
from artifact.report.tables import channel_words
from artifact.scorer import EpisodeVerdict, TurnVerdict, score_log
from artifact.taskstate import Channel, Episode, RequestKind, Status, TaskState

# Where a re-ask stands: between the scripted turn before it and the next one.
REASK_OFFSET = 0.5


@dataclass(frozen=True)
class Span:
    """A step's realized status over a stretch of the conversation."""

    step: str
    status: Status
    start: float
    end: float


@dataclass(frozen=True)
class Path:
    """One arm's way through an episode.

    Parameters
    ----------
    arm : str
        The arm.
    turns : tuple of (float, TurnVerdict)
        Where each turn stands on the axis of scripted turns, and its verdict.
    refused : tuple of (float, str)
        Where a booking was refused, and the step that it named.
    spans : tuple of Span
        Realized statuses.
    verdict : EpisodeVerdict
        The verdict of the whole.
    """

    arm: str
    turns: tuple[tuple[float, TurnVerdict], ...]
    refused: tuple[tuple[float, str], ...]
    spans: tuple[Span, ...]
    verdict: EpisodeVerdict

    @property
    def outcome(self) -> str:
        """The verdict in words."""
        if not self.verdict.completed:
            reason = self.verdict.end_reason
            return "unfinished" if reason is None else str(reason).replace("_", " ")
        if self.verdict.strict:
            return "strict success"
        counts = ((channel, self.verdict.count(channel)) for channel in Channel)
        return "\n".join(f"{count} × {channel_words(channel)}" for channel, count in counts if count)


def path_of(log: EpisodeLog) -> Path:
    """Score one log and lay it out."""
    verdict = score_log(log)
    episode = log.header.episode
    positions = _positions(verdict.turns)
    state, spans, refused = TaskState(episode.graph), [], []
    ends = [*positions[1:], max(positions, default=0.0) + 1]
    for record, turn, start, end in zip(log.turns, verdict.turns, positions, ends, strict=True):
        spans += [Span(step.id, state.status(step.id), start, end) for step in episode.graph.steps]
        owners = {booking.code: booking.step for booking in record.bookings}
        refused += [(start, owner) for code in turn.refused
                    if (owner := episode.graph.step_with_code(code) or owners.get(code)) is not None]
        for step in turn.executed:
            state = state.execute(step, turn.work_order or "", turn.turn)
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
    return Path(log.header.arm.name, tuple(zip(positions, verdict.turns, strict=True)), tuple(refused),
                _merged(spans), verdict)


def plan_order(episode: Episode) -> tuple[str, ...]:
    """The steps so that prerequisites come before what needs them: by depth in the graph, then as in the brief."""
    graph = episode.graph
    depth: dict[str, int] = {}

    def depth_of(step: str) -> int:
        if step not in depth:
            depth[step] = 1 + max(map(depth_of, graph[step].prerequisites), default=0)
        return depth[step]

    return tuple(sorted(graph.by_id, key=lambda step: (depth_of(step), list(graph.by_id).index(step))))


def _positions(turns: Sequence[TurnVerdict]) -> list[float]:
    positions: list[float] = []
    last = -1.0
    for turn in turns:
        if turn.scripted is not None:
            last = float(turn.scripted)
            positions.append(last)
        else:
            # Several re-asks in a row share the gap before the next scripted turn.
            previous = positions[-1] if positions and positions[-1] > last else last
            positions.append(previous + REASK_OFFSET * (1 if previous == last else 0.5))
    return positions


def _merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans joined where a step's status doesn't change."""
    merged: dict[str, list[Span]] = {}
    for span in spans:
        own = merged.setdefault(span.step, [])
        if own and own[-1].status is span.status:
            own[-1] = Span(span.step, span.status, own[-1].start, span.end)
        else:
            own.append(span)
    return tuple(span for own in merged.values() for span in own)
