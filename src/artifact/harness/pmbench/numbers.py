"""What the text on PM-Bench may cite, as macros."""

from collections.abc import Sequence

from artifact.harness.pmbench.generate import CANCELS, CHANNELS, EVENTS, OVERRIDES, RESCHEDULES, STEPS, TIMES
from artifact.harness.pmbench.measures import Verdict
from artifact.harness.pmbench.simulate import MOST_QUERIES
from artifact.harness.pmbench.summary import summaries
from artifact.report.numbers import Number
from artifact.report.tables import NOT_RUN_TEXT
from artifact.report.tex import macro_name

_CITED = {"set_f1": 2, "miss_percent": 0, "false_alarms_per_run": 1, "queries_per_run": 0, "matcher_precision": 2,
          "matcher_recall": 2, "refused_selections_per_run": 1, "refused_due_selections_per_run": 1,
          "recorded_percent": 0}


def week_numbers(notebook: str, verdicts: Sequence[Verdict]) -> list[Number]:
    """What a generated week holds, how much was run, and the means of each rung of each cell.

    Parameters
    ----------
    notebook : str
        Begins every macro's name.
    verdicts : sequence of Verdict
        Scored logs.
    """
    made = "artifact.harness.pmbench.generate"
    source = "artifact.harness.pmbench.measures.judged"
    stem = macro_name(notebook, "pmbench")
    tasks, updates = sum(EVENTS + CHANNELS + TIMES), sum(RESCHEDULES + OVERRIDES + CANCELS)
    completed = [one for one in verdicts if one.completed]
    counts = {"steps": (sum(STEPS), made), "tasks": (tasks, made), "updates": (updates, made),
              "scored": (tasks - sum(CANCELS), made), "query limit": (MOST_QUERIES, "the default of --max-queries"),
              "runs": (len(completed), source), "excluded": (len(verdicts) - len(completed), source)}
    numbers = [Number(stem + macro_name(name), str(value), where) for name, (value, where) in counts.items()]
    for one in summaries(verdicts, with_missing=True):
        name = stem + macro_name(one.study, one.cell.slug.removeprefix("pmbench."), one.rung)
        where = f"study {one.study}, cell {one.cell.slug}, arm {one.rung}; mean over {one.runs} runs"
        for measure, digits in _CITED.items():
            mean = one.values[measure].mean
            numbers.append(Number(name + macro_name(measure), NOT_RUN_TEXT if mean is None else f"{mean:.{digits}f}",
                                  where))
    return numbers
