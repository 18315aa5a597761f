"""``models`` and ``serve``: what can answer, its weights, and serving it to others."""

import argparse

from artifact.errors import RequestError
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

    prepare = actions.add_parser("prepare-vllm", help="install vLLM for machines without a GPU, in an environment of "
                                                      "its own")
    prepare.set_defaults(run=_prepare_vllm)

    serve = commands.add_parser("serve", help="an OpenAI-compatible server of one model, until Ctrl-C")
    serve.add_argument("--engine", choices=[Engine.LLAMACPP, Engine.VLLM], default=Engine.LLAMACPP)
    serve.add_argument("--model", required=True, help="a name of data/models.toml")
    serve.add_argument("--device", choices=["gpu", "cpu"], default="gpu",
                       help="what vLLM runs on (default gpu); cpu takes artifact models prepare-vllm once")
    serve.add_argument("--host", default="127.0.0.1", help="interface that vLLM listens on (default: the loopback)")
    serve.add_argument("--port", type=int, default=8080, help="default 8080")
    serve.add_argument("--context", type=int, help="tokens a conversation (default: the registry's)")
    serve.add_argument("--slots", type=int, help="conversations at a time (default: 1 for llamacpp, the registry's for "
                                                 "vllm)")
    serve.add_argument("--batch-invariant", action="store_true", help="vLLM on a GPU: replies don't depend on what is "
                                                                      "decoded beside them")
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


def _prepare_vllm(options: argparse.Namespace) -> int:
    from artifact.models.vllm_environment import prepare

    prepare(lambda line: print(line, flush=True))
    return 0


def _serve(options: argparse.Namespace) -> int:
    from artifact.models.serve import serve
    from artifact.models.vllm_server import VllmSettings
    from artifact.runner.context import least_context

    for option in ("slots", "context"):
        if (value := getattr(options, option)) is not None and value < 1:
            raise RequestError(f"--{option} {value} serves nothing; use 1 or more")
    settings = VllmSettings(options.device, options.host, options.port, options.context, options.slots,
                            options.batch_invariant)
    serve(options.engine, options.model, settings, least_context=least_context(),
          say=lambda line: print(line, flush=True))
    return 0
