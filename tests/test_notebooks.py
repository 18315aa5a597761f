"""Notebooks: short, without functions, paired, and strict about their parameters."""

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from artifact import paths
from artifact.errors import RequestError
from artifact.report.notebooks import check_parameters, default_parameters, execute, names, paired, sync

NAMES = names()
AT_MOST_CELLS = 20


def cells(name: str) -> list[dict[str, Any]]:
    """The cells of a committed notebook."""
    return json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def code(cell: dict[str, Any]) -> str:
    """The source of a cell."""
    return "".join(cell["source"])


def test_there_is_a_notebook_for_each_question_of_this_release() -> None:
    assert {"rq1", "rq2", "rq3", "rq4"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_short_and_defines_no_function(name: str) -> None:
    assert len(cells(name)) <= AT_MOST_CELLS
    for cell in cells(name):
        if cell["cell_type"] == "code":
            defined = [node for node in ast.walk(ast.parse(code(cell)))
                       if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)]
            assert defined == []


@pytest.mark.parametrize("name", NAMES)
def test_the_first_code_cell_holds_the_parameters_literals_with_a_comment_each(name: str) -> None:
    first = next(cell for cell in cells(name) if cell["cell_type"] == "code")
    assert first["metadata"]["tags"] == ["parameters"]
    for statement in ast.parse(code(first)).body:
        assert isinstance(statement, ast.Assign)
        ast.literal_eval(statement.value)
    lines = [line for line in code(first).splitlines() if line.strip()]
    assert [line for line in lines if "  # " not in line] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_what_its_script_makes_of_it_byte_for_byte(name: str) -> None:
    assert (paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8") == paired(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_notebook_holds_no_output(name: str) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None
               for cell in cells(name) if cell["cell_type"] == "code")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_does_not_run_a_model_unless_it_is_asked_to(name: str) -> None:
    assert default_parameters(name)["live"] is False


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_parameter_is_an_error(name: str) -> None:
    with pytest.raises(RequestError, match="no parameter 'liv'; did you mean 'live'"):
        check_parameters(name, {"liv": True})
    with pytest.raises(RequestError, match="no parameter 'wholly_other'; it has"):
        execute(name, {"wholly_other": 1})


@pytest.mark.parametrize(("parameter", "value"), [
    ("live", "yes"), ("live", 1), ("live_concurrency", True), ("live_concurrency", 1.5), ("study", 3),
    ("live_sizes", 5), ("live_sizes", ["5"]), ("live_arms", "raw"), ("live_seeds", [100, 116]),
    ("live_densities", ["sparse"]),
])
def test_a_parameter_of_the_wrong_type_is_an_error(parameter: str, value: object) -> None:
    with pytest.raises(RequestError, match=f"parameter '{parameter}' of notebook rq1 must be"):
        check_parameters("rq1", {parameter: value})


def test_parameters_of_the_right_type_pass_unchanged() -> None:
    chosen = {"live": True, "live_sizes": [5, 10], "live_densities": [1], "study": "smoke"}
    assert check_parameters("rq1", chosen) == chosen


def test_an_unknown_notebook_is_an_error() -> None:
    with pytest.raises(RequestError, match="there is no notebook 'rq9'"):
        execute("rq9")


def test_a_script_may_not_drift_from_its_notebook_unseen(tmp_path: Path) -> None:
    shutil.copy(paths.NOTEBOOKS / "rq1.py", tmp_path)
    before = sync("rq1", tmp_path).read_bytes()
    assert sync("rq1", tmp_path).read_bytes() == before
    script = tmp_path / "rq1.py"
    script.write_text(script.read_text(encoding="utf-8") + "\n# %%\n1 + 1\n", encoding="utf-8")
    assert sync("rq1", tmp_path).read_bytes() != before


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without logs for the notebook's kernel, so that a test writes nothing into this one."""
    (tmp_path / "data").mkdir()
    for file in (paths.REPORTED, paths.DATA / "claims.toml", paths.DATA / "systems.toml"):
        shutil.copy(file, tmp_path / "data")
    for variable in ("ARTIFACT_ROOT", "ARTIFACT_OUTPUT"):
        monkeypatch.setenv(variable, str(tmp_path))
    return tmp_path


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_without_any_log_and_says_not_run(name: str, checkout: Path) -> None:
    execute(name, output=checkout / "executed")
    assert (checkout / "paper" / "numbers" / f"{name}.tex").is_file()
    tables = sorted((checkout / "paper" / "tables").glob("*.tex"))
    assert tables
    assert any("not run" in table.read_text(encoding="utf-8") for table in tables)


@pytest.mark.integration
@pytest.mark.slow
def test_what_a_notebook_refuses_is_refused_in_a_sentence(checkout: Path) -> None:
    with pytest.raises(RequestError, match="notebook rq1: there is no brief 'other'"):
        execute("rq1", {"live": True, "live_brief": "other"}, output=checkout / "executed")
