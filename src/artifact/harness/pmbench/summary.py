"""Runs of one cell and rung together: mean and standard deviation of each measure over its completed runs.

A week's runs differ by sampling, and the weeks by their seeds; the spread is over all of them, and the number of weeks
tells which of the two it is.
"""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from artifact.harness.pmbench.measures import Verdict
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.week import CueKind
from artifact.harness.records import HarnessCell

MEASURES: dict[str, Callable[[Verdict], float | None]] = {
    "set_f1": lambda one: one.set_f1,
    "hit_percent": lambda one: one.percent("hit"),
    "late_percent": lambda one: one.percent("late"),
    "miss_percent": lambda one: one.percent("missed"),
    "event_cued_misses_per_run": lambda one: one.outcomes[CueKind.EVENT].missed,
    "channel_cued_misses_per_run": lambda one: one.outcomes[CueKind.CHANNEL].missed,
    "time_cued_misses_per_run": lambda one: one.outcomes[CueKind.TIME].missed,
    "false_selections_per_run": lambda one: one.false_positives,
    "announced_false_selections_per_run": lambda one: one.announced_false,
    "false_alarms_per_run": lambda one: one.false_alarms,
    "update_violations_per_run": lambda one: one.update_violations,
    "update_violations_with_late_per_run": lambda one: one.update_violations_late,
    "queries_per_run": lambda one: one.queries,
    "matcher_precision": lambda one: one.precision,
    "matcher_recall": lambda one: one.recall(),
    "matcher_recall:event": lambda one: one.recall(CueKind.EVENT),
    "matcher_recall:channel": lambda one: one.recall(CueKind.CHANNEL),
    "matcher_recall:time": lambda one: one.recall(CueKind.TIME),
    "refused_selections_per_run": lambda one: one.refused,
    "refused_due_selections_per_run": lambda one: one.refused_due,
    "invalid_replies_per_run": lambda one: one.invalid,
    "unanswered_steps_per_run": lambda one: one.unanswered,
    "capped_steps_per_run": lambda one: one.capped_steps,
    "rejected_operations_per_run": lambda one: one.rejected,
    "ledgers_written_per_run": lambda one: one.wrote_ledger if one.arm == Rung.LEDGER else None,
    "recorded_percent": lambda one: 100 * one.recorded / one.meant if one.meant else None,
    "calls_per_run": lambda one: one.calls,
}
"""The measures by the names that ``data/reported.csv`` has for them, as far as the paper reports them."""


@dataclass(frozen=True)
class Spread:
    """A mean and, from two runs on, the standard deviation; both None without a run."""

    mean: float | None = None
    sd: float | None = None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Spread":
        """Over the runs that have the measure."""
        known = [value for value in values if value is not None]
        if not known:
            return cls()
        return cls(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)

    def text(self, digits: int) -> str:
        """In words, for a terminal; empty without a run."""
        if self.mean is None:
            return ""
        return f"{self.mean:.{digits}f}" + (f" (SD {self.sd:.{digits}f})" if self.sd is not None else "")


@dataclass(frozen=True)
class Summary:
    """One rung of a cell.

    Parameters
    ----------
    study, cell, rung
        Which.
    runs, excluded, weeks : int
        Completed runs, the others, and the different weeks among the completed ones.
    values : dict of str to Spread
        Of each of `MEASURES`.
    """

    study: str
    cell: HarnessCell
    rung: Rung
    runs: int
    excluded: int
    weeks: int
    values: dict[str, Spread]

    def line(self) -> str:
        """In one line, for a terminal."""
        def shown(name: str, digits: int = 1) -> str:
            return self.values[name].text(digits)

        excluded = f"; {self.excluded} excluded" if self.excluded else ""
        if not self.runs:
            return f"{self.cell.slug} {self.rung}: no completed run{excluded}"
        matcher = f"; matcher P {shown('matcher_precision', 2) or 'none'} R {shown('matcher_recall', 2)}" \
            if self.rung.directs else ""
        record = f"; record right {shown('recorded_percent')} %" if self.rung.owns_record else ""
        capped = f" ({shown('capped_steps_per_run')} steps cut off)" if self.values["capped_steps_per_run"].mean else ""
        counted = ("update_violations_per_run", "update_violations_with_late_per_run")
        differ = self.values[counted[0]].mean != self.values[counted[1]].mean
        violations = shown(counted[0]) + (f" ({shown(counted[1])} with late ones)" if differ else "")
        return (f"{self.cell.slug} {self.rung}: Set-F1 {shown('set_f1', 2)} over {self.runs} runs, {self.weeks} weeks; "
                f"hit {shown('hit_percent')} %, late {shown('late_percent')} %, missed {shown('miss_percent')} %; "
                f"false alarms {shown('false_alarms_per_run')}; update violations "
                f"{violations}; queries {shown('queries_per_run')}{capped}; refused "
                f"{shown('refused_selections_per_run')}, due {shown('refused_due_selections_per_run')}; unreadable "
                f"{shown('invalid_replies_per_run')}{record}{matcher}{excluded}")


def summarize(verdicts: Iterable[Verdict], study: str, cell: HarnessCell, rung: Rung) -> Summary:
    """One rung of a cell, with or without runs."""
    ran = [one for one in verdicts if (one.study, one.cell.slug, one.arm) == (study, cell.slug, rung)]
    done = [one for one in ran if one.completed]
    return Summary(study, cell, rung, len(done), len(ran) - len(done), len({one.week for one in done}),
                   {name: Spread.of(map(measure, done)) for name, measure in MEASURES.items()})


def summaries(verdicts: Iterable[Verdict], *, with_missing: bool = False) -> list[Summary]:
    """Every rung of every cell, sorted by cell; those without a run only where asked for."""
    known = tuple(verdicts)
    cells = {(one.study, one.cell.slug): one.cell for one in known}
    found = [summarize(known, study, cell, rung) for (study, _), cell in sorted(cells.items()) for rung in Rung]
    return [one for one in found if with_missing or one.runs + one.excluded]
