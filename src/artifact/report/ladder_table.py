"""The ladder table (the paper's Table 2, amended brief, and Table 13, original brief)."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from artifact.report.ladder import RUNGS, Ladder, capability, setting
from artifact.report.reported import Conditions, Reported, reported_ladders
from artifact.report.statistics import NOT_RUN
from artifact.report.tables import (
    Table,
    agent_tex,
    identifiers,
    interval_tex,
    proportion_record,
    rate_tex,
    state_tex,
)
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "from the columns strict and completed of artifact.scorer.episode_frame; reported values: data/reported.csv"
_ABSENT = "--"


def ladder_table(
    found: Iterable[Ladder], reported: Sequence[Reported], brief: str, name: str | None = None,
) -> Table:
    """Strict success per rung under one brief: measured rows, then the paper's own values as a block of their own.

    Parameters
    ----------
    found : iterable of Ladder
        Measured ladders of any brief; a ladder without logs gives a row of "not run".
    reported : sequence of Reported
        The paper's values.
    brief : str
        ``"amended"`` or ``"original"``.
    name : str, optional
        File name; ``ladder_<brief>`` when not given.
    """
    chosen = [ladder for ladder in found if ladder.configuration.brief == brief]
    blocks, records = [], []
    for study in sorted({ladder.configuration.study for ladder in chosen}):
        rows: list[tuple[str, ...]] = []
        for ladder in (ladder for ladder in chosen if ladder.configuration.study == study):
            rows += [*_measured_rows(ladder), ()]
            records += _measured_records(ladder)
        blocks.append(Block(f"Measured here, study {escape(study)}", tuple(rows[:-1])))
    if not chosen:
        blocks.append(Block("Measured here", (("no logs", "", *(rate_tex(NOT_RUN) for _ in RUNGS)),)))
    theirs = {key: ladder for key, ladder in reported_ladders(tuple(reported)).items() if key[0].brief == brief}
    rows = []
    for conditions, model in sorted(theirs, key=_reported_order):
        values = theirs[conditions, model]
        cells = (_reported_cell(values.get(arm)) for arm in RUNGS)
        rows.append((escape(model), escape(setting(conditions)), *cells))
        records += _reported_records(conditions, model, values)
    blocks.append(Block("Reported by the original paper, on its own models and serving", tuple(rows)))
    tex = booktabs(
        "@{}llcccc@{}", [("Agent", "Setting", *(arm.capitalize() for arm in RUNGS))], blocks,
        notes=_notes(chosen), source=SOURCE)
    return Table(name or f"ladder_{brief}", tex, tuple(records))


def _measured_rows(ladder: Ladder) -> list[tuple[str, ...]]:
    best = ladder.best()
    values = {arm: ladder.proportion(arm) for arm in RUNGS}
    first = (agent_tex(ladder.configuration), escape(ladder.configuration.setting),
             *(rate_tex(values[arm], is_best=arm in best, excluded=ladder.excluded(arm)) for arm in RUNGS))
    second = (state_tex(ladder.configuration), "", *(interval_tex(values[arm]) for arm in RUNGS))
    return [first, second] if any(second) else [first]


def _measured_records(ladder: Ladder) -> list[dict[str, object]]:
    own, best = identifiers(ladder.configuration), ladder.best()
    return [{"source": "measured", **own, "arm": arm, **proportion_record(ladder.proportion(arm), ladder.excluded(arm)),
             "best": arm in best, "place": ""} for arm in RUNGS]


def _reported_cell(value: Reported | None) -> str:
    if value is None or value.rate is None:
        return _ABSENT
    count = f" {small(f'({value.k}/{value.n})')}" if value.k is not None else ""
    return f"{value.rate:.2f}{count}"


def _reported_records(conditions: Conditions, model: str, arms: dict[str, Reported]) -> list[dict[str, object]]:
    own = {"source": "reported", "study": "original paper", "model": model, "state_model": "", **asdict(conditions),
           "prompts": ""}
    return [{**own, "arm": arm, "k": "" if value.k is None else value.k, "n": "" if value.n is None else value.n,
             "rate": value.rate, "low": "", "high": "", "excluded": "", "best": "", "place": value.place}
            for arm in RUNGS if (value := arms.get(arm)) is not None]


def _reported_order(key: tuple[Conditions, str]) -> tuple[object, ...]:
    conditions, model = key
    return conditions.domain, conditions.regime, capability(model), conditions.size, conditions.density


def _notes(chosen: Sequence[Ladder]) -> list[str]:
    excluded = sum(ladder.excluded(arm) for ladder in chosen for arm in RUNGS)
    return [
        r"Strict episode success with k/n and its 95\,\% Wilson interval; best measured rung of a row in bold.",
        f"Episodes that did not complete, for reasons of infrastructure, are left out of k and n: {excluded} here.",
        "Reported values are of 128 episodes a cell (32 for DeepSeek-V4-Pro); -- stands where the paper's text, "
        "without the bodies of its tables, gives no value.",
    ]
