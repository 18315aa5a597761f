"""``pack`` and ``verify``: releasing logs and checking what was released."""

import argparse
from pathlib import Path

from artifact import paths


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    pack = commands.add_parser("pack", help="turn the finished runs of a study into released logs")
    pack.add_argument("--study", required=True, help="name of the study")
    pack.add_argument("--runs", type=Path, default=paths.RUNS, help="folder of the runs")
    pack.add_argument("--data", type=Path, default=paths.DATA, help="folder of the released data")
    pack.set_defaults(run=_pack)

    verify = commands.add_parser("verify", help="check every checksum of the released data")
    verify.add_argument("--data", type=Path, default=paths.DATA, help="folder of the released data")
    verify.set_defaults(run=_verify)


def _pack(options: argparse.Namespace) -> int:
    from artifact.log.pack import pack

    report = pack(options.runs / options.study, options.data)
    left_out = f"; {report.left_out} unfinished episodes were left out" if report.left_out else ""
    print(f"packed {report.episodes} episodes into {len(report.files)} files{left_out}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from artifact.log.pack import verify

    problems = verify(options.data)
    for problem in problems:
        print(problem)
    if not problems:
        print("every file has the checksum that data/SHA256SUMS gives it")
    return 1 if problems else 0
