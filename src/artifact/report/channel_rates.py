"""Error rates per channel over their own denominators (the paper's Table 9, Figures 5(a) and 6).

The denominator of a channel is the number of turns on which it could occur, by the realized state: turns that request
a done step without authorization (re-execution), a cancelled one (superseded), a blocked one (premature), an owed one
(omission), an authorized redo (refused redo). An unrequested execution can occur on any turn and is given as a count.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from artifact.report.samples import Sample
from artifact.report.statistics import Proportion, proportion
from artifact.taskstate import Channel, RequestKind, Status

RATED = (Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE, Channel.OMISSION, Channel.REFUSED_REDO)


def _has(status: Status, *, redo: bool | None = None) -> Callable[[pd.DataFrame], pd.Series]:
    def labelled(turns: pd.DataFrame) -> pd.Series:
        mine = turns["status"] == status.value
        if redo is None:
            return mine
        ordered = turns["label"] == RequestKind.LEGIT_REDO.value
        return mine & (ordered if redo else ~ordered)
    return labelled


_LABELLED: Mapping[Channel, Callable[[pd.DataFrame], pd.Series]] = {
    Channel.RE_EXECUTION: _has(Status.DONE, redo=False),
    Channel.SUPERSEDED: _has(Status.CANCELLED),
    Channel.PREMATURE: _has(Status.BLOCKED),
    Channel.OMISSION: _has(Status.TODO),
    Channel.REFUSED_REDO: _has(Status.DONE, redo=True),
}


def channel_rate(sample: Sample, channel: Channel) -> Proportion:
    """Errors of a channel among the turns that carry its label; not measured where there is no such turn.

    Parameters
    ----------
    sample : Sample
        The completed episodes of an arm.
    channel : Channel
        One of `RATED`.
    """
    labelled = sample.turns[_LABELLED[channel](sample.turns)]
    return proportion(sum(channel.value in found for found in labelled["violations"]), len(labelled))


def unrequested(sample: Sample) -> int:
    """Executions of a step that was not requested."""
    return int(sample.episodes[Channel.UNREQUESTED.value].sum())
