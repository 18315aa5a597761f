"""Table 3 with tools: what makes the agent run a finished step's tool again."""

from collections.abc import Sequence

import pandas as pd

from artifact.report.probe_table import ProbeTableWords, trap_probe_table
from artifact.report.reported import Reported
from artifact.report.tables import Table

_NOTES = (
    r"Acts again, samples: share of sampled branches in which the finished step's tool stamped once more, k/n, and the "
    r"95\,\% interval of a cluster bootstrap over episodes (no width where all are alike). Trap turns: those at which "
    r"most samples do, with the 95\,\% Wilson interval.",
    "Samples that: act without a word of the step being done before; state that it is done and act; decline (act not, "
    "and say that it is done or that they won't do it); neither (act not and say nothing of the kind). What is said "
    "after a tool did its work doesn't count. Old order: samples that call the tool with any other work order, which "
    "stamps nothing. Greedy: re-asks at temperature 0 that act.",
    "The rows without a work order are a floor that the protocol sets: no call is carried out. Reported values are "
    "those of the original paper's own models, 100 trap turns each; -- stands where its text gives none.",
)
WITH_TOOLS = ProbeTableWords(
    ("Acts again", "act", "state, act", "decline", "neither", "order", "acts"), "call and result rewritten as prose",
    "call and result erased",
    {"Qwen3-235B": "Qwen3-235B.trap-turn probe.tools", "Qwen3.6-35B": "Qwen3.6-35B.trap-turn probe.tools"}, _NOTES,
    "from artifact.harness.tools.trap_frame, completed logs only; reported values: data/reported.csv")


def tools_trap_probe_table(probes: pd.DataFrame, reported: Sequence[Reported],
                           name: str = "tools_trap_probe") -> Table:
    """One row a variant, as `artifact.report.probe_table.trap_probe_table` has it for the text protocol.

    Parameters
    ----------
    probes : DataFrame
        One row a branch, see `artifact.harness.tools.trap_frame.tool_probe_frame`.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    """
    return trap_probe_table(probes, reported, name, WITH_TOOLS)
