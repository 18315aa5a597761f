"""The memory arms with the real encoder and the real memory library, in an environment of their own.

PyTorch is too heavy for the environment of the other tests, and one pin of the memory library isn't theirs: where the
extra isn't installed here, the tests that need it run in `.memory`, made once from the locks.
"""

import pytest

from artifact import paths
from artifact.models.locked_environment import LockedEnvironment
from tests_beside import assert_all_pass, pinned, python_with

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FILES = ("test_arms_mem0.py", "test_arms_memory.py", "test_arms_stream.py", "test_arms_paged.py")
STUDY = "test_studies.py::test_every_study_runs_whole_at_its_smoke_size_and_apart_from_what_is_measured[memory]"
TORCH = ("torch", "jinja2", "markupsafe", "mpmath", "networkx", "sympy")  # and what it needs beside the extra


def test_the_memory_arms_tests_pass_with_the_real_encoder_and_library() -> None:
    lock = pinned(paths.VLLM_LOCK, *TORCH) + paths.MEMORY_LOCK.read_text(encoding="utf-8")
    python = python_with(("mem0", "sentence_transformers"), LockedEnvironment(
        "the extra 'memory'", paths.MEMORY, "ARTIFACT_MEMORY", lock, size_gib=4))
    assert_all_pass(python, *FILES, STUDY)
