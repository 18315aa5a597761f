"""Nothing is lost: a real process, a real kill -9, ten times."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from episode_logs import timeless

COMMAND = [sys.executable, "-m", "artifact.cli", "run", "--study", "t", "--sizes", "5", "--seeds", "100:103",
           "--concurrency", "3"]


def lines_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.jsonl"))


def command(folder: Path, delay: float) -> list[str]:
    return [*COMMAND, "--runs", str(folder), "--model", f"scripted:reader?directive=0.8&transcript=0.4&delay={delay}"]


def test_after_kill_9_at_ten_instants_the_log_says_what_a_calm_run_says(tmp_path):
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    subprocess.run(command(calm, 0.002), check=True, capture_output=True)
    total = lines_in(calm)
    draw = random.Random(20260922)
    instants = sorted(draw.randrange(1, total) for _ in range(10))
    kills = 0
    for instant in instants:
        process = subprocess.Popen(command(killed, 0.002), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while lines_in(killed) < instant and process.poll() is None:
            time.sleep(0.001)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 8, "too few runs were still going when they were to be killed"
    subprocess.run(command(killed, 0.002), check=True, capture_output=True)
    assert timeless(killed) == timeless(calm)
