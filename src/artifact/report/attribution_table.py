"""What the enforcement gate's omissions are laid to (the paper's Table 10)."""

from collections.abc import Sequence

from artifact.report.grid import Column, Row, Value, count, grid
from artifact.report.reported import Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.tables import Table
from artifact.scorer.attribution import Cause, Root

_PAPERS_CELLS = "Qwen3-235B.ten enforcement cells"
COLUMNS = (
    Column("omis-\nsions", ("omission",)), Column("de-\nclined", ("omission_declined",)),
    Column("wrong\nref", ("omission_wrong_ref",)), Column("over-\nblocked", ("omission_over_blocked",)),
    Column("corr.\nref", ("correct_bookings_refused",)), Column("empty", ("over_block_empty_code",)),
    Column("canc.", ("over_block_cancelled_prerequisite",)), Column("rewire", ("over_block_invented_rewire",)),
    Column("other"), Column("mis-\nrouted"), Column("wrong\nstatus"), Column("no\nstate"),
    Column("defect", ("episodes_validator_flags",)), Column(r"$\neq$GT"), Column("epi-\nsodes"),
)
NOTES = (
    "Each omission counts once. Declined: told to execute, no new ref line. Wrong ref: another code, or a work order "
    "never booked. Over-blocked: the state called the owed step blocked or refused the right booking (corr. ref, "
    "whichever directive went before), because of an empty, shared or wrong code, of a cancelled step left in, of a "
    "rewire that the generator doesn't know, or otherwise. Beyond the paper's columns: the matcher named another step "
    "or none; the state called an owed step done or cancelled; there was no state. "
    r"Defect: episodes that the validator flags; $\neq$GT: with any disagreement between compiled and generated state.",
)


def attribution_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "attribution") -> Table:
    """Build the table of the enforcement rung.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    rows = [Row(sample.configuration, sample.arm, _values(sample))
            for sample in samples(scored, arms=("enforcement",))]
    theirs = [row for row in reported if row.cell == _PAPERS_CELLS]
    return grid(name, COLUMNS, rows, theirs, tables=("Table 10", "prose"), notes=NOTES,
                source="from the frames of omissions and compiles of artifact.scorer.score_frames")


def _values(sample: Sample) -> tuple[Value, ...]:
    omissions = sample.omissions
    causes = {cause: int((omissions["cause"] == cause.value).sum()) for cause in Cause}
    roots = {root: int((omissions["root"] == root.value).sum()) for root in Root}
    return (
        count("omissions", len(omissions)), count("declined", causes[Cause.DECLINED]),
        count("wrong_ref", causes[Cause.WRONG_REF]), count("over_blocked", causes[Cause.OVER_BLOCKED]),
        count("correct_ref_refused", int(omissions["correct_ref_refused"].sum())),
        count("empty_code", roots[Root.EMPTY_CODE]), count("cancelled_left_in", roots[Root.CANCELLED_LEFT_IN]),
        count("invented_rewire", roots[Root.INVENTED_REWIRE]),
        count("other_root", roots[Root.OTHER] + roots[Root.CORRUPTION]),
        count("misrouted", causes[Cause.MISROUTED] + causes[Cause.UNRESOLVED]),
        count("wrong_status", causes[Cause.WRONG_STATUS]), count("no_state", causes[Cause.NO_STATE]),
        count("flagged", int(sample.compiles["flagged"].sum())),
        count("unlike_truth", int((~sample.compiles["whole"]).sum())), count("episodes", sample.n))
