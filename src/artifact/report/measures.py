"""What can be measured beside strict success, by the names that ``data/reported.csv`` uses for it.

Completed episodes only, and main arms under the paper's own settings only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from artifact.report.ladder import Configuration
from artifact.report.samples import Sample, sample
from artifact.report.scored import ScoredLogs
from artifact.taskstate import Channel

TRAP_DIRECTIVES = ("blocked", "cancelled", "done")


@dataclass(frozen=True)
class Measurement:
    """One measured value.

    Parameters
    ----------
    value : float
        The value.
    text : str
        As it is printed, with what it is a share of.
    """

    value: float
    text: str


def measure(scored: ScoredLogs, configuration: Configuration, arm: str, metric: str) -> Measurement | None:
    """A metric of one arm on one configuration; None when there is nothing to measure it on.

    Raises
    ------
    KeyError
        When the metric is not one of `MEASURES` or ``agent_tokens_ratio_to_raw``.
    """
    if metric == "agent_tokens_ratio_to_raw":
        return _tokens_ratio(sample(scored, configuration, arm), sample(scored, configuration, "raw"))
    chosen = sample(scored, configuration, arm)
    return MEASURES[metric](chosen) if len(chosen.episodes) else None


def tokens_per_episode(chosen: Sample) -> float:
    """Mean prompt plus completion tokens of the agent's own calls."""
    return float((chosen.episodes["prompt_tokens"] + chosen.episodes["completion_tokens"]).mean())


def trap_directives(chosen: Sample) -> pd.DataFrame:
    """Turns with a directive not to execute, with the column ``obeyed``."""
    traps = chosen.turns[chosen.turns["directive_kind"].isin(TRAP_DIRECTIVES)]
    obeyed = [step not in executed for step, executed in zip(traps["directive_step"], traps["executed"], strict=True)]
    return traps.assign(obeyed=pd.Series(obeyed, index=traps.index, dtype=bool))


def matched_requests(chosen: Sample) -> pd.DataFrame:
    """Request turns of a step on which a matcher ran, with the column ``agrees``: it found that step.

    After a compile that failed there is nothing to match with; such a turn tells nothing of the matcher.
    """
    requests = chosen.turns[chosen.turns["matched"] & chosen.turns["step"].notna()]
    return requests.assign(agrees=(requests["matched_step"] == requests["step"]).astype(bool))


def _share(k: int, n: int) -> Measurement | None:
    return Measurement(k / n, f"{k / n:.3f} ({k}/{n})") if n else None


def _success(column: str) -> Callable[[Sample], Measurement | None]:
    def of(chosen: Sample) -> Measurement | None:
        k, n = int(chosen.episodes[column].sum()), len(chosen.episodes)
        return Measurement(k / n, f"{k / n:.2f} ({k}/{n})") if n else None
    return of


def _total(column: str) -> Callable[[Sample], Measurement | None]:
    def of(chosen: Sample) -> Measurement | None:
        total, n = int(chosen.episodes[column].sum()), len(chosen.episodes)
        return Measurement(total, f"{total} in {n} episodes")
    return of


def _per_turn(column: str, scale: float, unit: str) -> Callable[[Sample], Measurement | None]:
    def of(chosen: Sample) -> Measurement | None:
        turns = int(chosen.episodes["turns"].sum())
        value = float(chosen.episodes[column].sum()) / turns / scale if turns else None
        return None if value is None else Measurement(value, f"{value:.1f}{unit}")
    return of


def _seconds(chosen: Sample) -> Measurement:
    value = float(chosen.episodes["seconds"].mean())
    return Measurement(value, f"{value:.0f} s")


def _obedience(chosen: Sample) -> Measurement | None:
    traps = trap_directives(chosen)
    return _share(int(traps["obeyed"].sum()), len(traps))


def _matcher_agreement(chosen: Sample) -> Measurement | None:
    requests = matched_requests(chosen)
    return _share(int(requests["agrees"].sum()), len(requests))


def _redo_recall(chosen: Sample) -> Measurement | None:
    requests = matched_requests(chosen)
    orders = requests[requests["kind"] == "legit_redo"]
    return _share(int(orders["matched_redo"].eq(True).sum()), len(orders))


def _redo_precision(chosen: Sample) -> Measurement | None:
    flagged = chosen.turns[chosen.turns["matched_redo"].eq(True)]
    return _share(int((flagged["kind"] == "legit_redo").sum()), len(flagged))


def _tokens_ratio(chosen: Sample, raw: Sample) -> Measurement | None:
    if not len(chosen.episodes) or not len(raw.episodes) or not tokens_per_episode(raw):
        return None
    value = tokens_per_episode(chosen) / tokens_per_episode(raw)
    return Measurement(value, f"{value:.2f} times raw")


MEASURES: Mapping[str, Callable[[Sample], Measurement | None]] = {
    "strict": _success("strict"),
    "decline_aware": _success("decline_aware"),
    **{channel.value: _total(channel.value) for channel in Channel},
    "refused_bookings": _total("refused_bookings"),
    "completion_tokens_per_turn": _per_turn("completion_tokens", 1, ""),
    "prompt_kilotokens_per_turn": _per_turn("prompt_tokens", 1000, "k"),
    "seconds_per_episode": _seconds,
    "obedience": _obedience,
    "matcher_agreement": _matcher_agreement,
    "redo_flag_recall": _redo_recall,
    "redo_flag_precision": _redo_precision,
}
