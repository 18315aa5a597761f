"""Figures: the same bytes on each run, one colour an arm, intervals on everything measured."""

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from artifact.errors import InfrastructureError, RequestError
from artifact.report import ladders, load_reported
from artifact.report.episode_path import path_of, plan_order
from artifact.report.figure_episode import example_episode
from artifact.report.figure_ladder import drawn_ladder
from artifact.report.figure_preview import capability_preview
from artifact.report.style import ARM_COLOURS, ARM_MARKERS, figure_style, save
from artifact.taskstate import Status
from episode_logs import always_book, every_kind, never_book, perfect, play, state_bound
from report_frames import LARGE, RUNGS, SMALL, climb, scored

REPORTED = load_reported()


def example_logs() -> list:  # type: ignore[type-arg]
    """One episode on three rungs."""
    return [play(every_kind(), always_book, arm="raw"), play(every_kind(), perfect, arm="directive"),
            play(every_kind(), always_book, arm="enforcement", channel=state_bound)]


def preview():  # type: ignore[no-untyped-def]
    """A preview with two measured agents."""
    rows = [climb(dict(zip(RUNGS, (0, 1, 4, 7), strict=True)), 8, model=model, state_model=LARGE)
            for model in (SMALL, LARGE)]
    return capability_preview(ladders(scored(*rows).episodes), REPORTED)


@pytest.mark.parametrize("draw", [preview, drawn_ladder, lambda: example_episode(example_logs())],
                         ids=["preview", "ladder", "episode"])
def test_two_builds_of_a_figure_give_the_same_bytes(draw, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    one, two = save(draw(), "figure", tmp_path / "one"), save(draw(), "figure", tmp_path / "two")
    assert one.pdf.read_bytes() == two.pdf.read_bytes()
    assert one.png.read_bytes() == two.png.read_bytes()
    assert b"CreationDate" not in one.pdf.read_bytes()


def test_a_figure_looks_the_same_whatever_the_session_has_set(tmp_path: Path) -> None:
    plain = save(drawn_ladder(), "figure", tmp_path / "plain")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 30}):
        changed = save(drawn_ladder(), "figure", tmp_path / "changed")
        assert mpl.rcParams["font.size"] == 20
    assert plain.png.read_bytes() == changed.png.read_bytes()


def test_text_in_a_pdf_is_truetype(tmp_path: Path) -> None:
    with figure_style():
        assert mpl.rcParams["pdf.fonttype"] == 42
    assert b"/FontFile2" in save(drawn_ladder(), "figure", tmp_path).pdf.read_bytes()


def luminance(colour: str) -> float:
    """Relative luminance, which is what a grey print keeps."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_arms_are_told_apart_in_grey_and_without_colour() -> None:
    lightness = [116 * luminance(ARM_COLOURS[arm]) ** (1 / 3) - 16 for arm in RUNGS]
    assert all(before - after > 15 for before, after in pairwise(lightness))
    assert len(set(ARM_MARKERS.values())) == len(RUNGS)


def test_each_measured_point_has_its_interval_and_no_reported_one_has() -> None:
    figure = preview()
    measured, *reported = figure.axes
    bars = [collection for collection in measured.collections if isinstance(collection, LineCollection)]
    assert len(bars) == 2 * len(RUNGS)
    assert all(bar.get_segments()[0][1][1] > bar.get_segments()[0][0][1] for bar in bars)
    assert reported
    assert not any(axis.collections for axis in reported)


def test_a_preview_without_logs_says_so() -> None:
    labels = [tick.get_text() for tick in capability_preview((), REPORTED).axes[0].get_xticklabels()]
    assert labels == ["no logs"]


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="can't be written"):
        save(drawn_ladder(), "figure", tmp_path / "file" / "below")


def test_an_example_needs_logs_of_one_episode() -> None:
    with pytest.raises(RequestError, match="no log"):
        example_episode([])
    with pytest.raises(RequestError, match="one and the same"):
        example_episode([play(every_kind(100)), play(every_kind(101))])


def test_prerequisites_stand_above_what_needs_them() -> None:
    episode = every_kind()
    order = plan_order(episode)
    assert all(order.index(p) < order.index(step.id) for step in episode.graph.steps for p in step.prerequisites)


def test_the_drawn_statuses_are_the_realized_ones() -> None:
    path = path_of(play(every_kind(), perfect))
    spans = {(span.step, span.status) for span in path.spans}
    assert ("s3", Status.CANCELLED) in spans
    assert ("s5", Status.DONE) in spans
    assert ("s1", Status.BLOCKED) not in spans
    # s1 is asked for in turn 0 and done from turn 1 to the end.
    (done,) = (span for span in path.spans if (span.step, span.status) == ("s1", Status.DONE))
    assert (done.start, done.end) == (1, 12)


def test_a_refused_booking_is_drawn_and_makes_no_step_done() -> None:
    path = path_of(play(every_kind(), always_book, arm="enforcement", channel=state_bound))
    assert (1.0, "s4") in path.refused
    assert path.outcome == "strict success"


def test_an_outcome_names_the_channels() -> None:
    assert "omission" in path_of(play(every_kind(), never_book)).outcome
    assert path_of(play(every_kind(), end=None)).outcome == "unfinished"
