"""Figure 4(a): strict success against graph size, one panel an agent, the paper's own values in a muted one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artifact.report.figure_points import Point, point
from artifact.report.ladder import RUNGS, Configuration
from artifact.report.reported import Reported, reported_ladders
from artifact.report.samples import Sample
from artifact.report.scored import ScoredLogs
from artifact.report.size_table import SIZES, size_samples
from artifact.report.statistics import proportion
from artifact.report.style import ARM_COLOURS, ARM_MARKERS, INK, MUTED, TEXT_WIDTH, figure_style, new_figure

_DODGE = 0.16
_LABELS = [f"{size}\ndense" if density != 0.15 else str(size) for size, density in SIZES]
_REPORTED_MODEL = "Qwen3-235B"


def size_sweep(scored: ScoredLogs, reported: Sequence[Reported], brief: str = "amended") -> Figure:
    """Draw the sweep; a size without logs has no point.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    brief : str
        Which wording of the brief.
    """
    by_agent: dict[Configuration, dict[tuple[int, float], Mapping[str, Sample]]] = {}
    for c, arms in size_samples(scored, brief).items():
        by_agent.setdefault(replace(c, size=0, density=0.0), {})[c.size, c.density] = arms
    with figure_style():
        figure = new_figure(TEXT_WIDTH, 2.5)
        panels = max(len(by_agent), 1) + 1
        axes = figure.subplots(1, panels, sharey=True, squeeze=False, gridspec_kw={"wspace": 0.08})[0]
        for axis, (agent, sizes) in zip(axes, by_agent.items(), strict=False):
            _measured(axis, agent, sizes)
        if not by_agent:
            _frame(axes[0], "measured", INK)
            axes[0].text(2, 0.5, "not run", ha="center", color=MUTED)
        _reported(axes[-1], reported, brief)
        axes[0].set_ylabel("Strict episode success")
        handles = [Line2D([], [], color=ARM_COLOURS[arm], marker=ARM_MARKERS[arm], markeredgecolor="white", label=arm)
                   for arm in RUNGS]
        handles.append(Line2D([], [], color=INK, linewidth=1.5, label="95% Wilson interval"))
        figure.legend(handles=handles, loc="lower center", ncols=len(handles), bbox_to_anchor=(0.5, 0.98))
        figure.text(0.5, -0.06, "Steps of the project, S", ha="center", fontsize=8, color=INK)
    return figure


def _measured(axis: Axes, agent: Configuration, sizes: Mapping[tuple[int, float], Mapping[str, Sample]]) -> None:
    _frame(axis, agent.model, INK)
    state = f"state {agent.state_model}" if agent.state_model != agent.model else "its own state"
    axis.annotate(state, (0, 1), xytext=(0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=6,
                  color=MUTED)
    for position, arm in enumerate(RUNGS):
        shift = (position - (len(RUNGS) - 1) / 2) * _DODGE
        points: dict[float, Point] = {}
        for index, size in enumerate(SIZES):
            sample = sizes.get(size, {}).get(arm)
            if sample is not None:
                points[index + shift] = point(proportion(int(sample.episodes["strict"].sum()), sample.n))
        for x, value in points.items():
            axis.vlines(x, value.low, value.high, color=ARM_COLOURS[arm], linewidth=1.5, zorder=3)
        axis.plot(list(points), [value.rate for value in points.values()], color=ARM_COLOURS[arm],
                  marker=ARM_MARKERS[arm], markeredgecolor="white", markeredgewidth=0.6, linewidth=0.9, zorder=4,
                  clip_on=False)


def _reported(axis: Axes, reported: Sequence[Reported], brief: str) -> None:
    _frame(axis, f"{_REPORTED_MODEL}, reported", MUTED)
    axis.set_facecolor("#F7F7F7")
    for arm in RUNGS:
        points = {SIZES.index((c.size, c.density)): value.rate or 0.0
                  for (c, model), arms in reported_ladders(tuple(reported)).items()
                  if (model, c.domain, c.brief, c.regime) == (_REPORTED_MODEL, "procurement", brief, "no_think")
                  and (c.size, c.density) in SIZES and (value := arms.get(arm)) is not None}
        xs = sorted(points)
        axis.plot(xs, [points[x] for x in xs], linestyle=(0, (3, 2)), linewidth=0.9, color=ARM_COLOURS[arm], alpha=0.75,
                  marker=ARM_MARKERS[arm], markerfacecolor="white", markersize=4.5, clip_on=False)


def _frame(axis: Axes, title: str, colour: str) -> None:
    axis.set_title(title, pad=13, color=colour, fontsize=7.5)
    axis.set_xlim(-0.5, len(SIZES) - 0.5)
    axis.set_ylim(-0.02, 1.02)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_xticks(range(len(SIZES)), _LABELS)
    axis.tick_params(axis="x", length=0, labelsize=6.5)
    axis.tick_params(axis="y", length=0)
