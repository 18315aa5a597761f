"""The scorer over a million mutated replies, and how long it takes over hopeless ones.

    PYTHONPATH=tests python tests/bench/fuzz_scorer.py [--replies N] [--seed N] [--processes N]

What is found doesn't depend on the number of processes: the replies come in shares, each with a seed and episodes
of its own, and a process takes one share after the other.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

from artifact.generator import TURNS
from artifact.scorer import citations, is_refusal
from artifact.taskstate import parse_ref_lines
from reply_mutations import Fuzzed, fuzz

EPISODES_PER_SHARE = 250
PROGRESS_S = 10


@dataclass(frozen=True)
class Share:
    """A part of the replies: all that it takes to put just these to the scorer again."""

    replies: int
    seed: str
    first_episode: int


def main() -> None:
    """Fuzz, then time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found, seconds = fuzz_all(list(_shares(options.replies, options.seed)), options.processes)
    print(f"{found.replies} replies in {seconds:.0f} s of CPU time: {found.ref_lines} ref lines, {found.entered} "
          f"bookings entered, {found.refused} refused, {found.cited} cited; none raised, none was entered wrongly",
          flush=True)
    print(f"{'text':24} " + " ".join(f"{f'{size} kB':>10}" for size in (25, 50, 100, 200)))
    for unit in ("ref RC-", "ref RC-1001/#W2000 ", "I can't do this again. ", "prerequisites "):
        times = [_milliseconds(unit, size * 1000) for size in (25, 50, 100, 200)]
        print(f"{unit:24} " + " ".join(f"{milliseconds:7.1f} ms" for milliseconds in times), flush=True)


def _shares(replies: int, seed: int) -> Iterator[Share]:
    size = EPISODES_PER_SHARE * TURNS
    for number, start in enumerate(range(0, replies, size)):
        yield Share(min(size, replies - start), f"{seed}/{number}", 100 + number * EPISODES_PER_SHARE)


def fuzz_all(shares: list[Share], processes: int) -> tuple[Fuzzed, float]:
    """What was found in all shares together, and the CPU time that it took."""
    started, total = time.monotonic(), sum(share.replies for share in shares)
    found, seconds = Fuzzed(), 0.0
    pool = ProcessPoolExecutor(processes)
    try:
        running: set[Future[tuple[Fuzzed, float]]] = {pool.submit(_fuzz_share, share) for share in shares}
        while running:
            done, running = wait(running, timeout=PROGRESS_S, return_when=FIRST_EXCEPTION)
            for future in done:
                share_found, share_seconds = future.result()
                found, seconds = found + share_found, seconds + share_seconds
            print(f"{found.replies} of {total} replies after {time.monotonic() - started:.0f} s, "
                  f"{seconds:.0f} s of CPU time", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return found, seconds


def _fuzz_share(share: Share) -> tuple[Fuzzed, float]:
    started = time.process_time()
    try:
        found = asyncio.run(fuzz(share.replies, seed=share.seed, first_episode=share.first_episode))
    except Exception as error:
        error.add_note(f"in {share}")
        raise
    return found, time.process_time() - started


def _milliseconds(unit: str, length: int) -> float:
    text = (unit * (length // len(unit) + 1))[:length]
    times = []
    for _ in range(3):
        started = time.process_time()
        citations(text, parse_ref_lines(text))
        is_refusal(text)
        times.append(time.process_time() - started)
    return 1000 * min(times)


if __name__ == "__main__":
    main()
