"""One client under one load, in a process of its own: `python -m bench.measure CLIENT URL FOLDER EPISODES CONCURRENCY`.

Prints one JSON object, or exits with `ABSENT` and the name of what isn't installed.
"""

import asyncio
import contextlib
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from artifact import paths
from artifact.errors import InfrastructureError

ABSENT = 77

# A child finds this very library and this very benchmark, wherever it is started.
_ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[1]), str(paths.PACKAGE.parent)])}


@dataclass(frozen=True)
class Measurement:
    """What a load took.

    Parameters
    ----------
    turns : int
        Turns answered.
    cpu_s, wall_s : float
        Processor time, of user and system and of all threads, and time on the clock, without start and imports.
    peak_mb : float
        The most memory that the process ever held.
    """

    turns: int
    cpu_s: float
    wall_s: float
    peak_mb: float


@contextlib.contextmanager
def mock_server(latency_s: float) -> Iterator[str]:
    """A mock server for as long as the block lasts; gives its URL."""
    command = [sys.executable, "-m", "bench.mock_server", str(latency_s)]
    with subprocess.Popen(command, env=_ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()


def measure(client: str, episodes: int, concurrency: int, latency_s: float = 0.0) -> Measurement | str:
    """Measure a client in a process of its own, or tell what isn't installed."""
    # Beside the runs of this checkout, so that a log is flushed to the same disk as theirs.
    build = paths.ROOT / "build"
    build.mkdir(exist_ok=True)
    with mock_server(latency_s) as url, tempfile.TemporaryDirectory(dir=build, prefix="bench-") as folder:
        command = [sys.executable, "-m", "bench.measure", client, url, folder, str(episodes), str(concurrency)]
        done = subprocess.run(command, env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False)
    said = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    if done.returncode == ABSENT:
        return said
    if done.returncode:
        raise InfrastructureError(f"the client {client} came to no end (exit code {done.returncode}); see above why")
    return Measurement(**json.loads(said))


def _main() -> int:
    from bench.clients import CLIENTS, Load
    from bench.script import Script

    name, url, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    episodes, concurrency = int(sys.argv[4]), int(sys.argv[5])
    client, script = CLIENTS[name], Script()
    try:
        if client.uvloop:
            import uvloop
            asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        # What is measured is a run that goes on for hours: imports and first connections are not part of it.
        asyncio.run(client.run(Load(url, folder / "first", script, 1, 1)))
        gc.collect()
        before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        turns = asyncio.run(client.run(Load(url, folder / "measured", script, episodes, concurrency)))
    except ImportError as error:
        print(error.name or error)
        return ABSENT
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps(asdict(Measurement(turns, cpu, wall, _peak_mb(after.ru_maxrss)))))
    return 0


def _peak_mb(maxrss: int) -> float:
    # A process inherits `ru_maxrss` from the one that started it; Linux keeps the peak of its own memory as well.
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return maxrss / 2**20


if __name__ == "__main__":
    sys.exit(_main())
