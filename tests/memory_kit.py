"""An encoder that counts words, and episodes held by memory arms on a scripted model: the memory arms' arrangement."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from artifact.arms import ArmSpec
from artifact.log import EpisodeLog, iter_logs
from artifact.models.base import ChatModel
from artifact.models.embedder import DIMENSION, Vectors
from artifact.runner import StudyPlan, batch, run_study_async


class WordCounts:
    """Each word of a text adds one at a place of its own; texts are kept as they were asked for."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {"weights_sha256": "words", "dimension": DIMENSION, "library": "tests"}

    def vectors(self, texts: Sequence[str]) -> Vectors:
        self.encoded += texts
        rows = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[sum(word.encode()) % DIMENSION] += 1
            row /= np.linalg.norm(row) or 1
        return rows


@pytest.fixture
def words(monkeypatch):
    """The encoder of all studies that a test runs."""
    encoder = WordCounts()
    monkeypatch.setattr(batch, "open_embedder", lambda: encoder)
    return encoder


def remember(folder: Path, model: ChatModel, *arms: ArmSpec, size: int = 5, seeds: Sequence[int] = (100,),
             prompts: str = "paper") -> tuple[EpisodeLog, ...]:
    """The logs of a study of these arms, in order of their names."""
    plan = StudyPlan("t", model.name, sizes=(size,), seeds=tuple(seeds), arms=arms, prompts=prompts)
    asyncio.run(run_study_async(plan, runs=folder, durable=False, model=model))
    return tuple(iter_logs([folder]))
