"""What the text may cite of variants: of each row with logs, strict success, redo flags and what it recalled."""

from collections.abc import Iterable
from dataclasses import replace

from artifact.report.numbers import Number, configuration_name
from artifact.report.scored import ScoredLogs
from artifact.report.tex import macro_name
from artifact.report.variant_measures import recalled_evidence, redo_precision
from artifact.report.variant_table import VariantTable
from artifact.report.variants import comparisons


def variant_numbers(notebook: str, scored: ScoredLogs, tables: Iterable[VariantTable]) -> list[Number]:
    """Counts as k/n, macros for each row of each table; a row without logs has none.

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
                name = stem + macro_name(label)
                where = f"study {found.configuration.study}, cell {found.configuration.cell}, {label}"
                strict, redo = int(found.episodes["strict"].sum()), redo_precision(found)
                numbers.append(Number(name, f"{strict}/{found.n}", f"{where}, strict success"))
                if redo.detail:
                    numbers.append(Number(f"{name}RedoFlags", redo.detail.strip("()"), f"{where}, right redo flags"))
                if (recalled := recalled_evidence(found)).detail:
                    numbers.append(Number(f"{name}Recalled", recalled.detail.strip("()"),
                                          f"{where}, requests that recalled what they need"))
    return numbers
