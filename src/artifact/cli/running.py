"""``generate``, ``selftest``: one episode, and the oracle suite."""

import argparse

from artifact.generator import domain_names, generate
from artifact.taskstate import CANONICAL, Brief


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    generated = commands.add_parser("generate", help="one episode from its seed")
    generated.add_argument("--seed", type=int, required=True)
    generated.add_argument("--size", type=int, default=10, help="steps S, 1 to 18 (default 10)")
    generated.add_argument("--density", type=float, default=0.15, help="density of extra prerequisites (default 0.15)")
    generated.add_argument("--domain", choices=domain_names(), default="procurement")
    generated.add_argument("--brief", choices=list(Brief), default=Brief.AMENDED)
    generated.add_argument("--schedule", default=CANONICAL, help="as in artifact run (held_out needs its WRITER)")
    generated.add_argument("--prompts", default="paper", help="prompt set: paper, fewshot or a folder")
    generated.add_argument("--show", action="store_true", help="as a person reads it, instead of JSON")
    generated.set_defaults(run=_generate)

    selftest = commands.add_parser("selftest", help="the oracle suite: scripted agents with known scores")
    selftest.set_defaults(run=_selftest)


def _generate(options: argparse.Namespace) -> int:
    from artifact.cli.render import episode_text
    from artifact.log.records import EPISODE
    from artifact.runner.studies import parse_schedule

    episode = generate(seed=options.seed, size=options.size, density=options.density, domain=options.domain,
                       schedule=parse_schedule(options.schedule))
    if options.show:
        print(episode_text(episode, options.prompts, Brief(options.brief)))
    else:
        print(EPISODE.dump_json(episode).decode())
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from artifact.selftest import run_selftest

    results = run_selftest(print)
    return 0 if all(result.passed for result in results) else 1
