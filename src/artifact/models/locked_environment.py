"""Environments beside this one, for what can't be installed beside this package's own requirements.

Invariant: what is installed there is exactly what its lock pins, every file checked by hash.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import InfrastructureError

LOCKED_PYTHON = (3, 11)
"""The Python that PyTorch's CPU build is pinned for, by the hash of that one file."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class LockedEnvironment:
    """An environment of its own.

    Parameters
    ----------
    name : str
        What is installed there, for the sentences that are said about it.
    folder : Path
        Where it lies.
    variable : str
        The environment variable that names another folder.
    lock : str
        Requirements with hashes.
    size_gib : float
        Room that it takes, with what is needed while it is installed.
    """

    name: str
    folder: Path
    variable: str
    lock: str
    size_gib: float

    @property
    def python(self) -> Path:
        """Its Python, whether it is there or not."""
        return self.folder / "bin" / "python"

    def prepare(self, say: Say = lambda line: None) -> Path:
        """Have it: made from its lock where it isn't there yet.

        Parameters
        ----------
        say : callable
            Told how it goes, a line at a time.

        Returns
        -------
        Path
            Its Python.

        Raises
        ------
        InfrastructureError
            When it can't be had on this machine.
        """
        stamp = self.folder / "installed"
        locked = hashlib.sha256(self.lock.encode()).hexdigest()
        if self.python.exists() and stamp.is_file() and stamp.read_text(encoding="utf-8") == locked:
            say(f"{self.name}: as locked already, in {self.folder}")
            return self.python
        if self.folder.exists() and not stamp.is_file() and any(self.folder.iterdir()):
            raise InfrastructureError(f"{self.folder} holds something that wasn't made here, and is left alone; "
                                      f"name another folder in {self.variable}, or delete it")
        base = self._locked_python()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self.folder.parent).free < self.size_gib * 2**30:
            raise InfrastructureError(f"{self.name} takes {self.size_gib:g} GiB in {self.folder}, which aren't free; "
                                      f"make room, or name another folder in {self.variable}")
        say(f"{self.name}: installing into {self.folder}")
        self._run([base, "-m", "venv", "--clear", str(self.folder)], "the environment could not be made")
        stamp.touch()  # begun here: a half-made one is made anew
        requirements = self.folder / "requirements.lock"
        requirements.write_text(self.lock, encoding="utf-8")
        self._run([str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--no-compile", "--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements)],
                  "its lock could not be installed (torch's CPU build comes from PyTorch's own package index; if pip "
                  "doesn't know it, name that in PIP_EXTRA_INDEX_URL)")
        stamp.write_text(locked, encoding="utf-8")
        say(f"{self.name}: installed, every file checked by hash")
        return self.python

    def _locked_python(self) -> str:
        name = f"python{LOCKED_PYTHON[0]}.{LOCKED_PYTHON[1]}"
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            raise InfrastructureError(f"{self.name} without a GPU is pinned for x86-64 Linux, and this is "
                                      f"{platform.machine()} {platform.system()}")
        if sys.version_info[:2] == LOCKED_PYTHON:
            return sys.executable
        if found := shutil.which(name):
            return found
        raise InfrastructureError(f"{self.name} without a GPU is pinned for {name}, which isn't on the path; install "
                                  f"it, or name the folder of an environment that has {self.name} in {self.variable}")

    def _run(self, command: list[str], failed: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            problems = [line for line in done.stderr.splitlines() if "ERROR" in line]
            why = problems[-1].strip() if problems else f"it ended with {done.returncode}"
            raise InfrastructureError(f"{self.name}: {failed}: {why}")
