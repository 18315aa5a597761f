"""Figures 4(c) and 5(b): the enforcement gate under corrupted state, by rate and by the kind of a single corruption."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artifact.report.corruption_table import EVENTS, corrupted_samples
from artifact.report.figure_points import point
from artifact.report.reported import Reported
from artifact.report.samples import Sample
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import proportion
from artifact.report.style import ARM_COLOURS, ARM_MARKERS, MUTED, TEXT_WIDTH, figure_style, new_figure

_ARM = "enforcement"
_PREFIX = "enforcement.corruption="
_RATES = (0.0, 0.001, 0.003, 0.01)
_MARKERS = (ARM_MARKERS[_ARM], "v", "<", ">")  # cells differ by marker: the colour is the arm's
_DODGE = 0.14


def corruption_effect(scored: ScoredLogs, reported: Sequence[Reported]) -> Figure:
    """Draw strict success by rate of corruption, and how often one single corruption is fatal, by its kind.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values: hollow, without intervals where its text has no counts.
    """
    cells: dict[tuple[str, str], list[tuple[float, Sample]]] = {}
    for rate, found in corrupted_samples(scored):
        c = found.configuration
        cells.setdefault((c.cell, f"{c.model}, {c.setting}"), []).append((rate, found))
    with figure_style():
        figure = new_figure(TEXT_WIDTH, 2.4)
        left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.22})
        _reported_rates(left, reported)
        _reported_fatal(right, reported)
        for index, ((_, words), members) in enumerate(cells.items()):
            _rates(left, members, words, index)
            _fatal(right, members, index)
        if not cells:
            for axis in (left, right):
                axis.text(0.98, 0.93, "measured here: not run", ha="right", va="center", color=MUTED, fontsize=7,
                          transform=axis.transAxes)
        _label(left, right)
        figure.legend(*left.get_legend_handles_labels(), loc="lower center", bbox_to_anchor=(0.5, 0.98), ncols=2)
    return figure


def _position(rate: float) -> float:
    return float(_RATES.index(rate)) if rate in _RATES else float(len(_RATES))


def _rates(axis: Axes, members: Sequence[tuple[float, Sample]], words: str, index: int) -> None:
    points = {}
    for rate, found in members:
        value = point(proportion(int(found.episodes["strict"].sum()), found.n))
        x = _position(rate) + index * _DODGE
        axis.vlines(x, value.low, value.high, color=ARM_COLOURS[_ARM], linewidth=1.5, zorder=3)
        points[x] = value.rate
    axis.plot(list(points), list(points.values()), color=ARM_COLOURS[_ARM], marker=_MARKERS[index % len(_MARKERS)],
              markeredgecolor="white", linewidth=0.9, zorder=4, label=words, clip_on=False)


def _fatal(axis: Axes, members: Sequence[tuple[float, Sample]], index: int) -> None:
    for position, kind in enumerate(EVENTS):
        fatal = trials = 0
        for _, found in members:
            events = found.corruptions
            single = events[(events["spurious"] + events["lost"] + events["dropped"] == 1) & (events[kind] == 1)]
            fatal, trials = fatal + int((~single["strict"]).sum()), trials + len(single)
        value, x = point(proportion(fatal, trials)), position + index * _DODGE
        axis.vlines(x, value.low, value.high, color=ARM_COLOURS[_ARM], linewidth=1.5, zorder=3)
        axis.plot(x, value.rate, marker=_MARKERS[index % len(_MARKERS)], color=ARM_COLOURS[_ARM],
                  markeredgecolor="white", zorder=4, clip_on=False)


def _reported_rates(axis: Axes, reported: Sequence[Reported]) -> None:
    points = {_position(float(row.arm.removeprefix(_PREFIX))) - _DODGE: float(row.value) for row in reported
              if row.arm.startswith(_PREFIX) and row.metric == "strict"}
    xs = sorted(points)
    axis.plot(xs, [points[x] for x in xs], linestyle=(0, (3, 2)), linewidth=0.9, color=MUTED, marker="o",
              markerfacecolor="white", label="reported, Qwen3-235B, S=15 dense", clip_on=False)


def _reported_fatal(axis: Axes, reported: Sequence[Reported]) -> None:
    """The paper's counts over its rates; their intervals are ours."""
    for position, words in enumerate(EVENTS.values()):
        rows = [row for row in reported if row.metric == f"single_event_fatal:{words}"]
        value = point(proportion(sum(row.k or 0 for row in rows), sum(row.n or 0 for row in rows)))
        axis.vlines(position - _DODGE, value.low, value.high, color=MUTED, linewidth=1.0)
        axis.plot(position - _DODGE, value.rate, marker="o", color=MUTED, markerfacecolor="white", clip_on=False)


def _label(left: Axes, right: Axes) -> None:
    for axis in (left, right):
        axis.set_ylim(-0.02, 1.02)
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axis.tick_params(length=0, labelsize=7)
    left.set_xlim(-0.5, len(_RATES) - 0.3)
    left.set_xticks(range(len(_RATES)), [f"{rate:g}" for rate in _RATES])
    left.set_xlabel("Corruptions for each step and turn, ε")
    left.set_ylabel("Strict episode success")
    left.set_title("By rate")
    right.set_xlim(-0.5, len(EVENTS) - 0.3)
    right.set_xticks(range(len(EVENTS)), [words.replace(" done bit", "\ndone bit").replace(" edge", "\nedge")
                                          for words in EVENTS.values()])
    right.set_ylabel("Failed episodes")
    right.set_title("By kind, of a single corruption")
