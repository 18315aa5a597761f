"""Nothing of a harness run is lost: a real process with real tools, a real kill -9 and a real Ctrl-C."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from artifact.harness.reader import harness_files, whole_lines
from artifact.harness.tools.measures import judged
from artifact.harness.tools.records import WORKED
from artifact.harness.verify import verify_harness_logs
from processes import ARTIFACT, interrupt, lines_in, wait_for_lines

pytestmark = pytest.mark.integration

SEEDS = 3
ARMS = 5
TIMES = ("started", "seconds", "sum", "latency_s")


def command(folder: Path) -> list[str]:
    # Tools that fail make replies, calls and stamps of a turn differ in number: a turn that was taken twice would show.
    return [*ARTIFACT, "run", "--harness", "tools", "--study", "t", "--model", "scripted:retrying", "--sizes", "5",
            "--seeds", f"300:{300 + SEEDS}", "--failure-rate", "0.3", "--not-idempotent", "--concurrency", "3",
            "--runs", str(folder)]


def started(arguments: list[str], temporary: Path) -> "subprocess.Popen[str]":
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "TMPDIR": str(temporary)},
                            # A shell starts its background jobs deaf to Ctrl-C, and these tests may run in one.
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509


def records(folder: Path) -> dict[str, list]:
    """Every log under a folder as it is written, without times."""
    return {str(path.relative_to(folder)): [_timeless(json.loads(line)) for line in whole_lines(path)]
            for path in harness_files(folder)}


def _timeless(value):
    if isinstance(value, dict):
        return {key: _timeless(held) for key, held in value.items() if key not in TIMES}
    return [_timeless(held) for held in value] if isinstance(value, list) else value


def calls_and_stamps(log: list[dict]) -> tuple[dict, dict]:
    """By tool, the work orders of the calls that did work, and those in its artifact."""
    called: dict[str, list[str]] = {}
    for record in log:
        for call in record.get("calls", ()) if record["record"] == "tool_turn" else ():
            if call["outcome"] in WORKED:
                called.setdefault(call["tool"], []).append(call["work_order"])
    (space,) = [record for record in log if record["record"] == "workspace"]
    return called, space["artifacts"]


def run_calmly_and_killed(command_of: Callable[[Path], list[str]], folder: Path) -> tuple[Path, Path]:
    """The runs of a command that ended by itself, and those of one that was killed again and again."""
    calm, killed = folder / "calm", folder / "killed"
    subprocess.run(command_of(calm), check=True, capture_output=True)
    total = lines_in(calm)
    draw = random.Random(20261130)
    kills = torn = 0
    for instant in sorted(draw.randrange(1, total) for _ in range(5)):
        process = started(command_of(killed), folder / "temporary")
        wait_for_lines(killed, instant, process)
        time.sleep(draw.random() * 0.02)  # anywhere within a turn, not only just after a record
        if process.poll() is None:
            process.kill()
            kills += 1
        process.communicate()
        torn += sum(json.loads(whole_lines(path)[-1])["record"] != "end" for path in harness_files(killed)
                    if whole_lines(path))
    assert kills >= 4, "too few runs were still going when they were to be killed"
    assert torn >= 4, "too few logs were cut off in their midst"
    subprocess.run(command_of(killed), check=True, capture_output=True)
    return calm, killed


def test_after_kill_9_at_random_instants_a_tool_study_says_what_a_calm_one_says(tmp_path: Path) -> None:
    calm, killed = run_calmly_and_killed(command, tmp_path)
    found, expected = records(killed), records(calm)
    assert found == expected
    assert len(found) == SEEDS * ARMS
    for log in found.values():
        turns = [record["turn"] for record in log if record["record"] == "tool_turn"]
        assert turns == list(range(len(turns))) and len(turns) >= 44
        called, stamped = calls_and_stamps(log)
        assert called == stamped != {}
    assert judged([killed]) == judged([calm])
    checked = verify_harness_logs([killed])
    assert (checked.findings, checked.sealed) == ((), SEEDS * ARMS)


def test_after_kill_9_at_random_instants_a_tool_probe_says_what_a_calm_one_says(tmp_path: Path) -> None:
    source = tmp_path / "source"
    subprocess.run([*ARTIFACT, "run", "--harness", "tools", "--study", "t", "--model", "scripted:always-act", "--sizes",
                    "5", "--seeds", "300:303", "--arms", "raw", "--runs", str(source)], check=True, capture_output=True)

    def probe(folder: Path) -> list[str]:
        return [*ARTIFACT, "run", "--harness", "tools", "--study", "trap_probe", "--model", "scripted:always-act",
                "--from", str(source), "--samples", "3", "--concurrency", "3", "--runs", str(folder)]

    calm, killed = run_calmly_and_killed(probe, tmp_path)
    found, expected = records(killed), records(calm)
    assert found == expected
    branches = [record for log in found.values() for record in log if record["record"] == "branch"]
    assert len(branches) >= 100
    checked = verify_harness_logs([killed])
    assert (checked.findings, checked.sealed) == ((), 3)


def test_after_kill_9_at_random_instants_a_week_says_what_a_calm_one_says(tmp_path: Path) -> None:
    def weeks(folder: Path) -> list[str]:
        return [*ARTIFACT, "run", "--harness", "pmbench", "--study", "w", "--model", "scripted:select-all", "--weeks",
                "1:3", "--arms", "ledger,directive,enforcement:policy=state", "--concurrency", "3", "--runs",
                str(folder)]

    calm, killed = run_calmly_and_killed(weeks, tmp_path)
    found = records(killed)
    assert found == records(calm) and len(found) == 6
    assert all([record["step"] for record in log if record["record"] == "step"] != [] for log in found.values())
    checked = verify_harness_logs([killed])
    assert (checked.findings, checked.sealed) == ((), 6)


def test_ctrl_c_ends_a_tool_study_in_order_and_leaves_no_workspace_behind(tmp_path: Path) -> None:
    runs, temporary = tmp_path / "runs", tmp_path / "temporary"
    process = started(command(runs), temporary)
    wait_for_lines(runs, 40, process)
    assert [path for path in temporary.iterdir() if path.name.startswith("artifact-workspace-")], "none is at work"
    _, error = interrupt(process)
    assert process.returncode == 130
    assert error.strip().splitlines()[-1] == "artifact: stopped; give the same command again to go on"
    assert "Traceback" not in error
    assert not list(temporary.glob("artifact-workspace-*"))
    ends = [record for log in records(runs).values() for record in log if record["record"] == "end"]
    assert all(end["reason"] == "completed" for end in ends), "an interrupt ends no episode"
    assert len(ends) < SEEDS * ARMS, "the study had ended before it was interrupted"
    subprocess.run(command(runs), check=True, capture_output=True)
    verdicts = judged([runs])
    assert len(verdicts) == SEEDS * ARMS and all(verdict.completed for verdict in verdicts)
