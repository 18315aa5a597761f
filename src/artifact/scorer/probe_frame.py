"""Replies of the trap-turn probe as a data frame.

Invariant: the columns are the same for any logs, none at all included, and each probed episode occurs once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from artifact.errors import RequestError
from artifact.log.probes import ProbeLog, ProbeVariant
from artifact.scorer.probe_replies import sort_reply
from artifact.taskstate import parse_bookings

_COLUMNS = {
    "study": "str", "source_study": "str", "model": "str", "state_model": "str", "size": "int64", "density": "float64",
    "domain": "str", "brief": "str", "regime": "str", "prompts": "str", "schedule": "str", "cell": "str",
    "arm": "str", "options": "str", "seed": "int64", "turn": "int64", "completed": "bool", "variant": "str",
    "sample": "int64", "greedy": "bool", "sort": "str", "books": "bool", "books_another": "bool", "cited": "bool",
    "redisplays": "bool", "recorded_books": "bool", "reproduces": "boolean", "same_text": "boolean",
    "finish_reason": "str", "prompt_tokens": "int64", "cached_tokens": "int64",
    "completion_tokens": "int64", "latency_s": "float64",
}


def probe_frame(logs: Iterable[ProbeLog]) -> pd.DataFrame:
    """Every reply of the trap-turn probe, sorted.

    Parameters
    ----------
    logs : iterable of ProbeLog
        E.g. `artifact.log.probe_reader.iter_probes`.

    Returns
    -------
    pandas.DataFrame
        One row a reply; the columns of a `SortedReply`, and `recorded_books` for the recorded reply of the trap turn.
        `reproduces` (the same booking of the step, or the same absence of one) and `same_text` compare with the
        recorded reply and are there for the greedy re-ask of the recorded request alone. A log with `completed` false
        was ended by infrastructure or isn't finished: leave it out of shares.

    Raises
    ------
    RequestError
        When the probe of an episode occurs twice: it would count twice.
    """
    rows: list[dict[str, Any]] = []
    sources: dict[tuple[str, str, str, str, int], str] = {}
    for log in logs:
        if log.key in sources:
            raise RequestError(f"{log.source} and {sources[log.key]} both hold the probe of seed {log.header.seed} in "
                               f"{log.header.cell.slug}, study {log.header.study}; score one of them")
        sources[log.key] = log.source
        rows += _rows(log)
    return frame_of(rows)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame, each column of its own type, those of no rows too."""
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype)
                         for name, dtype in _COLUMNS.items()})


def _rows(log: ProbeLog) -> list[dict[str, Any]]:
    header, cell = log.header, log.header.cell
    about = {
        "study": header.study, "source_study": header.source.study, "model": cell.model,
        "state_model": cell.state_model, "size": cell.size, "density": cell.density, "domain": cell.domain,
        "brief": cell.brief.value, "regime": cell.regime, "prompts": cell.prompts,
        "schedule": cell.schedule, "cell": cell.slug, "arm": header.arm.name,
        "options": header.arm.canonical_options, "seed": header.seed, "completed": log.completed,
    }
    rows = []
    for probed in log.traps:
        trap = probed.trap
        recorded_books = any(line.code == trap.code for line in parse_bookings(trap.recorded_reply, trap.work_order))
        for variant in probed.variants:
            for answer in variant.answers:
                found = sort_reply(answer.reply, trap, variant.asked)
                greedy = answer.sample == 0
                compared = greedy and variant.asked.variant is ProbeVariant.AS_RECORDED
                rows.append({
                    **about, "turn": trap.turn, "variant": variant.asked.variant.value, "sample": answer.sample,
                    "greedy": greedy, "sort": found.sort.value, "books": found.books,
                    "books_another": found.books_another, "cited": found.cited, "redisplays": found.redisplays,
                    "recorded_books": recorded_books,
                    "reproduces": found.books == recorded_books if compared else None,
                    "same_text": answer.reply == trap.recorded_reply if compared else None,
                    "finish_reason": answer.finish_reason, "prompt_tokens": answer.usage.prompt,
                    "cached_tokens": answer.usage.cached, "completion_tokens": answer.usage.completion,
                    "latency_s": answer.usage.latency_s,
                })
    return rows
