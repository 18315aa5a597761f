"""Episodes and logs as a person reads them, on a terminal.

Text from models and users is data: control characters in it are shown, never sent to the terminal.
"""

from collections.abc import Iterator

from artifact.arms import load_prompts
from artifact.cli.words import printable
from artifact.log import EpisodeLog, TurnRecord
from artifact.log.records import CompileRecord
from artifact.scorer import TurnVerdict, score_log
from artifact.taskstate import Brief, Episode, Revision


def indented(text: str, mark: str) -> str:
    """A text with a mark before its first line, the others below it."""
    first, *others = printable(text).split("\n")
    return "\n".join([f"  {mark} {first}", *(f"  {' ' * len(mark)} {line}".rstrip() for line in others)])


def episode_text(episode: Episode, prompts: str, brief: Brief) -> str:
    """A generated episode: the brief, the schedule, the change of plan."""
    lines = [f"seed {episode.seed}, {episode.size} steps, density {episode.density:g}, {episode.domain}", "",
             load_prompts(prompts).brief(episode.graph, brief), "",
             _revision_text(episode.revision), ""]
    lines += [f"{number:2}  {turn.kind:14} {turn.step or '-':4} {printable(turn.text)}"
              for number, turn in enumerate(episode.turns)]
    lines += ["", "spare asks, for requests that were deferred:"]
    lines += [f"    {turn.step:4} {printable(turn.text)}" for turn in episode.reasks]
    return "\n".join(lines)


def _revision_text(revision: Revision) -> str:
    if revision.cancel is None:
        return "revision: none at this size"
    rewires = "; ".join(f"{step} to [{', '.join(needs)}]" for step, needs in revision.rewires)
    relax = " without ".join(revision.relax) if revision.relax else "nothing"
    return f"revision: cancel {revision.cancel}; rewire {rewires or 'nothing'}; relax {relax}"


def log_text(log: EpisodeLog, only_turn: int | None) -> Iterator[str]:
    """A logged episode: what it was measured on, then requests, directives, bookings and verdicts."""
    yield from map(printable, _parts(log, only_turn))


def _parts(log: EpisodeLog, only_turn: int | None) -> Iterator[str]:
    header, verdict = log.header, score_log(log)
    if only_turn is None:
        yield (f"{header.study}: {header.cell.slug}, arm {header.arm.text}, seed {header.seed}, "
               f"on {header.model.get('engine', 'an unknown engine')}")
        yield from (compile_text(record) for record in log.compiles)
    for record, judged in zip(log.turns, verdict.turns, strict=True):
        if only_turn in (None, record.turn):
            yield _turn_text(record, judged)
    if only_turn is None:
        end = f"ended: {log.end.reason}" if log.end else "not finished"
        wrong = sum(not turn.right for turn in verdict.turns)
        yield f"{end}; {'strict success' if verdict.strict else f'{wrong} turns with violations'}"


def compile_text(record: CompileRecord) -> str:
    """What compiling the state came to, in a line."""
    defects = ", ".join(f"{f.defect} ({', '.join(f.steps)})" for f in record.defects) or "none"
    stage = record.stage.replace("_again", " compiled once more")
    outcome = f"failed, {record.error}" if record.error else f"defects: {defects}"
    return (f"{stage} of the state ({record.source}): {outcome}; {len(record.calls)} calls"
            f"{'; nothing is refused from here on' if record.falls_back else ''}")


def same_turn(record: TurnRecord) -> list[tuple[str, str]]:
    """Refused replies and what the agent was told about them within the turn, each with its mark."""
    replies = [number for number, shown in enumerate(record.ephemeral) if shown.role == "assistant"]
    return [(shown.content, "x" if shown.role == "assistant" else "!")
            for shown in (record.ephemeral[replies[0]:] if replies else ())]


def _turn_text(record: TurnRecord, verdict: TurnVerdict) -> str:
    about = f", {record.step} is {verdict.status}" if record.step else ""
    lines = [f"--- turn {record.turn}: {verdict.label}{about}"]
    lines += [indented(notice, "!") for notice in record.notices]
    lines.append(indented(record.text, ">"))
    if record.checklist:
        lines.append(indented(record.checklist, "|"))
    if record.directive:
        place = "(in the system prompt) " if any(shown.role == "system" for shown in record.ephemeral) else ""
        lines.append(indented(place + record.directive.text, "|"))
    lines += [indented(text, mark) for text, mark in same_turn(record)]
    lines.append(indented(record.reply, "<"))
    for booking in record.bookings:
        outcome = "entered" if booking.accepted else f"refused: {booking.reason}"
        lines.append(f"  booking {booking.code}/{booking.work_order}: {outcome}")
    wrong = ", ".join(f"{v.channel} of {v.step}" for v in verdict.violations)
    lines.append(f"  {f'WRONG: {wrong}' if wrong else 'right'}")
    return "\n".join(lines)
