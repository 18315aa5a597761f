"""Table 19: the ladder with real tools, measured beside what the paper reports; and the same with failing tools."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from artifact.harness.tools.measures import ToolVerdict
from artifact.harness.tools.plan import LADDER
from artifact.harness.tools.records import Outcome
from artifact.report.numbers import Number
from artifact.report.reported import Reported
from artifact.report.statistics import Contrast, holm, mcnemar, proportion
from artifact.report.tables import NONE_COMPLETED_TEXT, NOT_RUN_TEXT, Table, p_text
from artifact.report.tex import Block, booktabs, escape, macro_name, small
from artifact.taskstate import Channel

SOURCE = "reported: data/reported.csv, Table 19; measured: artifact.harness.tools.measures.judged"
REPORTED_TABLE = "Table 19"
ARMS = tuple(str(arm) for arm in LADDER)
_REPORTED_ARMS = dict(zip(ARMS, ("raw", "checklist", "directive", "enforcement", "enforcement.request"), strict=True))
_CHANNELS = (Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE, Channel.OMISSION, Channel.UNREQUESTED,
             Channel.REFUSED_REDO)
_HEADS = ("Arm", "$n$", "lost", "strict", "pairs", "$p$", "re-ex.", "super.", "prem.", "omis.", "unreq.",
          "ref.\\ redo", "refused", "bad")

NOTES = (
    "Strict success with its 95\\,\\% Wilson interval; pairs: seeds on which only the arm above, and only this one, "
    "was right; $p$: exact McNemar over them, Holm over the contrasts of the block. Violations are counts over all "
    "completed episodes, $n$; lost: episodes that infrastructure or the end of the context ended, by reason in the "
    "CSV. Refused: calls that the gate refused; bad: ACTION lines that named no tool, a wrong work order or two "
    "actions, that stood amid words, or that could not be read. The last arm is enforcement bound to the request.",
    "The paper's values are of its own models; where it gives none, the cell is empty.",
)
_FAILURE_NOTES = (
    "Above each arm's row with failing tools its row without failures on the same seeds, where it was run. Stamped "
    "again: times that a tool did the work of a step anew that was done, without an order to redo it. Tried again: "
    "calls for a work order after one for it that had failed or timed out; twice: those in which a tool did again "
    "what it had done before it timed out, without a receipt for it. Left: turns in which every call of the due tool "
    "failed until the turn's rounds were used up, which count as no error of the agent; who stops before is counted "
    "as an omission. Pairs and $p$: against the arm above, Holm over the block.",
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
    return Table(name, booktabs(f"@{{}}lrrl{10 * 'r'}@{{}}", [_HEADS], blocks, notes=NOTES,
                                source=SOURCE), tuple(records))


def failing_tools_table(verdicts: Sequence[ToolVerdict], name: str = "tools_failing") -> Table:
    """Strict success and repeated work where tools fail, a block for each cell."""
    records: list[dict[str, object]] = []
    blocks: list[Block] = []
    for (study, _), group in _cells([verdict for verdict in verdicts if verdict.failure_rate]):
        cell, contrasts = group[0].cell, ladder_contrasts(group)
        sound = [verdict for verdict in verdicts if not verdict.failure_rate and verdict.cell.model == cell.model
                 and verdict.cell.settings["cell"] == cell.settings["cell"]]
        rows = []
        for arm in ARMS:
            seeds = {verdict.seed for verdict in group if verdict.arm.text == arm}
            same = [verdict for verdict in sound if verdict.arm.text == arm and verdict.seed in seeds]
            rows += [{**_record(same, arm, ()), **_failing(same, arm), "failures": False}] * bool(same)
            rows.append({**_record(group, arm, contrasts), **_failing(group, arm), "failures": True})
        records += [{"study": study, "agent": cell.model, **cell.settings, **row} for row in rows]
        words = ", ".join(value for value in (cell.settings["cell"], cell.settings["failures"],
                                              "" if group[0].idempotent else "not idempotent") if value)
        blocks.append(Block(f"{escape(cell.model)}, {escape(words)} ({escape(study)})",
                            tuple(_failing_row(row) for row in rows)))
    if not blocks:
        blocks.append(Block("Measured", (("no logs", small(NOT_RUN_TEXT)),)))
    heads = ("Arm", "$n$", "strict", "pairs", "$p$", "omis.", "failed", "timed out", "stamped again", "tried again",
             "twice", "left", "refused")
    return Table(name, booktabs(f"@{{}}lrl{10 * 'r'}@{{}}", [heads], blocks, notes=_FAILURE_NOTES,
                                source=SOURCE.partition("; ")[2]), tuple(records))


def ladder_contrasts(verdicts: Sequence[ToolVerdict]) -> tuple[Contrast, ...]:
    """Each arm of one cell against the one above it, Holm-corrected."""
    by_arm = {arm: {v.seed: v.strict if v.completed else None for v in verdicts if v.arm.text == arm} for arm in ARMS}
    return holm([mcnemar(by_arm[lower], by_arm[upper], (lower, upper)) for lower, upper in pairwise(ARMS)])


def tools_numbers(verdicts: Sequence[ToolVerdict]) -> list[Number]:
    """Strict successes of every measured cell and arm, and how its failing calls were taken, as macros."""
    numbers = []
    for (study, slug), group in _cells(verdicts):
        for arm in ARMS:
            done = [verdict for verdict in group if verdict.arm.text == arm and verdict.completed]
            if done:
                cell = group[0].cell
                stem = macro_name("rq4", study, cell.model, *cell.settings.values(), arm.replace(":", " "))
                numbers.append(Number(stem + macro_name("strict"),
                                      f"{sum(verdict.strict for verdict in done)}/{len(done)}",
                                      f"{study}/{slug}, {arm}: strict"))
                failing = _failing(group, arm) if group[0].failure_rate else {}
                numbers += [Number(stem + macro_name(name), str(value), f"{study}/{slug}, {arm}: {name}")
                            for name, value in failing.items()]
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
        "arm": arm, "n": len(done), "excluded": len(ran) - len(done), "excluded_by": _reasons(ran),
        "strict": strict.k if done else None,
        "rate": strict.estimate, "low": strict.low, "high": strict.high,
        "only_lower": versus.only_lower if versus and versus.is_measured else None,
        "only_upper": versus.only_upper if versus and versus.is_measured else None,
        "p": versus.p if versus else None, "p_holm": versus.p_holm if versus else None,
        **{str(channel): total(channel) for channel in _CHANNELS}, "refused": total(outcome=Outcome.REFUSED),
        "bad_input": sum(verdict.bad_input for verdict in done) if done else None,
    }


def _reasons(ran: Sequence[ToolVerdict]) -> str:
    lost = Counter(verdict.reason for verdict in ran if not verdict.completed)
    return ", ".join(f"{reason} {count}" for reason, count in sorted(lost.items()))


_FAILING = ("failed", "timed_out", "stamped_again", "tried_again", "worked_twice", "left_by_tools")


def _failing(verdicts: Sequence[ToolVerdict], arm: str) -> dict[str, object]:
    done = [verdict for verdict in verdicts if verdict.arm.text == arm and verdict.completed]
    if not done:
        return dict.fromkeys(_FAILING)
    counts = [(one.outcomes.get(Outcome.FAILED, 0), one.outcomes.get(Outcome.TIMED_OUT, 0), one.re_stamped,
               one.tried_again, one.worked_twice, one.left_by_tools) for one in done]
    return dict(zip(_FAILING, map(sum, zip(*counts, strict=True)), strict=True))


def _strict_text(record: dict[str, object]) -> str:
    return (f"{record['strict']}/{record['n']} "
            + small(f"[{float(str(record['low'])):.2f}, {float(str(record['high'])):.2f}]"))


def _versus(record: dict[str, object]) -> tuple[str, str]:
    if record["p_holm"] is None:
        return "", ""
    return f"{record['only_lower']}/{record['only_upper']}", escape(p_text(float(str(record["p_holm"]))))


def _row(record: dict[str, object]) -> tuple[str, ...]:
    if not record["n"]:
        return (_arm(record), "0", str(record["excluded"]),
                small(NONE_COMPLETED_TEXT if record["excluded"] else NOT_RUN_TEXT))
    return (_arm(record), str(record["n"]), str(record["excluded"]), _strict_text(record), *_versus(record),
            *(str(record[channel]) for channel in _CHANNELS), str(record["refused"]), str(record["bad_input"]))


def _failing_row(record: dict[str, object]) -> tuple[str, ...]:
    arm = _arm(record) if record["failures"] else escape(f"{record['arm']}, no failures".replace(":policy=", ", "))
    if not record["n"]:
        return (arm, "0", small(NONE_COMPLETED_TEXT if record["excluded"] else NOT_RUN_TEXT))
    return (arm, str(record["n"]), _strict_text(record), *_versus(record), str(record[Channel.OMISSION]),
            *(str(record[name]) for name in (*_FAILING, "refused")))


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
            rows.append((_arm({"arm": arm}), n, "", rate, "",
                         escape(p.value) if p else "", *(escape(one.value) if one else "" for one in counts)))
            previous = named
        blocks.append(Block(f"Reported, {escape(cell.removesuffix('.tools'))}", tuple(rows)))
    return blocks
