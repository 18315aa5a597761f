"""The scorer over a million mutated replies, and how long it takes over hopeless ones.

    PYTHONPATH=tests python tests/bench/fuzz_scorer.py [--replies N] [--seed N]
"""

import argparse
import asyncio
import time

from artifact.scorer import citations, is_refusal
from artifact.taskstate import parse_ref_lines
from reply_mutations import fuzz


def main() -> None:
    """Fuzz, then time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=20261130)
    options = parser.parse_args()
    started = time.process_time()
    found = asyncio.run(fuzz(options.replies, seed=options.seed))
    seconds = time.process_time() - started
    print(f"{found.replies} replies in {seconds:.0f} s of CPU time: {found.ref_lines} ref lines, {found.entered} "
          f"bookings entered, {found.refused} refused, {found.cited} cited; none raised, none was entered wrongly")
    print(f"{'text':24} " + " ".join(f"{f'{size} kB':>10}" for size in (25, 50, 100, 200)))
    for unit in ("ref RC-", "ref RC-1001/#W2000 ", "I can't do this again. ", "prerequisites "):
        print(f"{unit:24} " + " ".join(f"{_milliseconds(unit, size * 1000):7.1f} ms" for size in (25, 50, 100, 200)))


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
