"""A full disk says so and loses nothing that was acknowledged."""

import resource
import subprocess
import sys
from pathlib import Path

from episode_logs import timeless

COMMAND = [sys.executable, "-m", "artifact.cli", "run", "--study", "t", "--sizes", "5", "--seeds", "100:101",
           "--arms", "raw,enforcement", "--model", "scripted:always-book"]


def no_file_larger_than(size: int):
    """The kernel's own limit on file size stands in for a disk that fills up in the middle of a record."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_fills_up_in_a_record_says_so_and_the_run_goes_on_when_there_is_room(tmp_path: Path):
    calm, full = tmp_path / "calm", tmp_path / "full"
    subprocess.run([*COMMAND, "--runs", str(calm)], check=True, capture_output=True)
    stopped = subprocess.run([*COMMAND, "--runs", str(full)], capture_output=True, text=True, check=False,
                             preexec_fn=no_file_larger_than(25_000))
    assert stopped.returncode == 3
    sentence = stopped.stderr.strip().splitlines()[-1]
    assert sentence.startswith("artifact: ")
    assert "can't be written" in sentence
    assert "make room and give the same command again" in sentence
    written = next(full.rglob("raw/100.jsonl")).read_bytes()
    assert written.endswith(b"\n"), "a record was left half-written"
    assert len(written) > 15_000
    subprocess.run([*COMMAND, "--runs", str(full)], check=True, capture_output=True)
    assert timeless(full) == timeless(calm)
