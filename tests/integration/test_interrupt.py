"""Ctrl-C: a real process and a real signal; it ends cleanly within two seconds and says how to go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from artifact.errors import InfrastructureError
from artifact.log import iter_logs
from artifact.models.weights import fetch
from artifact.runner.lock import study_lock
from processes import ARTIFACT, interrupt, run_command, server, wait_for_lines

pytestmark = pytest.mark.integration

SENTENCE = "artifact: stopped; give the same command again to go on"
# Two seconds are promised; a machine that is busy with other things gets more before it counts as a failure.
GRACE_S = 10.0


def started(command: list[str]) -> "subprocess.Popen[str]":
    # A shell starts its background jobs deaf to Ctrl-C, and these tests may run in one.
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509


def ends_cleanly(process: "subprocess.Popen[str]", folder: Path) -> None:
    seconds, error = interrupt(process)
    assert process.returncode == 130
    assert error.strip().splitlines()[-1] == SENTENCE and "Traceback" not in error
    assert seconds < GRACE_S
    assert all(log.end is None or log.completed for log in iter_logs([folder])), "an interrupt ends no episode"


def test_while_conversations_go_on(tmp_path: Path) -> None:
    with server("--model", "reader?delay=0.01") as served:
        process = started(run_command(tmp_path, served.url))
        wait_for_lines(tmp_path, 10, process)
        ends_cleanly(process, tmp_path)


def test_while_every_call_is_stalled_or_waits_for_its_next_try(tmp_path: Path) -> None:
    with server("--model", "reader", "--stalled-after", "12") as served:
        process = started(run_command(tmp_path, served.url))
        wait_for_lines(tmp_path, 8, process)
        time.sleep(0.5)
        ends_cleanly(process, tmp_path)


def test_while_a_server_that_is_down_is_waited_for(tmp_path: Path) -> None:
    with server("--model", "reader?delay=0.01") as served:
        process = started(run_command(tmp_path, served.url))
        wait_for_lines(tmp_path, 10, process)
        served.kill()
        assert process.stderr is not None and "is down" in process.stderr.readline()
        ends_cleanly(process, tmp_path)


def test_while_the_embedded_engine_generates(tmp_path: Path) -> None:
    try:
        fetch("smollm2-135m")
    except InfrastructureError as error:
        pytest.skip(str(error))
    process = started([*ARTIFACT, "run", "--study", "t", "--sizes", "5", "--seeds", "100", "--arms", "raw", "--runs",
                       str(tmp_path), "--model", "smollm2-135m", "--threads", "1"])
    wait_for_lines(tmp_path, 2, process)
    ends_cleanly(process, tmp_path)


def test_a_second_runner_of_a_study_is_told_who_runs_it_and_stops(tmp_path: Path) -> None:
    with study_lock(tmp_path / "t"):
        second = subprocess.run([*ARTIFACT, "run", "--study", "t", "--sizes", "5", "--seeds", "100", "--runs",
                                 str(tmp_path), "--model", "scripted:always-book"], capture_output=True, text=True,
                                check=False)
    assert second.returncode == 2
    assert f"is being run by process {os.getpid()}" in second.stderr
    assert not list(tmp_path.rglob("*.jsonl"))


def test_while_the_program_is_still_loading_the_one_who_answers_is_there_first() -> None:
    loaded = subprocess.run([sys.executable, "-c", "import sys, artifact.cli.main; print(*sys.modules)"],
                            capture_output=True, text=True, check=True).stdout.split()
    assert "artifact.cli.main" in loaded
    assert not {"aiohttp", "pandas", "matplotlib", "artifact.runner"} & set(loaded)
