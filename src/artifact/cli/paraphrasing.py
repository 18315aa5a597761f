"""``paraphrase``: a cache of held-out phrasings by any model."""

import argparse
import asyncio
from pathlib import Path

from artifact.errors import RequestError
from artifact.generator import domain_names


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    paraphrase = commands.add_parser("paraphrase", help="have a model rewrite every request of a domain, as a cache "
                                                        "for --schedule held_out")
    paraphrase.add_argument("--model", required=True, help="the writer: name in data/models.toml, or URL#MODEL")
    paraphrase.add_argument("--domain", choices=domain_names(), default="procurement")
    paraphrase.add_argument("--seed", type=int, default=0, help="first sampling seed (default 0)")
    paraphrase.add_argument("--attempts", type=int, default=60, help="tries for one wording (default 60)")
    paraphrase.add_argument("--threads", type=int, help="threads of the embedded engine (default: the physical cores)")
    paraphrase.add_argument("--output", type=Path, help="the cache (default: runs/phrasings/DOMAIN.WRITER.json)")
    paraphrase.set_defaults(run=_paraphrase)


def _paraphrase(options: argparse.Namespace) -> int:
    return asyncio.run(_write(options))


async def _write(options: argparse.Namespace) -> int:
    from artifact import paths
    from artifact.generator.phrasings import write_phrasings
    from artifact.models import open_model
    from artifact.runner.paraphrase import make_phrasings

    if options.attempts < 1:
        raise RequestError(f"--attempts {options.attempts} tries nothing; use 1 or more")
    model = await open_model(options.model, threads=options.threads)
    try:
        phrasings = await make_phrasings(options.domain, model, seed=options.seed, attempts=options.attempts,
                                         say=lambda line: print(line, flush=True))
    finally:
        await model.close()
    path = options.output or paths.OWN_PHRASINGS / f"{options.domain}.{model.name}.json"
    write_phrasings(path, phrasings)
    print(f"wrote {path}: {phrasings.provenance.attempts} tries")
    return 0
