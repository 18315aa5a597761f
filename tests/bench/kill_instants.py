"""Kill -9 of client, server or both at a hundred random instants: turns lost, turns doubled.

    PYTHONPATH=tests python tests/bench/kill_instants.py [--instants N] [--seed N]
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from processes import KillReport, kill_at_random

_PER_STUDY = 20


def main() -> int:
    """Study after study, each killed at some instants, until all instants are used up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20261130)
    options = parser.parse_args()
    draw, started = random.Random(options.seed), time.monotonic()
    killed = dict.fromkeys(("client", "server", "both"), 0)
    lost = doubled = turns = studies = 0
    while sum(killed.values()) < options.instants:
        victims = draw.choices(tuple(killed), k=min(_PER_STUDY, options.instants - sum(killed.values())))
        with tempfile.TemporaryDirectory() as folder:
            report: KillReport = kill_at_random(Path(folder), victims, seed=draw.randrange(2**32))
        for victim, count in report.killed.items():
            killed[victim] += count
        lost, doubled, turns, studies = lost + report.lost, doubled + report.doubled, turns + report.turns, studies + 1
        print(f"{sum(killed.values())} of {options.instants} instants, {time.monotonic() - started:.0f} s: "
              f"{lost} records lost, {doubled} doubled", flush=True)
        for record in report.missing[:3]:
            print(f"  missing or otherwise: {record}")
    print(f"killed at {sum(killed.values())} instants in {studies} studies of {turns} turns in all "
          f"({', '.join(f'{victim} {count}' for victim, count in killed.items())}): "
          f"{lost} records lost, {doubled} doubled")
    return 1 if lost or doubled else 0


if __name__ == "__main__":
    sys.exit(main())
