"""Error rates per channel, and refused bookings that read as completed work (the paper's Table 9)."""

from collections.abc import Sequence

from artifact.report.channel_rates import RATED, channel_rate, unrequested
from artifact.report.grid import Column, Row, Value, count, grid, share
from artifact.report.ladder import RUNGS
from artifact.report.reported import Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.tables import Table

COLUMNS = (
    Column("strict"), Column("re-exe-\ncution"), Column("super-\nseded"), Column("pre-\nmature"), Column("omis-\nsion"),
    Column("refused\nredo"), Column("unre-\nquested"),
    Column("false\ncompl.", ("refused_bookings_read_as_completed", "refused_bookings_without_refusal_language")),
)
NOTES = (
    "Errors of a channel among the turns that carry its label by the realized state; unrequested executions, which "
    "can occur on any turn, as a count over the cell's episodes. False completions: refused bookings whose visible "
    "reply holds no refusal language, of all refused ones. Completed episodes.",
)


def channel_rates_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "channel_rates") -> Table:
    """Build the table of the four rungs.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    rows = [Row(sample.configuration, sample.arm, _values(sample)) for sample in samples(scored, arms=RUNGS)]
    return grid(name, COLUMNS, rows, reported, tables=("Table 9", "prose"), notes=NOTES,
                source="from artifact.scorer.turn_frame (label, status, violations) and episode_frame")


def _values(sample: Sample) -> tuple[Value, ...]:
    episodes = sample.episodes
    rates = []
    for channel in RATED:
        rate = channel_rate(sample, channel)
        rates.append(share(channel.value, rate.k, rate.n))
    return (share("strict", int(episodes["strict"].sum()), sample.n, digits=2), *rates,
            count("unrequested", unrequested(sample)),
            share("false_completions", int(episodes["false_completions"].sum()),
                  int(episodes["refused_bookings"].sum()), digits=2))
