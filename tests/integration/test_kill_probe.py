"""Nothing of a trap-turn probe is lost: a real process, a real kill -9, several times."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from test_trap_probe import content, raw_logs

MODEL = "scripted:always-book?delay=0.002"


def command(source: Path, folder: Path) -> list[str]:
    return [sys.executable, "-m", "artifact.cli", "run", "--study", "trap_probe", "--model", MODEL, "--from",
            str(source), "--runs", str(folder), "--concurrency", "2"]


def lines_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.probe.jsonl"))


def test_after_kill_9_at_several_instants_the_probe_says_what_a_calm_one_says(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    source = raw_logs(tmp_path, MODEL)
    subprocess.run(command(source, calm), check=True, capture_output=True)
    total = lines_in(calm)
    draw = random.Random(20261130)
    kills = 0
    for instant in sorted(draw.randrange(1, total) for _ in range(6)):
        process = subprocess.Popen(command(source, killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while lines_in(killed) < instant and process.poll() is None:
            time.sleep(0.001)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 4, "too few runs were still going when they were to be killed"
    subprocess.run(command(source, killed), check=True, capture_output=True)
    assert content(killed) == content(calm) != {}
