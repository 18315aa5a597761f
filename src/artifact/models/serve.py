"""A server of one model for outside clients: the embedded engine over HTTP, or vLLM, until it is told to stop."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import orjson

from artifact import paths
from artifact.errors import InfrastructureError, RequestError
from artifact.models.llamacpp import LlamaCpp
from artifact.models.registry import Engine, ModelEntry, find_model
from artifact.models.server_process import last_words
from artifact.models.vllm_server import VllmSettings, vllm_context, vllm_server
from artifact.models.weights import checked_weights

Say = Callable[[str], None]


def serve(engine: str, name: str, settings: VllmSettings, *, least_context: int, say: Say) -> None:
    """Serve a model on this machine until it is told to stop (Ctrl-C or SIGTERM).

    Parameters
    ----------
    engine : str
        ``"llamacpp"`` or ``"vllm"``.
    name : str
        A model of the registry that the engine can serve.
    settings : VllmSettings
        Device, address, context and conversations at a time.
    least_context : int
        Tokens below which no conversation of a study fits.
    say : callable
        Told how it goes, a line at a time.

    Raises
    ------
    RequestError
        When the engine can't serve the model, or its context is too short.
    InfrastructureError
        When the engine isn't installed, doesn't start, or ends by itself.
    """
    entry = find_model(name)
    if entry.engine is Engine.API or (entry.weights is None and engine == Engine.LLAMACPP):
        raise RequestError(f"{name} is not served by {engine}; its engine in the model registry is {entry.engine}")
    context = vllm_context(entry, settings)
    if context < least_context:
        raise RequestError(f"a context of {context} tokens can't hold a study's conversation, which takes at least "
                           f"{least_context}; serve {name} with a longer one (--context)")
    with _stopped_by_signals(say):
        if engine == Engine.LLAMACPP:
            _serve_llamacpp(entry, settings, context, say)
        else:
            _serve_vllm(entry, settings, say)


def _serve_vllm(entry: ModelEntry, settings: VllmSettings, say: Say) -> None:
    with vllm_server(entry, settings, say) as server:
        say(f"{entry.name} answers at {server.url} until Ctrl-C; as an agent it is {server.url}#{server.model}")
        while (code := server.ended()) is None:
            time.sleep(0.5)
        raise InfrastructureError(f"vLLM ended with {code}; its log {server.log} ends with: {last_words(server.log)}")


def _serve_llamacpp(entry: ModelEntry, settings: VllmSettings, context: int, say: Say) -> None:
    log = paths.SERVER_LOGS / f"llamacpp-{entry.name}-{settings.port}.log"
    with _errors_into(log):
        model = LlamaCpp(entry, checked_weights(entry), slots=settings.sequences or 1, port=settings.port,
                         context=context)
        try:
            sys.stderr.write(orjson.dumps(model.identity()).decode() + "\n")
            sys.stderr.flush()
            say(f"{entry.name} answers at {model.url} until Ctrl-C; as an agent it is {model.url}#{entry.name}; "
                f"its log is {log}")
            threading.Event().wait()
        finally:
            asyncio.run(model.close())


@contextlib.contextmanager
def _stopped_by_signals(say: Say) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the context in order, and any that follows while it ends is ignored."""
    def stop(number: int, frame: FrameType | None) -> None:
        for known in (signal.SIGINT, signal.SIGTERM):
            signal.signal(known, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        say("stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _errors_into(log: Path) -> Iterator[None]:
    """What this process, the engine in it included, writes to its standard error goes to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
