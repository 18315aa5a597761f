"""A server that goes down: said in a sentence, waited for, and given up after the limit with everything kept."""

import subprocess
from pathlib import Path

import pytest

from episode_logs import timeless
from processes import Server, lines_in, run_command, server, wait_for_lines

pytestmark = pytest.mark.integration

SLOW = ("--model", "reader?directive=0.8&transcript=0.5&delay=0.01")


def started(folder: Path, served: Server, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(run_command(folder, served.url, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def test_a_study_waits_for_a_server_that_went_down_and_goes_on_by_itself(tmp_path: Path) -> None:
    with server(*SLOW) as served:
        client = started(tmp_path, served, "--wait-for-server", "120")
        assert client.stderr is not None
        wait_for_lines(tmp_path, 20, client)
        served.kill()
        assert "is down" in (sentence := client.stderr.readline())
        assert f"the server at {served.url} is down (Connection refused)" in sentence
        assert "waiting up to 120 s for it" in sentence
        written = lines_in(tmp_path)
        served.start()
        output, error = client.communicate(timeout=120)
        assert client.returncode == 0, error
        assert written < lines_in(tmp_path)
        assert "is back after" in error and error.count("is down") == 0, "it is said once"
        assert "8 completed" in output and "unreachable" in output
        calm = tmp_path / "calm"
        subprocess.run(run_command(calm, served.url), check=True, capture_output=True)
        whole = timeless(calm, troubles=False)
        assert {name: log for name, log in timeless(tmp_path, troubles=False).items()
                if not name.startswith("calm")} == whole


def test_a_server_that_stays_away_ends_the_study_with_exit_code_3_and_everything_kept(tmp_path: Path) -> None:
    with server(*SLOW) as served:
        client = started(tmp_path, served, "--wait-for-server", "1")
        wait_for_lines(tmp_path, 20, client)
        served.kill()
        _, error = client.communicate(timeout=60)
        assert client.returncode == 3
        *_, last = error.strip().splitlines()
        assert last.startswith(f"artifact: the server at {served.url} has been down for")
        assert "give the same command again to go on" in last and "Traceback" not in error
        assert lines_in(tmp_path) >= 20
        kept = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
        assert not any(b'"record":"end"' in content for content in kept.values()), "an outage ends no episode"
        served.start()
        subprocess.run(run_command(tmp_path, served.url), check=True, capture_output=True)
        assert all(path.read_bytes().startswith(content) for path, content in kept.items())


def test_a_server_that_comes_back_as_another_one_stops_the_study(tmp_path: Path) -> None:
    with server(*SLOW) as served:
        client = started(tmp_path, served)
        assert client.stderr is not None
        wait_for_lines(tmp_path, 20, client)
        served.kill()
        assert "is down" in client.stderr.readline()
        served.options = (*SLOW, "--version", "other")
        served.start()
        _, error = client.communicate(timeout=60)
        assert client.returncode == 2
        assert "came back as another one (engine_version: 0.0-scripted before, other now)" in error
