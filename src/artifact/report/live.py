"""Running episodes from a notebook: the parameters cell's literals become a study plan."""

from collections.abc import Sequence

from artifact.arms import ArmSpec
from artifact.errors import RequestError
from artifact.runner import RunSummary, StudyPlan, parse_seeds, run_study
from artifact.taskstate import Brief


def run_live(
    *, study: str, model: str, state_model: str, sizes: Sequence[int], densities: Sequence[float], domain: str,
    brief: str, regime: str, prompts: str, arms: Sequence[str], seeds: str, concurrency: int,
) -> RunSummary:
    """Run what is missing of a study, with a progress bar; finished episodes are not run again.

    Parameters
    ----------
    study, model, domain, regime, prompts : str
        As in `StudyPlan`.
    state_model : str
        Empty for the agent's own model.
    sizes, densities, arms : sequence
        As in `StudyPlan`, arms by name.
    brief : str
        ``"amended"`` or ``"original"``.
    seeds : str
        E.g. ``"100:116"``, end excluded.
    concurrency : int
        Conversations at a time.

    Raises
    ------
    RequestError, InfrastructureError
        What keeps the study from running, in a sentence.
    """
    if brief not in tuple(Brief):
        raise RequestError(f"there is no brief {brief!r}; the briefs are {', '.join(Brief)}")
    if regime not in ("no_think", "think"):
        raise RequestError(f"there is no regime {regime!r}; the regimes are no_think, think")
    plan = StudyPlan(
        study=study, model=model, state_model=state_model or None, sizes=tuple(sizes), densities=tuple(densities),
        domain=domain, brief=Brief(brief), regime="think" if regime == "think" else "no_think", prompts=prompts,
        arms=tuple(ArmSpec(name) for name in arms), seeds=parse_seeds(seeds))
    return run_study(plan, concurrency=concurrency)
