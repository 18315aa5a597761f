"""Table 19: the ladder with real tools, measured beside what the paper reports; and the same with failing tools."""

from collections.abc import Sequence
from itertools import pairwise

from artifact.harness.tools.measures import ToolVerdict
from artifact.harness.tools.plan import LADDER
from artifact.harness.tools.records import Outcome
from artifact.report.numbers import Number
from artifact.report.reported import Reported
from artifact.report.statistics import Contrast, holm, mcnemar, proportion
from artifact.report.tables import NOT_RUN_TEXT, Table, p_text
from artifact.report.tex import Block, booktabs, escape, macro_name, small
from artifact.taskstate import Channel

SOURCE = "reported: data/reported.csv, Table 19; measured: artifact.harness.tools.measures.judged"
REPORTED_TABLE = "Table 19"
ARMS = tuple(str(arm) for arm in LADDER)
_REPORTED_ARMS = dict(zip(ARMS, ("raw", "checklist", "directive", "enforcement", "enforcement.request"), strict=True))
_CHANNELS = (Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE, Channel.OMISSION, Channel.UNREQUESTED,
             Channel.REFUSED_REDO)
_HEADS = ("Arm", "$n$", "strict", "$p$", "re-ex.", "super.", "prem.", "omis.", "unreq.", "ref.\\ redo", "refused",
          "bad")

NOTES = (
    "Strict success with its 95\\,\\% Wilson interval; $p$: exact McNemar against the arm above on shared seeds, "
    "Holm over the contrasts of the block. Violations are counts over all completed episodes; $n$ leaves out those "
    "that infrastructure ended. Refused: calls that the gate refused; bad: ACTION lines that named no tool, a wrong "
    "work order or two actions, or that could not be read. The last arm is enforcement bound to the request.",
    "The paper's values are of its own models; where it gives none, the cell is empty.",
)
_FAILURE_NOTES = (
    "Stamped again: times that a tool did the work of a step anew that was done, without an order to redo it; left: "
    "turns in which every call of the due tool failed before its work, which count as no error of the agent.",
)


def tools_table(verdicts: Sequence[ToolVerdict], reported: Sequence[Reported], name: str = "tools") -> Table:
    """A block for each measured cell whose tools always work, and one for each model that the paper reports.

    Parameters
    ----------
    verdicts : sequence of ToolVerdict
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    records: list[dict[str, object]] = []
    blocks: list[Block] = []
    for (study, _), group in _cells([verdict for verdict in verdicts if not verdict.failure_rate]):
        contrasts = ladder_contrasts(group)
        rows = [_record(group, arm, contrasts) for arm in ARMS]
        cell = group[0].cell
        records += [{"study": study, "agent": cell.model, **cell.settings, **row} for row in rows]
        blocks.append(Block(f"{escape(cell.model)}, {escape(cell.settings['cell'])} ({escape(study)})",
                            tuple(_row(row) for row in rows)))
    if not blocks:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    blocks += _reported_blocks(reported)
    return Table(name, booktabs(f"@{{}}lrl{9 * 'r'}@{{}}", [_HEADS], blocks, notes=NOTES,
                                source=SOURCE), tuple(records))


def failing_tools_table(verdicts: Sequence[ToolVerdict], name: str = "tools_failing") -> Table:
    """Strict success and repeated work where tools fail, a block for each cell."""
    records: list[dict[str, object]] = []
    blocks: list[Block] = []
    for (study, _), group in _cells([verdict for verdict in verdicts if verdict.failure_rate]):
        rows = [{**_record(group, arm, ()), **_failing(group, arm)} for arm in ARMS]
        cell = group[0].cell
        records += [{"study": study, "agent": cell.model, **cell.settings, **row} for row in rows]
        words = ", ".join(value for value in (cell.settings["cell"], cell.settings["failures"],
                                              "" if group[0].idempotent else "not idempotent") if value)
        blocks.append(Block(f"{escape(cell.model)}, {escape(words)} ({escape(study)})",
                            tuple(_failing_row(row) for row in rows)))
    if not blocks:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    heads = ("Arm", "$n$", "strict", "failed", "timed out", "stamped again", "left", "refused")
    return Table(name, booktabs("@{}lrlrrrrr@{}", [heads], blocks, notes=_FAILURE_NOTES,
                                source=SOURCE.partition("; ")[2]), tuple(records))


def ladder_contrasts(verdicts: Sequence[ToolVerdict]) -> tuple[Contrast, ...]:
    """Each arm of one cell against the one above it, Holm-corrected."""
    by_arm = {arm: {v.seed: v.strict if v.completed else None for v in verdicts if v.arm.text == arm} for arm in ARMS}
    return holm([mcnemar(by_arm[lower], by_arm[upper], (lower, upper)) for lower, upper in pairwise(ARMS)])


def tools_numbers(verdicts: Sequence[ToolVerdict]) -> list[Number]:
    """Strict successes of every measured cell and arm, as macros."""
    numbers = []
    for (study, slug), group in _cells(verdicts):
        for arm in ARMS:
            done = [verdict for verdict in group if verdict.arm.text == arm and verdict.completed]
            if done:
                cell = group[0].cell
                numbers.append(Number(
                    macro_name("rq4", study, cell.model, *cell.settings.values(), arm.replace(":", " "), "strict"),
                    f"{sum(verdict.strict for verdict in done)}/{len(done)}", f"{study}/{slug}, {arm}: strict"))
    return numbers


def _cells(verdicts: Sequence[ToolVerdict]) -> list[tuple[tuple[str, str], list[ToolVerdict]]]:
    groups: dict[tuple[str, str], list[ToolVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.study, verdict.cell.slug), []).append(verdict)
    return sorted(groups.items())


def _record(verdicts: Sequence[ToolVerdict], arm: str, contrasts: Sequence[Contrast]) -> dict[str, object]:
    ran = [verdict for verdict in verdicts if verdict.arm.text == arm]
    done = [verdict for verdict in ran if verdict.completed]
    strict = proportion(sum(verdict.strict for verdict in done), len(done))
    versus = next((contrast for contrast in contrasts if contrast.upper == arm), None)

    def total(of: Channel | None = None, outcome: Outcome | None = None) -> int | None:
        if not done:
            return None
        return sum(verdict.count(of) if of is not None else verdict.outcomes.get(str(outcome), 0) for verdict in done)

    return {
        "arm": arm, "n": len(done), "excluded": len(ran) - len(done), "strict": strict.k if done else None,
        "rate": strict.estimate, "low": strict.low, "high": strict.high,
        "only_lower": versus.only_lower if versus and versus.is_measured else None,
        "only_upper": versus.only_upper if versus and versus.is_measured else None,
        "p": versus.p if versus else None, "p_holm": versus.p_holm if versus else None,
        **{str(channel): total(channel) for channel in _CHANNELS}, "refused": total(outcome=Outcome.REFUSED),
        "bad_input": sum(verdict.bad_input for verdict in done) if done else None,
    }


def _failing(verdicts: Sequence[ToolVerdict], arm: str) -> dict[str, object]:
    done = [verdict for verdict in verdicts if verdict.arm.text == arm and verdict.completed]
    if not done:
        return {"failed": None, "timed_out": None, "stamped_again": None, "left_by_tools": None}
    return {"failed": sum(verdict.outcomes.get(Outcome.FAILED, 0) for verdict in done),
            "timed_out": sum(verdict.outcomes.get(Outcome.TIMED_OUT, 0) for verdict in done),
            "stamped_again": sum(verdict.re_stamped for verdict in done),
            "left_by_tools": sum(verdict.left_by_tools for verdict in done)}


def _strict_text(record: dict[str, object]) -> str:
    return (f"{record['strict']}/{record['n']} "
            + small(f"[{float(str(record['low'])):.2f}, {float(str(record['high'])):.2f}]"))


def _row(record: dict[str, object]) -> tuple[str, ...]:
    if not record["n"]:
        return (_arm(record), "0", small(NOT_RUN_TEXT))
    p = escape(p_text(float(str(record["p_holm"])))) if record["p_holm"] is not None else ""
    return (_arm(record), str(record["n"]), _strict_text(record), p,
            *(str(record[channel]) for channel in _CHANNELS), str(record["refused"]), str(record["bad_input"]))


def _failing_row(record: dict[str, object]) -> tuple[str, ...]:
    if not record["n"]:
        return (_arm(record), "0", small(NOT_RUN_TEXT))
    return (_arm(record), str(record["n"]), _strict_text(record),
            *(str(record[name]) for name in ("failed", "timed_out", "stamped_again", "left_by_tools", "refused")))


def _arm(record: dict[str, object]) -> str:
    return escape(str(record["arm"]).replace(":policy=request", ", request"))


def _reported_blocks(reported: Sequence[Reported]) -> list[Block]:
    values = {(row.cell, row.arm, row.metric): row for row in reported if row.table == REPORTED_TABLE}
    blocks = []
    for cell in dict.fromkeys(cell for cell, _, _ in values):
        rows = []
        previous = ""
        for arm, named in _REPORTED_ARMS.items():
            strict = values.get((cell, named, "strict"))
            p = values.get((cell, f"{previous}->{named}", "p"))
            counts = [values.get((cell, named, str(channel))) for channel in _CHANNELS]
            n, rate = (str(strict.n or ""), escape(strict.value)) if strict else ("", "")
            rows.append((_arm({"arm": arm}), n, rate,
                         escape(p.value) if p else "", *(escape(one.value) if one else "" for one in counts)))
            previous = named
        blocks.append(Block(f"Reported, {escape(cell.removesuffix('.tools'))}", tuple(rows)))
    return blocks
