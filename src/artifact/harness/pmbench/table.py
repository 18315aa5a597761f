"""Table 21: PM-Bench under the couplings, measured beside what the paper reports; and the same by kind of cue."""

from collections.abc import Sequence

from artifact.harness.pmbench.measures import Verdict
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.summary import MEASURES, Summary, summaries
from artifact.harness.pmbench.week import CueKind
from artifact.report.reported import Reported
from artifact.report.tables import NONE_COMPLETED_TEXT, NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "reported: data/reported.csv, Table 21; measured: artifact.harness.pmbench.measures.judged"
REPORTED_TABLE = "Table 21"
REPORTED_ARMS = {"self_ledger": Rung.LEDGER, "enforcement.policy=judgement": Rung.JUDGEMENT,
                 "enforcement.policy=state": Rung.STATE}
RUNG_WORDS = {Rung.LEDGER: "self-written ledger", Rung.JUDGEMENT: "enforcement, judgement",
              Rung.STATE: "enforcement, state"}

VIOLATIONS, QUERIES = "update_violations_per_run", "queries_per_run"
# Header, measure, decimals.
_COLUMNS = (
    ("Set-F1", "set_f1", 2), (r"hit\,\%", "hit_percent", 0), (r"miss\,\%", "miss_percent", 0),
    ("false alarms", "false_alarms_per_run", 1), ("violations", VIOLATIONS, 1),
    ("queries", QUERIES, 0), ("precision", "matcher_precision", 2), ("recall", "matcher_recall", 2),
    ("refused", "refused_selections_per_run", 1), ("due", "refused_due_selections_per_run", 1),
    (r"record\,\%", "recorded_percent", 0),
)
_HAS_NO_MATCHER = (Rung.RAW, Rung.LEDGER, Rung.CHECKLIST)
_HAS_A_GATE = (Rung.JUDGEMENT, Rung.STATE)

NOTES = (
    "Means over the completed runs of a cell ($n$ runs), with standard deviations of Set-F1 in parentheses: over "
    "different weeks where a block has a run a week, over repeated runs where it has one week, as in the paper. Hit "
    "and miss: shares of the scored intentions; the rest was done late. The other columns are counts a run. False "
    "alarms: "
    "selections when nothing or something else was due. Violations: those of them on a task that an update in force "
    "had called off or moved; in parentheses, where it differs, the count with late selections. Queries: in "
    "parentheses, where it was reached, the steps a run in which the limit cut them off. Precision and recall: of the "
    "matcher's announcements. Refused, due: selections that the gate refused, and those of them that were due. Record: "
    "share of the intentions that the compiled record has once and right. Every measure has its standard deviation in "
    "the CSV.",
    "The paper's values are of its own models and of the benchmark's released week; where its text gives none, the "
    "cell is empty, or the rung left out.",
)
_CUE_NOTES = (
    "Scored intentions over all completed runs by where their trigger can be seen: hit when due, late, and missed; "
    "recall: of the matcher's announcements, over the same intentions. Ledgers: choices in which the agent wrote its "
    "ledger, over all steps. Unusable: replies that could not be read, and compiled operations that were left out.",
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
        blocks.append(Block(escape(_heading(mine)), tuple(_row(one) for one in mine)))
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
        cells.append(f"{text} {sd}{_beside(one, measure)}".strip())
    lost = small(f"(+{one.excluded} ended by infrastructure)") if one.excluded else ""
    return (_words(one.rung), f"{one.runs} {lost}".strip(), *cells)


def _beside(one: Summary, measure: str) -> str:
    """The second count of a measure that has one."""
    late, capped = one.values["update_violations_with_late_per_run"].mean, one.values["capped_steps_per_run"].mean
    if measure == VIOLATIONS and late is not None and late != one.values[measure].mean:
        return small(f"({late:.1f})")
    return small(f"({capped:.1f})") if measure == QUERIES and capped else ""


def _heading(cell: Sequence[Summary]) -> str:
    one = cell[0]
    settings = ", ".join(f"{key} {value.removeprefix('T')}" for key, value in one.cell.settings.items())
    weeks = max(one.weeks for one in cell)
    return f"{one.cell.model}, {settings} ({one.study}): {weeks} week{'s' * (weeks != 1)}"


def cue_table(verdicts: Sequence[Verdict], name: str = "pmbench_cues") -> Table:
    """What became of the intentions by kind of cue, a block for each measured cell.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Scored logs.
    name : str
        File name.
    """
    blocks, records = [], []
    found = summaries(verdicts)
    for study, slug in sorted({(one.study, one.cell.slug) for one in found}):
        mine = [one for one in found if (one.study, one.cell.slug) == (study, slug)]
        rows = []
        for one in mine:
            done = [v for v in verdicts if (v.study, v.cell.slug, v.arm) == (study, slug, one.rung) and v.completed]
            if done:
                counted = _by_cue(done)
                records.append({"study": study, "agent": one.cell.model, **one.cell.settings, "rung": str(one.rung),
                                "n": len(done), **counted})
                rows.append((_words(one.rung), *_cue_row(counted, one.rung)))
        blocks.append(Block(escape(_heading(mine)), tuple(rows)))
    if not blocks:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    kinds = [escape(str(kind)) for kind in CueKind]
    heads = ("Rung", *(f"{kind}: hit/late/miss" for kind in kinds), *(f"recall {kind}" for kind in kinds), "ledgers",
             "unusable")
    return Table(name, booktabs("@{}l" + "r" * (len(heads) - 1) + "@{}", [heads], blocks, notes=_CUE_NOTES,
                                source=SOURCE.partition("; ")[2]), tuple(records))


def _by_cue(done: Sequence[Verdict]) -> dict[str, object]:
    counted: dict[str, object] = {}
    for kind in CueKind:
        for what in ("hit", "late", "missed", "announced"):
            counted[f"{kind}_{what}"] = sum(getattr(one.outcomes[kind], what) for one in done)
    return {**counted, "steps": sum(one.steps for one in done), "ledgers": sum(one.wrote_ledger for one in done),
            "invalid": sum(one.invalid for one in done), "rejected": sum(one.rejected for one in done)}


def _cue_row(counted: dict[str, object], rung: Rung) -> tuple[str, ...]:
    became = [[int(str(counted[f"{kind}_{what}"])) for what in ("hit", "late", "missed")] for kind in CueKind]
    recalled = [f"{counted[f'{kind}_announced']}/{sum(all_)}" if rung.directs else ""
                for kind, all_ in zip(CueKind, became, strict=True)]
    return (*("/".join(map(str, all_)) for all_ in became), *recalled,
            f"{counted['ledgers']}/{counted['steps']}" if rung is Rung.LEDGER else "",
            f"{counted['invalid']}, {counted['rejected']}")


def _applies(rung: Rung, measure: str) -> bool:
    if measure == "recorded_percent":
        return rung.owns_record
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
