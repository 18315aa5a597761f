"""Error channels per cell and arm (counts behind the paper's Table 9)."""

import pandas as pd

from artifact.report.ladder import MAIN_OPTIONS, RUNGS, configuration_of, order
from artifact.report.tables import NOT_RUN_TEXT, Table, identifiers, title_tex
from artifact.report.tex import Block, booktabs, escape, small, spanning
from artifact.taskstate import Channel

SOURCE = "from the channel columns of artifact.scorer.episode_frame, completed episodes only"
_HEADS = {
    Channel.RE_EXECUTION: "re-exec.", Channel.SUPERSEDED: "supers.", Channel.PREMATURE: "premat.",
    Channel.OMISSION: "omission", Channel.UNREQUESTED: "unreq.", Channel.REFUSED_REDO: "ref. redo",
}

NOTES = (
    "Violations in completed episodes ($n$): primary scoring, and in brackets decline-aware where it differs. Refused: "
    "bookings that the gate refused. Right turns: share of scored turns served correctly.",
)


def channel_table(episodes: pd.DataFrame, name: str = "channels", arms: tuple[str, ...] = RUNGS) -> Table:
    """Violations by channel, under the primary and in brackets under the decline-aware scoring.

    Parameters
    ----------
    episodes : DataFrame
        One row an episode.
    name : str
        File name.
    arms : tuple of str
        The arms to show, in this order.
    """
    main = episodes[(episodes["options"] == MAIN_OPTIONS) & episodes["arm"].isin(arms)]
    groups = {configuration_of(group.iloc[0]): group for _, group in main.groupby(["study", "cell"], sort=True)}
    blocks: list[Block] = []
    records: list[dict[str, object]] = []
    for configuration in sorted(groups, key=order):
        rows: list[tuple[str, ...]] = [(spanning(title_tex(configuration), len(_HEADS) + 4),)]
        for arm in arms:
            ran = groups[configuration][lambda frame, arm=arm: frame["arm"] == arm]
            record = {**identifiers(configuration), "arm": arm, **_counts(ran)}
            records.append(record)
            rows.append((rf"\quad {arm}", *_cells(record)))
        heading = f"Study {escape(configuration.study)}"
        if blocks and blocks[-1].heading == heading:
            blocks[-1] = Block(heading, (*blocks[-1].rows, (), *rows))
        else:
            blocks.append(Block(heading, tuple(rows)))
    if not blocks:
        blocks.append(Block("", (("no logs", NOT_RUN_TEXT),)))
    tex = booktabs("@{}lr" + "r" * len(_HEADS) + "rr@{}",
                   [("Rung", "$n$", *_HEADS.values(), "refused", "right turns")], blocks,
                   notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def _counts(ran: pd.DataFrame) -> dict[str, object]:
    completed = ran[ran["completed"].astype(bool)]
    n = len(completed)
    counts: dict[str, object] = {"n": n, "excluded": len(ran) - n}
    for channel in _HEADS:
        counts[channel.value] = int(completed[channel.value].sum()) if n else None
        counts[f"da_{channel.value}"] = int(completed[f"da_{channel.value}"].sum()) if n else None
    counts["refused_bookings"] = int(completed["refused_bookings"].sum()) if n else None
    scored = int(completed["scored_turns"].sum()) if n else 0
    counts["scored_turns"] = scored or None
    counts["right_turns"] = int(completed["right_turns"].sum()) if scored else None
    return counts


def _cells(record: dict[str, object]) -> tuple[str, ...]:
    if not record["n"]:
        return ("0", small(NOT_RUN_TEXT))
    counts = []
    for channel in _HEADS:
        primary, aware = record[channel.value], record[f"da_{channel.value}"]
        counts.append(str(primary) if aware == primary else f"{primary} {small(f'({aware})')}")
    scored, right = record["scored_turns"], record["right_turns"]
    share = f"{right / scored:.3f}" if isinstance(scored, int) and isinstance(right, int) else NOT_RUN_TEXT
    return (str(record["n"]), *counts, str(record["refused_bookings"]), share)
