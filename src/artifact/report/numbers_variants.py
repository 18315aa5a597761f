"""What the text may cite of the variants: strict success of each row that has logs, and the row it is compared with."""

from collections.abc import Iterable
from dataclasses import replace

from artifact.report.numbers import Number, configuration_name
from artifact.report.scored import ScoredLogs
from artifact.report.tex import macro_name
from artifact.report.variant_table import VariantTable
from artifact.report.variants import comparisons


def variant_numbers(notebook: str, scored: ScoredLogs, tables: Iterable[VariantTable]) -> list[Number]:
    """Strict success as k/n, a macro for each row of each table; a row without logs has none.

    Parameters
    ----------
    notebook : str
        Begins every macro's name.
    scored : ScoredLogs
        Scored logs of any studies.
    tables : iterable of VariantTable
        Whose rows.
    """
    numbers = []
    for table in tables:
        for comparison in comparisons(scored, table.variants):
            # Rows of one comparison come from several studies, so the name goes without.
            stem = macro_name(notebook, table.name, configuration_name(replace(comparison.configuration, study="")))
            for label, found in comparison.samples.items():
                where = f"study {found.configuration.study}, cell {found.configuration.cell}, {label}, strict success"
                strict = int(found.episodes["strict"].sum())
                numbers.append(Number(stem + macro_name(label), f"{strict}/{found.n}", where))
    return numbers
