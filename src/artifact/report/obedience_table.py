"""Obedience to each trap directive, with the matcher's agreement and redo flag (the paper's Table 11)."""

from collections.abc import Sequence

from artifact.report.grid import Column, Row, Value, grid, interval, share
from artifact.report.measures import TRAP_DIRECTIVES, matched_requests, trap_directives
from artifact.report.reported import Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import proportion
from artifact.report.tables import Table

COLUMNS = (
    Column("blocked"), Column("cancelled"), Column("done"), Column("all traps", ("obedience",)),
    Column("obedient\nepisodes"),
    Column("matcher", ("matcher_agreement", "matcher_agreement_min", "matcher_agreement_max")),
    Column("redo\nprecision", ("redo_flag_precision",)),
    Column("redo\nrecall", ("redo_flag_recall", "redo_flag_recall_min")),
)
NOTES = (
    r"Directives that forbid, as issued, and how many of them the agent heeded (no execution of the named step on that "
    r"turn), with 95\,\% Wilson intervals. Episodes: without any such disobedience. Matcher: requests of a step that "
    "were resolved to it. Redo: the matcher's flag against the scripted orders to redo. Both on turns on which the "
    "matcher ran, which it doesn't after a failed compile. Directive rung, where nothing but the directive keeps the "
    "agent from executing.",
)


def obedience_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "obedience") -> Table:
    """Build the table of the directive rung.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    rows = [Row(sample.configuration, sample.arm, _values(sample)) for sample in samples(scored, arms=("directive",))]
    return grid(name, COLUMNS, rows, reported, tables=("Table 11",), notes=NOTES,
                source="from artifact.scorer.turn_frame: directive_kind, directive_step, executed, matched_step")


def _values(sample: Sample) -> tuple[Value, ...]:
    traps = trap_directives(sample)
    kinds = {kind: traps[traps["directive_kind"] == kind] for kind in TRAP_DIRECTIVES}
    disobedient = set(traps.loc[~traps["obeyed"], "seed"])
    requests = matched_requests(sample)
    matched = sample.turns[sample.turns["matched"]]
    orders, flagged = matched["kind"] == "legit_redo", matched["matched_redo"].astype(bool)
    return (
        *(interval(kind, proportion(int(found["obeyed"].sum()), len(found))) for kind, found in kinds.items()),
        interval("traps", proportion(int(traps["obeyed"].sum()), len(traps)), digits=3),
        share("obedient_episodes", sample.n - len(disobedient), sample.n, digits=2),
        share("matcher", int(requests["agrees"].sum()), len(requests)),
        share("redo_precision", int((orders & flagged).sum()), int(flagged.sum())),
        share("redo_recall", int((orders & flagged).sum()), int(orders.sum())))
