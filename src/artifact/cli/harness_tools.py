"""The tool harness on the command line."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from artifact.arms import ArmOptions, parse_arms
from artifact.cli.probing import print_probe_frame
from artifact.errors import RequestError
from artifact.harness.protocol import Harness
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.runner import TRAP_PROBE, ProbePlan, StudyPlan, parse_seeds
from artifact.runner.probe_plan import SAMPLES
from artifact.runner.studies import parse_schedule
from artifact.taskstate import Brief, Channel, ScheduleVariant

TAKES = frozenset({"state_model", "sizes", "densities", "domain", "brief", "schedule", "own_phrasings", "regime",
                   "prompts", "state", "matcher", "match_every_turn", "corruption", "sources", "samples"})
# What the trap-turn probe takes from the logs that it replays.
_NOT_PROBED = ("state_model", "arms", "sizes", "densities", "domain", "brief", "schedule", "own_phrasings", "prompts",
               "state", "matcher", "match_every_turn", "corruption", "rounds", "failure_rate", "failing",
               "not_idempotent")
_ROUNDS = 5


def add_options(run: argparse.ArgumentParser) -> None:
    """Declare the options of this harness."""
    tools = run.add_argument_group("harness tools")
    tools.add_argument("--rounds", type=int, default=_ROUNDS, help="rounds of actions a turn (default 5)")
    tools.add_argument("--failure-rate", type=float, default=0.0, help="probability that a call of a tool fails")
    tools.add_argument("--failing", choices=["before", "after", "both"], default="both",
                       help="tools fail before their work, time out after it, or either (default)")
    tools.add_argument("--not-idempotent", action="store_true", help="tools do their work again when they are called "
                                                                     "again for the same work order")


def open_harness(options: argparse.Namespace) -> Harness:
    """Make the harness that the options describe: the ladder, or the trap-turn probe of its logs."""
    if options.study == TRAP_PROBE or options.sources:
        return _open_probe(options)
    if options.samples is not None:
        raise RequestError("--samples is of the trap-turn probe alone; name the logs that it replays with --from, or "
                           "leave it out")
    from artifact.cli.studying import numbers
    from artifact.harness.tools.failures import Failing
    from artifact.harness.tools.harness import RealTools
    from artifact.harness.tools.plan import LADDER_TEXT, PAPER_SEEDS, ToolsPlan

    gates = ArmOptions(options.state, options.matcher, options.match_every_turn, options.corruption)
    study = StudyPlan(
        options.study, options.model, options.state_model,
        numbers(options.sizes, int, "sizes") if options.sizes else (10,),
        numbers(options.densities, float, "densities") if options.densities else (0.15,),
        options.domain or "procurement", Brief(options.brief) if options.brief else Brief.AMENDED, options.regime,
        options.prompts, parse_arms(options.arms or LADDER_TEXT, gates),
        parse_seeds(options.seeds) if options.seeds is not None else tuple(PAPER_SEEDS),
        parse_schedule(options.schedule) if options.schedule is not None else ScheduleVariant(),
        options.own_phrasings)
    failing = tuple(Failing) if options.failing == "both" else (Failing(options.failing),)
    plan = ToolsPlan(study, options.rounds, options.failure_rate, failing, not options.not_idempotent)
    return RealTools(plan, concurrency=options.concurrency, threads=options.threads,
                     outage_limit_s=options.wait_for_server)


def _open_probe(options: argparse.Namespace) -> Harness:
    from artifact.harness.tools.trap_probe import ToolsTrapProbe

    changed = [name for name in _NOT_PROBED if getattr(options, name) != options.default_of(name)]
    if changed:
        raise RequestError(f"the trap-turn probe takes its cells from the logs of --from; leave out "
                           f"--{changed[0].replace('_', '-')}")
    if not options.sources:
        raise RequestError("the trap-turn probe replays logged conversations; name raw-arm logs of the harness tools "
                           "with --from")
    seeds = parse_seeds(options.seeds) if options.seeds is not None else None
    plan = ProbePlan(options.model, tuple(options.sources), options.study, seeds, options.regime,
                     SAMPLES if options.samples is None else options.samples)
    return ToolsTrapProbe(plan, concurrency=options.concurrency, threads=options.threads,
                          outage_limit_s=options.wait_for_server)


def logs(source: Path) -> Iterator[HarnessLog]:
    """The logs of this harness in a file or folder."""
    from artifact.harness.tools.records import RECORD_TYPES

    return iter_harness_logs([source], "tools", RECORD_TYPES)


def print_verdicts(sources: Sequence[Path], *, as_json: bool) -> None:
    """Print what the logs of this harness show, a line for each cell and arm."""
    from artifact.harness.tools.measures import as_data, judged
    from artifact.harness.tools.trap_frame import tool_probe_frame

    probes = tool_probe_frame(sources)
    if len(probes):
        print_probe_frame(probes, as_json=as_json)
    verdicts = judged(sources)
    if as_json:
        for verdict in verdicts:
            print(json.dumps(as_data(verdict)))
        return
    for cell, arm in sorted({(verdict.cell.slug, verdict.arm.text) for verdict in verdicts}):
        group = [verdict for verdict in verdicts if (verdict.cell.slug, verdict.arm.text) == (cell, arm)]
        done = [verdict for verdict in group if verdict.completed]
        channels = ", ".join(f"{channel} {count}" for channel in Channel
                             if (count := sum(verdict.count(channel) for verdict in done)))
        excluded = f"; {len(group) - len(done)} excluded" if len(group) > len(done) else ""
        print(f"{cell} {arm}: strict {sum(v.strict for v in done)}/{len(done)}; {channels or 'no violation'}; refused "
              f"{sum(v.outcomes.get('refused', 0) for v in done)}; bad input {sum(v.bad_input for v in done)}; left by "
              f"tools {sum(v.left_by_tools for v in done)}; stamped again {sum(v.re_stamped for v in done)}{excluded}")
