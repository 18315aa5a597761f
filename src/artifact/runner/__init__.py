"""Running conversations: `episode` executes one, `batch` many with resume (DESIGN §2)."""

from artifact.runner.batch import RunSummary, run_study, run_study_async
from artifact.runner.plan import EpisodePlan, StudyPlan, parse_seeds
from artifact.runner.probe_plan import TRAP_PROBE, ProbePlan
from artifact.runner.progress import Progress
from artifact.runner.trap_probe import run_trap_probe, run_trap_probe_async

__all__ = ["TRAP_PROBE", "EpisodePlan", "ProbePlan", "Progress", "RunSummary", "StudyPlan", "parse_seeds", "run_study",
           "run_study_async", "run_trap_probe", "run_trap_probe_async"]
