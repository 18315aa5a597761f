"""A server of one model for outside clients: the embedded engine over HTTP, or vLLM where it is installed."""

import asyncio
import importlib.util
import signal
import subprocess
import sys
import threading

from artifact.errors import InfrastructureError, RequestError
from artifact.models.llamacpp import LlamaCpp
from artifact.models.registry import Engine, ModelEntry, find_model
from artifact.models.weights import checked_weights


def serve(engine: str, name: str, *, port: int, slots: int = 1) -> None:
    """Serve a model on this machine until it is told to stop (Ctrl-C or SIGTERM).

    Parameters
    ----------
    engine : str
        ``"llamacpp"`` or ``"vllm"``.
    name : str
        A model of the registry that the engine can serve.
    port : int
        Port on the loopback interface.
    slots : int
        Conversations at a time, for llama.cpp.

    Raises
    ------
    RequestError
        When the engine can't serve the model.
    InfrastructureError
        When the engine isn't installed or doesn't start.
    """
    entry = find_model(name)
    if engine != entry.engine:
        raise RequestError(f"{name} is not served by {engine}; its engine in the model registry is {entry.engine}")
    if entry.engine is Engine.VLLM:
        code = subprocess.call(vllm_command(entry, port))
        if code:
            raise InfrastructureError(f"vLLM ended with {code}; its own lines above say why")
        return
    model = LlamaCpp(entry, checked_weights(entry), slots=slots, port=port)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    sys.stdout.write(f"{name} answers at {model.url} until Ctrl-C; as an agent it is {model.url}#{name}\n")
    sys.stdout.flush()
    stop.wait()
    asyncio.run(model.close())


def vllm_command(entry: ModelEntry, port: int) -> list[str]:
    """The command that serves a registry entry by vLLM: prefix caching on, settings from the registry.

    Raises
    ------
    InfrastructureError
        When vLLM isn't installed.
    """
    if importlib.util.find_spec("vllm") is None:
        raise InfrastructureError("vLLM isn't installed here; install it with: pip install 'artifact[vllm]' (it wants "
                                  "a machine with a GPU)")
    assert entry.serving is not None and entry.endpoint is not None, "the registry gives vLLM models both"
    settings = entry.serving
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", settings.checkpoint,
               "--served-model-name", entry.endpoint.model, "--host", "127.0.0.1", "--port", str(port),
               "--enable-prefix-caching", "--seed", "0", "--max-model-len", str(settings.max_model_len),
               "--max-num-seqs", str(settings.max_num_seqs), "--tensor-parallel-size", str(settings.tensor_parallel)]
    if settings.reasoning_parser:
        command += ["--reasoning-parser", settings.reasoning_parser]
    return command
