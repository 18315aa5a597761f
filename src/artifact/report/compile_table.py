"""Compile accuracy per state model and cell (the paper's Table 5)."""

from collections.abc import Sequence

import pandas as pd

from artifact.report.grid import Column, Row, Value, count, grid, share
from artifact.report.ladder import Configuration, configuration_of, order
from artifact.report.reported import Reported
from artifact.report.scored import ScoredLogs
from artifact.report.tables import Table

_ALL = "dependencies,codes,cancellation"
COLUMNS = (
    Column("episodes"),
    Column("dependencies", (f"compile_accuracy_min:{_ALL}", f"compile_accuracy_max:{_ALL}")),
    Column("codes", (f"compile_accuracy_min:{_ALL}", f"compile_accuracy_max:{_ALL}")),
    Column("cancel", (f"compile_accuracy_min:{_ALL}", f"compile_accuracy_max:{_ALL}")),
    Column("rewire", ("compile_accuracy_min:rewiring", "compile_accuracy_max:rewiring")),
    Column("relax", ("compile_accuracy:relaxed prerequisite",)),
    Column("whole"), Column("failed"), Column("flagged"),
)
NOTES = (
    "Of the states that a model compiled: steps with the right prerequisites and the right code; revisions with the "
    "right cancelled step, the right rewiring (all of it and nothing else) and the right relaxation, by their effect. "
    "Whole: episodes in which nothing disagrees with the generator. Failed: no usable answer; wrong in every part. "
    "Flagged: by the validator, which sees the graph alone. A state that both gates of a cell share counts once.",
)


def compile_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "compile") -> Table:
    """Build the table; every state that a model compiled counts, whatever became of its episode.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    # The gates of a cell share their compiles, and so do their variants.
    compiles = scored.compiles.drop_duplicates(["study", "cell", "seed"])
    configurations = _configurations(scored.episodes)
    groups = {configurations[str(study), str(cell)]: group for (study, cell), group in
              compiles.groupby(["study", "cell"])}
    rows = [Row(c, c.state_model, _values(groups[c])) for c in sorted(groups, key=order)]
    return grid(name, COLUMNS, rows, reported, tables=("Table 5",), notes=NOTES, label_head="State model",
                source="from the frame of compiles of artifact.scorer.score_frames")


def _configurations(episodes: pd.DataFrame) -> dict[tuple[str, str], Configuration]:
    firsts = episodes.drop_duplicates(["study", "cell"]).to_dict("records")
    return {(str(row["study"]), str(row["cell"])): configuration_of(row) for row in firsts}


def _values(group: pd.DataFrame) -> tuple[Value, ...]:
    steps = int(group["steps"].sum())
    revised = group[group["revised"]]
    parts = (share(part, int(revised[part].sum()), len(revised)) for part in ("cancel", "rewire", "relax"))
    return (count("compiled", len(group)), share("dependencies", int(group["dependencies"].sum()), steps),
            share("codes", int(group["codes"].sum()), steps), *parts,
            share("whole", int(group["whole"].sum()), len(group)), count("failed", int(group["failed"].sum())),
            count("flagged", int(group["flagged"].sum())))
