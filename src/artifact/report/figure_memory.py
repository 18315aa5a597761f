"""What of the history reached the window in one real turn of each memory arm, to scale in tokens (Appendix F)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artifact.report.memory_window import Block, Window
from artifact.report.style import FAINT, INK, MUTED, TEXT_WIDTH, figure_style, new_figure

_COLOURS = {Block.BRIEF: "#8A8A8A", Block.MEMORY: "#B2456E", Block.EXCHANGES: "#5BA9A1", Block.REQUEST: "#222222"}
# The long-term stores of CoALA (Sumers et al., 2023) that each arm has; all of them show them through working memory.
_STORES = {"raw": "none", "topk": "episodic", "mem0": "semantic", "stream": "episodic, semantic",
           "paged": "episodic, semantic"}
_ROW = 0.46  # inches an arm


def memory_figure(windows: Sequence[Window]) -> Figure:
    """Draw the windows of one turn, an arm below the other.

    Parameters
    ----------
    windows : sequence of Window
        What each arm showed; none draws a sentence.
    """
    with figure_style():
        height = _ROW * max(1, len(windows)) + 0.95
        figure = new_figure(TEXT_WIDTH, height)
        axis = figure.add_axes((0.27, 0.62 / height, 0.715, 1 - 0.95 / height))
        if not windows:
            axis.set_axis_off()
            axis.text(0.5, 0.5, "no memory arm was run", ha="center", va="center", color=MUTED)
            return figure
        for row, window in enumerate(windows):
            _draw(axis, row, window)
        axis.set_ylim(len(windows) - 0.4, -0.6)
        axis.set_yticks(range(len(windows)), [_label(window) for window in windows], fontsize=6.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(visible=False, axis="y")
        axis.set_xlabel("tokens; above in each arm: the conversation so far, below: the window (working memory)",
                        fontsize=7)
        handles = [*(Patch(facecolor=colour, label=str(block)) for block, colour in _COLOURS.items()),
                   Patch(facecolor=FAINT, edgecolor=MUTED, linewidth=0.4, label="not in the window")]
        figure.legend(handles=handles, loc="lower center", ncols=len(handles), fontsize=6.5, frameon=False,
                      bbox_to_anchor=(0.5, 0.0), columnspacing=1.2, handlelength=1.2)
    return figure


def _label(window: Window) -> str:
    return f"{', '.join(filter(None, (window.arm, window.mode)))}\n({_STORES[window.arm]})"


def _draw(axis: Axes, row: int, window: Window) -> None:
    at = 0.0
    for past in window.past:
        colour = _COLOURS[Block.EXCHANGES] if past.is_shown else FAINT
        axis.barh(row - 0.2, past.tokens, left=at, height=0.26, color=colour, edgecolor="white", linewidth=0.4)
        if past.is_recalled:
            axis.barh(row - 0.2, past.tokens, left=at, height=0.12, color=_COLOURS[Block.MEMORY], edgecolor="white",
                      linewidth=0.3)
        at += past.tokens
    at = 0.0
    for block, tokens in window.blocks.items():
        axis.barh(row + 0.14, tokens, left=at, height=0.3, color=_COLOURS[block], edgecolor="white", linewidth=0.4)
        at += tokens
    axis.annotate(f" {at:.0f}", (at, row + 0.14), va="center", ha="left", fontsize=6, color=INK)
