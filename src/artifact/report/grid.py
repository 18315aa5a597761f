"""A table with one row an arm under the title of its cell, and the paper's own values as a block below.

Every analysis of RQ3 has this form, so that measured and reported values stand under the same heading; what the
paper's text doesn't give reads ``--``, what was not run here reads ``not run``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from artifact.report.ladder import Configuration, setting
from artifact.report.reported import Reported
from artifact.report.statistics import Proportion
from artifact.report.tables import NOT_RUN_TEXT, Table, identifiers, title_tex
from artifact.report.tex import Block, booktabs, escape, small, spanning

ABSENT = "--"


@dataclass(frozen=True)
class Value:
    """One cell of a grid.

    Parameters
    ----------
    text : str
        As printed, not yet escaped; a second part in small letters follows in `detail`.
    records : mapping
        Columns of the CSV.
    detail : str
        E.g. counts and an interval.
    """

    text: str
    records: Mapping[str, object] = field(default_factory=dict)
    detail: str = ""

    @property
    def tex(self) -> str:
        """In TeX."""
        return " ".join(filter(None, [escape(self.text), small(escape(self.detail))]))


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    head : str
        Its heading in TeX; a line break starts a second line.
    metrics : tuple of str
        Metrics of ``data/reported.csv`` whose values stand in it.
    arm : str
        Only the values of this arm, which then names the column and not the row; any arm when empty.
    """

    head: str
    metrics: tuple[str, ...] = ()
    arm: str = ""


@dataclass(frozen=True)
class Row:
    """What was measured of one arm on one configuration; no values where it was not run."""

    configuration: Configuration
    label: str
    values: tuple[Value, ...] = ()


NOT_RUN_VALUE = Value(NOT_RUN_TEXT)


def share(name: str, k: int, n: int, digits: int = 3) -> Value:
    """A share k of n with its counts; ``--`` where nothing could be counted."""
    if not n:
        return Value(ABSENT, {f"{name}_k": k, f"{name}_n": n})
    return Value(f"{k / n:.{digits}f}", {f"{name}_k": k, f"{name}_n": n, f"{name}_rate": k / n}, f"({k}/{n})")


def interval(name: str, value: Proportion, digits: int = 2) -> Value:
    """A proportion with counts and its Wilson interval; ``--`` where nothing could be counted."""
    records = {f"{name}_k": value.k, f"{name}_n": value.n, f"{name}_rate": value.estimate, f"{name}_low": value.low,
               f"{name}_high": value.high}
    if value.estimate is None or value.low is None or value.high is None:
        return Value(ABSENT, records)
    return Value(f"{value.estimate:.{digits}f}", records,
                 f"({value.k}/{value.n}) [{value.low:.{digits}f}, {value.high:.{digits}f}]")


def count(name: str, value: int) -> Value:
    """A count."""
    return Value(str(value), {name: value})


def grid(
    name: str, columns: Sequence[Column], rows: Iterable[Row], reported: Sequence[Reported], *, tables: Sequence[str],
    notes: Sequence[str], source: str, label_head: str = "Rung", planned: Sequence[str] = (),
) -> Table:
    """Build such a table.

    Parameters
    ----------
    name : str
        File name.
    columns : sequence of Column
        The columns after the row's label.
    rows : iterable of Row
        The measured rows; those of a configuration follow each other.
    reported : sequence of Reported
        All reported values; the ones whose metric a column names and whose table is among `tables` are shown.
    tables : sequence of str
        Names of the paper's tables, or ``prose``.
    notes, source
        As in `booktabs`.
    label_head : str
        Heading of the label.
    planned : sequence of str
        Labels of the rows that read "not run" when there are no measured ones.
    """
    measured = tuple(rows)
    width = len(columns) + 1
    blocks: list[Block] = []
    for study in dict.fromkeys(row.configuration.study for row in measured):
        lines: list[tuple[str, ...]] = []
        of_study = [row for row in measured if row.configuration.study == study]
        for configuration in dict.fromkeys(row.configuration for row in of_study):
            lines.append((spanning(title_tex(configuration), width),))
            lines += [_line(row, width) for row in of_study if row.configuration == configuration]
            lines.append(())
        blocks.append(Block(f"Measured here, study {escape(study)}", tuple(lines[:-1])))
    if not measured:
        labels = planned or ("no logs",)
        blocks.append(Block("Measured here", tuple((escape(label), small(NOT_RUN_TEXT)) for label in labels)))
    theirs = _reported_rows(columns, reported, tables)
    if theirs:
        lines = []
        for cell, arms in theirs.items():
            lines += [(spanning(escape(cell), width),)] if any(arms) else []
            lines += [(rf"\quad {escape(arm)}" if arm else escape(cell), *values) for arm, values in arms.items()]
        blocks.append(Block("Reported by the original paper, on its own models and serving", tuple(lines)))
    tex = booktabs("@{}l" + "r" * len(columns) + "@{}", _heads(label_head, columns), blocks, notes=notes,
                   source=f"{source}; reported values: data/reported.csv")
    unmeasured = [{"row": label, "measured": None} for label in planned] if not measured else []
    return Table(name, tex, (*_records(measured), *unmeasured))


def _heads(label: str, columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Header lines, the last line of every heading on the same level."""
    heads = [label.split("\n"), *(column.head.split("\n") for column in columns)]
    depth = max(map(len, heads))
    return [tuple(([""] * (depth - len(head)) + head)[level] for head in heads) for level in range(depth)]


def _line(row: Row, width: int) -> tuple[str, ...]:
    cells = [value.tex for value in row.values] or [small(NOT_RUN_TEXT)]
    return (rf"\quad {escape(row.label)}", *cells[:width - 1])


def _records(rows: Sequence[Row]) -> list[dict[str, object]]:
    names = dict.fromkeys(name for row in rows for value in row.values for name in value.records)
    records = []
    for row in rows:
        own: dict[str, object] = {**identifiers(row.configuration), "row": row.label}
        values = {name: found for value in row.values for name, found in value.records.items()}
        # A row without values was not run; a value that a measured row lacks doesn't apply to it.
        records.append(own | {name: values.get(name, "") if row.values else None for name in names})
    return records


def _reported_rows(
    columns: Sequence[Column], reported: Sequence[Reported], tables: Sequence[str],
) -> dict[str, dict[str, list[str]]]:
    """Cell in words -> arm -> the columns' values; rows without any value are left out."""
    found: dict[str, dict[str, dict[int, list[str]]]] = {}
    for row in reported:
        if row.table not in tables:
            continue
        for index, column in enumerate(columns):
            if row.metric in column.metrics and column.arm in ("", row.arm):
                arm = "" if column.arm else _arm_words(row.arm)
                values = found.setdefault(_cell_words(row), {}).setdefault(arm, {})
                values.setdefault(index, []).append(_printed(row))
    return {cell: {arm: [escape(", ".join(values[index])) if index in values else ABSENT
                         for index in range(len(columns))] for arm, values in arms.items()}
            for cell, arms in found.items()}


def _arm_words(arm: str) -> str:
    """An arm of the reported values in words: ``memory.top_k.augment->directive`` is top k, augment to directive."""
    parts = re.sub(r"\.(?=[a-z])", ",", arm.removeprefix("memory.")).replace("->", " to ").replace("_", " ")
    return ", ".join(part.strip() for part in parts.split(","))


def _printed(row: Reported) -> str:
    bound = "≥ " if "_min" in row.metric else "≤ " if "_max" in row.metric else ""
    suffix = " (amended schedule)" if row.metric.endswith("_amended_schedule") else ""
    return bound + (f"{row.k}/{row.n}" if row.k is not None and row.n is not None else row.value) + suffix


def _cell_words(row: Reported) -> str:
    grid_cell, _, rest = row.cell.partition("think.")
    conditions = row.conditions or (replace(row, cell=f"{grid_cell}think").conditions if rest else None)
    if conditions is None:
        model, _, which = row.cell.rpartition(".")
        return f"{model}, {which}" if model and " " in which else row.cell
    brief = f", {conditions.brief} brief" if conditions.brief != "unstated" else ""
    return f"{row.model}, {setting(conditions)}{brief}" + (f", {rest.replace('_', ' ')}" if rest else "")
