"""``generate``, ``run``, ``selftest``: making episodes and logs."""

import argparse
from pathlib import Path

from artifact import paths
from artifact.arms import RUNGS, ArmOptions, ArmSpec
from artifact.errors import RequestError
from artifact.generator import domain_names, generate
from artifact.runner import Progress, StudyPlan, parse_seeds, run_study
from artifact.runner.budgets import BUDGETS
from artifact.taskstate import Brief


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    generated = commands.add_parser("generate", help="one episode from its seed")
    generated.add_argument("--seed", type=int, required=True)
    generated.add_argument("--size", type=int, default=10, help="steps S, 1 to 18 (default 10)")
    generated.add_argument("--density", type=float, default=0.15, help="density of extra prerequisites (default 0.15)")
    generated.add_argument("--domain", choices=domain_names(), default="procurement")
    generated.add_argument("--brief", choices=list(Brief), default=Brief.AMENDED)
    generated.add_argument("--prompts", default="paper", help="prompt set: paper, fewshot or a folder")
    generated.add_argument("--show", action="store_true", help="as a person reads it, instead of JSON")
    generated.set_defaults(run=_generate)

    run = commands.add_parser("run", help="run what is missing of a study; the same command goes on after a stop")
    run.add_argument("--study", required=True, help="name of the study")
    run.add_argument("--model", required=True, help="name in data/models.toml, scripted:POLICY, or URL#MODEL")
    run.add_argument("--state-model", help="who compiles and matches (default: the agent's own model)")
    run.add_argument("--arms", default=",".join(RUNGS), help=f"of {', '.join(RUNGS)} (default: all)")
    run.add_argument("--sizes", default="10", help="steps S, e.g. 5,10,15 (default 10)")
    run.add_argument("--densities", default="0.15", help="densities of extra prerequisites, e.g. 0.15,0.3")
    run.add_argument("--seeds", default="100:228", help="e.g. 100:228, end excluded (default), or 100,105")
    run.add_argument("--domain", choices=domain_names(), default="procurement")
    run.add_argument("--brief", choices=list(Brief), default=Brief.AMENDED)
    run.add_argument("--regime", choices=list(BUDGETS), default="no_think")
    run.add_argument("--prompts", default="paper", help="prompt set: paper, fewshot or a folder")
    run.add_argument("--state", choices=["compiled", "oracle"], default="compiled", help="state of the gate arms")
    run.add_argument("--matcher", choices=["model", "oracle"], default="model", help="matcher of the gate arms")
    run.add_argument("--match-every-turn", action="store_true", help="run the matcher on filler and revision turns too")
    run.add_argument("--corruption", type=float, default=0.0, help="rate per step and turn at which the state is "
                                                                   "disturbed (gate arms)")
    run.add_argument("--concurrency", type=int, default=1, help="conversations at a time (default 1)")
    run.add_argument("--threads", type=int, help="threads of the embedded engine (default: the physical cores)")
    run.add_argument("--runs", type=Path, default=paths.RUNS, help="folder of the runs")
    run.add_argument("--no-fsync", action="store_true", help="faster, but a power cut may lose the last turns")
    run.set_defaults(run=_run)

    selftest = commands.add_parser("selftest", help="the oracle suite: scripted agents with known scores")
    selftest.set_defaults(run=_selftest)


def _generate(options: argparse.Namespace) -> int:
    from artifact.cli.render import episode_text
    from artifact.log.records import EPISODE

    episode = generate(seed=options.seed, size=options.size, density=options.density, domain=options.domain)
    if options.show:
        print(episode_text(episode, options.prompts, Brief(options.brief)))
    else:
        print(EPISODE.dump_json(episode).decode())
    return 0


def _numbers(text: str, kind: type, what: str) -> tuple:  # type: ignore[type-arg]
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise RequestError(f"{what} {text!r} can't be read; write numbers with commas between") from None


def _plan(options: argparse.Namespace) -> StudyPlan:
    gate = ArmOptions(options.state, options.matcher, options.match_every_turn, options.corruption)
    names = [name.strip() for name in options.arms.split(",")]
    for name in names:
        if name not in RUNGS:
            raise RequestError(f"there is no arm {name!r}; the arms are {', '.join(RUNGS)}")
    arms = tuple(ArmSpec(name, gate if name in ("directive", "enforcement") else ArmOptions()) for name in names)
    return StudyPlan(options.study, options.model, options.state_model, _numbers(options.sizes, int, "sizes"),
                     _numbers(options.densities, float, "densities"), options.domain, Brief(options.brief),
                     options.regime, options.prompts, arms, parse_seeds(options.seeds))


def _run(options: argparse.Namespace) -> int:
    if options.concurrency < 1:
        raise RequestError(f"--concurrency {options.concurrency} runs nothing; use 1 or more")
    if options.threads is not None and options.threads < 1:
        raise RequestError(f"--threads {options.threads} computes nothing; use 1 or more")
    summary = run_study(_plan(options), runs=options.runs, concurrency=options.concurrency,
                        durable=not options.no_fsync, threads=options.threads, progress=Progress.shown())
    ended = ", ".join(f"{count} {reason}" for reason, count in summary.ended.items())
    print(f"{summary.study}: {sum(summary.ended.values())} episodes ({ended}), {summary.run_now} of them now; "
          f"logs in {summary.folder}")
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from artifact.selftest import run_selftest

    results = run_selftest(print)
    return 0 if all(result.passed for result in results) else 1
