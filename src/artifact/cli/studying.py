"""``run`` and ``studies``: named studies, all of them, and studies of your own."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from artifact import paths
from artifact.arms import ARMS, RUNGS, ArmOptions, parse_arms
from artifact.cli import harnesses
from artifact.errors import InfrastructureError, RequestError
from artifact.generator import domain_names
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner import TRAP_PROBE, ProbePlan, Progress, RunSummary, StudyPlan, parse_seeds, run_trap_probe
from artifact.runner.budgets import BUDGETS
from artifact.runner.outlook import Outlook, PaceBook, outlook, probe_outlook
from artifact.runner.plan import PAPER_SEEDS
from artifact.runner.probe_plan import SAMPLES, SMOKE_SAMPLES
from artifact.runner.studies import ALL, SMOKE_SUFFIX, Agents, Overrides, named_studies, parse_schedule, plans_of
from artifact.taskstate import Brief, ScheduleVariant

# What the trap-turn probe takes from the logs that it asks again.
_NOT_PROBED = ("state_model", "arms", "sizes", "densities", "domain", "brief", "schedule", "own_phrasings", "prompts",
               "state", "matcher", "match_every_turn", "corruption")


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    run = commands.add_parser("run", help="run what is missing of a study; the same command goes on after a stop")
    run.add_argument("--study", required=True, help="a named study (`artifact studies`), all of them (all), or a name "
                                                    "of your own; the options below replace what a named study has")
    run.add_argument("--model", required=True, help="name in data/models.toml, scripted:POLICY, or URL#MODEL "
                                                      "(several URLs with commas between share the conversations)")
    run.add_argument("--state-model", help="who compiles and matches (default: the agent's own model)")
    run.add_argument("--smoke", action="store_true", help="a named study at the size of a try, as NAME_smoke")
    run.add_argument("--arms", help=f"of {', '.join(ARMS)}, with options as in enforcement:notice=same_turn,heal=true "
                                    f"(default: {','.join(RUNGS)})")
    run.add_argument("--sizes", help="steps S, e.g. 5,10,15 (default 10)")
    run.add_argument("--densities", help="densities of extra prerequisites, e.g. 0.15,0.3 (default 0.15)")
    run.add_argument("--seeds", help="e.g. 100:228, end excluded (default), or 100,105")
    run.add_argument("--domain", choices=domain_names(), help="default procurement")
    run.add_argument("--brief", choices=list(Brief), help="default amended")
    run.add_argument("--schedule", help="canonical (default), or some of rotated, held_out[=WRITER], ambiguous=RATE, "
                                        "spoofed, ordered_fillers with commas between")
    run.add_argument("--own-phrasings", action="store_true", help="allow held-out phrasings written by a model under "
                                                                  "test")
    run.add_argument("--regime", choices=list(BUDGETS), default="no_think")
    run.add_argument("--prompts", default="paper", help="prompt set: paper, fewshot or a folder")
    run.add_argument("--state", choices=["compiled", "oracle"], default="compiled", help="state of the gate arms")
    run.add_argument("--matcher", choices=["model", "oracle"], default="model", help="matcher of the gate arms")
    run.add_argument("--match-every-turn", action="store_true", help="run the matcher on filler and revision turns too")
    run.add_argument("--corruption", type=float, default=0.0, help="rate per step and turn at which the state is "
                                                                   "disturbed (gate arms)")
    run.add_argument("--from", dest="sources", nargs="+", type=Path, metavar="LOG", default=[],
                     help=f"logs that the study {TRAP_PROBE} asks again: files or folders, raw arm")
    run.add_argument("--samples", type=int, help=f"sampled replies a variant of {TRAP_PROBE} (default {SAMPLES})")
    run.add_argument("--concurrency", type=int, default=1, help="conversations at a time, of each worker (default 1)")
    run.add_argument("--executor", choices=["local", "ray"], default="local",
                     help="where conversations are held: in this process, or on the Ray cluster of RAY_ADDRESS")
    run.add_argument("--workers", type=int, help="of the executor ray (default: one a machine)")
    run.add_argument("--threads", type=int, help="threads of the embedded engine (default: the physical cores)")
    run.add_argument("--runs", type=Path, default=paths.RUNS, help="folder of the runs")
    run.add_argument("--wait-for-server", type=float, default=OUTAGE_LIMIT_S, metavar="SECONDS",
                     help=f"how long a server that goes down is waited for (default {OUTAGE_LIMIT_S:g})")
    run.add_argument("--no-fsync", action="store_true", help="faster, but a power cut may lose the last turns")
    harnesses.add_options(run)
    run.set_defaults(run=_run, default_of=run.get_default)

    studies = commands.add_parser("studies", help="the named studies, and what of them lies here")
    studies.add_argument("--runs", type=Path, default=paths.RUNS, help="folder of the runs")
    studies.set_defaults(run=_studies)


def numbers(text: str, kind: type, what: str) -> tuple:  # type: ignore[type-arg]
    """Numbers with commas between.

    Raises
    ------
    RequestError
        When the text is no such list.
    """
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise RequestError(f"{what} {text!r} can't be read; write numbers with commas between") from None


def _plans(options: argparse.Namespace) -> tuple[StudyPlan, ...]:
    gates = ArmOptions(options.state, options.matcher, options.match_every_turn, options.corruption)
    arms = parse_arms(options.arms, gates) if options.arms else None
    sizes = numbers(options.sizes, int, "sizes") if options.sizes else None
    densities = numbers(options.densities, float, "densities") if options.densities else None
    seeds = parse_seeds(options.seeds) if options.seeds is not None else None
    brief = Brief(options.brief) if options.brief else None
    schedule = parse_schedule(options.schedule) if options.schedule is not None else None
    if options.study == ALL or options.study in named_studies():
        agents = Agents(options.model, options.state_model, options.regime, options.prompts, options.own_phrasings)
        said = Overrides(sizes, densities, seeds, arms, options.domain, brief, schedule, gates)
        names = list(named_studies()) if options.study == ALL else [options.study]
        return tuple(plan for name in names for plan in plans_of(name, agents, overrides=said, smoke=options.smoke))
    if options.smoke:
        raise RequestError(f"{options.study!r} is no named study, so it has no smoke size; `artifact studies` lists "
                           "those that have one")
    return (StudyPlan(
        options.study, options.model, options.state_model, sizes or (10,), densities or (0.15,),
        options.domain or "procurement", brief or Brief.AMENDED, options.regime, options.prompts,
        arms or parse_arms(",".join(RUNGS), gates), seeds or tuple(PAPER_SEEDS), schedule or ScheduleVariant(),
        options.own_phrasings),)


def _probe_plan(options: argparse.Namespace) -> ProbePlan:
    if options.study == ALL or options.study in named_studies():
        raise RequestError(f"--from would put logs of the trap-turn probe among the episodes of {options.study!r}; "
                           f"leave it out, or name the study {TRAP_PROBE} or one of your own")
    changed = [name for name in _NOT_PROBED if getattr(options, name) != options.default_of(name)]
    if changed:
        raise RequestError(f"the trap-turn probe takes its cells from the logs of --from; leave out "
                           f"--{changed[0].replace('_', '-')}")
    seeds = parse_seeds(options.seeds) if options.seeds is not None else None
    study, samples = (options.study + SMOKE_SUFFIX, SMOKE_SAMPLES) if options.smoke else (options.study, SAMPLES)
    return ProbePlan(options.model, tuple(options.sources), study, seeds, options.regime,
                     samples if options.samples is None else options.samples)


def _ladder_probed(options: argparse.Namespace) -> ProbePlan:
    """What the trap-turn probe asks again in a run of all studies: the ladder's raw logs."""
    seeds = parse_seeds(options.seeds) if options.seeds is not None else None
    suffix, samples = (SMOKE_SUFFIX, SMOKE_SAMPLES) if options.smoke else ("", SAMPLES)
    return ProbePlan(options.model, (options.runs / f"ladder{suffix}",), f"{TRAP_PROBE}{suffix}", seeds,
                     options.regime, samples)


def _probe(plan: ProbePlan, options: argparse.Namespace) -> RunSummary:
    return run_trap_probe(plan, runs=options.runs, concurrency=options.concurrency, durable=not options.no_fsync,
                          threads=options.threads, outage_limit_s=options.wait_for_server)


def _run(options: argparse.Namespace) -> int:
    from artifact.runner.several import run_several

    if options.concurrency < 1:
        raise RequestError(f"--concurrency {options.concurrency} runs nothing; use 1 or more")
    if options.threads is not None and options.threads < 1:
        raise RequestError(f"--threads {options.threads} computes nothing; use 1 or more")
    if not options.wait_for_server >= 0:
        raise RequestError(f"--wait-for-server {options.wait_for_server:g} is no time; use seconds, 0 for not at all")
    if options.workers is not None and (options.executor != "ray" or options.workers < 1):
        raise RequestError(f"--workers {options.workers} is for --executor ray; use 1 or more with it")
    if options.executor == "ray" and (options.harness is not None or options.study == TRAP_PROBE or options.sources):
        raise RequestError("--executor ray is for conversations of the testbed, not for "
                           f"{options.harness or TRAP_PROBE}; leave it out")
    harnesses.refuse_options_of_others(options, options.default_of)
    if options.harness is not None:
        print(_told([harnesses.run(options, options.default_of)]))
        return 0
    if options.study == TRAP_PROBE or options.sources:
        print(_told([_probe(_probe_plan(options), options)]))
        return 0
    if options.samples is not None:
        raise RequestError(f"--samples is of the study {TRAP_PROBE} alone; leave it out")
    plans = _plans(options)

    def choose(model: str, state_model: str) -> Sequence[StudyPlan]:
        return _announced(plans, model, state_model, options) if options.study == ALL else plans

    if options.executor == "ray":
        from artifact.runner.cluster import run_on_cluster
        summaries = asyncio.run(run_on_cluster(
            plans, choose, runs=options.runs, concurrency=options.concurrency, workers=options.workers,
            durable=not options.no_fsync, threads=options.threads, outage_limit_s=options.wait_for_server,
            progress=Progress.shown()))
    else:
        summaries = run_several(plans, choose, runs=options.runs, concurrency=options.concurrency,
                                durable=not options.no_fsync, threads=options.threads,
                                outage_limit_s=options.wait_for_server)
    for study in dict.fromkeys(summary.study for summary in summaries):
        print(_told([summary for summary in summaries if summary.study == study]))
    if options.study == ALL and options.executor == "local":
        plan = _ladder_probed(options)
        try:
            print(_told([_probe(plan, options)]))
        except RequestError as error:
            print(f"{plan.study}: left out: {error}")
    return 0


def _told(summaries: Sequence[RunSummary]) -> str:
    ended: Counter[str] = Counter()
    for summary in summaries:
        ended.update(summary.ended)
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(ended.items()))
    faults: Counter[str] = Counter()
    for summary in summaries:
        faults.update(summary.faults)
    told = (f"{summaries[0].study}: {ended.total()} episodes ({reasons}), {sum(s.run_now for s in summaries)} of them "
            f"now; logs in {summaries[0].folder}")
    if not faults:
        return told
    met = ", ".join(f"{count} {fault}" for fault, count in faults.items())
    return f"{told}\n{faults.total()} tries of calls brought no answer ({met}); none of them counts as behaviour"


def _announced(plans: Sequence[StudyPlan], model: str, state_model: str,
               options: argparse.Namespace) -> Sequence[StudyPlan]:
    """The plans that these models can run, after a list of what they come to."""
    book = PaceBook(_paces(options.runs, model))
    print(f"{'study':22} {'cells':>5} {'episodes':>8} {'done':>8} {'calls left':>10}  hours left")
    chosen: list[StudyPlan] = []
    looks: list[Outlook] = []
    for study in dict.fromkeys(plan.study for plan in plans):
        own = [plan for plan in plans if plan.study == study]
        try:
            look = outlook(own, model, state_model, runs=options.runs, book=book)
        except (RequestError, InfrastructureError) as error:
            print(f"{study:22} left out: {error}")
            continue
        looks.append(look)
        chosen += own
        print(_listed(look))
    looks += _announced_probe(options, model, book)
    total = None if any(look.seconds is None for look in looks) else sum(look.seconds or 0 for look in looks)
    print(f"{'all':22} {sum(look.cells for look in looks):5} {sum(look.episodes for look in looks):8} "
          f"{sum(look.done for look in looks):8} {sum(look.calls for look in looks):10}  {_hours(total)}", flush=True)
    return chosen


def _announced_probe(options: argparse.Namespace, model: str, book: PaceBook) -> list[Outlook]:
    """The trap-turn probe's line of the list, and what it comes to where the logs that it asks again are there."""
    plan = _ladder_probed(options)
    if options.executor != "local":
        print(f"{plan.study:22} left out: --executor {options.executor} is not for it")
    elif not plan.sources[0].exists():
        print(f"{plan.study:22} comes last, on the raw logs of {plan.sources[0].name}, which aren't there yet")
    else:
        try:
            look = probe_outlook(plan, model, runs=options.runs, book=book)
        except RequestError as error:
            print(f"{plan.study:22} nothing to ask yet: {error}")
        else:
            print(_listed(look))
            return [look]
    return []


def _listed(look: Outlook) -> str:
    return f"{look.study:22} {look.cells:5} {look.episodes:8} {look.done:8} {look.calls:10}  {_hours(look.seconds)}"


def _paces(runs: Path, model: str) -> list:  # type: ignore[type-arg]
    """Paces of a model measured here; released ones, from another machine, only where there are none."""
    from artifact.log.pace import paces

    for folder in (runs, paths.RELEASED_LOGS):
        found = [pace for pace in paces(folder) if pace.model == model]
        if found:
            return found
    return []


def _hours(seconds: float | None) -> str:
    return "unknown: no log of this model tells its pace" if seconds is None else f"{seconds / 3600:.1f}"


def _studies(options: argparse.Namespace) -> int:
    from artifact.log.pace import paces

    for name, study in named_studies().items():
        plans = plans_of(name, Agents("MODEL"))
        episodes = sum(len(plan.sizes) * len(plan.arms) * len(plan.seeds) for plan in plans)
        cells = sum(len(plan.sizes) * len(plan.arms) for plan in plans)
        print(f"{name:16} {study.title}\n{'':16} {study.paper}; {cells} cells, {episodes} episodes a model")
        if study.note:
            print(f"{'':16} compared with {study.note}")
        for where, folder in (("run here", options.runs / name), ("released", paths.RELEASED_LOGS / name)):
            done = Counter(f"{pace.model}{'' if pace.state_model == pace.model else f'+{pace.state_model}'}"
                           for pace in paces(folder))
            if done:
                print(f"{'':16} {where}: " + ", ".join(f"{count} episodes of {model}"
                                                       for model, count in sorted(done.items())))
    print(f"{TRAP_PROBE:16} Trap turns of logged raw-arm episodes asked again, one thing changed\n{'':16} Table 3, "
          "Appendix A.4; what it asks lies in the logs that --from names")
    return 0
