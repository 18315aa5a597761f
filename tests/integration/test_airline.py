"""The airline study with the real benchmark and no model: its offline proof in full, in an environment of its own.

The benchmark takes half a gigabyte, and some of what it pins isn't what the other tests have: where it isn't installed
here, the tests that need it run in `.tau2`, made once from its lock.
"""

import pytest

from artifact import paths
from artifact.models.locked_environment import LockedEnvironment
from tests_beside import assert_all_pass, python_with

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FILES = ("test_tau2_benchmark.py", "test_tau2_live.py")


def test_the_offline_proof_passes_with_the_real_benchmark() -> None:
    python = python_with(("tau2",), LockedEnvironment(
        "the extra 'tau2'", paths.TAU2, "ARTIFACT_TAU2_ENVIRONMENT", paths.TAU2_LOCK.read_text(encoding="utf-8"),
        size_gib=2))
    # Wrong writes from elsewhere are tested where a file of them is named.
    assert_all_pass(python, "-m", "proof or not proof", "-k", "not from_elsewhere", *FILES)
