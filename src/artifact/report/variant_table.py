"""A table of variants: strict success, the contrast with the row that each is compared with, and what else counts."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from artifact.log.records import ArmIdentity
from artifact.report.grid import Column, Row, Value, grid, interval, share
from artifact.report.reported import Reported
from artifact.report.samples import Sample
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import Contrast, holm, mcnemar, proportion
from artifact.report.tables import NOT_RUN_TEXT, Table, contrast_record, p_text
from artifact.report.tex import escape
from artifact.report.variants import Comparison, Variant, comparisons

Measure = Callable[[Sample], Value]
_COMMON = (
    Column("strict", ("strict", "strict_min", "strict_max", "strict_count", "strict_count_amended_schedule")),
    Column("decl.-aware", ("decline_aware",)), Column("against", ("p", "p_holm", "p_holm_min", "p_holm_max")),
)
_FAMILY = (
    "Against: the row that the CSV names, on the seeds that both completed; discordant pairs (only that row "
    "succeeded / only this one), exact McNemar p and, in brackets, adjusted by Holm's method. Family: all contrasts of "
    "this table with the same agent."
)


@dataclass(frozen=True)
class VariantTable:
    """What a table of variants shows.

    Parameters
    ----------
    name : str
        File name.
    variants : tuple of Variant
        Its rows, the ones compared with before those that name them.
    extra : tuple of (Column, Measure)
        Columns beyond strict success, decline-aware success and the contrast.
    tables : tuple of str
        The paper's tables whose values stand below.
    reported : tuple of str
        Arms of ``data/reported.csv`` whose values, and whose contrasts with others, are shown.
    note : str
        What the variants are.
    """

    name: str
    variants: tuple[Variant, ...]
    extra: tuple[tuple[Column, Measure], ...]
    tables: tuple[str, ...]
    reported: tuple[str, ...]
    note: str

    def build(self, scored: ScoredLogs, reported: Sequence[Reported]) -> Table:
        """Build it from scored logs and the paper's values."""
        found = comparisons(scored, self.variants)
        contrasts = _contrasts(found, self.variants)
        rows = [Row(comparison.configuration, variant.label,
                    self._values(comparison, variant, contrasts.get((index, variant.label))))
                for index, comparison in enumerate(found) for variant in self.variants
                if variant.label in comparison.samples or not variant.is_optional]
        theirs = [row for row in reported if row.table in self.tables and self._is_shown(row)]
        columns = (*_COMMON, *(column for column, _ in self.extra))
        return grid(self.name, columns, rows, theirs, tables=self.tables,
                    notes=(self.note, _FAMILY, *_engines(scored, found)),
                    source="from artifact.scorer.episode_frame and turn_frame", label_head="Arm",
                    planned=tuple(variant.label for variant in self.variants
                                  if not (variant.is_reference or variant.is_optional)))

    def _is_shown(self, row: Reported) -> bool:
        first = re.split(",|->", row.arm)[0]
        return any(first == arm or first.startswith(f"{arm}.") for arm in self.reported)

    def _values(self, comparison: Comparison, variant: Variant, contrast: Contrast | None) -> tuple[Value, ...]:
        found = comparison.samples.get(variant.label)
        if found is None or not found.n:
            return ()
        return (interval("strict", proportion(int(found.episodes["strict"].sum()), found.n)),
                share("decline_aware", int(found.episodes["decline_aware"].sum()), found.n, digits=2),
                _contrast_value(variant, contrast), *(measure(found) for _, measure in self.extra))


def _engines(scored: ScoredLogs, found: Sequence[Comparison]) -> tuple[str, ...]:
    """A note that says which rows ran on which engine, where they ran on several."""
    told = {(header.study, header.cell, header.arm): str(header.model.get("engine", "unknown"))
            for header in scored.headers}
    rows: dict[str, dict[str, None]] = {}
    for comparison in found:
        for label, sample in comparison.samples.items():
            where = sample.configuration
            arm = ArmIdentity(sample.arm, json.loads(sample.options)).text
            rows.setdefault(told.get((where.study, where.cell, arm), "unknown"), {})[label] = None
    if len(rows) < 2:
        return ()
    most, *others = sorted(rows, key=lambda engine: (-len(rows[engine]), engine))
    named = "; ".join(f"on {escape(engine)}: {' / '.join(map(escape, rows[engine]))}" for engine in others)
    return (f"These rows ran {named}; the others on {escape(most)}. A contrast between the two compares the engines "
            "too.",)


def _contrasts(
    found: Sequence[Comparison], variants: Sequence[Variant],
) -> Mapping[tuple[int, str], Contrast]:
    by_agent: dict[str, list[tuple[int, str, Contrast]]] = {}
    for index, comparison in enumerate(found):
        for variant in variants:
            lower, upper = comparison.samples.get(variant.against), comparison.samples.get(variant.label)
            if lower is not None and upper is not None:
                contrast = mcnemar(lower.strict_by_seed, upper.strict_by_seed, (variant.against, variant.label))
                by_agent.setdefault(comparison.configuration.model, []).append((index, variant.label, contrast))
    adjusted: dict[tuple[int, str], Contrast] = {}
    for family in by_agent.values():
        tests = holm([contrast for *_, contrast in family])
        adjusted |= {(index, label): test for (index, label, _), test in zip(family, tests, strict=True)}
    return adjusted


def _contrast_value(variant: Variant, contrast: Contrast | None) -> Value:
    if not variant.against:
        return Value("", {"against": ""})
    if contrast is None or not contrast.is_measured:
        return Value(NOT_RUN_TEXT, {"against": variant.against})
    records = {"against": variant.against, **contrast_record(contrast)}
    return Value(f"{contrast.only_lower}/{contrast.only_upper}", records,
                 f"{p_text(contrast.p)} ({p_text(contrast.p_holm)})")
