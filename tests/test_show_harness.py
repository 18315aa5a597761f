"""``artifact show`` on the logs of harnesses: what was said and what became of it, a part a record."""

from pathlib import Path

import pytest

from artifact.cli.main import main
from artifact.cli.render_harness import TEXTS
from artifact.harness.pmbench import records as pmbench
from artifact.harness.tau2 import records as tau2
from artifact.harness.tools import records as tools
from artifact.paths import RELEASED_LOGS

RUN_TOOLS = ("run", "--harness", "tools", "--study", "s", "--model", "scripted:always-act", "--sizes", "5", "--seeds",
         "300:302", "--arms", "enforcement", "--no-fsync", "--runs")


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    assert main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_tool_conversation_shows_requests_replies_results_and_calls(tmp_path: Path, capsys) -> None:
    assert main([*RUN_TOOLS, str(tmp_path)]) == 0
    capsys.readouterr()
    lines = shown(capsys, tmp_path / "s", "--seed", 301)
    assert "arm enforcement" in lines[0] and "seed 301" in lines[0]
    assert sum(line.startswith("--- turn") for line in lines) >= 44
    assert any(line.startswith("  > [TOOL RESULT]") and line.endswith("done.") for line in lines)
    assert any(": refused, " in line for line in lines)
    assert "left behind:" in lines and lines[-1] == "ended: completed"
    assert shown(capsys, tmp_path / "s") != lines  # the first seed, when none is named


def test_a_week_shows_each_step(tmp_path: Path, capsys) -> None:
    assert main(["run", "--harness", "pmbench", "--study", "w", "--model", "scripted:oracle", "--arms", "raw",
                 "--weeks", "1", "--no-fsync", "--runs", str(tmp_path)]) == 0
    capsys.readouterr()
    lines = shown(capsys, tmp_path / "w")
    assert any(line.startswith("--- mon-1: chose ") for line in lines) and lines[-1] == "ended: completed"
    assert any("selected" in line for line in lines)


def test_an_airline_conversation_shows_what_the_gate_did(capsys) -> None:
    lines = shown(capsys, RELEASED_LOGS / "tau2_proof", "--item", "26")
    assert lines[0].endswith("on scripted:gold") and ", 26, " in lines[0]
    assert any(line.startswith("reward ") for line in lines)


def test_what_is_not_there_is_said(tmp_path: Path, capsys) -> None:
    for arguments in (["--item", "no_such_task"], ["--turn", "3"], ["--html", str(tmp_path / "page.html")]):
        assert main(["show", str(RELEASED_LOGS / "tau2_proof"), *arguments]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["show", str(RELEASED_LOGS / "ladder"), "--item", "1"]) == 2
    assert "--seed" in capsys.readouterr().err
    assert main(["show", str(RELEASED_LOGS / "trap_probe")]) == 2
    assert "artifact score" in capsys.readouterr().err


@pytest.mark.parametrize("types", [tools.RECORD_TYPES, pmbench.RECORD_TYPES, tau2.RECORD_TYPES])
def test_every_record_of_a_harness_is_drawn_but_the_match_that_a_directive_tells_of(types) -> None:
    drawn = {str(record.__dataclass_fields__["record"].default) for record in TEXTS}
    assert set(types) - drawn <= {"match"}
