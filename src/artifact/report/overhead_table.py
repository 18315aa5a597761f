"""What each rung costs (the paper's Table 7): tokens, helper calls with their own tokens, refusals, wall time."""

from collections.abc import Sequence

from artifact.report.grid import Column, Row, Value, count, grid
from artifact.report.ladder import RUNGS, Configuration
from artifact.report.measures import tokens_per_episode
from artifact.report.reported import Reported
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.report.tables import Table

COLUMNS = (
    Column("$n$"), Column("prompt"), Column("cached"), Column("compl."), Column("total"),
    Column("agent,\n$\\times$ raw", ("agent_tokens_ratio_to_raw", "agent_tokens_ratio_to_raw_min",
                                    "agent_tokens_ratio_to_raw_max")),
    Column("match\ncalls", ("matcher_calls_per_episode",)),
    Column("match\ntokens", ("matcher_kilotokens_per_episode_max",)),
    Column("compile\ncalls"), Column("compile\ntokens"),
    Column("with helpers,\n$\\times$ raw", ("tokens_ratio_to_raw_with_helpers_max",)),
    Column("refused", ("refused_bookings",)),
    Column("seconds", ("seconds_per_episode",)),
)
NOTES = (
    "Means over completed episodes. Prompt, cached (of the prompt, from the prefix cache), completion and total: "
    "thousands of tokens of the agent's own calls, repeated ones included, and the total as a multiple of the raw rung "
    "of the same cell. Match and compile: the helper's calls and their tokens, in thousands, of the matcher and of the "
    "compiler, whose calls both gates of a cell share and each counts; then the total with both. Refused: bookings in "
    "all episodes. Seconds: wall time of an episode under the load of its run.",
)


def overhead_table(scored: ScoredLogs, reported: Sequence[Reported], name: str = "overhead") -> Table:
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
    found = list(samples(scored, arms=RUNGS))
    raw = {sample.configuration: tokens_per_episode(sample) for sample in found if sample.arm == "raw"}
    rows = [Row(sample.configuration, sample.arm, _values(sample, raw)) for sample in found]
    return grid(name, COLUMNS, rows, reported, tables=("Table 7", "prose"), notes=NOTES,
                source="from the columns of tokens and seconds of artifact.scorer.episode_frame")


def _values(sample: Sample, raw: dict[Configuration, float]) -> tuple[Value, ...]:
    episodes = sample.episodes
    agent = tokens_per_episode(sample)
    helper = float((episodes["helper_prompt_tokens"] + episodes["helper_completion_tokens"]).mean())
    base = raw.get(sample.configuration)
    return (
        count("n", sample.n),
        *(_thousands(column, float(episodes[column].mean())) for column in (
            "prompt_tokens", "cached_tokens", "completion_tokens")),
        _thousands("agent_tokens", agent), _ratio("ratio_to_raw", agent, base),
        *_calls(sample, "match"), *_calls(sample, "compile"), _ratio("ratio_with_helpers", agent + helper, base),
        count("refused_bookings", int(episodes["refused_bookings"].sum())),
        Value(f"{episodes['seconds'].mean():.0f}", {"seconds": float(episodes["seconds"].mean())}))


def _calls(sample: Sample, purpose: str) -> tuple[Value, Value]:
    """Mean calls of one purpose and their tokens."""
    calls, tokens = (float(sample.episodes[f"{purpose}_{what}"].mean()) for what in ("calls", "tokens"))
    return Value(f"{calls:.1f}", {f"{purpose}_calls": calls}), _thousands(f"{purpose}_tokens", tokens)


def _thousands(name: str, tokens: float) -> Value:
    return Value(f"{tokens / 1000:.1f}", {name: tokens})


def _ratio(name: str, tokens: float, base: float | None) -> Value:
    if not base:
        return Value("--", {name: ""})
    return Value(f"{tokens / base:.2f}", {name: tokens / base})
