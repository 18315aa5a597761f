"""Table 21: PM-Bench under the couplings, measured beside what the paper reports."""

from collections.abc import Sequence

from artifact.harness.pmbench.measures import Verdict
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.summary import MEASURES, Summary, summaries
from artifact.report.reported import Reported
from artifact.report.tables import NONE_COMPLETED_TEXT, NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "reported: data/reported.csv, Table 21; measured: artifact.harness.pmbench.measures.judged"
REPORTED_TABLE = "Table 21"
REPORTED_ARMS = {"self_ledger": Rung.LEDGER, "enforcement.policy=judgement": Rung.JUDGEMENT,
                 "enforcement.policy=state": Rung.STATE}
RUNG_WORDS = {Rung.LEDGER: "self-written ledger", Rung.JUDGEMENT: "enforcement, judgement",
              Rung.STATE: "enforcement, state"}

# Header, measure, decimals.
_COLUMNS = (
    ("Set-F1", "set_f1", 2), (r"hit\,\%", "hit_percent", 0), (r"miss\,\%", "miss_percent", 0),
    ("false alarms", "false_alarms_per_run", 1), ("violations", "update_violations_per_run", 1),
    ("queries", "queries_per_run", 0), ("precision", "matcher_precision", 2), ("recall", "matcher_recall", 2),
    ("refused", "refused_selections_per_run", 1), ("due", "refused_due_selections_per_run", 1),
)
_HAS_NO_MATCHER = (Rung.RAW, Rung.LEDGER, Rung.CHECKLIST)
_HAS_A_GATE = (Rung.JUDGEMENT, Rung.STATE)

NOTES = (
    "Means over the completed runs of a cell ($n$ runs), with standard deviations of Set-F1 in parentheses. Hit and "
    "miss: shares of the scored intentions; the rest was done late. The other columns are counts a run. False alarms: "
    "selections when nothing or something else was due. Violations: those of them that an update in force had called "
    "off or moved. Precision and recall: of the matcher's announcements. Refused, due: selections that the gate "
    "refused, and those of them that were due. Runs that infrastructure ended are left out and counted in the CSV, "
    "where every measure has its standard deviation.",
    "The paper's values are of its own models and of the benchmark's released week; where its text gives none, the "
    "cell is empty, or the rung left out.",
)


def week_table(verdicts: Sequence[Verdict], reported: Sequence[Reported], name: str = "pmbench") -> Table:
    """A block for each measured cell, and one for each that the paper reports.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    found = summaries(verdicts, with_missing=True)
    blocks = []
    for study, slug in sorted({(one.study, one.cell.slug) for one in found}):
        mine = [one for one in found if (one.study, one.cell.slug) == (study, slug)]
        settings = ", ".join(f"{key} {value.removeprefix('T')}" for key, value in mine[0].cell.settings.items())
        weeks = max(one.weeks for one in mine)
        heading = f"{mine[0].cell.model}, {settings} ({study}): {weeks} week{'s' * (weeks != 1)}"
        blocks.append(Block(escape(heading), tuple(_row(one) for one in mine)))
    if not blocks:
        blocks.append(Block("Measured", tuple((_words(rung), "0", small(NOT_RUN_TEXT)) for rung in Rung)))
    blocks += _reported_blocks(reported)
    heads = ("Rung", "$n$", *(head for head, _, _ in _COLUMNS))
    tex = booktabs("@{}lr" + "r" * len(_COLUMNS) + "@{}", [heads], blocks, notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(map(_record, found)))


def _words(rung: Rung) -> str:
    return RUNG_WORDS.get(rung, str(rung))


def _record(one: Summary) -> dict[str, object]:
    record: dict[str, object] = {"study": one.study, "agent": one.cell.model, **one.cell.settings,
                                 "rung": str(one.rung), "n": one.runs, "excluded": one.excluded, "weeks": one.weeks}
    for name in MEASURES:
        record |= {name: one.values[name].mean, f"{name}_sd": one.values[name].sd}
    return record


def _row(one: Summary) -> tuple[str, ...]:
    if not one.runs:
        return (_words(one.rung), "0", small(NONE_COMPLETED_TEXT if one.excluded else NOT_RUN_TEXT))
    cells = []
    for _, measure, digits in _COLUMNS:
        value = one.values[measure]
        text = "" if value.mean is None or not _applies(one.rung, measure) else f"{value.mean:.{digits}f}"
        sd = small(f"({value.sd:.2f})") if measure == "set_f1" and value.sd is not None else ""
        cells.append(f"{text} {sd}".strip())
    return (_words(one.rung), str(one.runs), *cells)


def _applies(rung: Rung, measure: str) -> bool:
    if measure.startswith("matcher_"):
        return rung not in _HAS_NO_MATCHER
    return rung in _HAS_A_GATE or not measure.startswith("refused_")


def _reported_blocks(reported: Sequence[Reported]) -> list[Block]:
    values = {(row.cell, REPORTED_ARMS.get(row.arm, row.arm), row.metric): row.value
              for row in reported if row.table == REPORTED_TABLE}
    blocks = []
    for cell in sorted({cell for cell, _, _ in values}):
        rows = []
        for rung in Rung:
            shown = [escape(values.get((cell, rung, measure), "")) for _, measure, _ in _COLUMNS]
            sd = values.get((cell, rung, "set_f1_sd"))
            shown[0] += f" {small(f'({escape(sd)})')}" if sd else ""
            rows += [(_words(rung), "", *shown)] if any(shown) else []
        agent, _, temperature = cell.partition(".pm-bench.T")
        blocks.append(Block(f"Reported, {escape(agent)}, temperature {escape(temperature)}", tuple(rows)))
    return blocks
