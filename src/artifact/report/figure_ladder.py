"""Figure 2: the drawn ladder. How each rung couples the same task state to the agent, from weak to strong."""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from artifact.report.ladder import RUNGS
from artifact.report.style import ARM_COLOURS, INK, MUTED, TEXT_WIDTH, WRONG, figure_style, new_figure

_HEIGHT = 3.5
_LEFT, _RIGHT = 0.42, 9.95
# Where the three actors stand; a lane is one unit high.
_STATE, _AGENT, _RECEIPTS = 2.42, 5.95, 9.2
_AGENT_WIDTH, _RECEIPTS_WIDTH = 0.8, 1.1
_MONO = "DejaVu Sans Mono"
_SAME = "same model, same brief, same conversation, same seeds: only the coupling changes"


@dataclass(frozen=True)
class _Rung:
    """What is drawn in a lane.

    Parameters
    ----------
    verb : str
        What becomes of the state, in a word.
    shown : str
        What the agent is shown of it; protocol text in the typewriter face unless `is_prose`.
    owner : str
        Who keeps the state.
    is_owned, is_refusing, is_prose : bool
        Whether a module keeps it, whether a gate stands before the receipts, how `shown` is set.
    """

    verb: str
    shown: str
    owner: str
    is_owned: bool = True
    is_refusing: bool = False
    is_prose: bool = False


_DIRECTIVE = "[TASK-STATE] step s1 is\nalready DONE. Do not redo it"
_DRAWN = {
    "raw": _Rung("re-read", "brief and conversation", "state only in the text", is_owned=False, is_prose=True),
    "checklist": _Rung("displayed", "[PROJECT CHECKLIST …]\n- s1: DONE", "exact state, every turn"),
    "directive": _Rung("directed", _DIRECTIVE, "compiled state, matched step"),
    "enforcement": _Rung("enforced", _DIRECTIVE, "compiled state, matched step", is_refusing=True),
}


def drawn_ladder() -> Figure:
    """Draw the four rungs, the strongest on top."""
    with figure_style():
        figure = new_figure(TEXT_WIDTH, _HEIGHT)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, 10)
        axis.set_ylim(-0.38, len(RUNGS) + 0.36)
        axis.axis("off")
        for x, text in ((_STATE, "task state"), (_AGENT, "agent"), (_RECEIPTS, "execution channel")):
            axis.text(x, len(RUNGS) + 0.16, text, ha="center", va="center", color=MUTED, fontsize=7.5, style="italic")
        for index, arm in enumerate(RUNGS):
            _lane(axis, index + 0.5, arm, _DRAWN[arm])
        _axis_of_strength(axis)
        axis.text(_LEFT + 0.18, -0.2, _SAME, va="center", fontsize=6.8, color=MUTED)
    return figure


def _lane(axis: Axes, y: float, arm: str, rung: _Rung) -> None:
    colour = ARM_COLOURS[arm]
    axis.add_patch(FancyBboxPatch((_LEFT, y - 0.43), _RIGHT - _LEFT, 0.86, boxstyle="round,pad=0,rounding_size=0.08",
                                  facecolor=colour, alpha=0.1, edgecolor="none"))
    axis.add_patch(FancyBboxPatch((_LEFT, y - 0.43), 0.07, 0.86, boxstyle="square,pad=0", facecolor=colour,
                                  edgecolor="none"))
    axis.text(_LEFT + 0.2, y + 0.13, arm, va="center", weight="bold", fontsize=8, color=INK)
    axis.text(_LEFT + 0.2, y - 0.15, rung.verb, va="center", fontsize=7, color=MUTED)
    _graph(axis, y, colour, is_owned=rung.is_owned)
    _to_agent(axis, y, rung, colour)
    _box(axis, _AGENT, y, _AGENT_WIDTH, "LLM")
    _to_receipts(axis, y, rung, colour)
    if rung.is_owned:
        _feedback(axis, y)


def _graph(axis: Axes, y: float, colour: str, *, is_owned: bool) -> None:
    """The task graph: solid where a module keeps it, dotted where it is only in the text."""
    ink = INK if is_owned else MUTED
    nodes = [(_STATE - 0.32, y + 0.02), (_STATE, y + 0.17), (_STATE, y - 0.13), (_STATE + 0.32, y + 0.02)]
    for start, end in ((0, 1), (0, 2), (1, 3), (2, 3)):
        axis.add_patch(FancyArrowPatch(nodes[start], nodes[end], arrowstyle="-|>", mutation_scale=4, shrinkA=3,
                                       shrinkB=3, linewidth=0.6, color=ink,
                                       linestyle="-" if is_owned else (0, (1, 1.5))))
    for index, (node_x, node_y) in enumerate(nodes):
        is_done = is_owned and index < 2
        axis.plot(node_x, node_y, marker="o", markersize=5.2, markeredgewidth=0.8, markeredgecolor=ink,
                  markerfacecolor=colour if is_done else "white")


def _to_agent(axis: Axes, y: float, rung: _Rung, colour: str) -> None:
    start, end = _STATE + 0.5, _AGENT - _AGENT_WIDTH / 2 - 0.04
    middle = (start + end) / 2
    _arrow(axis, (start, y), (end, y), colour if rung.is_owned else MUTED, is_dashed=not rung.is_owned)
    axis.text(middle, y + 0.08, rung.shown, ha="center", va="bottom", linespacing=1.2, color=INK,
              fontsize=6.5 if rung.is_prose else 5.4, family=None if rung.is_prose else _MONO)
    axis.text(middle, y - 0.1, rung.owner, ha="center", va="top", fontsize=6.3, color=MUTED)


def _to_receipts(axis: Axes, y: float, rung: _Rung, colour: str) -> None:
    start, end = _AGENT + _AGENT_WIDTH / 2 + 0.04, _RECEIPTS - _RECEIPTS_WIDTH / 2 - 0.04
    gate = end - 0.22
    middle = (start + gate) / 2
    _arrow(axis, (start, y), (end, y), INK)
    _box(axis, _RECEIPTS, y, _RECEIPTS_WIDTH, "receipts")
    axis.text(middle, y + 0.08, "ref RC-4808/#W1941", ha="center", va="bottom", fontsize=5.4, family=_MONO, color=INK)
    if not rung.is_refusing:
        axis.text(middle, y - 0.1, "every booking is entered", ha="center", va="top", fontsize=6.3, color=MUTED)
        return
    axis.plot([gate, gate], [y - 0.27, y + 0.27], color=colour, linewidth=3.2, solid_capstyle="butt", zorder=5)
    axis.text(gate, y + 0.28, "gate", ha="center", va="bottom", fontsize=6.5, color=colour, weight="bold")
    axis.text(middle, y - 0.07, "[BOOKING REJECTED] …", ha="center", va="top", fontsize=5.4, family=_MONO, color=WRONG)
    _arrow(axis, (gate - 0.04, y - 0.2), (start, y - 0.2), WRONG)


def _feedback(axis: Axes, y: float) -> None:
    """Receipts are what makes a step done in the state."""
    low = y - 0.34
    axis.plot([_RECEIPTS, _RECEIPTS, _STATE], [y - 0.2, low, low], color=MUTED, linewidth=0.7)
    axis.add_patch(FancyArrowPatch((_STATE, low), (_STATE, y - 0.17), arrowstyle="-|>", mutation_scale=5, shrinkA=0,
                                   shrinkB=0, linewidth=0.7, color=MUTED))


def _box(axis: Axes, x: float, y: float, width: float, text: str) -> None:
    axis.add_patch(FancyBboxPatch((x - width / 2, y - 0.2), width, 0.4, boxstyle="round,pad=0,rounding_size=0.07",
                                  facecolor="white", edgecolor=INK, linewidth=0.8, zorder=4))
    axis.text(x, y, text, ha="center", va="center", fontsize=7, color=INK, zorder=5)


def _arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, *, is_dashed: bool = False,
) -> None:
    axis.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=7, shrinkA=0, shrinkB=0, linewidth=1.1,
                                   color=colour, linestyle=(0, (2, 2)) if is_dashed else "-", zorder=3))


def _axis_of_strength(axis: Axes) -> None:
    axis.add_patch(FancyArrowPatch((0.24, 0.07), (0.24, len(RUNGS) - 0.05), arrowstyle="-|>", mutation_scale=9,
                                   linewidth=1.2, color=MUTED, shrinkA=0, shrinkB=0))
    axis.text(0.09, len(RUNGS) / 2, "how strongly state acts", rotation=90, ha="center", va="center", fontsize=7,
              color=MUTED)
