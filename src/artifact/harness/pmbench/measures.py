"""A log to its verdict: what PM-Bench measures of one run, from the log alone.

Rows are aligned by the steps' ids. What a step selected counts after the gate: a refused selection did nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from artifact.harness.pmbench.accuracy import Meant, rightly_recorded
from artifact.harness.pmbench.environment import CLOCK
from artifact.harness.pmbench.records import RECORD_TYPES, AnswerRecord, CompileRecord, StepRecord
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.truth import Intention
from artifact.harness.pmbench.week import CueKind
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.harness.records import HarnessCell
from artifact.log.records import EndReason

_INTENTIONS = TypeAdapter(tuple[Intention, ...])
_MEANT = TypeAdapter(tuple[Meant, ...])
_SCALE = 100


@dataclass(frozen=True)
class Outcomes:
    """What became of the scored intentions of one kind of cue.

    Parameters
    ----------
    hit, late, missed : int
        Done when due; done in the late window; not done.
    announced : int
        Those that the matcher named at a step at which they were due.
    """

    hit: int = 0
    late: int = 0
    missed: int = 0
    announced: int = 0

    @property
    def scored(self) -> int:
        """All of them."""
        return self.hit + self.late + self.missed


@dataclass(frozen=True)
class Verdict:
    """One run of a week.

    Parameters
    ----------
    study, cell, arm, week, seed
        Which run; `arm` with its options in words.
    reason : str
        Why its log ends; ``unfinished`` when it hasn't.
    true_positives, false_positives, false_negatives : int
        Over the steps' chosen and due sets.
    outcomes : dict of str to Outcomes
        By kind of cue.
    steps : int
        Steps of the week that the log holds.
    late_selections : int
        False positives in the late window.
    update_violations : int
        Selections of a task that an update in force at that step has called off or moved, neither due nor late.
    update_violations_late : int
        The same with late selections counted too, as a scorer that knows no late window would.
    announced, announced_due : int
        Announcements of the matcher, and those of what was due.
    announced_false : int
        False positives that the rung had announced, or said to be still due.
    refused, refused_due : int
        Selections that a gate refused, and those that were due.
    queries, clock_queries, capped_steps : int
        Readings of clock and channels, those of the clock alone, and steps in which the limit was reached.
    invalid, unanswered, unlisted, matcher_failures : int
        Unreadable replies, steps without a usable choice, handles that no menu listed, matcher questions without a
        usable answer.
    wrote_ledger : int
        Choices that held a ledger.
    operations, rejected : int
        Compiled operations of the record, and those that couldn't be used.
    meant, recorded : int
        Intentions of the week, and those that the compiled record has once and right; 0 where no record is owned.
    calls : int
        Answers of the model in this run.
    """

    study: str
    cell: HarnessCell
    arm: str
    week: str
    seed: int
    reason: str
    true_positives: int
    false_positives: int
    false_negatives: int
    outcomes: dict[str, Outcomes]
    steps: int
    late_selections: int
    update_violations: int
    update_violations_late: int
    announced: int
    announced_due: int
    announced_false: int
    refused: int
    refused_due: int
    queries: int
    clock_queries: int
    capped_steps: int
    invalid: int
    unanswered: int
    unlisted: int
    matcher_failures: int
    wrote_ledger: int
    operations: int
    rejected: int
    meant: int
    recorded: int
    calls: int

    @property
    def completed(self) -> bool:
        """Whether the run says something about the agent."""
        return self.reason == EndReason.COMPLETED

    @property
    def set_f1(self) -> float:
        """2TP / (2TP + FP + FN); 1 where nothing was due and nothing chosen."""
        both = 2 * self.true_positives
        total = both + self.false_positives + self.false_negatives
        return both / total if total else 1.0

    @property
    def false_alarms(self) -> int:
        """Selections when nothing or something else was due."""
        return self.false_positives - self.late_selections

    def percent(self, what: str) -> float:
        """Share of the scored intentions that were hit, late or missed, in percent."""
        scored = sum(one.scored for one in self.outcomes.values())
        return _SCALE * sum(getattr(one, what) for one in self.outcomes.values()) / scored if scored else 0.0

    def recall(self, kind: CueKind | None = None) -> float | None:
        """Share of what was due that the matcher named, of one kind of cue or of all; None for a rung without one."""
        chosen = [one for name, one in self.outcomes.items() if kind in (None, name)]
        scored = sum(one.scored for one in chosen)
        return sum(one.announced for one in chosen) / scored if scored and Rung(self.arm).directs else None

    @property
    def precision(self) -> float | None:
        """Share of the matcher's announcements that were due; None where there are none."""
        return self.announced_due / self.announced if self.announced else None


class _Scorer:
    """Follows one run through its steps."""

    def __init__(self, log: HarnessLog) -> None:
        subject = log.header.subject
        self._intentions = {one.id: one for one in _INTENTIONS.validate_python(subject["intentions"])}
        self._place = {step: index for index, step in enumerate(subject["steps"])}
        self._hit: set[str] = set()
        self._late: set[str] = set()
        self._announced: set[str] = set()
        self.counts: Counter[str] = Counter()
        rows = [record for record in log.records if isinstance(record, StepRecord)]
        for row in sorted(rows, key=lambda row: self._place[row.step]):
            self._take(row, self._place[row.step])

    def _take(self, row: StepRecord, step: int) -> None:
        due = {name for name, one in self._intentions.items()
               if one.is_due(step) and name not in self._hit | self._late}
        chosen = set(row.selected) - set(row.refused)
        told = set(row.announced) | set(row.carried)
        counts = self.counts
        counts["steps"] += 1
        counts["true_positives"] += len(chosen & due)
        counts["false_positives"] += len(chosen - due)
        counts["false_negatives"] += len(due - chosen)
        counts["announced_false"] += len((chosen - due) & told)
        counts["announced"] += len(row.announced)
        counts["announced_due"] += len(due & set(row.announced))
        counts["refused"] += len(row.refused)
        counts["refused_due"] += len(due & set(row.refused))
        self._announced |= due & set(row.announced)
        self._hit |= chosen & due
        for name in sorted(chosen - due):
            one = self._intentions.get(name)
            if one is None:
                continue
            is_late = one.is_late(step) and name not in self._hit | self._late
            counts["late_selections"] += is_late
            counts["update_violations"] += one.is_updated(step) and not is_late
            counts["update_violations_late"] += one.is_updated(step)
            if is_late:
                self._late.add(name)
        counts["queries"] += len(row.queries)
        counts["clock_queries"] += row.queries.count(CLOCK)
        counts["capped_steps"] += row.is_capped
        counts["invalid"] += row.invalid
        counts["unanswered"] += row.choice is None
        counts["unlisted"] += row.unlisted
        counts["matcher_failures"] += row.matcher_failures
        counts["wrote_ledger"] += row.wrote_ledger

    def outcomes(self) -> dict[str, Outcomes]:
        """By kind of cue."""
        found = {}
        for kind in CueKind:
            names = {name for name, one in self._intentions.items() if one.is_scored and one.kind == kind}
            hit, late = len(names & self._hit), len(names & self._late)
            found[str(kind)] = Outcomes(hit, late, len(names) - hit - late, len(names & self._announced))
        return found


_COUNTS = (
    "true_positives", "false_positives", "false_negatives", "steps", "late_selections", "update_violations",
    "update_violations_late", "announced", "announced_due", "announced_false", "refused", "refused_due", "queries",
    "clock_queries", "capped_steps", "invalid", "unanswered", "unlisted", "matcher_failures",
    "wrote_ledger",
)


def judge(log: HarnessLog) -> Verdict:
    """Score one log."""
    header, scorer = log.header, _Scorer(log)
    compiles = [record for record in log.records if isinstance(record, CompileRecord)]
    subject, owns = header.subject, Rung(header.arm.text).owns_record
    meant = _MEANT.validate_python(subject["meant"]) if owns else ()
    recorded = rightly_recorded(meant, compiles, subject["days"], subject["channels"]) if owns else 0
    return Verdict(
        study=header.study, cell=header.cell, arm=header.arm.text, week=header.item, seed=header.seed,
        reason=str(log.end.reason) if log.end is not None else "unfinished", outcomes=scorer.outcomes(),
        operations=sum(len(one.operations) for one in compiles), rejected=sum(len(one.rejected) for one in compiles),
        meant=len(meant), recorded=recorded, calls=sum(isinstance(record, AnswerRecord) for record in log.records),
        **{name: scorer.counts[name] for name in _COUNTS})


def judged(sources: Iterable[Path]) -> tuple[Verdict, ...]:
    """Score all logs of this harness in files and folders; a run that lies in two places is counted once."""
    found: dict[tuple[str, str, str, str, int], Verdict] = {}
    for log in iter_harness_logs(sources, "pmbench", RECORD_TYPES):
        verdict = judge(log)
        found.setdefault((verdict.study, verdict.cell.slug, verdict.arm, verdict.week, verdict.seed), verdict)
    return tuple(found.values())
