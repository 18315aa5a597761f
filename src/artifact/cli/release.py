"""``pack`` and ``verify``: releasing logs and checking what was released."""

import argparse
from pathlib import Path

from artifact import paths
from artifact.cli.words import printable


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    pack = commands.add_parser("pack", help="turn the finished runs of a study into released logs")
    pack.add_argument("--study", required=True, help="name of the study")
    pack.add_argument("--runs", type=Path, default=paths.RUNS, help="folder of the runs")
    pack.add_argument("--data", type=Path, default=paths.DATA, help="folder of the released data")
    pack.set_defaults(run=_pack)

    verify = commands.add_parser("verify", help="check every checksum of the released data, or of logs")
    verify.add_argument("logs", nargs="*", type=Path, metavar="LOG",
                        help="check these logs, packed or not, or folders of them, instead of the released data")
    verify.add_argument("--data", type=Path, default=paths.DATA, help="folder of the released data")
    verify.set_defaults(run=_verify)


def _pack(options: argparse.Namespace) -> int:
    from artifact.cli.harnesses import holds_logs
    from artifact.harness.pack import pack_harness
    from artifact.log.pack import pack

    folder = options.runs / options.study
    report = (pack_harness if holds_logs([folder]) else pack)(folder, options.data)
    left_out = f"; {report.left_out} unfinished episodes were left out" if report.left_out else ""
    print(f"packed {report.episodes} episodes into {len(report.files)} files{left_out}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from artifact.log.pack import verify

    if options.logs:
        return _verify_logs(options.logs)
    problems = verify(options.data)
    for problem in problems:
        print(problem)
    if not problems:
        print("every file has the checksum that data/SHA256SUMS gives it")
    return 1 if problems else 0


def _verify_logs(logs: list[Path]) -> int:
    from artifact.cli.harnesses import holds_logs
    from artifact.harness.verify import verify_harness_logs
    from artifact.log.probe_reader import probe_files
    from artifact.log.reader import holds_episode_logs
    from artifact.log.verify import verify_logs

    of_harnesses = [path for path in logs if holds_logs([path])]
    others = [path for path in logs if path not in of_harnesses or (
        path.is_dir() and (holds_episode_logs(path) or probe_files([path])))]
    checks = [verify_harness_logs(of_harnesses), *([verify_logs(others)] if others else [])]
    findings = [finding for checked in checks for finding in checked.findings]
    for finding in findings:
        print(printable(finding))
    print(f"{sum(checked.sealed for checked in checks)} episodes are as they were written")
    unsealed = sum(checked.unsealed for checked in checks)
    if unsealed:
        print(f"{unsealed} episodes were written by an earlier version, without checksums: they don't "
              "contradict themselves, but a changed word in a reply can't be seen")
    return 1 if findings else 0
