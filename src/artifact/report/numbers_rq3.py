"""What the text on RQ3 may cite: obedience, matcher, omissions and false completions of each configuration."""

from collections.abc import Iterable

from artifact.report.ladder import Configuration, Ladder
from artifact.report.measures import matched_requests, trap_directives
from artifact.report.numbers import Number, configuration_name, totals
from artifact.report.samples import sample
from artifact.report.scored import ScoredLogs
from artifact.report.tables import NOT_RUN_TEXT
from artifact.report.tex import macro_name
from artifact.scorer.attribution import Cause


def rq3_numbers(scored: ScoredLogs, found: Iterable[Ladder]) -> list[Number]:
    """Numbers of every ladder, measured or not; what wasn't measured reads ``not run``."""
    numbers = totals("rq3", scored)
    for ladder in found:
        c = ladder.configuration
        stem = macro_name("rq3", configuration_name(c))
        where = f"study {c.study}, cell {c.cell or 'without logs'}"
        numbers += [Number(f"{stem}{name}", text, f"{where}, {source}")
                    for name, (text, source) in _values(scored, c).items()]
    return numbers


def _values(scored: ScoredLogs, c: Configuration) -> dict[str, tuple[str, str]]:
    directed, enforced = sample(scored, c, "directive"), sample(scored, c, "enforcement")
    traps, requests, omissions = trap_directives(directed), matched_requests(directed), enforced.omissions
    refused, silent = (int(enforced.episodes[column].sum()) for column in ("refused_bookings", "false_completions"))
    unlike, flagged = int((~enforced.compiles["whole"]).sum()), int(enforced.compiles["flagged"].sum())
    told = {
        "Obedience": f"{int(traps['obeyed'].sum())}/{len(traps)}",
        "Matcher": f"{int(requests['agrees'].sum())}/{len(requests)}",
    }
    held = {
        "Omissions": str(len(omissions)),
        **{f"Omissions{macro_name(cause.value)}": str(int((omissions["cause"] == cause.value).sum()))
           for cause in Cause},
        "Refused": str(refused), "FalseCompletions": f"{silent}/{refused}",
        "UnlikeTruth": f"{unlike}/{enforced.n}", "Flagged": f"{flagged}/{enforced.n}",
    }
    return {
        **{name: (text if directed.n else NOT_RUN_TEXT, "arm directive, turn_frame") for name, text in told.items()},
        **{name: (text if enforced.n else NOT_RUN_TEXT, "arm enforcement, frames of omissions, compiles and episodes")
           for name, text in held.items()},
    }
