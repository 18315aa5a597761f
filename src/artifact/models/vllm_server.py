"""vLLM as a server of one model: the command, with the flags that a study depends on.

Invariant: prompts that only grow are read once. Prefix caching is on, the cache's blocks are small, and the server
counts in its usage what came from the cache.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from artifact import paths
from artifact.errors import RequestError
from artifact.models import vllm_tool_parser
from artifact.models.checkpoint import checkpoint_of
from artifact.models.registry import ModelEntry
from artifact.models.server_process import serving
from artifact.models.vllm_environment import vllm_python

Device = Literal["gpu", "cpu"]

DEFAULT_CONTEXT = 16384
"""Tokens a conversation, for a model whose registry entry says nothing of serving."""

DEFAULT_SEQUENCES = 32
"""Conversations at a time, likewise."""

_CPU_BLOCK = 32
_FEWEST_BATCHED = 2048
_LARGEST_CPU_CACHE = 4
"""GiB; prefixes that no longer fit are read again."""

_BYTES_A_NUMBER = 2  # bfloat16
# A large checkpoint takes minutes to load, and a first start compiles.
_WAIT_S = {"gpu": 3600.0, "cpu": 900.0}


@dataclass(frozen=True)
class VllmSettings:
    """How a model is served by vLLM.

    Parameters
    ----------
    device : str
        ``"gpu"`` or ``"cpu"``.
    host : str
        Interface that it listens on.
    port : int
        Port that it listens on.
    context : int or None
        Tokens a conversation; None takes the registry's.
    sequences : int or None
        Conversations at a time; None takes the registry's.
    batch_invariant : bool
        A reply doesn't depend on what is decoded beside it; slower, and on a GPU alone.
    compiled : bool
        Compile the model at the first start, which takes a minute and speeds up what follows.
    """

    device: Device = "gpu"
    host: str = "127.0.0.1"
    port: int = 8000
    context: int | None = None
    sequences: int | None = None
    batch_invariant: bool = False
    compiled: bool = True


def vllm_command(entry: ModelEntry, settings: VllmSettings, python: Path, checkpoint: str) -> list[str]:
    """The command that serves a checkpoint."""
    serving_ = entry.serving
    name = entry.endpoint.model if entry.endpoint else entry.name
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", checkpoint,
               "--served-model-name", name, "--host", settings.host, "--port", str(settings.port), "--seed", "0",
               "--enable-prefix-caching", "--enable-prompt-tokens-details",
               "--max-model-len", str(vllm_context(entry, settings)),
               "--max-num-seqs", str(settings.sequences or (serving_.max_num_seqs if serving_ else DEFAULT_SEQUENCES))]
    if serving_:
        command += ["--tensor-parallel-size", str(serving_.tensor_parallel)]
        if serving_.reasoning_parser:
            command += ["--reasoning-parser", serving_.reasoning_parser]
    if entry.tool_parser:
        command += ["--enable-auto-tool-choice", "--tool-call-parser", entry.tool_parser]
    if entry.tool_parser == vllm_tool_parser.NAME:
        command += ["--tool-parser-plugin", str(Path(vllm_tool_parser.__file__))]
    if settings.device == "cpu":
        # A prompt is read whole: while vLLM 0.32 reads one in pieces on a CPU, a seeded sample of it ends the engine.
        command += ["--dtype", "bfloat16", "--block-size", str(_CPU_BLOCK), "--no-enable-chunked-prefill",
                    "--max-num-batched-tokens", str(max(vllm_context(entry, settings), _FEWEST_BATCHED))]
    if not settings.compiled:
        command += ["--enforce-eager"]
    return command


def vllm_context(entry: ModelEntry, settings: VllmSettings) -> int:
    """Tokens a conversation.

    Raises
    ------
    RequestError
        More than the model takes.
    """
    context = settings.context or (entry.serving.max_model_len if entry.serving
                                   else min(entry.context, DEFAULT_CONTEXT))
    if not 0 < context <= entry.context:
        raise RequestError(f"a context of {context} tokens was asked for, but {entry.name} takes 1 to {entry.context}; "
                           "choose one in that range")
    return context


def vllm_variables(settings: VllmSettings) -> dict[str, str]:
    """The environment variables of the server.

    Raises
    ------
    RequestError
        A mode that the device doesn't have.
    """
    variables = {"VLLM_NO_USAGE_STATS": "1"}
    if settings.host == "127.0.0.1":
        # Lets the server tell its settings (`/server_info`), and would let anyone who reaches it reset its caches.
        variables["VLLM_SERVER_DEV_MODE"] = "1"
    if settings.batch_invariant:
        if settings.device == "cpu":
            raise RequestError("vLLM's batch-invariant mode needs a GPU; leave --batch-invariant out")
        variables["VLLM_BATCH_INVARIANT"] = "1"
    if settings.device == "cpu":
        variables |= {"HF_HUB_OFFLINE": "1"}
    return variables


def cpu_cache_gib(checkpoint: Path, tokens: int) -> int:
    """Memory for the keys and values of so many tokens, in whole GiB and within `_LARGEST_CPU_CACHE`."""
    told = orjson.loads((checkpoint / "config.json").read_bytes())
    head = told.get("head_dim") or told["hidden_size"] // told["num_attention_heads"]
    of_a_token = 2 * _BYTES_A_NUMBER * told["num_hidden_layers"] * told["num_key_value_heads"] * head
    return min(math.ceil(tokens * of_a_token / 2**30), _LARGEST_CPU_CACHE)


@contextlib.contextmanager
def vllm_server(entry: ModelEntry, settings: VllmSettings,
                say: Callable[[str], None] = lambda line: None) -> Iterator["RunningServer"]:
    """Serve a model by vLLM for as long as the context lasts.

    Raises
    ------
    RequestError
        A model that the device can't serve, missing weights, a context that the model doesn't have.
    InfrastructureError
        vLLM isn't installed, or doesn't start.
    """
    if settings.device == "cpu" and entry.weights is None:
        raise RequestError(f"{entry.name} is too large for a CPU: only models with weights of their own are served "
                           "there; see artifact models list")
    variables = vllm_variables(settings)
    python = vllm_python(settings.device)
    checkpoint = str(checkpoint_of(entry, python, say)) if entry.weights else (
        entry.serving.checkpoint if entry.serving else entry.name)
    if settings.device == "cpu":
        tokens = (settings.sequences or DEFAULT_SEQUENCES) * vllm_context(entry, settings)
        variables["VLLM_CPU_KVCACHE_SPACE"] = str(cpu_cache_gib(Path(checkpoint), tokens))
    command = vllm_command(entry, settings, python, checkpoint)
    log = paths.SERVER_LOGS / f"vllm-{entry.name}-{settings.port}.log"
    here = "127.0.0.1" if settings.host in ("127.0.0.1", "0.0.0.0") else settings.host
    address = f"http://{here}:{settings.port}"
    say(f"vLLM starts with {entry.name}; its log is {log}")
    with serving(command, name="vLLM", health=f"{address}/health", log=log, wait_s=_WAIT_S[settings.device],
                 environment=variables) as process:
        yield RunningServer(f"{address}/v1", command[command.index("--served-model-name") + 1], log, process.poll)


@dataclass(frozen=True)
class RunningServer:
    """A server that answers.

    Parameters
    ----------
    url : str
        Its base URL.
    model : str
        The name under which it serves the model.
    log : Path
        Its log file.
    ended : callable
        Its exit code once it has ended; None while it runs.
    """

    url: str
    model: str
    log: Path
    ended: Callable[[], int | None]
