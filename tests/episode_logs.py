"""Hand-made episodes, and logs of what a given agent would write in them: the arrangement of the scorer's tests."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from artifact.log import (
    RECORD_TYPES,
    SCHEMA,
    ArmIdentity,
    Booking,
    Cell,
    EndReason,
    EndRecord,
    EpisodeLog,
    EpisodeRecord,
    Message,
    Record,
    TurnRecord,
    Usage,
    read_episode,
)
from artifact.log.seal import Seal
from artifact.taskstate import (
    NOT_A_REQUEST,
    Brief,
    Episode,
    RequestKind,
    Revision,
    ScriptedTurn,
    Status,
    Step,
    TaskGraph,
    TaskState,
    parse_bookings,
)

# Given a turn and the realized state at its start, what the agent writes.
Agent = Callable[[int, ScriptedTurn, TaskState], str]
# Given the realized state and the step a code belongs to, whether the execution channel enters the booking.
Channel = Callable[[TaskState, str | None], bool]

GRAPH = TaskGraph((
    Step("s1", "collect requirements", "RC-1001"),
    Step("s2", "send the RFQ", "RC-1002", ("s1",)),
    Step("s3", "sign the agreement", "RC-1003", ("s2",)),
    Step("s4", "negotiate prices", "RC-1004", ("s2", "s3")),
    Step("s5", "place the order", "RC-1005", ("s1", "s4")),
))
REVISION = Revision(cancel="s3", rewires=(("s4", ("s2",)),), relax=("s5", "s1"))


def scripted(kind: RequestKind, step: str | None = None, number: int = 0, text: str = "") -> ScriptedTurn:
    """A scripted turn; requests get the work order of their number."""
    work_order = None if kind in NOT_A_REQUEST else f"#W{2000 + number}"
    return ScriptedTurn(kind, text or f"{kind} {step or ''} {work_order or ''}".strip(), step, work_order)


def episode_of(*turns: tuple[RequestKind, str | None], seed: int = 100, graph: TaskGraph = GRAPH,
               revision: Revision = REVISION) -> Episode:
    """An episode with the given requests."""
    live = [step.id for step in graph.steps if step.id != revision.cancel]
    return Episode(
        seed=seed, size=len(graph.steps), density=0.15, domain="procurement", graph=graph, revision=revision,
        turns=tuple(scripted(kind, step, number) for number, (kind, step) in enumerate(turns)),
        reasks=tuple(scripted(RequestKind.ASK, step, 500 + number) for number, step in enumerate(live)))


K = RequestKind
EVERY_KIND = (
    (K.ASK, "s1"), (K.PREMATURE, "s4"), (K.FILLER, None), (K.ASK, "s2"), (K.REDO_PROBE, "s1"), (K.REVISION, None),
    (K.SUPERSEDED_CUE, "s3"), (K.ASK, "s4"), (K.LEGIT_REDO, "s2"), (K.AMBIGUOUS, None), (K.ASK, "s5"),
    (K.REDO_PROBE, "s4"),
)


def every_kind(seed: int = 100) -> Episode:
    """An episode with a request of every kind, each with its premise met in perfect play."""
    return episode_of(*EVERY_KIND, seed=seed)


def owed(turn: ScriptedTurn, state: TaskState) -> bool:
    """Whether the requested step is to be executed, spelled out from §3.1 apart from the code under test."""
    if turn.step is None:
        return False
    status = state.status(turn.step)
    return status is Status.TODO or (status is Status.DONE and turn.kind is RequestKind.LEGIT_REDO)


def booking(turn: ScriptedTurn, state: TaskState, *steps: str) -> str:
    """A reply that books the given steps."""
    return "\n".join(["Very well.", *(f"ref {state.graph[step].code}/{turn.work_order}" for step in steps)])


def perfect(number: int, turn: ScriptedTurn, state: TaskState) -> str:
    """The agent that does what is owed and nothing else."""
    return booking(turn, state, turn.step) if owed(turn, state) and turn.step else "Understood."


def always_book(number: int, turn: ScriptedTurn, state: TaskState) -> str:
    """The memoryless agent that books every request."""
    return booking(turn, state, turn.step) if turn.step else "Understood."


def never_book(number: int, turn: ScriptedTurn, state: TaskState) -> str:
    """The agent that books nothing."""
    return "Understood."


def but(number: int, reply: Agent | str, agent: Agent = perfect) -> Agent:
    """`agent`, but for one turn."""
    def act(n: int, turn: ScriptedTurn, state: TaskState) -> str:
        if n != number:
            return agent(n, turn, state)
        return reply if isinstance(reply, str) else reply(n, turn, state)
    return act


def open_channel(state: TaskState, step: str | None) -> bool:
    """No gate: every booking is entered."""
    return True


def state_bound(state: TaskState, step: str | None) -> bool:
    """An enforcement gate that owns the realized state itself."""
    return step is not None and state.decide(step).allowed


def play(episode: Episode, agent: Agent = perfect, *, channel: Channel = open_channel, arm: str = "raw",
         options: Mapping[str, object] | None = None, study: str = "study", end: EndReason | None = EndReason.COMPLETED,
         source: str = "made by the test") -> EpisodeLog:
    """The log of an agent in an episode, scripted turns only."""
    cell = Cell("model", episode.size, episode.density, episode.domain, Brief.AMENDED, "no_think", "paper", "model")
    header = EpisodeRecord(SCHEMA, study, cell, ArmIdentity(arm, dict(options or {})), episode.seed, episode, "00",
                           package={}, model={}, state_model={}, sampling={}, started="2026-01-01T00:00:00Z")
    state, turns = TaskState(episode.graph), []
    for number, turn in enumerate(episode.turns):
        now = state.authorize([turn.step] if turn.kind is RequestKind.LEGIT_REDO and turn.step else [])
        record = turn_record(number, turn, agent(number, turn, state), partial(channel, now), episode.graph)
        turns.append(record)
        for entered in record.bookings:
            if entered.accepted and entered.step:
                state = state.execute(entered.step, entered.work_order, number)
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
    ending = EndRecord(end, len(turns), seconds=1.5) if end else None
    return EpisodeLog(header, (), (), tuple(turns), ending, source)


def turn_record(number: int, turn: ScriptedTurn, reply: str, accepts: Callable[[str | None], bool],
                graph: TaskGraph) -> TurnRecord:
    """The record of one answered turn."""
    bookings = []
    for line in parse_bookings(reply, turn.work_order):
        step = graph.step_with_code(line.code)
        bookings.append(Booking(line.code, line.work_order, step, accepts(step)))
    return TurnRecord(
        turn=number, scripted=number, kind=turn.kind, text=turn.text, step=turn.step, work_order=turn.work_order,
        sent=(Message("user", turn.text),), ephemeral=(), reply=reply, reasoning="", finish_reason="stop",
        bookings=tuple(bookings), directive=None, notices=(), checklist="", usage=Usage(100, 90, 10, 0.5))


def records(log: EpisodeLog) -> list[Record]:
    """The records of a log, in the order of a file."""
    matches = {match.turn: match for match in log.matches}
    turns = [record for turn in log.turns for record in (matches.get(turn.turn), turn) if record is not None]
    return [log.header, *log.compiles, *turns, *([log.end] if log.end else [])]


def lines(log: EpisodeLog) -> list[bytes]:
    """The lines of its file, without line ends."""
    return [RECORD_TYPES[record.record].dump_json(record) for record in records(log)]


def save(log: EpisodeLog, runs: Path) -> Path:
    """Write a log where a run would have left it."""
    header = log.header
    path = runs / header.study / header.cell.slug / header.arm.slug / f"{header.seed}.jsonl"
    write_lines(path, lines(log))
    return path


def write_lines(path: Path, content: Iterable[bytes]) -> None:
    """Write lines, each with its line end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in content))


def with_turn(log: EpisodeLog, number: int, **changes: object) -> EpisodeLog:
    """The log with one turn record changed."""
    turns = list(log.turns)
    turns[number] = replace(turns[number], **changes)  # type: ignore[arg-type]
    return replace(log, turns=tuple(turns))


def edit(path: Path, old: bytes, new: bytes, count: int = -1) -> None:
    """Change a log as its writer would have written it: the checksums are made anew."""
    seal = Seal()
    changed = path.read_bytes().replace(old, new, count)
    path.write_bytes(b"".join(seal.close(re.sub(rb',"sum":"[0-9a-f]{16}"}$', b"}", line))
                              for line in changed.splitlines()))


def timeless(folder: Path, *, troubles: bool = True) -> dict[str, list]:
    """Every log under a folder without what may differ between two runs; without `troubles`, not what calls met."""
    logs = {}
    passing = ("latency_s",) if troubles else ("latency_s", "attempts", "faults")
    for path in sorted(folder.rglob("*.jsonl")):
        records = [RECORD_TYPES[r.record].dump_python(r, mode="json") for r in _records(path)]
        for record in records:
            for key in ("started", "seconds", "package"):
                record.pop(key, None)
            for usage in [record.get("usage"), *(call["usage"] for call in record.get("calls", ()))]:
                for key in passing if usage else ():
                    usage.pop(key, None)
        logs[str(path.relative_to(folder))] = records
    return logs


def placeless(folder: Path) -> dict[str, list]:
    """The same, without where the models were served."""
    logs = timeless(folder)
    for header, *_ in logs.values():
        for model in (header["model"], header["state_model"]):
            model.pop("endpoint", None)
    return logs


def _records(path: Path):
    log = read_episode(path)
    return [log.header, *log.compiles, *log.matches, *log.turns, *([log.end] if log.end else [])]
