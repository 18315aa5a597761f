"""The environment that vLLM runs in: its own, since its requirements and this package's don't fit together."""

import importlib.util
import sys
from pathlib import Path

from artifact import paths
from artifact.errors import InfrastructureError, missing_extra
from artifact.models.locked_environment import LockedEnvironment, Say


def prepare(say: Say = lambda line: None) -> Path:
    """Have the environment of vLLM without a GPU; see `LockedEnvironment.prepare`."""
    lock = paths.VLLM_LOCK.read_text(encoding="utf-8")
    return LockedEnvironment("vLLM", paths.VLLM, "ARTIFACT_VLLM", lock, size_gib=5).prepare(say)


def vllm_python(device: str) -> Path:
    """The Python that vLLM is installed in, for a device (``"cpu"`` or ``"gpu"``).

    Raises
    ------
    InfrastructureError
        When the environment for machines without a GPU wasn't prepared.
    RequestError
        When the extra for machines with one isn't installed.
    """
    own = paths.VLLM / "bin" / "python"
    if device == "cpu":
        if not own.exists():
            raise InfrastructureError(f"vLLM isn't installed in {paths.VLLM}; run: artifact models prepare-vllm, or "
                                      "name the folder of an environment that has it in ARTIFACT_VLLM")
        return own
    if importlib.util.find_spec("vllm") is None:
        raise missing_extra("vLLM on a GPU", "vllm", "serve a small model with --device cpu")
    return Path(sys.executable)
