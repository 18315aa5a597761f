"""What it takes to encode the exchanges of released episodes, as the memory arms do: one after the other.

    PYTHONPATH=tests python tests/bench/encode.py [--episodes N]
"""

import argparse
import os
import time
from collections.abc import Iterator
from itertools import islice

from artifact import paths
from artifact.arms.memory.exchanges import Exchange
from artifact.log import iter_logs
from artifact.models.embedder import open_embedder


def main() -> None:
    """Load the encoder, then encode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=3)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    started = time.perf_counter(), time.process_time()
    encoder = open_embedder()
    encoder.vectors(["the first text loads libraries and weights"])
    print(f"loading, once a process: {_since(started)}")
    for name, texts in islice(_episodes(), options.episodes):
        started = time.perf_counter(), time.process_time()
        for text in texts:
            encoder.vectors([text])
        print(f"{len(texts)} exchanges of {name}: {_since(started)}")


def _episodes() -> Iterator[tuple[str, list[str]]]:
    """Names and exchanges of the episodes that were held with the whole transcript and nothing else."""
    for log in iter_logs([paths.RELEASED_LOGS / "ladder"]):
        if log.header.arm.name == "raw":
            yield (f"{log.header.cell.slug} seed {log.header.seed}",
                   [Exchange(turn.turn, turn.text, turn.reply).text for turn in log.turns])


def _since(started: tuple[float, float]) -> str:
    return f"{time.perf_counter() - started[0]:.2f} s, {time.process_time() - started[1]:.2f} s of CPU time"


if __name__ == "__main__":
    main()
