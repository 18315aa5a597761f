"""The memory arms with the real encoder and the real memory library, in an environment of their own.

PyTorch is too heavy for the environment of the other tests, and one pin of the memory library isn't theirs: where the
extra isn't installed here, the tests that need it run in `.memory`, made once from the locks.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from artifact import paths
from artifact.errors import InfrastructureError
from artifact.models.locked_environment import LockedEnvironment

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FILES = ("test_arms_mem0.py", "test_arms_memory.py", "test_arms_stream.py", "test_arms_paged.py")
STUDY = "test_studies.py::test_every_study_runs_whole_at_its_smoke_size_and_apart_from_what_is_measured[memory]"
TORCH = ("torch", "jinja2", "markupsafe", "mpmath", "networkx", "sympy")  # and what it needs beside the extra
TEST_TOOLS = ("hypothesis", "iniconfig", "pluggy", "pytest", "sortedcontainers")


def pinned(lock: Path, *names: str) -> str:
    """What a lock says of some packages."""
    text = lock.read_text(encoding="utf-8")
    return "".join(re.findall(rf"^(?:{'|'.join(names)})==.*\n(?: .*\n)*", text, re.MULTILINE))


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the extra: this one, or that of the environment beside it."""
    if all(importlib.util.find_spec(name) for name in ("mem0", "sentence_transformers")):
        return Path(sys.executable)
    lock = (pinned(paths.VLLM_LOCK, *TORCH) + pinned(paths.ROOT / "requirements.lock", *TEST_TOOLS)
            + paths.MEMORY_LOCK.read_text(encoding="utf-8"))
    try:
        return LockedEnvironment("the extra 'memory'", paths.MEMORY, "ARTIFACT_MEMORY", lock, size_gib=4).prepare()
    except InfrastructureError as error:
        pytest.skip(str(error))


def test_the_memory_arms_tests_pass_with_the_real_encoder_and_library(python: Path) -> None:
    # This checkout's package, whichever one is installed.
    environment = os.environ | {"PYTHONPATH": str(paths.PACKAGE.parent)}
    done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES, STUDY], cwd=paths.TESTS,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout, done.stdout
