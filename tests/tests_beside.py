"""Tests that need packages which can't be installed beside those of the others: they run in a locked environment."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from artifact import paths
from artifact.errors import InfrastructureError
from artifact.models.locked_environment import LockedEnvironment

_TEST_TOOLS = ("hypothesis", "iniconfig", "pluggy", "pytest", "sortedcontainers")


def pinned(lock: Path, *names: str) -> str:
    """What a lock says of some packages."""
    text = lock.read_text(encoding="utf-8")
    return "".join(re.findall(rf"^(?:{'|'.join(names)})==.*\n(?: .*\n)*", text, re.MULTILINE))


def python_with(modules: Sequence[str], environment: LockedEnvironment) -> Path:
    """A Python that has the modules: this one, or that of the environment, made once with the test tools added."""
    if all(importlib.util.find_spec(name) for name in modules):
        return Path(sys.executable)
    lock = pinned(paths.ROOT / "requirements.lock", *_TEST_TOOLS) + environment.lock
    try:
        return LockedEnvironment(environment.name, environment.folder, environment.variable, lock,
                                 environment.size_gib).prepare()
    except InfrastructureError as error:
        pytest.skip(str(error))


def assert_all_pass(python: Path, *tests: str) -> None:
    """Run tests there, on this checkout's package: they pass and none is skipped."""
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=paths.TESTS, env=os.environ | {"PYTHONPATH": str(paths.PACKAGE.parent)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout, done.stdout
