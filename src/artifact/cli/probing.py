"""Logs of the trap-turn probe on the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def print_probes(files: Sequence[Path], *, as_json: bool) -> None:
    """Print what became of each variant, or each reply as JSON; nothing where there are no probe logs."""
    from artifact.report.probe_summary import load_probes

    if files:
        print_probe_frame(load_probes(files), as_json=as_json)


def print_probe_frame(probes: "pd.DataFrame", *, as_json: bool) -> None:
    """Print what became of each variant, of replies in the columns of `artifact.scorer.probe_frame`."""
    from artifact.log.probes import ProbeVariant
    from artifact.report.clusters import interval_text
    from artifact.report.probe_summary import configurations, probe_sentence, summarize
    from artifact.scorer.probe_replies import ReplySort

    if as_json:
        print(probes.to_json(orient="records", lines=True), end="")
        return
    for configuration, group in configurations(probes):
        print(f"{configuration.cell}: {probe_sentence(group)}")
        print(f"{'changed':20} {'books':>9}  rate  {'interval':12} {'trap turns':>10} "
              + " ".join(f"{sort:>17}" for sort in ReplySort) + f" {'greedy':>7}")
        for variant in ProbeVariant:
            found = summarize(group, variant)
            share = found.samples
            rate = "not run" if share.estimate is None else f"{share.estimate:.2f}"
            print(f"{variant:20} {f'{share.k}/{share.n}':>9}  {rate}  {interval_text(share):12} "
                  f"{f'{found.traps.k}/{found.traps.n}':>10} "
                  + " ".join(f"{found.sorts[sort]:>17}" for sort in ReplySort)
                  + f" {f'{found.greedy.k}/{found.greedy.n}':>7}")
