"""A weights file as the checkpoint that vLLM loads, made once and kept beside it.

Invariant: the checkpoint's folder is named by the hash of the weights that it was made from, so a server that tells
which folder it serves tells the hash. A folder of that name is complete: it is made under another and moved there.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from artifact import paths
from artifact.errors import InfrastructureError
from artifact.models.registry import ModelEntry
from artifact.models.weights import checked_weights

_CONVERTER = paths.PACKAGE / "models" / "convert_gguf.py"
_NAME = re.compile(r"(?P<sha256>[0-9a-f]{64})\.bf16")


def checkpoint_of(entry: ModelEntry, python: Path, say: Callable[[str], None] = lambda line: None) -> Path:
    """The checkpoint of an embedded model, made from its checked weights where it isn't there yet.

    Parameters
    ----------
    entry : ModelEntry
        A model with weights of its own.
    python : Path
        The Python of an environment that has transformers and gguf.
    say : callable
        Told when it has to be made, which takes half a minute.

    Raises
    ------
    RequestError
        When the weights are missing or damaged.
    InfrastructureError
        When the conversion fails.
    """
    weights = checked_weights(entry)
    folder = weights.with_suffix(".bf16")
    if folder.is_dir():
        return folder
    say(f"{entry.name}: making a checkpoint of the weights, kept in {folder.name}")
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    done = subprocess.run([str(python), str(_CONVERTER), str(weights), str(partial)], capture_output=True, text=True,
                          check=False, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise InfrastructureError(f"the weights of {entry.name} could not be made into a checkpoint: {last}")
    try:
        partial.rename(folder)
    except OSError:  # another process was quicker
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def weights_of_checkpoint(name: str) -> str | None:
    """The SHA-256 of the weights that a checkpoint's folder was made from; None for any other folder."""
    match = _NAME.fullmatch(name)
    return match["sha256"] if match else None
