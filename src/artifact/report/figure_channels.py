"""Figures 5(a) and 6: error rates by channel and rung over their own denominators, one panel a cell."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artifact.report.channel_rates import RATED, channel_rate
from artifact.report.figure_points import point
from artifact.report.ladder import RUNGS, Configuration
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import Proportion, proportion
from artifact.report.style import ARM_COLOURS, ARM_MARKERS, FAINT, INK, MUTED, TEXT_WIDTH, figure_style, new_figure
from artifact.report.tables import channel_words

_STRICT = "episodes not strict"
_ROWS = (_STRICT, *(channel_words(channel) for channel in RATED))
_DODGE = 0.17
_PANELS_A_ROW = 3
_PANEL_HEIGHT = 2.2


def channel_decomposition(scored: ScoredLogs, size: int = 0, density: float = 0.0) -> Figure:
    """Draw the decomposition.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    size, density : int, float
        Only cells of this graph size; all when 0.
    """
    cells: dict[Configuration, list[Sample]] = {}
    for sample in samples(scored, arms=RUNGS):
        c = sample.configuration
        if not size or (c.size, c.density) == (size, density):
            cells.setdefault(c, []).append(sample)
    rows = max(1, -(-len(cells) // _PANELS_A_ROW))
    columns = min(max(1, len(cells)), _PANELS_A_ROW)
    with figure_style():
        figure = new_figure(TEXT_WIDTH, rows * _PANEL_HEIGHT)
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False,
                               gridspec_kw={"wspace": 0.08, "hspace": 0.42}).flatten()
        for axis in axes:
            _frame(axis)
        for axis, (c, members) in zip(axes, cells.items(), strict=False):
            _draw(axis, c, members)
        for axis in axes[len(cells):]:
            if cells:
                axis.set_visible(False)
            else:
                wanted = f"S={size}, ρ={density:g}" if size else "no logs"
                axis.set_title(wanted, fontsize=7.5)
                axis.text(0.5, (len(_ROWS) - 1) / 2, "not run", ha="center", va="center", color=MUTED)
        handles = [Line2D([], [], color=ARM_COLOURS[arm], marker=ARM_MARKERS[arm], markeredgecolor="white", label=arm)
                   for arm in RUNGS]
        figure.legend(handles=handles, loc="lower center", ncols=len(handles),
                      bbox_to_anchor=(0.5, 1 - 0.02 / rows))
        figure.text(0.5, -0.03 / rows, "Share of the turns that carry the channel's label, 95% Wilson interval",
                    ha="center", fontsize=7.5, color=INK)
    return figure


def _draw(axis: Axes, c: Configuration, members: Sequence[Sample]) -> None:
    axis.set_title(c.model, fontsize=7.5, pad=12)
    # A state model of the same family is named by what differs: its size.
    family = c.model.rpartition("-")[0] + "-"
    state = [f"state {c.state_model.removeprefix(family)}"] if c.state_model != c.model else []
    brief = [f"{c.brief} brief"] if c.brief != "amended" else []
    axis.annotate(", ".join([c.setting, *brief, *state, f"n={max(sample.n for sample in members)}"]), (0, 1),
                  xytext=(0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=5.6, color=MUTED)
    for sample in members:
        position = RUNGS.index(sample.arm)
        failed = proportion(sample.n - int(sample.episodes["strict"].sum()), sample.n)
        values = [failed, *(channel_rate(sample, channel) for channel in RATED)]
        for row, value in enumerate(values):
            _point(axis, row + (position - (len(RUNGS) - 1) / 2) * _DODGE, value, sample.arm)


def _point(axis: Axes, y: float, value: Proportion, arm: str) -> None:
    drawn = point(value)
    axis.hlines(y, drawn.low, drawn.high, color=ARM_COLOURS[arm], linewidth=1.2, zorder=3)
    axis.plot(drawn.rate, y, marker=ARM_MARKERS[arm], color=ARM_COLOURS[arm], markeredgecolor="white",
              markeredgewidth=0.5, markersize=4, zorder=4, clip_on=False)


def _frame(axis: Axes) -> None:
    axis.set_xlim(-0.02, 1.02)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    axis.set_ylim(len(_ROWS) - 0.5, -0.5)
    axis.set_yticks(range(len(_ROWS)), _ROWS)
    axis.tick_params(length=0, labelsize=6.5)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    for row in range(1, len(_ROWS)):
        axis.axhline(row - 0.5, color=FAINT, linewidth=0.9 if row == 1 else 0.5)
