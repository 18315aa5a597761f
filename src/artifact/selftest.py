"""The oracle suite: scripted agents whose score is known beforehand bound the metric (Appendix A.1)."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from artifact.arms import RUNGS, ArmOptions, ArmSpec
from artifact.log import iter_logs
from artifact.runner import Progress, StudyPlan, run_study
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
    """

    claim: str
    policy: str
    arms: tuple[ArmSpec, ...]
    seeds: range
    expected: int


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
            run_study(plan, runs=Path(folder), durable=False, progress=Progress.silent())
            episodes = episode_frame(iter_logs([Path(folder)]))
        result = Result(check, int(episodes["strict"].sum()), len(episodes))
        say(f"{'pass' if result.passed else 'FAIL'}  {check.claim}: {result.strict}/{result.episodes}, "
            f"{check.expected} expected")
        results.append(result)
    return tuple(results)
