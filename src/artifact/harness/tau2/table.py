"""Table 20: the airline study, measured beside what the paper reports."""

from collections.abc import Iterable, Sequence

from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.intervals import Estimate, paired_difference, pass1, share
from artifact.harness.tau2.measures import Verdict
from artifact.report.reported import Reported
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "reported: data/reported.csv, Table 20; measured: artifact.harness.tau2.measures.judged"
REPORTED_TABLE = "Table 20"
_SETS = ("all", "unaffected")
_HEADS = ("Rung", "$n$", "pass$^1$", "difference to raw", "wrongful", "violating", "refused", "of gold")

NOTES = (
    "Means over tasks with 95\\,\\% bootstrap intervals over tasks; differences are paired by task and seed. $n$: "
    "completed episodes; those that infrastructure ended are left out and counted in the CSV. Wrongful: episodes whose "
    "final database is wrong through a write that no gold write equals. Violating: executed writes that the reference "
    "rules refuse. Refused: calls that the gate refused or bounced; of gold: among them, calls that equal a gold "
    "write. Floor: tasks that an agent passes by doing nothing. Unaffected: tasks whose gold writes neither "
    "contradict the policy nor were corrected upstream.",
    "The paper's values are of its own models, rules and tasks; where it gives none, the cell is empty.",
)


def airline_table(verdicts: Sequence[Verdict], reported: Sequence[Reported], name: str = "tau2") -> Table:
    """A block for each measured cell and task set, and one for each model that the paper reports.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    records: list[dict[str, object]] = []
    blocks: list[Block] = []
    cells = sorted({(verdict.study, verdict.cell.slug): verdict.cell for verdict in verdicts}.items())
    for (study, slug), cell in cells:
        mine = [verdict for verdict in verdicts if (verdict.study, verdict.cell.slug) == (study, slug)]
        for chosen in _SETS:
            of_set = [verdict for verdict in mine if chosen == "all" or verdict.unaffected]
            rows = [_record(of_set, rung) for rung in Rung]
            records += [{"study": study, "agent": cell.model, **cell.settings, "tasks": chosen, **row} for row in rows]
            if of_set:
                blocks.append(Block(_heading(study, cell.model, cell.settings, chosen, of_set),
                                    tuple(_row(row) for row in rows)))
    if not cells:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    blocks += _reported_blocks(reported)
    tex = booktabs("@{}lrllrrrr@{}", [_HEADS], blocks, notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def floor(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """On how many of the tasks at hand doing nothing passes, and how many there are."""
    idle = {verdict.task: verdict.idle_passes for verdict in verdicts}
    return sum(idle.values()), len(idle)


def _record(verdicts: Sequence[Verdict], rung: Rung) -> dict[str, object]:
    ran = [verdict for verdict in verdicts if verdict.rung == rung]
    completed = [verdict for verdict in ran if verdict.completed]
    passing, wrongful = pass1(ran), share(ran, lambda verdict: verdict.wrongful)
    versus = paired_difference([v for v in verdicts if v.rung == Rung.RAW], ran) if rung is not Rung.RAW else None
    idle, tasks = floor(verdicts)

    def total(counted: Iterable[int]) -> int | None:
        return sum(counted) if completed else None

    bounced = total(len(verdict.refusals) for verdict in completed)
    repeats = total(verdict.repeats for verdict in completed)
    return {
        "rung": str(rung), "n": len(completed), "excluded": len(ran) - len(completed), "passed":
        total(verdict.passed for verdict in completed), "pass1": passing.value, "pass1_low": passing.low,
        "pass1_high": passing.high, "floor_passed": idle, "floor_tasks": tasks,
        "difference": versus.value if versus else None, "difference_low": versus.low if versus else None,
        "difference_high": versus.high if versus else None, "pairs": versus.episodes if versus else 0,
        "wrongful_share": wrongful.value, "writes": total(verdict.writes for verdict in completed),
        "violating_writes": total(verdict.violating_writes for verdict in completed), "refused": bounced,
        "refused_gold": total(verdict.refused_gold for verdict in completed), "repeats": repeats,
        "withdrawals": bounced - repeats if rung is Rung.NOTICE and bounced is not None and repeats is not None
        else None,
        "catchable_share": share(ran, lambda verdict: verdict.catchable).value if rung is Rung.RAW else None,
    }


def _row(record: dict[str, object]) -> tuple[str, ...]:
    rung = str(record["rung"])
    if not record["n"]:
        return (rung, "0", small(NOT_RUN_TEXT))
    difference = "" if record["difference"] is None else (
        f"${record['difference']:+.2f}$ "
        + small(f"$[{record['difference_low']:+.2f}, {record['difference_high']:+.2f}]$"))
    return (rung, str(record["n"]),
            f"{record['pass1']:.2f} " + small(f"[{record['pass1_low']:.2f}, {record['pass1_high']:.2f}]"), difference,
            f"{100 * float(str(record['wrongful_share'])):.0f}" + r"\,\%", str(record["violating_writes"]),
            str(record["refused"]), str(record["refused_gold"]))


def _heading(study: str, agent: str, settings: dict[str, str], chosen: str, verdicts: Sequence[Verdict]) -> str:
    idle, tasks = floor(verdicts)
    which = f"{tasks} {'unaffected ' if chosen == 'unaffected' else ''}task{'s' * (tasks != 1)}, floor {idle}"
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    return f"{escape(agent)}, {escape(words)} ({escape(study)}): {which}"


def _reported_blocks(reported: Sequence[Reported]) -> list[Block]:
    values = {(row.cell, row.arm, row.metric): row.value for row in reported if row.table == REPORTED_TABLE}
    blocks = []
    for cell in sorted({cell for cell, _, _ in values}):
        rows = []
        for rung in Rung:
            low = values.get((cell, f"raw->{rung}", "pass1_difference_low"))
            high = values.get((cell, f"raw->{rung}", "pass1_difference_high"))
            percent = values.get((cell, str(rung), "wrongful_write_episodes_percent"))
            rows.append((str(rung), "", escape(values.get((cell, str(rung), "pass1"), "")),
                         small(f"[{low}, {high}]") if low and high else "", percent + r"\,\%" if percent else ""))
        blocks.append(Block(f"Reported, {escape(cell.split('.tau2')[0])}", tuple(rows)))
    return blocks


def estimate_text(estimate: Estimate) -> str:
    """An estimate in words, for a terminal."""
    if estimate.value is None:
        return NOT_RUN_TEXT
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
