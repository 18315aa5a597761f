"""A table as it is published: a LaTeX fragment for the paper, and beside it a CSV that a reviewer can diff."""

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from artifact import paths
from artifact.errors import InfrastructureError
from artifact.report.ladder import Configuration
from artifact.report.statistics import Contrast, Proportion
from artifact.report.tex import bold, escape, small
from artifact.taskstate import CANONICAL, Channel

NOT_RUN_TEXT = "not run"
NONE_COMPLETED_TEXT = "none completed"


@dataclass(frozen=True)
class Table:
    """One table.

    Parameters
    ----------
    name : str
        File name without suffix.
    tex : str
        The LaTeX fragment.
    records : tuple of mapping
        The same values, one row each with its columns, unformatted.
    """

    name: str
    tex: str
    records: tuple[Mapping[str, object], ...]

    def csv(self) -> str:
        """The records as CSV; what was not measured reads ``not run``."""
        columns: dict[str, None] = {}
        for record in self.records:
            columns.update(dict.fromkeys(record))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(record.get(column, "")) for column in columns] for record in self.records)
        return text.getvalue()

    def frame(self, *columns: str) -> pd.DataFrame:
        """The records as a data frame, for a notebook; all columns when none is named."""
        frame = pd.DataFrame([{key: _plain(value) for key, value in record.items()} for record in self.records])
        return frame[list(columns)] if columns and len(frame) else frame

    def write(self, folder: Path = paths.TABLES) -> tuple[Path, Path]:
        """Write both files and return their paths."""
        return write_text(folder / f"{self.name}.tex", self.tex), write_text(folder / f"{self.name}.csv", self.csv())


def write_text(path: Path, text: str) -> Path:
    """Write a generated file whole or not at all.

    Raises
    ------
    InfrastructureError
        When the folder can't be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise InfrastructureError(f"{path} can't be written ({error.strerror}); make the folder writable or free space"
                                  ) from error
    return path


def identifiers(configuration: Configuration) -> dict[str, object]:
    """The columns that name a configuration in every CSV."""
    c = configuration
    return {"study": c.study, "model": c.model, "state_model": c.state_model, "size": c.size, "density": c.density,
            "domain": c.domain, "brief": c.brief, "regime": c.regime, "prompts": c.prompts, "schedule": c.schedule}


# The same columns for a row that belongs to no configuration.
NOT_IDENTIFIED = dict.fromkeys(
    ("study", "model", "state_model", "size", "density", "domain", "brief", "regime", "prompts", "schedule"), "")


def agent_tex(configuration: Configuration) -> str:
    """The agent's name."""
    return escape(configuration.model)


def state_tex(configuration: Configuration) -> str:
    """A line that names the state model, empty where it is the agent's own."""
    if configuration.state_model == configuration.model:
        return ""
    return small(f"state: {escape(configuration.state_model)}")


def title_tex(configuration: Configuration) -> str:
    """A configuration in one line, as the heading of its rows."""
    words = [agent_tex(configuration), escape(configuration.setting), f"{escape(configuration.brief)} brief"]
    words += [escape(configuration.schedule)] if configuration.schedule != CANONICAL else []
    state = state_tex(configuration)
    return ", ".join(words) + (f" ({state})" if state else "")


def rate_tex(value: Proportion, *, is_best: bool = False, excluded: int = 0) -> str:
    """A rate with its k/n, or why there is none."""
    if value.estimate is None:
        return small(NONE_COMPLETED_TEXT if excluded else NOT_RUN_TEXT)
    rate = f"{value.estimate:.2f}"
    return f"{bold(rate) if is_best else rate} {small(f'({value.k}/{value.n})')}"


def interval_tex(value: Proportion) -> str:
    """The interval, empty where there is none."""
    return "" if value.low is None else small(f"[{value.low:.2f}, {value.high:.2f}]")


def p_text(p: float | None) -> str:
    """A p value with two significant digits."""
    if p is None:
        return NOT_RUN_TEXT
    if p >= 0.995:
        return "1"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def contrast_record(contrast: Contrast) -> dict[str, object]:
    """A contrast's values for a CSV."""
    return {"pairs": contrast.pairs, "only_lower": contrast.only_lower, "only_upper": contrast.only_upper,
            "pairs_excluded": contrast.excluded, "p": contrast.p, "p_holm": contrast.p_holm}


def proportion_record(value: Proportion, excluded: int) -> dict[str, object]:
    """A proportion's values for a CSV."""
    return {"k": value.k, "n": value.n, "rate": value.estimate, "low": value.low, "high": value.high,
            "excluded": excluded}


def channel_words(channel: Channel) -> str:
    """An error channel in words."""
    return channel.value.replace("_", " ").replace("re execution", "re-execution")


def _plain(value: object) -> object:
    """A value as it stands in a CSV: six significant digits, so that rounding of the last bit can't show."""
    if value is None:
        return NOT_RUN_TEXT
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else value
