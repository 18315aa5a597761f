"""PM-Bench on the command line."""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from artifact.errors import RequestError
from artifact.harness.protocol import Harness
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.runner import parse_seeds

TAKES: frozenset[str] = frozenset({"prompts"})


def add_options(run: argparse.ArgumentParser) -> None:
    """Declare the options of this harness."""
    weeks = run.add_argument_group("harness pmbench")
    weeks.add_argument("--weeks", default="0", help="seeds of generated weeks, e.g. 1:4 (default 0)")
    weeks.add_argument("--week-file", type=Path, help="a week file, such as the benchmark's released week, instead")
    weeks.add_argument("--temperature", type=float, default=0.0, help="of the agent (default 0); with --seeds 0:4 and "
                                                                      "0.7 each week is run four times")
    weeks.add_argument("--daily-history", action="store_true", help="begin a new conversation each morning, with plans "
                                                                    "and scenes of the days before but not their menus")
    weeks.add_argument("--max-queries", type=int, default=20, help="queries answered in a step (default 20)")


def open_harness(options: argparse.Namespace) -> Harness:
    """Make the harness that the options describe."""
    from artifact.harness.pmbench.harness import PMBench
    from artifact.harness.pmbench.plan import WeekPlan
    from artifact.harness.pmbench.rungs import Rung

    names = tuple(name.strip() for name in options.arms.split(",")) if options.arms else tuple(Rung)
    for name in names:
        if name not in set(Rung):
            raise RequestError(f"the harness pmbench has no arm {name!r}; its arms are {', '.join(Rung)}")
    plan = WeekPlan(
        study=options.study, model=options.model, rungs=tuple(Rung(name) for name in names),
        weeks=parse_seeds(options.weeks), week_file=options.week_file, seeds=parse_seeds(options.seeds or "0"),
        temperature=options.temperature, prompts=options.prompts, history_is_daily=options.daily_history,
        most_queries=options.max_queries)
    return PMBench(plan, concurrency=options.concurrency, threads=options.threads,
                   outage_limit_s=options.wait_for_server)


def logs(source: Path) -> Iterator[HarnessLog]:
    """The logs of this harness in a file or folder."""
    from artifact.harness.pmbench.records import RECORD_TYPES

    return iter_harness_logs([source], "pmbench", RECORD_TYPES)


def print_verdicts(sources: Sequence[Path], *, as_json: bool) -> None:
    """Print what the logs of this harness show, a line for each cell and rung."""
    from artifact.harness.pmbench.measures import judged
    from artifact.harness.pmbench.summary import summaries

    verdicts = judged(sources)
    if as_json:
        for verdict in verdicts:
            print(json.dumps(dataclasses.asdict(verdict)))
        return
    for one in summaries(verdicts):
        print(one.line())
