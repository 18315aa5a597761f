"""What notebook rq4 writes, without a notebook: the tables, the figure and the numbers of every harness."""

from collections.abc import Iterable
from pathlib import Path

from artifact import paths
from artifact.harness.figure_transfer import transfer_figure, worlds
from artifact.harness.pmbench import measures as pmbench
from artifact.harness.pmbench.numbers import week_numbers
from artifact.harness.pmbench.table import cue_table, week_table
from artifact.harness.provenance_table import harness_provenance_table
from artifact.harness.reader import harness_sources
from artifact.harness.tau2.compile_table import compile_table, kept_compiles
from artifact.harness.tau2.measures import judged
from artifact.harness.tau2.numbers import airline_numbers
from artifact.harness.tau2.rules_table import rules_table
from artifact.harness.tau2.table import airline_table
from artifact.harness.tools import measures as tools
from artifact.harness.tools.table import failing_tools_table, tools_numbers, tools_table
from artifact.harness.tools.trap_frame import tool_probe_frame
from artifact.harness.tools.trap_table import tools_trap_probe_table
from artifact.report.numbers import write_numbers
from artifact.report.probe_summary import LOG
from artifact.report.reported import load_reported
from artifact.report.style import save


def build_rq4(
    study: str | None = None, *, sources: Iterable[Path] | None = None, tables: Path = paths.TABLES,
    figures: Path = paths.FIGURES, numbers: Path = paths.NUMBERS,
) -> int:
    """Write the tables, the figure and the numbers of RQ4.

    Parameters
    ----------
    study : str, optional
        Only this study's logs, beside the ladder of the testbed; all when not given.
    sources : iterable of Path, optional
        Where logs lie; the released logs and the runs of this machine when not given.
    tables, figures, numbers : Path
        Where to write; the paper's folders when not given.

    Returns
    -------
    int
        How many logs were read; nothing is written for a study without any.

    Raises
    ------
    RequestError
        When a log is damaged.
    """
    where = harness_sources() if sources is None else tuple(sources)
    reported = load_reported()
    airline = tuple(verdict for verdict in judged(where) if study in (None, verdict.study))
    weeks = tuple(verdict for verdict in pmbench.judged(where) if study in (None, verdict.study))
    called = tuple(verdict for verdict in tools.judged(where) if study in (None, verdict.study))
    probes = tool_probe_frame(where)
    probes = probes if study is None else probes[probes["study"] == study]
    read = len(called) + len(airline) + len(weeks) + len(probes.groupby(list(LOG)))
    if study is not None and not read:  # a study of the lifecycle testbed, or none at all
        return 0
    airline_table(airline, reported).write(tables)
    rules_table(airline).write(tables)
    compile_table(tuple(kept_compiles(where, study))).write(tables)
    week_table(weeks, reported).write(tables)
    cue_table(weeks).write(tables)
    tools_table(called, reported).write(tables)
    failing_tools_table(called).write(tables)
    tools_trap_probe_table(probes, reported).write(tables)
    harness_provenance_table(where, study).write(tables)
    save(transfer_figure(worlds(where, called, airline, weeks, reported)), "transfer", figures)
    write_numbers([*tools_numbers(called), *airline_numbers(airline), *week_numbers("rq4", weeks)], "rq4", numbers)
    return read
