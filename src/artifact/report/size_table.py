"""Strict success, per-turn accuracy and re-executions against graph size (the paper's Table 15)."""

from collections.abc import Sequence
from dataclasses import replace

from artifact.report.ladder import RUNGS, Configuration, order, setting
from artifact.report.reported import Conditions, Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import NOT_RUN, proportion
from artifact.report.tables import NOT_RUN_TEXT, Table, agent_tex, identifiers, proportion_record, rate_tex, state_tex
from artifact.report.tex import Block, booktabs, escape, small, spanning
from artifact.taskstate import CANONICAL, Channel

SIZES = ((5, 0.15), (10, 0.15), (15, 0.15), (15, 0.3), (18, 0.15))
EPISODES_OF_A_CELL = 128  # the paper's; counts are given for as many
SOURCE = "from artifact.scorer.episode_frame; reported values: data/reported.csv"
NOTES = (
    r"Strict: k/n and, in the CSV, its 95\,\% Wilson interval. Per turn: share of scored turns served correctly, on "
    "which no claim rests. Re-executions: for every 128 episodes, so that cells of different sizes compare.",
)


def size_samples(scored: ScoredLogs, brief: str = "amended") -> dict[Configuration, dict[str, Sample]]:
    """By agent the samples of the sweep: one configuration a size, whether it was run or not.

    A size that was run in several studies counts in the one with most episodes.
    """
    found: dict[Configuration, dict[str, Sample]] = {}
    for sample in samples(scored, arms=RUNGS):
        c = sample.configuration
        if (c.domain, c.brief, c.schedule) != ("procurement", brief, CANONICAL):
            continue
        arms = found.setdefault(replace(c, study="", cell=""), {})
        if sample.arm not in arms or sample.n > arms[sample.arm].n:
            arms[sample.arm] = sample
    for c in list(found):
        for size, density in SIZES:
            found.setdefault(replace(c, size=size, density=density), {})
    return {c: found[c] for c in sorted(found, key=order)}


def size_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "sizes") -> Table:
    """Build the table of the amended brief.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    sweep = size_samples(scored)
    blocks, records = [], []
    for agent in dict.fromkeys(_agent(c) for c in sweep):
        rows: list[tuple[str, ...]] = []
        for c in (c for c in sweep if _agent(c) == agent):
            rows += [(escape(setting(c.conditions)), *(_cell(sweep[c].get(arm)) for arm in RUNGS))]
            records += [_record(c, arm, sweep[c].get(arm)) for arm in RUNGS]
        state = state_tex(agent)
        title = agent_tex(agent) + (f" ({state})" if state else "") + f", {escape(agent.regime.replace('_', ' '))}"
        blocks.append(Block(f"Measured here: {title}", tuple(rows)))
    if not blocks:
        blocks.append(Block("Measured here", tuple(
            (f"S={size}, {escape('ρ')}={density:g}", small(NOT_RUN_TEXT)) for size, density in SIZES)))
    blocks.append(Block("Reported by the original paper for Qwen3-235B", tuple(_reported_rows(reported))))
    tex = booktabs("@{}lcccc@{}", [("Setting", *(arm.capitalize() for arm in RUNGS)),
                                   ("", *(small("strict; per turn; re-exec.") for _ in RUNGS))], blocks,
                   notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def _agent(c: Configuration) -> Configuration:
    return replace(c, size=0, density=0.0)


def _per_turn(sample: Sample) -> tuple[int, int]:
    return int(sample.episodes["right_turns"].sum()), int(sample.episodes["scored_turns"].sum())


def _re_executions(sample: Sample) -> float:
    return int(sample.episodes[Channel.RE_EXECUTION.value].sum()) / sample.n * EPISODES_OF_A_CELL


def _cell(sample: Sample | None) -> str:
    if sample is None:
        return rate_tex(NOT_RUN)
    right, scored = _per_turn(sample)
    strict = rate_tex(proportion(int(sample.episodes["strict"].sum()), sample.n))
    return f"{strict}; {right / scored:.3f}; {_re_executions(sample):.0f}"


def _record(c: Configuration, arm: str, sample: Sample | None) -> dict[str, object]:
    if sample is None:
        return {**identifiers(c), "arm": arm, **proportion_record(NOT_RUN, 0), "right_turns": None,
                "scored_turns": None, "re_executions_per_128": None}
    right, scored = _per_turn(sample)
    return {**identifiers(sample.configuration), "arm": arm,
            **proportion_record(proportion(int(sample.episodes["strict"].sum()), sample.n), 0), "right_turns": right,
            "scored_turns": scored, "re_executions_per_128": _re_executions(sample)}


def _reported_rows(reported: Sequence[Reported]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    wanted = [(c, row) for row in reported if (c := row.conditions) is not None and row.model == "Qwen3-235B"
              and (c.domain, c.brief) == ("procurement", "amended") and row.table in ("Table 2", "Table 15")]
    for conditions in sorted({c for c, _ in wanted}, key=_by_size):
        values = {arm: _reported_cell([row for c, row in wanted if c == conditions and row.arm == arm])
                  for arm in RUNGS}
        if set(values.values()) != {"--"}:
            rows.append((escape(setting(conditions)), *values.values()))
    ranges = [row for row in reported if row.table == "Table 15" and row.cell.startswith("Qwen3-235B.S05-18")
              and row.metric in ("strict_min", "strict_max")]
    for regime in ("no_think", "think"):
        of_regime = [row for row in ranges if row.cell.endswith(f".{regime}")]
        words = [f"{arm} {' to '.join(row.value for row in of_regime if row.arm == arm)}"
                 for arm in ("raw", "enforcement")]
        if of_regime:
            rows.append((spanning(escape(f"all five sizes, {regime.replace('_', ' ')}: {', '.join(words)}"), 5),))
    return rows


def _by_size(c: Conditions) -> tuple[str, int, float]:
    return c.regime, c.size, c.density


def _reported_cell(rows: Sequence[Reported]) -> str:
    shown = {"strict": "", "re_execution": "re-exec. "}
    words = [f"{shown[row.metric]}{row.value}" for metric in shown for row in rows if row.metric == metric]
    return escape("; ".join(words) or "--")
