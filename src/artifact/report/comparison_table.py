"""Reported beside measured: each value of the paper that this testbed measures too, under the same conditions."""

import re
from collections.abc import Sequence

from artifact.report.ladder import RUNGS, Configuration, Ladder, setting
from artifact.report.measures import MEASURES, Measurement, measure
from artifact.report.reported import Conditions, Reported
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import FEWEST_SEPARABLE_PAIRS
from artifact.report.tables import NOT_IDENTIFIED, NOT_RUN_TEXT, Table, identifiers
from artifact.report.tex import Block, booktabs, escape

SOURCE = "reported: data/reported.csv; measured: artifact.scorer.episode_frame and turn_frame"
_MEASURABLE = {*MEASURES, "agent_tokens_ratio_to_raw"}
# What the paper gives for all its agents at once is compared with every measured cell of its main grid.
ALL_AGENTS = "all agents"
_WORDS = {
    "strict": "strict success", "decline_aware": "decline-aware success", "agent_tokens_ratio_to_raw": "agent tokens",
    "prompt_kilotokens_per_turn": "prompt tokens a turn", "completion_tokens_per_turn": "completion tokens a turn",
    "seconds_per_episode": "seconds an episode", "redo_flag_recall": "redo flag, recall",
    "redo_flag_precision": "redo flag, precision", "matcher_agreement": "matcher agreement",
}
_BOUNDS = {"_min": "at least", "_max": "at most", "": ""}


def comparison_table(
    scored: ScoredLogs, found: Sequence[Ladder], reported: Sequence[Reported], name: str = "reported_and_measured",
) -> Table:
    """One row for each reported value and rung; only the ones with a measured counterpart go into the paper.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    found : sequence of Ladder
        The measured ladders.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    large = {ladder.configuration for ladder in found
             if min(ladder.proportion(arm).n for arm in RUNGS) >= FEWEST_SEPARABLE_PAIRS}
    records: list[dict[str, object]] = []
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in reported:
        metric, bound = _metric(row.metric)
        if metric not in _MEASURABLE or (row.conditions is None and row.cell != ALL_AGENTS):
            continue
        for arm in (arm for arm in row.arm.split(",") if arm in RUNGS):
            measured = [(c, value) for c in _counterparts(row, found) if (value := measure(scored, c, arm, metric))]
            records += _records(row, arm, measured)
            shown = [(c, value) for c, value in measured if c in large]
            if shown:
                groups.setdefault(_heading(row), []).extend(_rows(row, arm, metric, bound, shown))
    blocks = [Block(escape(heading), tuple(rows)) for heading, rows in groups.items()]
    tex = booktabs(
        "@{}llllll@{}", [("Metric", "Rung", "Reported", "for", "Measured", "for")],
        blocks or [Block("", (("nothing measured under the paper's conditions",),))],
        notes=["The paper's values are of its own models, engines and implementation. At least and at most: bounds "
               f"that the paper gives over several cells. Cells with fewer than {FEWEST_SEPARABLE_PAIRS} completed "
               "episodes on a rung stand in the CSV alone."], source=SOURCE)
    return Table(name, tex, tuple(records))


def _metric(name: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.+?)(_min|_max|)", name)
    assert match is not None
    return match[1], _BOUNDS[match[2]]


def _counterparts(row: Reported, found: Sequence[Ladder]) -> list[Configuration]:
    """The measured configurations under the row's conditions."""
    mine = [ladder.configuration for ladder in found if ladder.outcomes]
    if row.conditions is None:
        return [c for c in mine if (c.domain, c.brief, c.regime) == ("procurement", "amended", "no_think")]
    return [c for c in mine if c.conditions == row.conditions]


def _heading(row: Reported) -> str:
    conditions: Conditions | None = row.conditions
    return "All cells" if conditions is None else f"{setting(conditions)}, {conditions.brief} brief"


def _rows(
    row: Reported, arm: str, metric: str, bound: str, measured: list[tuple[Configuration, Measurement]],
) -> list[tuple[str, ...]]:
    first = (_WORDS.get(metric, metric.replace("_", "-")), arm, f"{bound} {_printed(row)}".strip(), row.model)
    rows = []
    for index, (configuration, value) in enumerate(measured):
        left = first if index == 0 else ("", "", "", "")
        rows.append(tuple(map(escape, (*left, value.text, _whom(configuration, row.conditions is None)))))
    return rows


def _whom(configuration: Configuration, with_setting: bool) -> str:
    words = [configuration.model]
    words += [f"state {configuration.state_model}"] if configuration.state_model != configuration.model else []
    words += [configuration.setting] if with_setting else []
    return ", ".join([*words, configuration.study])


def _printed(row: Reported) -> str:
    if row.k is not None:
        return f"{row.k}/{row.n}"
    if row.metric.split("_min")[0].split("_max")[0] in ("re_execution", "omission", "unrequested", "premature",
                                                         "refused_redo", "refused_bookings"):
        return f"{row.value} in {row.n} episodes"
    return row.value


def _records(
    row: Reported, arm: str, measured: list[tuple[Configuration, Measurement]],
) -> list[dict[str, object]]:
    theirs = {"metric": row.metric, "arm": arm, "reported_cell": row.cell, "reported": row.value, "table": row.table,
              "place": row.place}
    if not measured:
        return [{**theirs, "measured": NOT_RUN_TEXT, "measured_text": NOT_RUN_TEXT, **NOT_IDENTIFIED}]
    return [{**theirs, "measured": value.value, "measured_text": value.text, **identifiers(configuration)}
            for configuration, value in measured]
