"""The values that the original paper reports, as transcribed in ``data/reported.csv``.

They are shown beside measured values and never pooled, tested or averaged with them: they come from other
models, other engines and another implementation.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from artifact import paths
from artifact.errors import RequestError

COLUMNS = ("table", "cell", "arm", "metric", "value", "k", "n", "place")
_CELL = re.compile(r"(?P<model>.+)\.S(?P<size>\d\d)\.d(?P<density>\d+(?:\.\d+)?)\.(?P<domain>[a-z]+)\.(?P<brief>[a-z]+)"
                   r"\.(?P<regime>no_think|think)")


@dataclass(frozen=True)
class Conditions:
    """What a reported and a measured cell must share to stand beside each other: everything but the model."""

    size: int
    density: float
    domain: str
    brief: str
    regime: str


@dataclass(frozen=True)
class Reported:
    """One reported value.

    Parameters
    ----------
    table : str
        The paper's table or figure, ``"prose"`` where the value belongs to none.
    cell : str
        Model and conditions, in the form of a cell's folder name where the cell is one of the grid.
    arm, metric : str
        What was measured; a contrast of two arms is written ``a->b``.
    value : str
        The value as the paper prints it, digits only.
    k, n : int or None
        Successes and trials, where the paper gives them.
    place : str
        Section and paragraph, or the caption of a table.
    """

    table: str
    cell: str
    arm: str
    metric: str
    value: str
    k: int | None
    n: int | None
    place: str

    @property
    def model(self) -> str:
        """The model whose value it is."""
        match = _CELL.fullmatch(self.cell)
        return match["model"] if match else self.cell.split(".S")[0]

    @property
    def conditions(self) -> Conditions | None:
        """The conditions, or None where the cell is not one single cell of the grid."""
        match = _CELL.fullmatch(self.cell)
        if match is None:
            return None
        return Conditions(int(match["size"]), float(match["density"]), match["domain"], match["brief"], match["regime"])

    @property
    def rate(self) -> float | None:
        """Strict success as a proportion, for the metrics that are one."""
        if self.metric == "strict":
            return float(self.value)
        if self.metric == "strict_count" and self.k is not None and self.n:
            return self.k / self.n
        return None


def load_reported(path: Path = paths.REPORTED) -> tuple[Reported, ...]:
    """All reported values, in the order of the file.

    Raises
    ------
    RequestError
        When the file is missing or its columns are not the expected ones.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if tuple(rows.fieldnames or ()) != COLUMNS:
                raise RequestError(f"{path} must have the columns {', '.join(COLUMNS)}; restore it from the repository")
            return tuple(
                Reported(row["table"], row["cell"], row["arm"], row["metric"], row["value"],
                         int(row["k"]) if row["k"] else None, int(row["n"]) if row["n"] else None, row["place"])
                for row in rows
            )
    except FileNotFoundError:
        raise RequestError(f"the reported values are not at {path}; restore data/reported.csv from the repository"
                           ) from None


def reported_ladders(reported: tuple[Reported, ...]) -> dict[tuple[Conditions, str], dict[str, Reported]]:
    """The reported strict successes of single grid cells: (conditions, model) -> arm -> value.

    Only the four main arms under the paper's own settings; variants and ranges are left out.
    """
    ladders: dict[tuple[Conditions, str], dict[str, Reported]] = {}
    for row in reported:
        if row.conditions is not None and row.rate is not None and "." not in row.arm:
            ladders.setdefault((row.conditions, row.model), {})[row.arm] = row
    return ladders
