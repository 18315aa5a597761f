"""Figures of the analyses: the same bytes on each run, intervals on what was measured, and no point without a trial."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from artifact.report import ScoredLogs, load_reported, load_scored
from artifact.report.figure_channels import channel_decomposition
from artifact.report.figure_corruption import corruption_effect
from artifact.report.figure_points import point
from artifact.report.figure_sizes import size_sweep
from artifact.report.statistics import NOT_RUN, proportion
from artifact.report.style import save
from episode_logs import always_book, every_kind, play, state_bound
from episode_logs import save as write
from gate_logs import play_gate
from report_frames import LARGE, RUNGS, SMALL, climb, scored

REPORTED = load_reported()


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> ScoredLogs:
    """Raw and enforcement, and the gate at two rates of corruption, on six seeds."""
    runs = tmp_path_factory.mktemp("runs")
    for seed in range(6):
        write(play(every_kind(seed), always_book, arm="raw"), runs)
        write(play(every_kind(seed), always_book, arm="enforcement", channel=state_bound), runs)
        for rate in (0.003, 0.05):
            write(play_gate(every_kind(seed), corruption=rate), runs)
    return load_scored([runs])


def intervals(figure: Figure, axis: int = 0) -> int:
    """Intervals drawn in an axis; one that was not measured draws none."""
    found = figure.axes[axis].collections
    return sum(not np.isnan(bar.get_segments()[0]).any() for bar in found if isinstance(bar, LineCollection))


def texts(figure: Figure) -> str:
    """All words in a figure's axes."""
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


def test_two_builds_give_the_same_bytes(logs: ScoredLogs, tmp_path: Path) -> None:
    for name, draw in (("c", lambda: channel_decomposition(logs)), ("k", lambda: corruption_effect(logs, REPORTED)),
                       ("s", lambda: size_sweep(logs, REPORTED))):
        one, two = save(draw(), name, tmp_path / "one"), save(draw(), name, tmp_path / "two")
        assert one.pdf.read_bytes() == two.pdf.read_bytes()
        assert one.png.read_bytes() == two.png.read_bytes()


def test_a_channel_is_drawn_for_each_rung_on_whose_turns_it_could_occur(logs: ScoredLogs) -> None:
    # Strict success and five channels for each of two rungs: every label occurs on both.
    assert intervals(channel_decomposition(logs)) == 2 * 6


def test_a_point_without_a_trial_draws_nothing() -> None:
    assert np.isnan(point(NOT_RUN)).all()
    assert point(proportion(1, 2)).low < 0.5 < point(proportion(1, 2)).high


def test_a_size_has_a_point_only_where_it_was_run() -> None:
    rows = [climb(dict(zip(RUNGS, (0, 1, 4, 7), strict=True)), 8, model=model, size=size)
            for model, size in ((SMALL, 5), (LARGE, 5), (LARGE, 10))]
    figure = size_sweep(scored(*rows), REPORTED)
    small, large, reported = figure.axes
    assert (intervals(figure), intervals(figure, 1), intervals(figure, 2)) == (4, 8, 0)
    assert small.get_title(loc="left") == SMALL
    assert large.get_title(loc="left") == LARGE
    assert reported.lines


def test_the_corrupted_gate_is_drawn_by_rate_and_by_kind(logs: ScoredLogs) -> None:
    figure = corruption_effect(logs, REPORTED)
    assert intervals(figure) == 3  # rate 0 on the same seeds is the third
    assert "not run" not in texts(figure)


def test_figures_without_logs_say_so() -> None:
    none = scored()
    assert "not run" in texts(size_sweep(none, REPORTED))
    assert "not run" in texts(channel_decomposition(none, 15, 0.3))
    assert "not run" in texts(corruption_effect(none, REPORTED))
