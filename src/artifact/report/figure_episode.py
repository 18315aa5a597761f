"""Figure 3: one real episode, the rungs one above another: requests, revision, graph, bookings, verdicts."""

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path as Curve

from artifact.errors import RequestError
from artifact.log import EpisodeLog
from artifact.report.episode_path import Path, path_of, plan_order
from artifact.report.style import (
    ARM_COLOURS,
    INK,
    MUTED,
    RIGHT,
    TEXT_WIDTH,
    WRONG,
    drawable,
    figure_style,
    new_figure,
)
from artifact.taskstate import Channel, Episode, RequestKind, Status

_ROW = 0.135  # inches a step
_LABELS = 2.3  # inches left of the turns, of which the arcs of the graph take
_ARCS = 0.4
_MARKERS = {
    RequestKind.ASK: ("o", INK), RequestKind.PREMATURE: ("^", "white"), RequestKind.REDO_PROBE: ("o", "white"),
    RequestKind.SUPERSEDED_CUE: ("X", "white"), RequestKind.LEGIT_REDO: ("P", INK),
}
_SHADES = {Status.TODO: "#FFFFFF", Status.BLOCKED: "#EBEBEB", Status.CANCELLED: "#C9C9C9"}
_DONE_ALPHA = 0.3


def example_episode(logs: Sequence[EpisodeLog]) -> Figure:
    """Draw one episode.

    Parameters
    ----------
    logs : sequence of EpisodeLog
        One log for each arm to show, top to bottom; all of the same generated episode.

    Raises
    ------
    RequestError
        When there is no log, or they are not of the same episode.
    """
    if not logs:
        raise RequestError("there is no log to draw an example episode from; run an episode first")
    episode = logs[0].header.episode
    if any(log.header.episode != episode for log in logs):
        raise RequestError("the logs of an example episode must be of one and the same seed and configuration; "
                           f"{logs[0].source} and another one differ")
    steps, paths = plan_order(episode), [path_of(log) for log in logs]
    heights = [len(steps) + 1.6] + [len(steps) + 1.1] * len(paths)
    with figure_style():
        legend = 0.52
        height = _ROW * sum(heights) + legend + 0.3
        figure = new_figure(TEXT_WIDTH, height)
        lanes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={
            "height_ratios": heights, "left": _LABELS / TEXT_WIDTH, "right": 0.995, "top": 1 - 0.02 / height,
            "bottom": (legend + 0.3) / height, "hspace": 0.06})[:, 0]
        end = max([len(episode.turns), *(position + 1 for path in paths for position, _ in path.turns)])
        _draw_script(lanes[0], episode, steps)
        for lane, path in zip(lanes[1:], paths, strict=True):
            _draw_path(lane, path, episode, steps)
        lanes[-1].set_xlim(-0.8, end - 0.2)
        lanes[-1].set_xlabel("scripted turn", labelpad=1)
        _legend(figure)
    return figure


def _prepare(axis: Axes, episode: Episode, steps: Sequence[str]) -> None:
    axis.set_ylim(len(steps) - 0.35, -0.75)
    axis.set_yticks([])
    axis.grid(visible=False)
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="x", length=0)
    for turn, scripted in enumerate(episode.turns):
        if scripted.kind is RequestKind.REVISION:
            axis.axvline(turn, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=2)


def _draw_script(axis: Axes, episode: Episode, steps: Sequence[str]) -> None:
    """What the user asks, and the plan: steps, prerequisites and what the revision changes in them."""
    _prepare(axis, episode, steps)
    rows = {step: row for row, step in enumerate(steps)}
    for row in rows.values():
        axis.axhline(row, color="#EFEFEF", linewidth=0.6, zorder=0)
    for turn, scripted in enumerate(episode.turns):
        if scripted.step is not None:
            marker, face = _MARKERS[scripted.kind]
            axis.plot(turn, rows[scripted.step], marker=marker, markersize=4.2, markerfacecolor=face, zorder=3,
                      markeredgecolor=INK, markeredgewidth=0.7, linestyle="none")
        elif scripted.kind is RequestKind.AMBIGUOUS:
            axis.annotate("?", (turn, -0.6), ha="center", va="center", fontsize=6, color=INK)
        elif scripted.kind is RequestKind.FILLER:
            axis.plot(turn, -0.6, marker="|", markersize=2.5, color=MUTED, linestyle="none", clip_on=False)
        elif scripted.kind is RequestKind.REVISION:
            axis.annotate("revision", (turn, -0.75), xytext=(0, 1), textcoords="offset points", ha="center",
                          va="bottom", fontsize=6.3, color=MUTED, annotation_clip=False)
    for step, row in rows.items():
        is_cancelled = step == episode.revision.cancel
        words = shorten(drawable(episode.graph[step].text), 30 if is_cancelled else 40, placeholder=" …")
        _write(axis, row, f"{step}  {words}" + (" (cancelled)" if is_cancelled else ""), fontsize=6.2, va="center",
               color=MUTED if is_cancelled else INK)
    _draw_graph(axis, episode, rows)


def _draw_graph(axis: Axes, episode: Episode, rows: dict[str, int]) -> None:
    """Prerequisites as arcs; the ones that the revision drops are dashed, the ones that it adds dotted."""
    graph, revised = episode.graph, episode.graph.revise(episode.revision)
    before = {(p, step.id) for step in graph.steps for p in step.prerequisites}
    after = {(p, step.id) for step in revised.steps if step.id not in revised.cancelled for p in step.prerequisites}
    longest = max((abs(rows[start] - rows[end]) for start, end in before | after), default=1)
    to_axes = axis.transData + axis.transAxes.inverted()
    width = axis.get_window_extent().width / axis.figure.dpi
    for start, end in sorted(before | after):
        base = -(_LABELS - _ARCS) / width
        swing = base - (0.35 + 0.65 * abs(rows[start] - rows[end]) / longest) * _ARCS / width * 1.25
        ys = [to_axes.transform((0, rows[step]))[1] for step in (start, end)]
        curve = Curve([(base, ys[0]), (swing, ys[0]), (swing, ys[1]), (base, ys[1])],
                      [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
        is_dropped, is_added = (start, end) not in after, (start, end) not in before
        axis.add_patch(PathPatch(curve, transform=axis.transAxes, fill=False, clip_on=False, linewidth=0.7,
                                 edgecolor=MUTED if is_dropped else INK,
                                 linestyle=(0, (3, 1.8)) if is_dropped else (0, (1, 1)) if is_added else "-"))


def _draw_path(axis: Axes, path: Path, episode: Episode, steps: Sequence[str]) -> None:
    """An arm's statuses, bookings and verdicts."""
    _prepare(axis, episode, steps)
    colour, rows = ARM_COLOURS[path.arm], {step: row for row, step in enumerate(steps)}
    for span in path.spans:
        axis.add_patch(Rectangle((span.start - 0.5, rows[span.step] - 0.42), span.end - span.start, 0.84,
                                 **_shade(span.status, colour)))
    end = max((span.end for span in path.spans), default=1)
    axis.add_patch(Rectangle((-0.5, -0.46), end, len(steps) - 0.08, fill=False, linewidth=0.5, edgecolor="#CFCFCF"))
    for position, turn in path.turns:
        wrong = {violation.step: violation.channel for violation in turn.violations}
        for step in turn.executed:
            _mark(axis, position, rows[step], "X" if step in wrong else "o", WRONG if step in wrong else colour)
        for step, channel in wrong.items():
            if channel in (Channel.OMISSION, Channel.REFUSED_REDO):
                _mark(axis, position, rows[step], "D", "white", edge=WRONG)
        if turn.violations:
            axis.plot(position, -0.62, marker="v", markersize=3, color=WRONG, linestyle="none", clip_on=False)
    for position, step in path.refused:
        if step in rows:
            _mark(axis, position, rows[step], "s", "white", edge=colour)
    _write(axis, 0, path.arm, fontsize=8, va="center", weight="bold", color=INK)
    _write(axis, 0.6, path.outcome, fontsize=6.6, va="top", linespacing=1.3,
           color=RIGHT if path.verdict.strict else WRONG)
    for step, row in rows.items():
        axis.annotate(step, (0, row), xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points",
                      ha="right", va="center", fontsize=5.8, color=MUTED, annotation_clip=False)


def _shade(status: Status, colour: str) -> dict[str, Any]:
    """How a status is painted: done in the rung's own colour, a cancelled step hatched."""
    if status is Status.DONE:
        return {"facecolor": colour, "alpha": _DONE_ALPHA, "linewidth": 0}
    hatch = {"hatch": "/////", "edgecolor": "white"} if status is Status.CANCELLED else {}
    return {"facecolor": _SHADES[status], "linewidth": 0, **hatch}


def _write(axis: Axes, row: float, text: str, **looks: Any) -> None:
    """Text in the left margin, beside a row."""
    axis.annotate(text, (0, row), xycoords=("axes fraction", "data"), xytext=(-(_LABELS - _ARCS) * 72 + 3, 0),
                  textcoords="offset points", ha="left", annotation_clip=False, **looks)


def _mark(axis: Axes, x: float, y: float, marker: str, face: str, edge: str = "white") -> None:
    axis.plot(x, y, marker=marker, markersize=4.6, markerfacecolor=face, markeredgecolor=edge,
              markeredgewidth=0.9 if face == "white" else 0.4, linestyle="none", zorder=4)


def _legend(figure: Figure) -> None:
    def mark(marker: str, face: str, label: str, edge: str = INK) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, markersize=4.4, markerfacecolor=face,
                      markeredgecolor=edge, markeredgewidth=0.8, label=label)

    def patch(status: Status, label: str) -> Patch:
        looks = _shade(status, ARM_COLOURS["enforcement"])
        frame = {"edgecolor": "#CFCFCF", "linewidth": 0.6} if status is Status.TODO else {}
        return Patch(**looks | frame, label=label)

    requests = [mark(*_MARKERS[kind], label=kind.value.replace("_", " ")) for kind in _MARKERS]
    rows: dict[str, Sequence[Artist]] = {
        "requests": [*requests, mark("|", MUTED, "filler", MUTED)],
        "turns": [mark("o", MUTED, "right booking", "white"), mark("X", WRONG, "wrong booking", "white"),
                  mark("D", "white", "booking missing", WRONG), mark("s", "white", "booking refused", MUTED),
                  mark("v", WRONG, "turn served wrongly", "white")],
        "steps": [patch(Status.DONE, "done (in the rung's colour)"), patch(Status.BLOCKED, "blocked"),
                  patch(Status.CANCELLED, "cancelled"), patch(Status.TODO, "todo")],
    }
    height = figure.get_size_inches()[1]
    for index, (title, handles) in enumerate(rows.items()):
        y = (0.42 - 0.17 * index) / height
        figure.text(0.012, y, title, fontsize=6.8, color=MUTED, va="center", style="italic")
        figure.legend(handles=handles, loc="center left", bbox_to_anchor=(0.075, y), ncols=len(handles), fontsize=6.8,
                      handletextpad=0.35, columnspacing=1.3, borderpad=0, handlelength=1.3)
