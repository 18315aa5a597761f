"""Mem0 as it comes, with a store on disk, the runner's encoder, and a model that answers through the runner.

Invariant: nothing leaves this machine but what the model's own server is asked. The library's telemetry is off before
its first import, and its own folder lies beside the store.
"""

import hashlib
import importlib.util
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact.arms.memory.exchanges import RECALLED, Exchange
from artifact.errors import InfrastructureError, RequestError, missing_extra
from artifact.models.embedder import DIMENSION, EXTRA, Embedder

_USER = "client"
_PROVIDER = "artifact"
_MARKER = "episode.sha256"
_ASKED = 3 * RECALLED  # more than are shown, so that ties are broken here and not by the store's random ids
_DIGITS = 6

# The library dates every prompt with the day on which it runs, and models repeat that as a fact: here the day is fixed.
_DATE = re.compile(r"^(## (?:Observation|Current) Date)\n\d{4}-\d\d-\d\d$", re.MULTILINE)
_DAY = "2026-11-30"
_ALTERING = ("spacy", "fastembed")  # the library searches otherwise where it finds them, and may fetch models for them

Answer = Callable[[list[dict[str, str]]], str]


class LibraryLlm:
    """What the library takes for its language model."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self._answer: Answer = config.model

    def generate_response(self, messages: list[dict[str, str]], **settings: Any) -> str:
        """Answer as JSON; the settings that it may ask for beside that are the runner's to choose."""
        return self._answer([{**message, "content": _DATE.sub(rf"\1\n{_DAY}", message["content"])}
                             for message in messages])


class LibraryEmbedding:
    """What the library takes for its encoder."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self._embedder: Embedder = config.model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """A vector a text."""
        return [[float(value) for value in row] for row in self._embedder.vectors(texts)]


def facts_in(reply: str) -> list[dict[str, Any]] | None:
    """The facts of an answer to the library's prompt that have a text; None where it has no such list.

    The library itself takes them on trust, and would raise for a fact that is no object.
    """
    try:
        found = json.loads(reply[reply.find("{"):reply.rfind("}") + 1], strict=False)
    except ValueError:
        return None
    items = found.get("memory") if isinstance(found, dict) else None
    if not isinstance(items, list):
        return None
    facts = [item for item in items if isinstance(item, dict) and isinstance(item.get("text"), str) and item["text"]]
    return facts if facts or not items else None


@dataclass(frozen=True)
class Found:
    """A memory that a search found: the library's own id, its text, its score."""

    key: str
    text: str
    score: float


class Library:
    """A Mem0 store of one episode, made anew.

    Parameters
    ----------
    folder : Path
        Where it lies. What a former run of the same episode left there is removed.
    owner : str
        What tells this episode from others; its hash marks the folder.
    embedder : Embedder
        Texts to vectors.
    answer : callable
        Answers the library's prompts; called in the thread that calls `add`.

    Raises
    ------
    InfrastructureError
        When the folder can't be written.
    RequestError
        When the extra isn't installed, or the folder holds the store of another episode.
    """

    def __init__(self, folder: Path, owner: str, embedder: Embedder, answer: Answer) -> None:
        _claim(folder, owner)
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder)
        try:
            from mem0 import Memory
            from mem0.configs.base import MemoryConfig
            from mem0.utils.factory import EmbedderFactory, LlmFactory
        except ImportError:
            raise missing_extra("the arm mem0", EXTRA) from None
        logging.getLogger("mem0").setLevel(logging.CRITICAL)  # what it can't read is counted in the log
        LlmFactory.register_provider(_PROVIDER, f"{__name__}.{LibraryLlm.__name__}")
        EmbedderFactory.provider_to_class[_PROVIDER] = f"{__name__}.{LibraryEmbedding.__name__}"
        config = MemoryConfig(history_db_path=str(folder / "history.db"), vector_store={
            "provider": "qdrant", "config": {"path": str(folder / "store"), "embedding_model_dims": DIMENSION,
                                             "on_disk": True, "collection_name": "memories"}})
        # The library knows its own providers alone until it is built: these two are set past that check.
        config.llm.provider, config.llm.config = _PROVIDER, {"model": answer}
        config.embedder.provider, config.embedder.config = _PROVIDER, {"model": embedder}
        self._memory: Any = Memory(config)

    def close(self) -> None:
        """Let go of the files."""
        self._memory.vector_store.client.close()
        self._memory.close()

    def add(self, exchange: Exchange, *, infer: bool) -> list[tuple[str, str]]:
        """Store what follows from an exchange, or the exchange itself; gives the library's ids and the texts."""
        messages = [{"role": "user", "content": exchange.request}, {"role": "assistant", "content": exchange.reply}]
        spoken = [message for message in messages if message["content"].strip()]
        stored = self._memory.add(spoken, user_id=_USER, infer=infer)["results"]
        return [(item["id"], item["memory"]) for item in stored]

    def search(self, query: str) -> list[Found]:
        """The memories that the library finds for a query, more than are shown."""
        found = self._memory.search(query, filters={"user_id": _USER}, top_k=_ASKED)["results"]
        return [Found(item["id"], item["memory"], round(float(item["score"]), _DIGITS)) for item in found]


def memory_identity(arm: str, embedder: Embedder) -> dict[str, Any]:
    """What a memory arm recalls with, for the log: the encoder, and for the arm mem0 the library's version.

    Raises
    ------
    RequestError
        When the extra isn't installed.
    """
    if arm != "mem0":
        return embedder.identity()
    if importlib.util.find_spec("mem0") is None:
        raise missing_extra("the arm mem0", EXTRA)
    if altering := [name for name in _ALTERING if importlib.util.find_spec(name)]:
        raise RequestError(f"with {altering[0]} installed the library of the arm mem0 searches otherwise and may fetch "
                           "models; run the arm in an environment without it")
    from importlib.metadata import version

    return {**embedder.identity(), "store": f"mem0ai {version('mem0ai')}"}


def _claim(folder: Path, owner: str) -> None:
    digest = hashlib.sha256(owner.encode()).hexdigest()
    marker = folder / _MARKER
    try:
        if folder.exists() and any(folder.iterdir()):
            if not marker.is_file() or marker.read_text("utf-8") != digest:
                raise RequestError(f"{folder} holds the memory of another episode; move it away, or give the study "
                                   "another name with --study")
            doomed = folder.with_name(f".{folder.name}.old")  # the marker must not go before what it marks
            shutil.rmtree(doomed, ignore_errors=True)
            folder.rename(doomed)
            shutil.rmtree(doomed)
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_text(digest, "utf-8")
    except OSError as error:
        raise InfrastructureError(f"{folder} can't be written ({error.strerror}); choose another folder with --runs or "
                                  "make this one writable") from None
