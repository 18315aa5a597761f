"""What notebook rq3 writes, and the tables of variants that belong to rq1 and rq2, without a notebook."""

from pathlib import Path

import pandas as pd

from artifact.report.attribution_table import attribution_table
from artifact.report.channel_rates_table import channel_rates_table
from artifact.report.compile_table import compile_table
from artifact.report.corruption_table import corruption_table
from artifact.report.figure_channels import channel_decomposition
from artifact.report.figure_corruption import corruption_effect
from artifact.report.figure_sizes import size_sweep
from artifact.report.ladder import Ladder
from artifact.report.numbers import write_numbers
from artifact.report.numbers_rq3 import rq3_numbers
from artifact.report.numbers_variants import variant_numbers
from artifact.report.obedience_table import obedience_table
from artifact.report.overhead_table import overhead_table
from artifact.report.probe_table import probe_numbers, trap_probe_table
from artifact.report.reported import Reported
from artifact.report.scored import ScoredLogs
from artifact.report.size_table import size_table
from artifact.report.style import save
from artifact.report.systems import load_systems, systems_table
from artifact.report.validator_gate import validator_gate_table
from artifact.report.variant_studies import ALL

_OF_CELLS = (compile_table, overhead_table, channel_rates_table, obedience_table, attribution_table,
             validator_gate_table, corruption_table, size_table)
DENSE = (15, 0.3)  # the paper's model-axis configuration, of its Figure 6


def write_rq3(
    scored: ScoredLogs, found: tuple[Ladder, ...], probes: pd.DataFrame, reported: tuple[Reported, ...], tables: Path,
    figures: Path, numbers: Path,
) -> None:
    """Write these tables, figures and numbers into the given folders."""
    for build in _OF_CELLS:
        build(scored, reported).write(tables)
    for variants in ALL:
        variants.build(scored, reported).write(tables)
    trap_probe_table(probes, reported).write(tables)
    systems_table(load_systems().system).write(tables)
    save(size_sweep(scored, reported), "sizes", figures)
    save(channel_decomposition(scored), "channel_rates", figures)
    save(channel_decomposition(scored, *DENSE), "dense", figures)
    save(corruption_effect(scored, reported), "corruption", figures)
    cited = [*rq3_numbers(scored, found), *probe_numbers("rq3", probes), *variant_numbers("rq3", scored, ALL)]
    write_numbers(cited, "rq3", numbers)
