"""The inventory (the paper's Table 8): every ladder under both scorings, with its adjacent contrasts."""

from collections.abc import Iterable, Mapping

from artifact.report.ladder import ADJACENT, RUNGS, Configuration, Ladder, Scoring, adjacent_contrasts
from artifact.report.statistics import Contrast
from artifact.report.tables import (
    NOT_RUN_TEXT,
    Table,
    contrast_record,
    identifiers,
    p_text,
    proportion_record,
    title_tex,
)
from artifact.report.tex import Block, bold, booktabs, escape, small, spanning

SOURCE = "from the columns strict, decline_aware and completed of artifact.scorer.episode_frame"
_COLUMNS = 9
_SHORT = {"raw": "R", "checklist": "C", "directive": "D", "enforcement": "E"}


def inventory_table(found: Iterable[Ladder], name: str = "inventory") -> Table:
    """Successes per rung, contrasts of adjacent rungs and excluded episodes, under both scorings.

    Parameters
    ----------
    found : iterable of Ladder
        All measured ladders.
    name : str
        File name.
    """
    chosen = tuple(found)
    contrasts = {scoring: adjacent_contrasts(chosen, scoring) for scoring in Scoring}
    blocks, records = [], []
    for study in sorted({ladder.configuration.study for ladder in chosen}):
        rows: list[tuple[str, ...]] = []
        for ladder in (ladder for ladder in chosen if ladder.configuration.study == study):
            rows.append((spanning(title_tex(ladder.configuration), _COLUMNS),))
            for scoring in Scoring:
                tests = contrasts[scoring][ladder.configuration]
                excluded = str(sum(map(ladder.excluded, RUNGS))) if scoring is Scoring.PRIMARY else ""
                cells = (*_counts(ladder, scoring), *map(_contrast_cell, tests))
                rows.append((r"\quad " + scoring.label, *cells, excluded))
                records += _records(ladder, scoring, tests)
            rows.append(())
        blocks.append(Block(f"Study {escape(study)}", tuple(rows[:-1])))
    if not chosen:
        blocks.append(Block("", (("no logs", NOT_RUN_TEXT),)))
    headers = [("Scoring", *(arm.capitalize() for arm in RUNGS),
                *(rf"{_SHORT[lower]}$\rightarrow${_SHORT[upper]}" for lower, upper in ADJACENT), "Excl.")]
    tex = booktabs("@{}lcccccccr@{}", headers, blocks, notes=_notes(contrasts[Scoring.PRIMARY]), source=SOURCE)
    return Table(name, tex, tuple(records))


def _counts(ladder: Ladder, scoring: Scoring) -> tuple[str, ...]:
    best = ladder.best(scoring)
    cells = []
    for arm in RUNGS:
        value = ladder.proportion(arm, scoring)
        text = f"{value.k}/{value.n}" if value.is_measured else small(NOT_RUN_TEXT)
        cells.append(bold(text) if arm in best else text)
    return tuple(cells)


def _contrast_cell(contrast: Contrast) -> str:
    if not contrast.is_measured:
        return small(NOT_RUN_TEXT)
    left_out = f", {contrast.excluded} excl." if contrast.excluded else ""
    p_values = small(escape(f"{p_text(contrast.p)} ({p_text(contrast.p_holm)})"))
    return f"{contrast.only_lower}/{contrast.only_upper}{left_out} {p_values}"


def _records(ladder: Ladder, scoring: Scoring, tests: tuple[Contrast, ...]) -> list[dict[str, object]]:
    own = {**identifiers(ladder.configuration), "scoring": scoring.label}
    blank = dict.fromkeys(("pairs", "only_lower", "only_upper", "pairs_excluded", "p", "p_holm"), "")
    arms = [{**own, "row": arm, **proportion_record(ladder.proportion(arm, scoring), ladder.excluded(arm)), **blank}
            for arm in RUNGS]
    blank = dict.fromkeys(("k", "n", "rate", "low", "high", "excluded"), "")
    return arms + [{**own, "row": f"{test.lower}->{test.upper}", **blank, **contrast_record(test)} for test in tests]


def _notes(contrasts: Mapping[Configuration, tuple[Contrast, ...]]) -> list[str]:
    tests = [test for row in contrasts.values() for test in row]
    measured = sum(test.is_measured for test in tests)
    return [
        "Strict successes of completed episodes, k/n. Contrasts of adjacent rungs on shared seeds: discordant pairs "
        "(only the weaker rung succeeded / only the stronger one), exact McNemar p and, in brackets, the adjusted p.",
        "Family of Holm's correction: all adjacent contrasts of a study within a scoring; missing contrasts are left "
        f"out of it ({measured} of {len(tests)} contrasts are measured).",
        "Excl.: episodes that did not complete, for reasons of infrastructure; they and their pairs are left out.",
    ]
