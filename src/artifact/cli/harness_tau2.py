"""The airline harness on the command line."""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from artifact.errors import RequestError
from artifact.harness.protocol import Harness
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.runner import parse_seeds

TAKES: frozenset[str] = frozenset()


def add_options(run: argparse.ArgumentParser) -> None:
    """Declare the options of this harness."""
    airline = run.add_argument_group("harness tau2")
    airline.add_argument("--tasks", help="ids of the benchmark's tasks, e.g. 0,7,12 (default: all)")
    airline.add_argument("--user-model", help="who plays the user (default: the agent's own model); scripted:caller "
                                               "reads out the task's note and agrees to everything")
    airline.add_argument("--rules", default="reference", help="reference (default), compiled by the agent's own model, "
                                                              "or a rules file")
    airline.add_argument("--optional-rules", help="optional rules of the reference or the rules file to "
                                                       "switch on, e.g. T1,T2")
    airline.add_argument("--compiles", type=int, default=1, help="compiles of the policy; the first is in force, the "
                                                                 "others measure the variance")
    airline.add_argument("--max-steps", type=int, default=200, help="messages after which an episode ends")


def open_harness(options: argparse.Namespace) -> Harness:
    """Make the harness that the options describe."""
    from artifact.harness.tau2.gate import Rung
    from artifact.harness.tau2.harness import Airline
    from artifact.harness.tau2.plan import AirlinePlan

    names = _names(options.arms) or tuple(Rung)
    for name in names:
        if name not in set(Rung):
            raise RequestError(f"the harness tau2 has no arm {name!r}; its arms are {', '.join(Rung)}")
    plan = AirlinePlan(
        study=options.study, model=options.model, user_model=options.user_model,
        rungs=tuple(Rung(name) for name in names), tasks=_names(options.tasks),
        seeds=parse_seeds(options.seeds or "0"), rules=options.rules, optional=_names(options.optional_rules),
        compiles=options.compiles, max_steps=options.max_steps)
    return Airline(plan, concurrency=options.concurrency, threads=options.threads,
                   outage_limit_s=options.wait_for_server)


def logs(source: Path) -> Iterator[HarnessLog]:
    """The logs of this harness in a file or folder."""
    from artifact.harness.tau2.records import RECORD_TYPES

    return iter_harness_logs([source], "tau2", RECORD_TYPES)


def print_verdicts(sources: Sequence[Path], *, as_json: bool) -> None:
    """Print what the logs of this harness show, a line for each cell and rung."""
    from artifact.harness.tau2.intervals import pass1
    from artifact.harness.tau2.measures import judged
    from artifact.harness.tau2.rules_table import refusals_by_rule
    from artifact.harness.tau2.table import estimate_text, floor

    verdicts = judged(sources)
    if as_json:
        for verdict in verdicts:
            print(json.dumps(dataclasses.asdict(verdict)))
        return
    groups = sorted({(verdict.cell.slug, verdict.rung) for verdict in verdicts})
    for cell, rung in groups:
        group = [verdict for verdict in verdicts if (verdict.cell.slug, verdict.rung) == (cell, rung)]
        done = [verdict for verdict in group if verdict.completed]
        idle, tasks = floor(group)
        excluded = f"; {len(group) - len(done)} excluded" if len(group) > len(done) else ""
        print(f"{cell} {rung}: pass^1 {estimate_text(pass1(group))}, {sum(v.passed for v in done)}/{len(done)} "
              f"(doing nothing {idle}/{tasks}); wrongful episodes {sum(v.wrongful for v in done)}; violating writes "
              f"{sum(v.violating_writes for v in done)}; refused {sum(len(v.refusals) for v in done)}, of gold "
              f"{sum(v.refused_gold for v in done)}; silent {sum(v.silent for v in done)}, cut "
              f"{sum(v.cut for v in done)}{excluded}")
        for rule, refused, of_gold in refusals_by_rule(group):
            print(f"    {rule}: refused {refused}, of gold {of_gold}")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()
