"""The environment that vLLM runs in: its own, since its requirements and this package's don't fit together.

Invariant: what is installed there is exactly what the lock pins, every file checked by hash.
"""

import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from artifact import paths
from artifact.errors import InfrastructureError, missing_extra

LOCKED_PYTHON = (3, 11)
"""The Python that the lock is for: torch's CPU build is pinned by the hash of that one file."""

_MINIMUM_FREE = 5 * 2**30

Say = Callable[[str], None]


def prepare(say: Say = lambda line: None) -> Path:
    """Have the environment of vLLM without a GPU, made from its lock where it isn't there yet.

    Parameters
    ----------
    say : callable
        Told how it goes, a line at a time.

    Returns
    -------
    Path
        The environment's Python.

    Raises
    ------
    InfrastructureError
        When it can't be had on this machine.
    """
    python, stamp = paths.VLLM / "bin" / "python", paths.VLLM / "installed"
    locked = hashlib.sha256(paths.VLLM_LOCK.read_bytes()).hexdigest()
    if python.exists() and stamp.is_file() and stamp.read_text(encoding="utf-8") == locked:
        say(f"vLLM: as locked already, in {paths.VLLM}")
        return python
    if paths.VLLM.exists() and not stamp.is_file() and any(paths.VLLM.iterdir()):
        raise InfrastructureError(f"{paths.VLLM} holds something that this command didn't make, and is left alone; "
                                  "name another folder in ARTIFACT_VLLM, or delete it")
    base = _locked_python()
    paths.VLLM.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(paths.VLLM.parent).free < _MINIMUM_FREE:
        raise InfrastructureError(f"vLLM takes {_MINIMUM_FREE / 2**30:.0f} GiB in {paths.VLLM}, which aren't free; "
                                  "make room, or name another folder in ARTIFACT_VLLM")
    say(f"vLLM: installing into {paths.VLLM} (2.5 GB)")
    _run([base, "-m", "venv", "--clear", str(paths.VLLM)], "the environment could not be made")
    stamp.touch()  # begun by this command: a half-made one is made anew
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
          "--require-hashes", "--only-binary", ":all:", "--requirement", str(paths.VLLM_LOCK)],
         f"{paths.VLLM_LOCK.name} could not be installed (torch's CPU build comes from PyTorch's own package index; if "
         "pip doesn't know it, name that in PIP_EXTRA_INDEX_URL)")
    stamp.write_text(locked, encoding="utf-8")
    say("vLLM: installed, every file checked by hash")
    return python


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


def _locked_python() -> str:
    name = f"python{LOCKED_PYTHON[0]}.{LOCKED_PYTHON[1]}"
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise InfrastructureError(f"vLLM without a GPU is pinned for x86-64 Linux, and this is {platform.machine()} "
                                  f"{platform.system()}; use the engine llamacpp")
    if sys.version_info[:2] == LOCKED_PYTHON:
        return sys.executable
    if found := shutil.which(name):
        return found
    raise InfrastructureError(f"vLLM without a GPU is pinned for {name}, which isn't on the path; install it, or name "
                              "the folder of an environment that has vLLM in ARTIFACT_VLLM")


def _run(command: list[str], failed: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problems = [line for line in done.stderr.splitlines() if "ERROR" in line]
        why = problems[-1].strip() if problems else f"it ended with {done.returncode}"
        raise InfrastructureError(f"vLLM: {failed}: {why}")
