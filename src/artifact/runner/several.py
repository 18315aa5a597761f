"""Several plans one after another, with the models opened once."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from artifact import paths
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.batch import RunSummary, open_models, run_study_async
from artifact.runner.loop import run_to_end
from artifact.runner.plan import StudyPlan
from artifact.runner.progress import Progress

Choose = Callable[[str, str], Sequence[StudyPlan]]


async def run_several_async(plans: Sequence[StudyPlan], choose: Choose, *, runs: Path = paths.RUNS,
                            concurrency: int = 1, durable: bool = True, threads: int | None = None,
                            outage_limit_s: float = OUTAGE_LIMIT_S,
                            progress: Progress | None = None) -> tuple[RunSummary, ...]:
    """Run what is missing of several plans.

    Parameters
    ----------
    plans : sequence of StudyPlan
        What to run, in order; all name the same models and regime.
    choose : callable
        Told what the opened models call themselves, before anything runs; gives the plans that are to run.
    runs, concurrency, durable, threads, outage_limit_s, progress
        As for `run_study_async`.

    Returns
    -------
    tuple of RunSummary
        One a plan.
    """
    progress = progress or Progress.silent()
    async with contextlib.AsyncExitStack() as stack:
        model, state_model = await open_models(stack, plans[0], concurrency=concurrency, threads=threads,
                                               outage_limit_s=outage_limit_s, say=progress.say)
        chosen = choose(model.name, state_model.name)
        # Every plan's cells are checked before the first one starts.
        for plan in chosen:
            plan.cells(model.name, state_model.name)
        return tuple([await run_study_async(plan, runs=runs, concurrency=concurrency, durable=durable, model=model,
                                            state_model=state_model, progress=progress) for plan in chosen])


def run_several(plans: Sequence[StudyPlan], choose: Choose, *, runs: Path = paths.RUNS, concurrency: int = 1,
                durable: bool = True, threads: int | None = None,
                outage_limit_s: float = OUTAGE_LIMIT_S) -> tuple[RunSummary, ...]:
    """Run several plans from code that is not asynchronous, progress shown; see `run_several_async`."""
    return run_to_end(lambda: run_several_async(plans, choose, runs=runs, concurrency=concurrency, durable=durable,
                                                threads=threads, outage_limit_s=outage_limit_s,
                                                progress=Progress.shown()))
