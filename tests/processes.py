"""Real processes that tests and benchmarks start, stop and kill: the command `artifact`, and the scripted server."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from episode_logs import timeless

ARTIFACT = [sys.executable, "-m", "artifact.cli"]
SERVER = [sys.executable, str(Path(__file__).with_name("chaos_server.py"))]


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Server:
    """The scripted server as a process of its own, always on the same port."""

    port: int
    options: Sequence[str] = ()
    process: "subprocess.Popen[str] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        self.process = subprocess.Popen([*SERVER, "--port", str(self.port), *self.options], stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == self.url

    def kill(self) -> None:
        """Kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """A running server."""
    started = Server(free_port(), options)
    started.start()
    try:
        yield started
    finally:
        started.kill()


def lines_in(folder: Path) -> int:
    """Whole lines in all logs of a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.jsonl"))


def wait_for_lines(folder: Path, number: int, process: "subprocess.Popen[str]", within_s: float = 120.0) -> None:
    """Wait until logs hold that many lines, or the process has ended."""
    until = time.monotonic() + within_s
    while lines_in(folder) < number and process.poll() is None:
        assert time.monotonic() < until, f"{number} lines were not written within {within_s:g} s"
        time.sleep(0.002)


def run_command(folder: Path, url: str, *options: str) -> list[str]:
    """The command that runs a small study against a server."""
    return [*ARTIFACT, "run", "--study", "t", "--sizes", "5", "--seeds", "100:102", "--concurrency", "4", "--runs",
            str(folder), "--model", url, *options]


@dataclass
class KillReport:
    """What was killed, and what was lost by it."""

    killed: dict[str, int] = field(default_factory=dict)
    expected: dict[str, list] = field(default_factory=dict)
    found: dict[str, list] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        return sum(record["record"] == "turn" for log in self.expected.values() for record in log)

    @property
    def missing(self) -> list:
        """Records of the calm run that are missing or read otherwise."""
        return [record for name, log in self.expected.items() for record in log
                if record not in self.found.get(name, [])]

    @property
    def lost(self) -> int:
        """How many they are."""
        return len(self.missing)

    @property
    def doubled(self) -> int:
        """Records beyond those of the calm run."""
        return sum(len(log) for log in self.found.values()) - sum(len(log) for log in self.expected.values())


def kill_at_random(folder: Path, victims: Sequence[str], *, seed: int, seeds: str = "100:102") -> KillReport:
    """Run a study against a server while client, server or both are killed, then compare with a calm run.

    Parameters
    ----------
    folder : Path
        For the logs of both runs.
    victims : sequence of str
        ``client``, ``server`` or ``both``, in the order of the kills.
    seed : int
        Of the instants.
    seeds : str
        Seeds of the study.
    """
    report = KillReport()
    delay = "reader?directive=0.8&transcript=0.5&delay=0.002"
    calm, killed = folder / "calm", folder / "killed"
    with server("--model", delay) as served:
        subprocess.run(run_command(calm, served.url, "--seeds", seeds), check=True, capture_output=True)
        total = lines_in(calm)
        draw = random.Random(seed)
        instants = sorted(draw.randrange(1, total) for _ in victims)
        command = run_command(killed, served.url, "--seeds", seeds)
        client = _client(command)
        for instant, victim in zip(instants, victims, strict=True):
            wait_for_lines(killed, instant, client)
            if client.poll() is not None:
                break
            time.sleep(draw.random() * 0.01)  # anywhere within a turn, not only just after a record
            if victim in ("client", "both"):
                client.kill()
                client.wait()
            if victim in ("server", "both"):
                served.kill()
                served.start()
            if victim in ("client", "both"):
                client = _client(command)
            report.killed[victim] = report.killed.get(victim, 0) + 1
        client.wait()
        subprocess.run(command, check=True, capture_output=True)
    report.expected, report.found = timeless(calm, troubles=False), timeless(killed, troubles=False)
    return report


def _client(command: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def interrupt(process: "subprocess.Popen[str]") -> tuple[float, str]:
    """Send Ctrl-C; gives the seconds until the process ended, and what it said on standard error."""
    started = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    return time.monotonic() - started, error
