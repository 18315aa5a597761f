"""The oracle suite: scripted agents whose score is known beforehand bound the metric (Appendix A.1)."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from artifact.arms import RUNGS, ArmOptions, ArmSpec
from artifact.harness.batch import run_harness
from artifact.harness.tools.harness import RealTools
from artifact.harness.tools.measures import judged
from artifact.harness.tools.plan import LADDER, ToolsPlan
from artifact.log import iter_logs
from artifact.runner import Progress, StudyPlan, run_study
from artifact.runner.loop import run_to_end
from artifact.scorer import episode_frame

_ORACLE = ArmOptions(state="oracle", matcher="oracle")
_CORRUPTED = ArmOptions(state="oracle", matcher="oracle", corruption=0.2)


@dataclass(frozen=True)
class Check:
    """One check: who runs behind what, on which seeds, and how many episodes must be strict.

    Parameters
    ----------
    claim : str
        What it shows.
    policy : str
        The scripted policy.
    arms : tuple of ArmSpec
        The arms that it runs in.
    seeds : range
        The episodes of each arm, at S=10.
    expected : int
        Strict successes over all of them.
    with_tools : bool
        Whether the steps are real tools instead of lines in a reply.
    """

    claim: str
    policy: str
    arms: tuple[ArmSpec, ...]
    seeds: range
    expected: int
    with_tools: bool = False


@dataclass(frozen=True)
class Result:
    """Outcome of a check: strict successes out of all episodes."""

    check: Check
    strict: int
    episodes: int

    @property
    def passed(self) -> bool:
        """Whether the score is the one that was known beforehand."""
        return self.strict == self.check.expected


CHECKS = (
    Check("a perfect agent is strict in every rung", "perfect",
          tuple(ArmSpec(name, _ORACLE if name in ("directive", "enforcement") else ArmOptions()) for name in RUNGS),
          range(50), 200),
    Check("a perfect agent behind a corrupted module never is", "perfect",
          (ArmSpec("enforcement", _CORRUPTED),), range(15), 0),
    Check("booking every request is strict behind enforcement", "always-book",
          (ArmSpec("enforcement", _ORACLE),), range(100, 228), 128),
    Check("booking every request never is without it", "always-book", (ArmSpec("raw"),), range(100, 228), 0),
    Check("a perfect agent with real tools is strict in every arm", "perfect", LADDER, range(300, 304), 20,
          with_tools=True),
    Check("a perfect agent with real tools behind a corrupted gate never is", "perfect",
          (ArmSpec("enforcement", _CORRUPTED),), range(300, 304), 0, with_tools=True),
)


def run_selftest(say: Callable[[str], None]) -> tuple[Result, ...]:
    """Run every check.

    Parameters
    ----------
    say : callable
        Told one line a check.

    Returns
    -------
    tuple of Result
    """
    results = []
    for number, check in enumerate(CHECKS):
        with tempfile.TemporaryDirectory() as folder:
            plan = StudyPlan(f"selftest-{number}", f"scripted:{check.policy}", arms=check.arms,
                             seeds=tuple(check.seeds))
            strict = _strict(plan, Path(folder), with_tools=check.with_tools)
        result = Result(check, sum(strict), len(strict))
        say(f"{'pass' if result.passed else 'FAIL'}  {check.claim}: {result.strict}/{result.episodes}, "
            f"{check.expected} expected")
        results.append(result)
    return tuple(results)


def _strict(plan: StudyPlan, runs: Path, *, with_tools: bool) -> list[bool]:
    """Run a study; of each of its episodes, whether it is strict."""
    if with_tools:
        run_to_end(lambda: run_harness(RealTools(ToolsPlan(plan)), plan.study, runs=runs, durable=False))
        return [verdict.strict for verdict in judged([runs])]
    run_study(plan, runs=runs, durable=False, progress=Progress.silent())
    return [bool(strict) for strict in episode_frame(iter_logs([runs]))["strict"]]
