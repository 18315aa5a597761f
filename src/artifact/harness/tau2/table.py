"""Table 20: the airline study, measured beside what the paper reports."""

from collections.abc import Iterable, Iterator, Sequence

from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.intervals import Estimate, discordant, paired_difference, pass1, share
from artifact.harness.tau2.measures import Verdict
from artifact.report.reported import Reported
from artifact.report.tables import NONE_COMPLETED_TEXT, NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small, spanning

SOURCE = "reported: data/reported.csv, Table 20; measured: artifact.harness.tau2.measures.judged"
REPORTED_TABLE = "Table 20"
_SETS = ("all", "unaffected")
_HEADS = ("Rung", "passed", "pass$^1$", "difference to raw", "wrongful", "violating", "refused", "of gold")

NOTES = (
    "Passed: episodes with reward 1 of those completed; what infrastructure ended is left out and counted in the CSV. "
    "95\\,\\% bootstrap intervals over tasks; differences are paired by task and seed, the CSV has their discordant "
    "pairs. Wrongful: episodes whose final database is wrong through a write that no gold write equals. Violating: "
    "executed writes that the reference rules refuse. Refused: calls that the gate refused or bounced; of gold: among "
    "them, calls that equal a gold write. Floor: tasks that an agent passes by doing nothing. Unaffected: tasks whose "
    "gold writes neither contradict the policy nor were corrected upstream.",
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
                                    tuple(_rows(rows))))
    if not cells:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    blocks += _reported_blocks(reported)
    tex = booktabs("@{}lrllrrrr@{}", [_HEADS], blocks, notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def floor(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """On how many of the tasks at hand doing nothing passes, and how many there are."""
    idle = {verdict.task: verdict.idle_passes for verdict in verdicts}
    return sum(idle.values()), len(idle)


def airline_sentence(verdicts: Sequence[Verdict]) -> str:
    """How much there is to read."""
    if not verdicts:
        return "There are no logs of this harness: its tables read 'not run'."
    lost = sum(not verdict.completed for verdict in verdicts)
    tasks, agents = len({v.task for v in verdicts}), sorted({v.cell.model for v in verdicts})
    return (f"{len(verdicts)} episodes of {tasks} tasks; agents: {', '.join(agents)}. {lost} did not complete, for "
            "reasons of infrastructure, and count neither way.")


def _record(verdicts: Sequence[Verdict], rung: Rung) -> dict[str, object]:
    """A row of the CSV; a measure that a rung doesn't have is empty there."""
    ran = [verdict for verdict in verdicts if verdict.rung == rung]
    completed = [verdict for verdict in ran if verdict.completed]
    passing, idle_and_all = pass1(ran), floor(verdicts)

    def total(counted: Iterable[int]) -> int | None:
        return sum(counted) if completed else None

    refused, repeats = total(len(v.refusals) for v in completed), total(v.repeats for v in completed)
    record: dict[str, object] = {
        "rung": str(rung), "n": len(completed), "excluded": len(ran) - len(completed),
        "passed": total(v.passed for v in completed), "pass1": passing.value, "pass1_low": passing.low,
        "pass1_high": passing.high, "floor_passed": idle_and_all[0], "floor_tasks": idle_and_all[1],
        **_versus([verdict for verdict in verdicts if verdict.rung == Rung.RAW], ran, rung),
        "wrongful": total(v.wrongful for v in completed), "writes": total(v.writes for v in completed),
        "violating_writes": total(v.violating_writes for v in completed), "refused": refused,
        "refused_gold": total(v.refused_gold for v in completed), "repeats": "", "withdrawals": "",
        "catchable_share": "",
    }
    if rung is Rung.NOTICE:
        withdrawals = refused - repeats if refused is not None and repeats is not None else None
        record |= {"repeats": repeats, "withdrawals": withdrawals}
    if rung is Rung.RAW:
        record |= {"catchable_share": share(ran, lambda verdict: verdict.catchable).value}
    return record


def _versus(raw: Sequence[Verdict], ran: Sequence[Verdict], rung: Rung) -> dict[str, object]:
    names = ("difference", "difference_low", "difference_high", "pairs", "only_raw", "only_rung")
    if rung is Rung.RAW:
        return dict.fromkeys(names, "")
    found = paired_difference(raw, ran)
    return dict(zip(names, (found.value, found.low, found.high, found.episodes, *discordant(raw, ran)), strict=True))


def _rows(records: Sequence[dict[str, object]]) -> Iterator[tuple[str, ...]]:
    """A row for each rung with logs, and one that names the rungs without."""
    yield from (_row(record) for record in records if record["n"] or record["excluded"])
    without = [str(record["rung"]) for record in records if not record["n"] and not record["excluded"]]
    if without:
        yield (spanning(small(f"{', '.join(without)}: {NOT_RUN_TEXT}"), len(_HEADS)),)


def _row(record: dict[str, object]) -> tuple[str, ...]:
    rung = str(record["rung"])
    if not record["n"]:
        return (rung, small(NONE_COMPLETED_TEXT))
    difference = "" if record["difference"] in ("", None) else (
        f"${record['difference']:+.2f}$ "
        + small(f"$[{record['difference_low']:+.2f}, {record['difference_high']:+.2f}]$"))
    return (rung, f"{record['passed']}/{record['n']}",
            f"{record['pass1']:.2f} " + small(f"[{record['pass1_low']:.2f}, {record['pass1_high']:.2f}]"), difference,
            f"{record['wrongful']}/{record['n']}", str(record["violating_writes"]), str(record["refused"]),
            str(record["refused_gold"]))


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
