"""Figure 1: strict success per rung against the agent, measured and reported."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artifact.report.ladder import RUNGS, Ladder, capability, setting
from artifact.report.reported import Reported, reported_ladders
from artifact.report.style import (
    ARM_COLOURS,
    ARM_MARKERS,
    FAINT,
    INK,
    MUTED,
    TEXT_WIDTH,
    drawable,
    figure_style,
    new_figure,
)

_DODGE = 0.13  # horizontal distance between the rungs of one agent, so that intervals don't cover each other
_LINE = 9  # characters of a model's name on one line
_FEWEST_ARMS = 3  # a reported ladder with fewer values than this says nothing of the order of rungs


@dataclass(frozen=True)
class _Point:
    """A rate with its interval; a reported one has none."""

    rate: float
    low: float = float("nan")
    high: float = float("nan")


@dataclass(frozen=True)
class _Panel:
    """Agents under one setting: the points of each arm by agent."""

    title: str
    subtitle: str
    agents: tuple[str, ...]
    points: dict[str, dict[int, _Point]]
    is_measured: bool


def capability_preview(found: Sequence[Ladder], reported: Sequence[Reported], brief: str = "amended") -> Figure:
    """Draw strict success against the agent, one panel a setting.

    Parameters
    ----------
    found : sequence of Ladder
        Measured ladders; the ones of another brief and those without logs are left out.
    reported : sequence of Reported
        The paper's values: muted, in panels of their own, without intervals (the paper's text has no counts).
    brief : str
        Which wording of the brief.
    """
    panels = [*_measured_panels(found, brief), *_reported_panels(reported, brief)]
    with figure_style():
        figure = new_figure(TEXT_WIDTH, 2.75)
        shape = {"width_ratios": [max(len(panel.agents) + 0.5, 1.9) for panel in panels], "wspace": 0.09}
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False, gridspec_kw=shape)
        for axis, panel in zip(axes[0], panels, strict=True):
            _draw(axis, panel)
        axes[0][0].set_ylabel("Strict episode success")
        _legend(figure)
    return figure


def _measured_panels(found: Sequence[Ladder], brief: str) -> list[_Panel]:
    groups: dict[tuple[str, str], list[Ladder]] = {}
    for ladder in found:
        configuration = ladder.configuration
        if configuration.brief == brief and any(ladder.proportion(arm).is_measured for arm in RUNGS):
            groups.setdefault((configuration.study, configuration.setting), []).append(ladder)
    if not groups:
        return [_Panel("measured", "not run", ("no logs",), {}, True)]
    panels = []
    for (study, words), members in groups.items():
        members = sorted(members, key=lambda ladder: capability(ladder.configuration.model))
        points: dict[str, dict[int, _Point]] = {}
        for index, ladder in enumerate(members):
            for arm in RUNGS:
                value = ladder.proportion(arm)
                if value.estimate is not None and value.low is not None and value.high is not None:
                    points.setdefault(arm, {})[index] = _Point(value.estimate, value.low, value.high)
        name = study if len({key[0] for key in groups}) > 1 else "measured"
        panels.append(_Panel(words, name, tuple(map(_agent, members)), points, True))
    return panels


def _reported_panels(reported: Sequence[Reported], brief: str) -> list[_Panel]:
    groups: dict[str, list[tuple[str, dict[str, Reported]]]] = {}
    theirs = reported_ladders(tuple(reported))
    for conditions, model in sorted(theirs, key=lambda key: capability(key[1])):
        arms = theirs[conditions, model]
        if (conditions.brief, conditions.regime, conditions.domain) == (brief, "no_think", "procurement") \
                and len(arms) >= _FEWEST_ARMS:
            groups.setdefault(setting(conditions), []).append((model, arms))
    panels = []
    for words, members in sorted(groups.items()):
        points: dict[str, dict[int, _Point]] = {}
        for index, (_, arms) in enumerate(members):
            for arm, value in arms.items():
                if value.rate is not None:
                    points.setdefault(arm, {})[index] = _Point(value.rate)
        names = tuple(_wrapped(model) for model, _ in members)
        panels.append(_Panel(words, "reported", names, points, False))
    return panels


def _draw(axis: Axes, panel: _Panel) -> None:
    for position, arm in enumerate(RUNGS):
        points = panel.points.get(arm, {})
        shift = (position - (len(RUNGS) - 1) / 2) * _DODGE
        xs, ys = [index + shift for index in points], [point.rate for point in points.values()]
        colour, marker = ARM_COLOURS[arm], ARM_MARKERS[arm]
        if panel.is_measured:
            for x, point in zip(xs, points.values(), strict=True):
                axis.vlines(x, point.low, point.high, color=colour, linewidth=1.5, zorder=3)
            axis.plot(xs, ys, color=colour, linewidth=0.9, alpha=0.55, zorder=2)
            axis.plot(xs, ys, linestyle="none", marker=marker, color=colour, markeredgecolor="white",
                      markeredgewidth=0.6, zorder=4, clip_on=False)
        else:
            axis.plot(xs, ys, color=colour, linewidth=0.9, linestyle=(0, (3, 2)), alpha=0.45, zorder=2)
            axis.plot(xs, ys, linestyle="none", marker=marker, markerfacecolor="white", markeredgecolor=colour,
                      markeredgewidth=1.0, markersize=4.5, alpha=0.75, zorder=4, clip_on=False)
    axis.set_xlim(-0.6, len(panel.agents) - 0.4)
    axis.set_ylim(-0.02, 1.02)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_xticks(range(len(panel.agents)), panel.agents)
    axis.tick_params(axis="x", length=0, labelsize=6.3)
    axis.tick_params(axis="y", length=0)
    if not panel.is_measured:
        axis.set_facecolor("#F7F7F7")
        axis.tick_params(axis="x", colors=MUTED)
    # The setting's first word is the graph size; each other word goes into a line of its own, where it fits.
    size, *rest = panel.title.split(", ")
    lines = list(dict.fromkeys([*rest, panel.subtitle]))
    axis.set_title(size, pad=6 + 8 * len(lines), color=INK if panel.is_measured else MUTED)
    axis.annotate("\n".join(lines), (0, 1), xytext=(0, 4), xycoords="axes fraction", textcoords="offset points",
                  fontsize=6.5, color=MUTED)
    axis.spines["bottom"].set_color(FAINT)
    axis.grid(axis="x", visible=False)


def _legend(figure: Figure) -> None:
    handles = [Line2D([], [], color=ARM_COLOURS[arm], marker=ARM_MARKERS[arm], markeredgecolor="white", label=arm)
               for arm in RUNGS]
    handles += [Line2D([], [], color=INK, linewidth=1.5, label="95% Wilson interval"),
                Line2D([], [], color=MUTED, linestyle=(0, (3, 2)), linewidth=0.9, marker="o", markerfacecolor="white",
                       markersize=4.5, label="reported")]
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), bbox_to_anchor=(0.5, 1.04), handlelength=1.6,
                  columnspacing=1.4)


def _agent(ladder: Ladder) -> str:
    configuration = ladder.configuration
    if configuration.state_model == configuration.model:
        return _wrapped(configuration.model)
    # A state model of the same family is named by what differs: its size.
    family = configuration.model.rpartition("-")[0] + "-"
    return f"{_wrapped(configuration.model)}\n(state: {drawable(configuration.state_model.removeprefix(family))})"


def _wrapped(model: str) -> str:
    """A model's name broken at its hyphens, so that names of neighbours don't touch."""
    lines = [""]
    for part in drawable(model).replace("-", "- ").split():
        if lines[-1] and len(lines[-1] + part) > _LINE:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
