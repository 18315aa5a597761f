"""Enforcing only where the validator passes the compiled state, scored offline (Appendix D.3).

Two readings, neither of which replays a conversation. *By decision*: in flagged episodes the gate's refusals become
directives, so that nothing is over-blocked there; what is over-blocked elsewhere stays, and the paper finds none of it.
*By episode*: a flagged seed counts as its directive run did, where the same seed has one.
"""

from collections.abc import Sequence

from artifact.report.grid import Column, Row, Value, count, grid, share
from artifact.report.reported import Reported
from artifact.report.samples import Sample, sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.tables import Table
from artifact.scorer.attribution import Cause

_HYBRID = "enforcement.validator_fallback"
COLUMNS = (
    Column("episodes"), Column("flagged", ("episodes_validator_flags",), "enforcement"),
    Column("refused\nright", ("correct_bookings_refused",), "enforcement"), Column("refused,\nunflagged"),
    Column("over-\nblocked"), Column("blocked,\nunflagged"), Column("pairs"),
    Column("strict,\nenforced", ("strict_count",), "enforcement"),
    Column("strict,\nhybrid", ("strict_count",), _HYBRID), Column("omissions,\nenforced", ("omission",), "enforcement"),
    Column("omissions,\nhybrid", ("omission",), _HYBRID),
)
NOTES = (
    "Refused right: right bookings of owed steps that the gate refused. Over-blocked: omissions laid to a state that "
    "called the owed step blocked. Unflagged: those of them in episodes that the validator passes, which a gate "
    "that enforces there alone would refuse as well. Pairs: seeds with both gates; on these, "
    "strict successes and omissions as enforced, and with the directive run's outcome on flagged seeds.",
)


def validator_gate_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "validator_gate") -> Table:
    """Build the table.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    rows = [Row(c, "hybrid", _values(enforced, sample(scored, c, "directive")))
            for enforced in samples(scored, arms=("enforcement",)) for c in (enforced.configuration,)]
    return grid(name, COLUMNS, rows, reported, tables=("prose",), notes=NOTES, label_head="",
                source="from the frames of compiles, omissions and episodes of artifact.scorer.score_frames")


def _values(enforced: Sample, directed: Sample) -> tuple[Value, ...]:
    flagged = set(enforced.compiles.loc[enforced.compiles["flagged"], "seed"])
    is_passed = ~enforced.omissions["seed"].isin(flagged)
    is_refused = enforced.omissions["correct_ref_refused"]
    is_over_blocked = enforced.omissions["cause"] == Cause.OVER_BLOCKED.value
    strict, strict_directed = enforced.strict_by_seed, directed.strict_by_seed
    pairs = sorted(strict.keys() & strict_directed.keys())
    hybrid = [strict_directed[seed] if seed in flagged else strict[seed] for seed in pairs]
    of_pairs = enforced.omissions["seed"].isin(pairs)
    kept = of_pairs & is_passed
    instead = directed.omissions["seed"].isin(flagged & set(pairs))
    return (
        count("episodes", enforced.n), count("flagged", len(flagged)), count("refused_right", int(is_refused.sum())),
        count("refused_right_not_in_flagged", int((is_refused & is_passed).sum())),
        count("over_blocked", int(is_over_blocked.sum())),
        count("over_blocked_not_in_flagged", int((is_over_blocked & is_passed).sum())), count("pairs", len(pairs)),
        share("enforced", sum(map(bool, (strict[seed] for seed in pairs))), len(pairs), digits=2),
        share("hybrid", sum(map(bool, hybrid)), len(pairs), digits=2),
        count("enforced_omissions", int(of_pairs.sum())),
        count("hybrid_omissions", int(kept.sum()) + int(instead.sum())))
