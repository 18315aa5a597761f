"""Readings of a table that are computed, so that a notebook's sentence can't outlive its numbers."""

from collections.abc import Iterable

from artifact.report.ladder import Configuration, Ladder
from artifact.report.scored import ScoredLogs


def measured_sentence(scored: ScoredLogs) -> str:
    """How much there is to read."""
    episodes = scored.episodes
    if episodes.empty:
        return "There are no logs: every table below reads 'not run'."
    excluded = int((~episodes["completed"].astype(bool)).sum())
    repeated = f" {scored.duplicates} were found twice and counted once." if scored.duplicates else ""
    studies = ", ".join(sorted(set(episodes["study"])))
    turns, agents = int(episodes["turns"].sum()), episodes["model"].nunique()
    return (f"{len(episodes)} episodes with {turns} turns, of {agents} agents; studies: {studies}. {excluded} did "
            f"not complete, for reasons of infrastructure, and count neither way.{repeated}")


def rung_sentence(found: Iterable[Ladder], arm: str) -> str:
    """An arm's successes on every configuration that has any."""
    parts = [f"{value.k}/{value.n} ({_whom(ladder.configuration)})" for ladder in found
             if (value := ladder.proportion(arm)).is_measured]
    return f"{arm.capitalize()}: {'; '.join(parts) or 'not run'}."


def order_sentence(found: Iterable[Ladder], arms: Iterable[str]) -> str:
    """On how many configurations success does not fall from one arm to the next stronger one."""
    wanted = tuple(arms)
    measured = ([rate for arm in wanted if (rate := ladder.proportion(arm).estimate) is not None] for ladder in found)
    complete = [rates for rates in measured if len(rates) == len(wanted)]
    rising = sum(rates == sorted(rates) for rates in complete)
    return (f"Success does not fall from one rung to the next stronger one in {rising} of the {len(complete)} "
            "configurations with all rungs.")


def _whom(configuration: Configuration) -> str:
    state = f", state {configuration.state_model}" if configuration.state_model != configuration.model else ""
    return f"{configuration.model}{state}, {configuration.setting}, {configuration.brief}, {configuration.study}"
