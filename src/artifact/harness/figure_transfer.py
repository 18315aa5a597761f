"""How far the ladder carries: the couplings of each world side by side, measured beside what the paper reports."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artifact.harness.pmbench import rungs as pmbench
from artifact.harness.pmbench.measures import Verdict as WeekVerdict
from artifact.harness.pmbench.table import REPORTED_ARMS
from artifact.harness.tau2 import gate as tau2
from artifact.harness.tau2.intervals import pass1
from artifact.harness.tau2.measures import Verdict as AirlineVerdict
from artifact.harness.tools.measures import ToolVerdict
from artifact.harness.tools.table import ARMS as TOOL_ARMS
from artifact.log.reader import holds_episode_logs
from artifact.report.figure_points import Point, point
from artifact.report.ladder import RUNGS
from artifact.report.reported import Reported
from artifact.report.samples import Sample
from artifact.report.scored import ScoredLogs, load_scored
from artifact.report.size_table import size_samples
from artifact.report.statistics import proportion
from artifact.report.style import ARM_COLOURS, FAINT, INK, MUTED, TEXT_WIDTH, figure_style, new_figure

_Verdict = TypeVar("_Verdict", ToolVerdict, AirlineVerdict, WeekVerdict)
_REQUEST_BOUND = "enforcement:policy=request"
# How a rung of another world stands under its axis, and the rung of the testbed whose colour it has.
_SHORT = {_REQUEST_BOUND: "request-bound", pmbench.Rung.JUDGEMENT: "judgement-bound", pmbench.Rung.STATE: "state-bound"}
_ALIKE = {"shown": "checklist", "notice": "directive", _REQUEST_BOUND: "enforcement",
          pmbench.Rung.JUDGEMENT: "enforcement", pmbench.Rung.STATE: "enforcement"}
_MARKERS = ("o", "s", "D", "^", "v", "P")
_WIDTH = 0.5  # of a rung, shared by the agents that ran it


@dataclass(frozen=True)
class World:
    """One panel.

    Parameters
    ----------
    name, measure : str
        Its title, and what is drawn of it.
    rungs : tuple of str
        Its couplings, the weaker first.
    measured : dict of str to dict of str to Point
        Agent -> rung -> value with its bounds.
    reported : dict of str to tuple of float
        Rung -> the paper's values, one a model of its own.
    """

    name: str
    measure: str
    rungs: tuple[str, ...]
    measured: dict[str, dict[str, Point]]
    reported: dict[str, tuple[float, ...]]


def worlds(
    sources: Iterable[Path], called: Sequence[ToolVerdict], airline: Sequence[AirlineVerdict],
    weeks: Sequence[WeekVerdict], reported: Sequence[Reported],
) -> tuple[World, ...]:
    """The worlds that the couplings were tried in, the testbed first.

    Of the testbed each agent's smallest project of several steps under the amended brief is shown, beside the paper's
    main cells; of every other world the cell of an agent that has most completed episodes, among tools those that
    always work.

    Parameters
    ----------
    sources : iterable of Path
        Where logs of the testbed lie, if any do.
    called, airline, weeks : sequence of verdicts
        Scored logs of the harnesses.
    reported : sequence of Reported
        The paper's values.
    """
    testbed = load_scored(filter(holds_episode_logs, sources))
    return (
        World("lifecycle testbed", "strict success", RUNGS, dict(_testbed(testbed)),
              _reported(reported, "Table 2", "strict", RUNGS)),
        World("real tools", "strict success", TOOL_ARMS, _tools(called),
              _reported(reported, "Table 19", "strict", TOOL_ARMS, {"enforcement.request": _REQUEST_BOUND})),
        World("τ²-bench airline", "pass¹", tuple(tau2.Rung), _airline(airline),
              _reported(reported, "Table 20", "pass1", tuple(tau2.Rung))),
        World("PM-Bench", "Set-F1", tuple(pmbench.Rung), _weeks(weeks),
              _reported(reported, "Table 21", "set_f1", tuple(pmbench.Rung), dict(REPORTED_ARMS))),
    )


def transfer_figure(shown: Sequence[World]) -> Figure:
    """Draw the worlds, a panel each; a rung that no agent ran has no point.

    Parameters
    ----------
    shown : sequence of World
        From `worlds`.
    """
    agents = sorted({agent for world in shown for agent in world.measured})
    with figure_style():
        figure = new_figure(TEXT_WIDTH, 2.5)
        axes = figure.subplots(1, len(shown), sharey=True, squeeze=False, gridspec_kw={
            "wspace": 0.13, "width_ratios": [len(world.rungs) for world in shown]})[0]
        for axis, world in zip(axes, shown, strict=True):
            _panel(axis, world, agents)
        handles = [Line2D([], [], linestyle="none", marker=_marker(agents, agent), color=INK, markersize=4.5,
                          label=agent) for agent in agents]
        handles.append(Line2D([], [], color=FAINT, linewidth=2.2, label="reported, the paper's models"))
        figure.legend(handles=handles, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.04))
    return figure


def _panel(axis: Axes, world: World, agents: Sequence[str]) -> None:
    axis.set_title(world.name, fontsize=7.5, color=INK, pad=12)
    axis.annotate(world.measure, (0, 1), xytext=(0, 4), xycoords="axes fraction", textcoords="offset points",
                  fontsize=6, color=MUTED)
    axis.set_xlim(-0.6, len(world.rungs) - 0.4)
    axis.set_ylim(-0.03, 1.03)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_xticks(range(len(world.rungs)), [_SHORT.get(rung, str(rung)) for rung in world.rungs], rotation=40,
                    ha="right", rotation_mode="anchor")
    axis.tick_params(axis="both", length=0)
    axis.tick_params(axis="x", labelsize=6.2)
    mine = [agent for agent in agents if agent in world.measured]
    if not mine:
        axis.text((len(world.rungs) - 1) / 2, 0.5, "not run", ha="center", color=MUTED)
    for x, rung in enumerate(world.rungs):
        for value in world.reported.get(rung, ()):
            axis.hlines(value, x - 0.36, x + 0.36, color=FAINT, linewidth=2.2, zorder=2)
        for place, agent in enumerate(mine):
            measured = world.measured[agent].get(rung)
            if measured is not None:
                at = x + (place + 0.5) / len(mine) * _WIDTH - _WIDTH / 2
                colour = ARM_COLOURS.get(_ALIKE.get(rung, str(rung)), MUTED)
                axis.vlines(at, measured.low, measured.high, color=colour, linewidth=1.3, zorder=3)
                axis.plot(at, measured.rate, marker=_marker(agents, agent), color=colour, markersize=4.5,
                          markeredgecolor="white", markeredgewidth=0.5, zorder=4, clip_on=False)


def _marker(agents: Sequence[str], agent: str) -> str:
    return _MARKERS[agents.index(agent) % len(_MARKERS)]


def _testbed(scored: ScoredLogs) -> Iterator[tuple[str, dict[str, Point]]]:
    smallest: dict[str, dict[str, Sample]] = {}
    for configuration, arms in size_samples(scored).items():  # sizes ascend
        # A project of one step has no order to keep: it is a case apart (Appendix J).
        if arms and configuration.size > 1 and configuration.model not in smallest:
            smallest[configuration.model] = arms
    for agent, arms in smallest.items():
        yield agent, {arm: point(proportion(int(sample.episodes["strict"].sum()), sample.n))
                      for arm, sample in arms.items()}


def _tools(called: Sequence[ToolVerdict]) -> dict[str, dict[str, Point]]:
    working = [verdict for verdict in called if not verdict.failure_rate]
    return {agent: {arm: point(proportion(sum(done), len(done))) for arm in TOOL_ARMS
                    if (done := [verdict.strict for verdict in mine if verdict.arm.text == arm])}
            for agent, mine in _largest(working).items()}


def _airline(verdicts: Sequence[AirlineVerdict]) -> dict[str, dict[str, Point]]:
    shown: dict[str, dict[str, Point]] = {}
    for agent, mine in _largest(verdicts).items():
        for rung in tau2.Rung:
            one = pass1(verdict for verdict in mine if verdict.rung == rung)
            if one.value is not None and one.low is not None and one.high is not None:
                shown.setdefault(agent, {})[rung] = Point(one.value, one.low, one.high)
    return shown


def _weeks(verdicts: Sequence[WeekVerdict]) -> dict[str, dict[str, Point]]:
    """The mean over runs with the lowest and the highest of them: too few for an interval."""
    return {agent: {rung: Point(fmean(runs), min(runs), max(runs)) for rung in pmbench.Rung
                    if (runs := [verdict.set_f1 for verdict in mine if verdict.arm == rung])}
            for agent, mine in _largest(verdicts).items()}


def _largest(verdicts: Iterable[_Verdict]) -> dict[str, list[_Verdict]]:
    """By agent the completed episodes of the cell that has most of them; the first by name where several do."""
    cells: dict[tuple[str, str, str], list[_Verdict]] = {}
    for verdict in verdicts:
        if verdict.completed:
            cells.setdefault((verdict.cell.model, verdict.study, verdict.cell.slug), []).append(verdict)
    largest: dict[str, list[_Verdict]] = {}
    for (agent, _, _), mine in sorted(cells.items(), key=lambda cell: (-len(cell[1]), cell[0])):
        largest.setdefault(agent, mine)
    return largest


def _reported(
    reported: Sequence[Reported], table: str, metric: str, rungs: Sequence[str], names: dict[str, str] | None = None,
) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {}
    for row in reported:
        rung = (names or {}).get(row.arm, row.arm)
        if (row.table, row.metric) == (table, metric) and rung in rungs:
            found.setdefault(rung, []).append(float(row.value))
    return {rung: tuple(sorted(values)) for rung, values in found.items()}
