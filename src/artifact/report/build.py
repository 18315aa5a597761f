"""The whole report in one call: what the notebooks write, without a notebook."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from artifact import paths
from artifact.report.build_rq3 import write_rq3
from artifact.report.channel_table import channel_table
from artifact.report.claim_tests import evaluate
from artifact.report.claims import ClaimResult, load_claims
from artifact.report.claims_table import write_claims
from artifact.report.comparison_table import comparison_table
from artifact.report.example import example_logs
from artifact.report.figure_episode import example_episode
from artifact.report.figure_ladder import drawn_ladder
from artifact.report.figure_memory import memory_figure
from artifact.report.figure_preview import capability_preview
from artifact.report.inventory_table import inventory_table
from artifact.report.ladder import BRIEFS, Ladder, in_both_briefs, ladders
from artifact.report.ladder_table import ladder_table
from artifact.report.memory_window import memory_windows
from artifact.report.models_table import models_table
from artifact.report.numbers import rq1_numbers, rq2_numbers, write_numbers
from artifact.report.probe_summary import load_probes, probe_headers
from artifact.report.provenance_table import provenance_table
from artifact.report.reported import Reported, load_reported
from artifact.report.scored import ScoredLogs, load_scored, log_sources
from artifact.report.style import save


@dataclass(frozen=True)
class Destination:
    """Where generated files go."""

    tables: Path = paths.TABLES
    figures: Path = paths.FIGURES
    numbers: Path = paths.NUMBERS


@dataclass(frozen=True)
class BuiltReport:
    """What was built from what.

    Parameters
    ----------
    scored : ScoredLogs
        The scored logs.
    ladders : tuple of Ladder
        The measured ladders.
    claims : tuple of ClaimResult
        The claims, decided.
    """

    scored: ScoredLogs
    ladders: tuple[Ladder, ...]
    claims: tuple[ClaimResult, ...]


def build_report(
    study: str | None = None, *, sources: Iterable[Path] | None = None, to: Destination | None = None,
) -> BuiltReport:
    """Write every table, figure and number.

    Parameters
    ----------
    study : str, optional
        Only this study's logs; all when not given.
    sources : iterable of Path, optional
        Where logs lie; the released logs and the runs of this machine when not given.
    to : Destination, optional
        Where to write; the paper's folders when not given.

    Raises
    ------
    RequestError
        When there is no such study, or a log is damaged.
    """
    to = to or Destination()
    where = log_sources() if sources is None else tuple(sources)
    scored = load_scored(where).of_study(study)
    found, reported = ladders(scored.episodes), load_reported()
    results = evaluate(load_claims(), scored)
    write_rq1(scored, found, reported, to)
    write_rq2(scored, found, reported, results, to)
    write_rq3(scored, found, load_probes(where), reported, to.tables, to.figures, to.numbers)
    models_table(scored.headers, probe_headers(where)).write(to.tables)
    save(drawn_ladder(), "ladder", to.figures)
    logs = example_logs(where, scored)
    if logs:
        save(example_episode(logs), "episode", to.figures)
    save(memory_figure(memory_windows(where)), "memory", to.figures)
    return BuiltReport(scored, found, results)


def write_rq1(scored: ScoredLogs, found: tuple[Ladder, ...], reported: tuple[Reported, ...], to: Destination) -> None:
    """The tables and numbers of RQ1."""
    both = in_both_briefs(found)
    for brief in BRIEFS:
        ladder_table(both, reported, brief).write(to.tables)
    channel_table(scored.episodes).write(to.tables)
    provenance_table(scored.headers).write(to.tables)
    write_numbers(rq1_numbers(scored, both), "rq1", to.numbers)


def write_rq2(
    scored: ScoredLogs, found: tuple[Ladder, ...], reported: tuple[Reported, ...], results: tuple[ClaimResult, ...],
    to: Destination,
) -> None:
    """The tables, the preview and the numbers of RQ2."""
    inventory_table(found).write(to.tables)
    comparison_table(scored, found, reported).write(to.tables)
    write_claims(results, to.tables)
    save(capability_preview(found, reported), "capability", to.figures)
    write_numbers(rq2_numbers(scored, found, results), "rq2", to.numbers)
