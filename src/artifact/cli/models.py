"""``models`` and ``serve``: what can answer, its weights, and serving it to others."""

import argparse

from artifact.models.registry import Engine, find_model, model_names


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    models = commands.add_parser("models", help="list the models, fetch and verify weights")
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the models of data/models.toml")
    listing.set_defaults(run=_list)
    for action, about, run in (("fetch", "fetch weights and check their hash", _fetch),
                               ("verify", "read weights in full and check their hash", _verify)):
        parser = actions.add_parser(action, help=about)
        parser.add_argument("name", metavar="NAME")
        parser.set_defaults(run=run)

    serve = commands.add_parser("serve", help="an OpenAI-compatible server of one model, until Ctrl-C")
    serve.add_argument("--engine", choices=["llamacpp", "vllm"], default="llamacpp")
    serve.add_argument("--model", required=True, help="a name of data/models.toml")
    serve.add_argument("--port", type=int, default=8080, help="on this machine only (default 8080)")
    serve.add_argument("--slots", type=int, default=1, help="conversations at a time (default 1)")
    serve.set_defaults(run=_serve)


def _list(options: argparse.Namespace) -> int:
    from artifact.models.weights import has_weights

    for name in model_names():
        entry = find_model(name)
        where = "served elsewhere"
        if entry.engine is Engine.LLAMACPP:
            where = "weights are here" if has_weights(entry) else f"artifact models fetch {name}"
        print(f"{name:34} {entry.engine:9} {entry.title:34} {entry.licence:12} {where}")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from artifact.models.weights import fetch

    fetch(options.name, lambda line: print(line, flush=True))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from artifact.models.weights import verify

    verify(options.name)
    print(f"{options.name}: the hash is right")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from artifact.models.serve import serve

    serve(options.engine, options.model, port=options.port, slots=options.slots)
    return 0
