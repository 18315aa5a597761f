"""Running conversations: `episode` executes one, `batch` many with resume (DESIGN §2)."""

from artifact.runner.batch import RunSummary, run_study, run_study_async
from artifact.runner.plan import EpisodePlan, StudyPlan, parse_seeds
from artifact.runner.progress import Progress

__all__ = ["EpisodePlan", "Progress", "RunSummary", "StudyPlan", "parse_seeds", "run_study", "run_study_async"]
