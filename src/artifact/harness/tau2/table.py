"""Table 20: the airline study, measured beside what the paper reports."""

from collections.abc import Iterable, Iterator, Sequence

from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.intervals import (
    Estimate,
    discordant,
    paired_difference,
    pass1,
    raw_beside,
    reference_beside,
    share,
)
from artifact.harness.tau2.measures import Verdict
from artifact.report.reported import Reported
from artifact.report.tables import NONE_COMPLETED_TEXT, NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small, spanning

SOURCE = "reported: data/reported.csv, Table 20; measured: artifact.harness.tau2.measures.judged"
REPORTED_TABLE = "Table 20"
_SETS = ("all", "unaffected")
_HEADS = (("", "", "", "difference", "dis-", "wrong-", "vio-", "catch-", "re-", "of", "", ""),
          ("Rung", "passed", "pass$^1$", "to raw", "cordant", "ful", "lating", "able", "fused", "gold", "silent",
           "cut"))

NOTES = (
    "Passed: episodes with reward 1 of those completed; what infrastructure ended is left out and counted in the CSV."
    " 95\\,\\% bootstrap intervals over tasks, none where all tasks say the same. Differences are paired by task and "
    "seed, with the raw episodes of the same study and players, whatever the rules, since none acts there; "
    "discordant: pairs that raw alone passes, and that the rung alone passes. To reference: the same rung under the "
    "reference rules in place of raw, so that what compiling costs is told from the coupling. Wrongful: episodes "
    "whose final database is wrong through a write that no gold write equals. Violating: executed writes that the "
    "reference rules refuse. Catchable: raw episodes in which such a write was tried. Refused: calls that the gate "
    "refused or bounced; of gold: among them, calls that equal a gold write. Silent: episodes in which the agent "
    "never came to speak; cut: those that the limit of messages ended. Floor: tasks that an agent passes by doing "
    "nothing. Unaffected: tasks whose gold writes neither contradict the policy nor were corrected upstream.",
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
            everywhere = [verdict for verdict in verdicts if chosen == "all" or verdict.unaffected]
            of_set = [verdict for verdict in mine if chosen == "all" or verdict.unaffected]
            raw = raw_beside(everywhere, study, cell)
            rows = [_record(of_set, rung, raw, reference_beside(everywhere, study, cell, rung)) for rung in Rung]
            records += [{"study": study, "agent": cell.model, **cell.settings, "tasks": chosen, **row} for row in rows]
            if of_set:
                blocks.append(Block(_heading(study, cell.model, cell.settings, chosen, of_set),
                                    tuple(_rows(rows))))
    if not cells:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    blocks += _reported_blocks(reported)
    tex = booktabs("@{}lrllrrrrrrrr@{}", _HEADS, blocks, notes=NOTES, source=SOURCE)
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


def _record(verdicts: Sequence[Verdict], rung: Rung, raw: Sequence[Verdict],
            reference: Sequence[Verdict]) -> dict[str, object]:
    """A row of the CSV; a measure that a rung doesn't have is empty there."""
    ran = [verdict for verdict in verdicts if verdict.rung == rung]
    completed = [verdict for verdict in ran if verdict.completed]
    passing, idle_and_all = pass1(ran), floor(verdicts)

    def total(counted: Iterable[int]) -> int | None:
        return sum(counted) if completed else None

    record: dict[str, object] = {
        "rung": str(rung), "n": len(completed), "excluded": len(ran) - len(completed),
        "passed": total(v.passed for v in completed), "pass1": passing.value, "pass1_low": passing.low,
        "pass1_high": passing.high, "floor_passed": idle_and_all[0], "floor_tasks": idle_and_all[1],
        **_versus(raw if rung is not Rung.RAW else (), ran, "", "raw"),
        **_versus(reference if rung in (Rung.NOTICE, Rung.ENFORCEMENT) else (), ran, "reference_", "reference"),
        "wrongful": total(v.wrongful for v in completed), "writes": total(v.writes for v in completed),
        "violating_writes": total(v.violating_writes for v in completed),
        "refused": total(len(v.refusals) for v in completed), "refused_gold": total(v.refused_gold for v in completed),
        "repeats": "", "withdrawals": "", "catchable": "", "catchable_share": "",
        "silent": total(v.silent for v in completed), "cut": total(v.cut for v in completed),
        "max_steps": limits(ran),
    }
    if rung is Rung.NOTICE:
        record |= {"repeats": total(v.repeats for v in completed),
                   "withdrawals": total(v.withdrawals for v in completed)}
    if rung is Rung.RAW:
        record |= {"catchable": total(v.catchable for v in completed),
                   "catchable_share": share(ran, lambda verdict: verdict.catchable).value}
    return record


def _versus(other: Sequence[Verdict], ran: Sequence[Verdict], prefix: str, only: str) -> dict[str, object]:
    names = [f"{prefix}{name}" for name in ("difference", "difference_low", "difference_high", "pairs", f"only_{only}",
                                            "only_rung")]
    found = paired_difference(other, ran)
    if not found.episodes:
        return dict.fromkeys(names, "")
    return dict(zip(names, (found.value, found.low, found.high, found.episodes, *discordant(other, ran)), strict=True))


def limits(verdicts: Iterable[Verdict]) -> str:
    """The limits of messages that episodes were run under; one, or something is amiss."""
    return ", ".join(str(limit) for limit in sorted({v.max_steps for v in verdicts if v.max_steps is not None}))


def _rows(records: Sequence[dict[str, object]]) -> Iterator[tuple[str, ...]]:
    """A row for each rung with logs, one that sets it beside the reference, and one that names the rungs without."""
    for record in records:
        if record["n"] or record["excluded"]:
            yield _row(record)
        if record["reference_pairs"]:
            yield (r"\quad to reference", "", "", *_difference(record, "reference_", "reference"))
    without = [str(record["rung"]) for record in records if not record["n"] and not record["excluded"]]
    if without:
        yield (spanning(small(f"{', '.join(without)}: {NOT_RUN_TEXT}"), len(_HEADS[0])),)


def _difference(record: dict[str, object], prefix: str, only: str) -> tuple[str, str]:
    """A paired difference with its interval, and the discordant pairs."""
    if not record[f"{prefix}pairs"]:
        return "", ""
    pairs = record[f"{prefix}only_{only}"], record[f"{prefix}only_rung"]
    return _with_interval(record, f"{prefix}difference", "+.2f"), f"{pairs[0]}, {pairs[1]}"


def _with_interval(record: dict[str, object], name: str, form: str) -> str:
    """A value with its interval; one without width shows too little variety to resample, not certainty."""
    value, low, high = (record[f"{name}{bound}"] for bound in ("", "_low", "_high"))
    interval = "" if low == high else " " + small(f"$[{low:{form}}, {high:{form}}]$")
    return f"${value:{form}}${interval}"


def _row(record: dict[str, object]) -> tuple[str, ...]:
    rung = str(record["rung"])
    if not record["n"]:
        return (rung, small(NONE_COMPLETED_TEXT))
    return (rung, f"{record['passed']}/{record['n']}",
            _with_interval(record, "pass1", ".2f"),
            *_difference(record, "", "raw"), *(str(record[name]) for name in (
                "wrongful", "violating_writes", "catchable", "refused", "refused_gold", "silent", "cut")))


def _heading(study: str, agent: str, settings: dict[str, str], chosen: str, verdicts: Sequence[Verdict]) -> str:
    idle, tasks = floor(verdicts)
    which = f"{tasks} {'unaffected ' if chosen == 'unaffected' else ''}task{'s' * (tasks != 1)}, floor {idle}"
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    limit = f", at most {limits(verdicts)} messages" if limits(verdicts) else ""
    return f"{escape(agent)}, {escape(words)} ({escape(study)}): {which}{limit}"


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
                         small(f"[{low}, {high}]") if low and high else "", "", percent + r"\,\%" if percent else ""))
        blocks.append(Block(f"Reported, {escape(cell.split('.tau2')[0])}", tuple(rows)))
    return blocks


def estimate_text(estimate: Estimate) -> str:
    """An estimate in words, for a terminal."""
    if estimate.value is None:
        return NOT_RUN_TEXT
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
