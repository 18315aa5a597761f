"""Progress counts what it was told to count, plan after plan."""

from artifact.log.records import EndReason, EndRecord
from artifact.runner.progress import Progress


def test_each_plan_of_a_study_is_counted_from_its_first_episode() -> None:
    lines: list[str] = []
    progress = Progress(lines.append, bar=False)
    end = EndRecord(EndReason.COMPLETED, turns=44, seconds=1.0)
    for plan in ("canonical", "held out"):
        with progress.over(2):
            for seed in (100, 101):
                progress.finished(f"{plan} {seed}", end, fresh=True)
    assert [line.partition(":")[0] for line in lines] == [
        "[1/2] canonical 100", "[2/2] canonical 101", "[1/2] held out 100", "[2/2] held out 101"]
