"""What very many episodes need, from what the released ones took: calls, tokens, bytes, hours.

Nothing is assumed of a GPU that isn't here: tokens are measured, and GPU hours are given per thousand tokens a second,
to be divided by the rate of the server at hand.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from artifact import paths
from artifact.errors import RequestError
from artifact.log import RECORD_TYPES, Cell, CompileRecord, EpisodeLog, MatchRecord, Record, Usage, iter_logs
from artifact.report.ladder import RUNGS

STUDY = "ladder"
PAGE = paths.ROOT / "docs" / "scaling.md"
_BEGIN, _END = "<!-- made by: artifact scaling --write -->\n", "<!-- end of what was made -->\n"
_HOUR = 3600.0
_RATE = 1000.0


@dataclass(frozen=True)
class Need:
    """What episodes took: a sum, or the mean of one.

    Parameters
    ----------
    turns, agent_calls, helper_calls : float
        Turns, and the calls of the agent and of compiler and matcher.
    read, cached, written : float
        Prompt tokens, how many of them came from the prefix cache, and completion tokens.
    seconds : float
        Time of the calls, one after another.
    log, packed : float
        Bytes of the log as it is written, and as it is released.
    """

    turns: float = 0
    agent_calls: float = 0
    helper_calls: float = 0
    read: float = 0
    cached: float = 0
    written: float = 0
    seconds: float = 0
    log: float = 0
    packed: float = 0

    def __add__(self, other: "Need") -> "Need":
        return Need(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Need)))

    def __mul__(self, factor: float) -> "Need":
        return Need(*(getattr(self, field.name) * factor for field in fields(Need)))

    @property
    def computed(self) -> float:
        """Prompt tokens that the server had to read."""
        return self.read - self.cached


def need_of(log: EpisodeLog) -> Need:
    """What one episode took but for its packed bytes; a compile counts in every arm that shared it."""
    agent: list[Usage] = [usage for turn in log.turns
                          for usage in (turn.usage, *(call.usage for call in turn.superseded_replies))]
    helped: list[CompileRecord | MatchRecord] = [*log.compiles, *log.matches]
    helper = [call.usage for record in helped for call in record.calls]
    records: list[Record] = [log.header, *log.compiles, *log.matches, *log.turns, *([log.end] if log.end else [])]
    calls = [*agent, *helper]
    return Need(len(log.turns), len(agent), len(helper), sum(u.prompt for u in calls), sum(u.cached for u in calls),
                sum(u.completion for u in calls), sum(u.latency_s for u in calls),
                sum(len(RECORD_TYPES[record.record].dump_json(record)) + 1 for record in records))


def mean_needs(logs: Iterable[EpisodeLog]) -> tuple[Cell, dict[str, Need]]:
    """The mean need of an episode of each rung, in the largest cell that has completed episodes of all four.

    Raises
    ------
    RequestError
        When there is no such cell.
    """
    sums: dict[Cell, dict[str, tuple[int, Need]]] = {}
    sources: dict[tuple[Cell, str], str] = {}
    for log in logs:
        header = log.header
        if not log.completed or header.arm.name not in RUNGS:
            continue
        count, total = sums.setdefault(header.cell, {}).get(header.arm.name, (0, Need()))
        sums[header.cell][header.arm.name] = (count + 1, total + need_of(log))
        sources[header.cell, header.arm.name] = log.source
    whole = [cell for cell, arms in sums.items() if len(arms) == len(RUNGS)]
    if not whole:
        raise RequestError(f"no cell of the study {STUDY} has completed episodes of all four rungs; run or restore one")
    cell = max(whole, key=lambda cell: (cell.size, cell.slug))
    needs = {}
    for arm in RUNGS:
        count, total = sums[cell][arm]
        needs[arm] = (total + Need(packed=Path(sources[cell, arm]).stat().st_size)) * (1 / count)
    return cell, needs


def scaling_text(episodes: int, logs: Iterable[EpisodeLog]) -> str:
    """The table, in Markdown, for so many episodes divided evenly over the four rungs."""
    cell, means = mean_needs(logs)
    share = episodes / len(RUNGS)
    needs = {arm: mean * share for arm, mean in means.items()}
    total = sum(needs.values(), Need())
    columns = [*needs.values(), total]
    rows = [
        ("turns", [f"{need.turns / 1e6:.1f} M" for need in columns]),
        ("calls of the agent", [f"{need.agent_calls / 1e6:.1f} M" for need in columns]),
        ("calls of compiler and matcher", [f"{need.helper_calls / 1e6:.1f} M" for need in columns]),
        ("prompt tokens", [f"{need.read / 1e9:.1f} G" for need in columns]),
        ("of these from the prefix cache", [f"{need.cached / need.read:.1%}" for need in columns]),
        ("prompt tokens read by the server", [f"{need.computed / 1e9:.2f} G" for need in columns]),
        ("completion tokens", [f"{need.written / 1e9:.2f} G" for need in columns]),
        ("log as written", [f"{need.log / 1e9:.1f} GB" for need in columns]),
        ("log as released", [f"{need.packed / 1e9:.2f} GB" for need in columns]),
        ("GPU hours of reading, per 1,000 tokens/s", [f"{need.computed / _RATE / _HOUR:,.0f}" for need in columns]),
        ("GPU hours of writing, per 1,000 tokens/s", [f"{need.written / _RATE / _HOUR:,.0f}" for need in columns]),
        ("the same calls on the engine of the logs, in hours", [f"{need.seconds / _HOUR:,.0f}" for need in columns]),
    ]
    lines = [f"{episodes:,} episodes, {share:,.0f} of each rung, each as long as the mean episode of the released cell "
             f"`{cell.slug}`:", "",
             "| | " + " | ".join([*needs, "in all"]) + " |", "| --- |" + " ---: |" * len(columns)]
    lines += [f"| {name} | " + " | ".join(values) + " |" for name, values in rows]
    per_turn = total * (1 / total.turns)
    lines += ["", f"For each thousand turns a second of the client the servers read {1e3 * per_turn.computed:,.0f} and "
                  f"write {1e3 * per_turn.written:,.0f} tokens a second, and the logs grow by "
                  f"{per_turn.log / 1e3:.1f} MB a second."]
    return "\n".join(lines) + "\n"


def released_logs() -> Iterable[EpisodeLog]:
    """The released logs of the study that the table is made from."""
    return iter_logs([paths.RELEASED_LOGS / STUDY])


def with_table(page: str, text: str) -> str:
    """The page with its table made anew.

    Raises
    ------
    RequestError
        When the page has no place for it.
    """
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise RequestError(f"{PAGE.name} has lost the marks between which its table stands; restore it")
    return f"{before}{begin}\n{text}\n{end}{after}"
