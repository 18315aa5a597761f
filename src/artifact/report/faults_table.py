"""What infrastructure did to a study: calls, tries that brought no answer, and episodes that it ended, by reason."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from artifact.log import CompileRecord, EndReason, EpisodeLog, MatchRecord, Record
from artifact.log.faults import Fault
from artifact.log.tally import faults_of
from artifact.report.ladder import RUNGS
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, spanning
from artifact.scorer import UNFINISHED

SOURCE = "from usage and end records of the logs"
_COLUMNS = 6


@dataclass
class _Row:
    ended: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)

    def take(self, log: EpisodeLog) -> None:
        self.ended[log.end.reason if log.end else UNFINISHED] += 1
        self.calls += len(log.turns) + sum(len(turn.superseded_replies) for turn in log.turns)
        helpers: list[CompileRecord | MatchRecord] = [*log.compiles, *log.matches]
        self.calls += sum(len(record.calls) for record in helpers)
        records: list[Record] = [*helpers, *log.turns, *([log.end] if log.end else [])]
        self.faults.update(fault for record in records for fault in faults_of(record))


def faults_table(logs: Iterable[EpisodeLog], name: str = "faults") -> Table:
    """Calls, faults and ends of each arm of each cell.

    Parameters
    ----------
    logs : iterable of EpisodeLog
        Of any studies; held one at a time.
    name : str
        File name.
    """
    rows: dict[tuple[str, str, int, str], _Row] = {}
    for log in logs:
        header = log.header
        order = RUNGS.index(header.arm.name) if header.arm.name in RUNGS else len(RUNGS)
        rows.setdefault((header.study, header.cell.slug, order, header.arm.slug), _Row()).take(log)
    blocks, records = [], []
    for study in sorted({key[0] for key in rows}):
        lines: list[tuple[str, ...]] = []
        heading = ""
        for key in sorted(key for key in rows if key[0] == study):
            _, cell, _, arm = key
            if cell != heading:
                lines.append((spanning(escape(cell), _COLUMNS),))
                heading = cell
            lines.append(_cells(arm, rows[key]))
            records.append(_record(study, cell, arm, rows[key]))
        blocks.append(Block(f"Study {escape(study)}", tuple(lines)))
    if not blocks:
        blocks.append(Block("", (("no logs", NOT_RUN_TEXT),)))
    tex = booktabs(
        r"@{}lrrrp{0.22\linewidth}p{0.22\linewidth}@{}",
        [("Arm", "Episodes", "Compl.", "Calls", "Excluded, by reason", "Tries without an answer, by kind")], blocks,
        notes=["A try without an answer was made again and counts as nothing; an episode whose call found no answer at "
               "all is excluded, neither a success nor a failure. Calls of a compiled state are counted with each arm "
               "that shares it."],
        source=SOURCE)
    return Table(name, tex, tuple(records))


def _cells(arm: str, row: _Row) -> tuple[str, ...]:
    excluded = {reason: count for reason, count in row.ended.items() if reason != EndReason.COMPLETED}
    return (r"\quad " + escape(arm), str(row.ended.total()), str(row.ended[EndReason.COMPLETED]), str(row.calls),
            _listed(excluded), _listed(row.faults))


def _listed(counts: dict[str, int] | Counter[Fault]) -> str:
    return escape(", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(counts.items()))) or "0"


def _record(study: str, cell: str, arm: str, row: _Row) -> dict[str, object]:
    return {"study": study, "cell": cell, "arm": arm, "episodes": row.ended.total(),
            **{reason.value: row.ended[reason] for reason in EndReason}, UNFINISHED: row.ended[UNFINISHED],
            "calls": row.calls, "faults": row.faults.total(), **{fault.value: row.faults[fault] for fault in Fault}}
