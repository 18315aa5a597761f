"""The report of the harnesses: a study that there isn't changes no file."""

from pathlib import Path

from artifact.harness.build_rq4 import build_rq4
from artifact.paths import RELEASED_LOGS


def test_a_study_without_harness_logs_writes_nothing(tmp_path: Path) -> None:
    assert build_rq4("no_such_study", sources=[RELEASED_LOGS], tables=tmp_path, figures=tmp_path, numbers=tmp_path) == 0
    assert not list(tmp_path.iterdir())


def test_a_study_with_harness_logs_is_written(tmp_path: Path) -> None:
    assert build_rq4("tau2_proof", sources=[RELEASED_LOGS], tables=tmp_path, figures=tmp_path, numbers=tmp_path) == 150
    assert {path.name for path in tmp_path.iterdir()} >= {"tau2.tex", "tools.tex", "pmbench.tex", "rq4.tex"}
