"""``bench``: what our client costs a turn, beside its peers."""

import argparse
import importlib
import sys

from artifact import paths
from artifact.errors import RequestError


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    bench = commands.add_parser(
        "bench", help="what our client costs a turn, beside its peers that are installed",
        description="Holds the same conversations through each client, against a mock server on this machine, and "
                    "prints CPU time a turn, turns a second, wall time with a slow server, and peak memory. Peers "
                    "that can be installed beside us: inspect_ai, langgraph, openai, httpx, uvloop.")
    bench.add_argument("--episodes", type=int, default=128, metavar="N")
    bench.add_argument("--concurrency", type=int, default=64, metavar="N", help="conversations at a time")
    bench.add_argument("--latency", type=float, default=0.2, metavar="S", help="of the slow server, in seconds")
    bench.add_argument("--clients", metavar="NAMES", help="these alone, with commas (default: all)")
    bench.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    for name, least in (("episodes", 1), ("concurrency", 1), ("latency", 0)):
        if (given := getattr(options, name)) < least:
            raise RequestError(f"--{name} {given} can't be measured; use {least} or more")
    folder = paths.TESTS / "bench"
    if not (folder / "table.py").is_file():
        raise RequestError(f"there is no benchmark in {folder}: it belongs to a checkout, not to the installed "
                           "package; give this command in one, or name it with ARTIFACT_ROOT")
    sys.path.append(str(paths.TESTS))
    table, known = (importlib.import_module(f"bench.{module}") for module in ("table", "clients"))
    names = options.clients.split(",") if options.clients else list(known.CLIENTS)
    if unknown := [name for name in names if name not in known.CLIENTS]:
        raise RequestError(f"there is no client {unknown[0]!r} to measure; choose among {', '.join(known.CLIENTS)}")
    for line in table.lines(names, episodes=options.episodes, concurrency=options.concurrency,
                            latency_s=options.latency):
        print(line, flush=True)
    return 0
