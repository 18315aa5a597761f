"""Corrupted state, event by event (the paper's Table 12): one block a cell, one row a rate."""

import json
from collections.abc import Sequence
from dataclasses import replace

from artifact.report.grid import Column, Row, Value, count, grid, interval, share
from artifact.report.ladder import MAIN_OPTIONS
from artifact.report.reported import Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import proportion
from artifact.report.tables import Table
from artifact.scorer.attribution import Cause

_RATE = "enforcement.corruption="
EVENTS = {"spurious": "spurious done bit", "lost": "lost done bit", "dropped": "dropped edge"}
COLUMNS = (
    Column("strict", ("strict",)), Column("replays"), Column("per\nepisode", ("expected_corruptions",)),
    Column("spurious"), Column("lost"), Column("dropped"),
    *(Column(f"1\n{kind}", (f"single_event_fatal:{words}",)) for kind, words in EVENTS.items()),
    Column("heeded\ndone", ("omission_obeyed_done_directive",)),
    Column("heeded\nblocked", ("omission_obeyed_blocked_directive",)),
    Column("right\nrefused", ("omission_correct_booking_refused",)),
    Column("mended", ("decisions_repaired_from_receipts",)),
)
NOTES = (
    "Corruptions are drawn anew from rate, seed and turn, and counted as the module met them. Replays: episodes whose "
    "state, drawn anew so, issues every directive in the log; the others are counted all the same. Columns with a 1: "
    "failed episodes among those whose only corruption was of this kind. Then omissions: after a directive that called "
    "the step done, or blocked, and right bookings that the gate refused. Mended: decisions that the corruption "
    "changed and that done bits rebuilt from the receipt log restore (each directive and each answer to a booking is "
    "a decision). The rate 0 is the enforcement rung of the same cell on the seeds that the corrupted cells have, "
    "where it was run.",
)


def corruption_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "corruption") -> Table:
    """Build the table of the corrupted enforcement gate.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    rows = [Row(found.configuration, f"ε = {rate:g}", _values(found)) for rate, found in corrupted_samples(scored)]
    theirs = [replace(row, arm=f"ε = {row.arm.removeprefix(_RATE)}") for row in reported if row.arm.startswith(_RATE)]
    return grid(name, COLUMNS, rows, theirs, tables=("Table 12", "prose"), notes=NOTES, label_head="Rate",
                source="from the frames of corruptions, omissions and episodes of artifact.scorer.score_frames")


def corrupted_samples(scored: ScoredLogs) -> list[tuple[float, Sample]]:
    """The enforcement gate by cell and rate; rate 0, on the same seeds, where any other was run."""
    by_rate = [(rate, found) for found in samples(scored, arms=("enforcement",), options=None)
               if (rate := _rate_of(found.options)) is not None]
    seeds: dict[str, set[int]] = {}
    for rate, found in by_rate:
        if rate:
            seeds.setdefault(found.configuration.cell, set()).update(found.episodes["seed"])
    chosen = [(rate, found.on(seeds[found.configuration.cell])) for rate, found in by_rate
              if found.configuration.cell in seeds]
    return sorted(((rate, found) for rate, found in chosen if found.n),
                  key=lambda pair: (pair[1].configuration.cell, pair[0], pair[1].configuration.study))


def _rate_of(options: str) -> float | None:
    """The rate of an arm whose only option it is."""
    if options == MAIN_OPTIONS:
        return 0.0
    given = json.loads(options)
    return float(given["corruption"]) if given.keys() == {"corruption"} else None


def _values(found: Sample) -> tuple[Value, ...]:
    events, omissions = found.corruptions, found.omissions
    strict = interval("strict", proportion(int(found.episodes["strict"].sum()), found.n))
    if events.empty:
        return (strict,)
    total = events["spurious"] + events["lost"] + events["dropped"]
    single = {kind: events[(total == 1) & (events[kind] == 1)] for kind in EVENTS}
    heeded = {kind: int(((omissions["directive"] == kind) & ~omissions["correct_ref_refused"]
                         & omissions["cause"].isin([Cause.WRONG_STATUS.value, Cause.OVER_BLOCKED.value])).sum())
              for kind in ("done", "blocked")}
    return (
        strict, share("replays", int(events["replayed"].sum()), len(events), digits=2),
        Value(f"{total.mean():.1f}", {"events_per_episode": float(total.mean())}),
        *(count(kind, int(events[kind].sum())) for kind in EVENTS),
        *(share(f"single_{kind}_fatal", int((~group["strict"]).sum()), len(group), digits=2)
          for kind, group in single.items()),
        count("omission_heeded_done", heeded["done"]), count("omission_heeded_blocked", heeded["blocked"]),
        count("omission_correct_booking_refused", int(omissions["correct_ref_refused"].sum())),
        share("mended", int(events["mended"].sum()), int(events["changed"].sum()), digits=2))
