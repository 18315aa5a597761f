"""llama.cpp's server inside this process: starting it, calling it, asking what it is.

Everything that touches xllamacpp stands here.
"""

import http.client
import os
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from artifact.errors import InfrastructureError

BATCH = 128
"""Prompt tokens that are read at once; a call can be stopped in between."""

SMALL_BATCH = 8
"""Below this many tokens a batch is read by another kernel, which rounds otherwise."""


def start_engine(weights: Path, name: str, *, slots: int, context: int, threads: int, port: int) -> Any:
    """Load a weights file and start the server on it.

    Parameters
    ----------
    weights : Path
        The file, already checked.
    name : str
        The name under which the server knows the model over HTTP.
    slots : int
        Slots in all.
    context : int
        Tokens a slot.
    threads : int
        Threads of the arithmetic.
    port : int
        Port of the HTTP side on this machine; 0 takes a free one.

    Raises
    ------
    InfrastructureError
        The engine isn't installed, or can't start.
    """
    # OpenMP threads spin at their barriers by default: with any other process on the same cores a token then takes
    # some fifty times as long. The runtime reads this variable once, when the engine is first loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError:
        raise InfrastructureError("The embedded engine needs the package xllamacpp, which isn't installed; "
                                  "install it with: pip install xllamacpp.") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {name}
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    # A token is read the same way wherever it stands in a batch: see the invariant of `LlamaCpp`.
    params.no_extra_bufts = True
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.n_gpu_layers = 0
    params.fit_params = False
    # Prompts that leave a slot are gone: kept aside, they would be copied at every change of conversation.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.port = port
    params.endpoint_props = True
    params.ui = False
    params.verbosity = -1
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise InfrastructureError(
            f"llama.cpp could not start {name} ({error}); check that port {port or 'any'} is free and that {slots} "
            f"slots of {context} tokens fit into memory, or ask for a smaller context.") from None


def engine_build() -> dict[str, Any]:
    """Version and build of the engine, and what it uses of the processor."""
    import xllamacpp

    return {
        "engine": "llama.cpp",
        "engine_version": f"xllamacpp {xllamacpp.__version__}",
        "engine_build": dict(xllamacpp.BUILD_INFO),
        "cpu_features": xllamacpp.get_system_info().strip(),
    }


class EngineCall:
    """One streamed chat completion: it can be stopped between tokens, which a plain one can't.

    Parameters
    ----------
    server : xllamacpp.Server
        The engine.
    body : bytes
        The request body; it asks for a stream.
    """

    def __init__(self, server: Any, body: bytes) -> None:
        self._server = server
        self._body = body
        self._stopped = threading.Event()
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish: str | None = None
        self.usage: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    @property
    def cached_tokens(self) -> int:
        """Prompt tokens that came from the prefix cache."""
        return int((self.usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0))

    def run(self) -> None:
        """Make the call; returns when it is answered or stopped."""
        try:
            self._server.handle_chat_completions(self._body, self._take)
        except (ValueError, RuntimeError) as error:
            self.error = {"message": str(error).splitlines()[0] if str(error) else type(error).__name__}
        finally:
            self._server = None  # whoever keeps the call, in a traceback say, must not keep the engine

    @property
    def stopped(self) -> bool:
        """Whether the call was told to stop: what it holds is then no full answer."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Stop at the next token, or at the next batch of the prompt."""
        self._stopped.set()

    def _take(self, chunk: bytes) -> bool:
        """Read one chunk; True tells the engine to stop."""
        data = orjson.loads(chunk)
        if "error" in data:
            self.error = data["error"]
        for choice in data.get("choices", ()):
            delta = choice["delta"]
            self.text.append(delta.get("content") or "")
            self.reasoning.append(delta.get("reasoning_content") or "")
            self.finish = choice["finish_reason"] or self.finish
        self.usage = data.get("usage") or self.usage
        return self._stopped.is_set()


def engine_properties(server: Any) -> dict[str, Any]:
    """What the server says of itself, once it takes requests.

    A server that is told to stop before its queue runs never stops. What the slots do is answered through the queue.
    """
    _get(server, "/slots")
    answer = _get(server, "/props")
    return answer if isinstance(answer, dict) else {}


def _get(server: Any, path: str) -> Any:
    parts = urlsplit(server.listening_address)
    connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=60)
    try:
        connection.request("GET", path)
        return orjson.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, orjson.JSONDecodeError) as error:
        raise InfrastructureError(f"The embedded engine started but doesn't answer {path} ({error}).") from None
    finally:
        connection.close()


def physical_cores() -> int:
    """Physical cores that this process may use; hyper-threads share their core's arithmetic."""
    try:
        allowed = os.sched_getaffinity(0)
        siblings = Path("/sys/devices/system/cpu")
        return len({(siblings / f"cpu{cpu}/topology/thread_siblings_list").read_text() for cpu in allowed})
    except (AttributeError, OSError):
        return os.cpu_count() or 1
