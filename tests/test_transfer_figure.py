"""The figure of all worlds: what it reads from the verdicts, and that it draws the rungs that ran."""

from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure

from artifact.harness.figure_transfer import transfer_figure, worlds
from artifact.harness.tau2.measures import judged
from artifact.paths import RELEASED_LOGS
from artifact.report import load_reported
from artifact.report.reported import Reported
from artifact.report.statistics import proportion

LADDER, PROOF = RELEASED_LOGS / "ladder", RELEASED_LOGS / "tau2_proof"


def titles(figure: Figure) -> list[str]:
    return [axis.get_title(loc) for axis in figure.axes for loc in ("left", "center") if axis.get_title(loc)]


def test_each_world_has_its_own_values_and_rungs() -> None:
    testbed, tools, airline, weeks = worlds([LADDER], (), judged([PROOF]), (), load_reported())
    one = testbed.measured["qwen2.5-coder-1.5b"]
    wilson = proportion(13, 16)  # Table 2 of the released ladder, S=5
    assert one["enforcement"] == (wilson.estimate, wilson.low, wilson.high)
    assert one["raw"].rate == 0
    assert airline.measured["scripted:gold"]["enforcement"].rate == 42 / 50
    assert airline.measured["scripted:nothing"]["raw"].rate == 19 / 50
    assert not tools.measured and not weeks.measured
    assert tools.rungs[-1] == "enforcement:policy=request" and len(weeks.rungs) == 6
    assert tools.reported["enforcement:policy=request"] == (0.96,)
    assert weeks.reported["enforcement:policy=judgement"] == (0.55, 0.70)


def test_projects_of_one_step_do_not_stand_for_the_testbed() -> None:
    alone, *_ = worlds([RELEASED_LOGS / "one_step"], (), (), (), ())
    beside, *_ = worlds([LADDER, RELEASED_LOGS / "one_step"], (), (), (), ())
    assert not alone.measured
    assert beside.measured["qwen2.5-coder-1.5b"]["enforcement"].rate == 13 / 16


def test_the_cell_with_most_completed_episodes_stands_for_an_agent() -> None:
    verdicts = [verdict for verdict in judged([PROOF]) if verdict.cell.model == "scripted:nothing"]
    others = [replace(verdict, study="again", passed=True) for verdict in verdicts[:20]]
    _, _, airline, _ = worlds([], (), [*others, *verdicts], (), load_reported())
    assert airline.measured["scripted:nothing"]["raw"].rate == 19 / 50


def test_a_world_without_runs_says_so() -> None:
    figure = transfer_figure(worlds([Path("no_such_folder")], (), (), (), list[Reported]()))
    assert titles(figure) == ["lifecycle testbed", "real tools", "τ²-bench airline", "PM-Bench"]
    assert all("not run" in [text.get_text() for text in axis.texts] for axis in figure.axes)
