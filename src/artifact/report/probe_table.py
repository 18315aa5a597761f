"""The trap-turn probe (the paper's Table 3): what makes the agent book a finished step again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from artifact.log.probes import ProbeVariant
from artifact.report.clusters import interval_text
from artifact.report.ladder import MAIN_OPTIONS, Configuration
from artifact.report.numbers import Number, configuration_name
from artifact.report.probe_summary import VariantSummary, configurations, summarize, totals
from artifact.report.reported import Reported
from artifact.report.tables import (
    NOT_IDENTIFIED,
    NOT_RUN_TEXT,
    Table,
    identifiers,
    interval_tex,
    rate_tex,
    title_tex,
)
from artifact.report.tex import Block, booktabs, escape, macro_name, small
from artifact.scorer.probe_replies import ReplySort

SOURCE = "from artifact.scorer.probe_frame, completed logs only; reported values: data/reported.csv"
_ABSENT = "--"
_EVERY = "every variant"  # in data/reported.csv: one value for all of a model's variants

# In the order and the words of the paper's account; the reported value of a variant by its name in data/reported.csv.
_ROWS: dict[str, tuple[tuple[ProbeVariant, str, str], ...]] = {
    "Form of the request": (
        (ProbeVariant.AS_RECORDED, "as recorded", "recorded request"),
        (ProbeVariant.CONFIRM, "request to confirm", "request to confirm"),
        (ProbeVariant.STATUS_QUESTION, "status question", "status question"),
        (ProbeVariant.NO_WORK_ORDER, "without a work order", ""),
    ),
    "Where state is shown": (
        (ProbeVariant.CHECKLIST_USER, "checklist in the user turn", "checklist in user turn"),
        (ProbeVariant.CHECKLIST_SYSTEM, "checklist in the system prompt", "checklist in system prompt"),
        (ProbeVariant.DIRECTIVE_USER, "directive in the user turn", "directive in user turn"),
        (ProbeVariant.DIRECTIVE_SYSTEM, "directive in the system prompt", "directive in system prompt"),
    ),
    "The agent's own record": (
        (ProbeVariant.RECORD_PROSE, "booking line rewritten as prose", "booking reply rewritten as prose"),
        (ProbeVariant.RECORD_ERASED, "booking line erased", "booking reply erased"),
    ),
}
_SORTS = (ReplySort.BOOKS_UNMENTIONED, ReplySort.BOOKS_STATED, ReplySort.DECLINES, ReplySort.NEITHER)
_REPORTED = {"Qwen3-235B": "Qwen3-235B.S10.trap-turn probe.text",
             "Qwen3.6-35B": "Qwen3.6-35B.S10.trap-turn probe.text"}
_NOTES = (
    r"Books again, samples: share of sampled replies that carry the finished step's completion code with the "
    r"request's work order, k/n, and the 95\,\% interval of a cluster bootstrap over episodes (no width where all are "
    r"alike). Trap turns: those at which most samples do, with the 95\,\% Wilson interval.",
    "Samples that: book without a word of the step being done; state that it is done and book; decline (book nothing, "
    "and say that it is done or that they won't do it); neither (book nothing and say nothing of the kind). Old ref: "
    "samples with a ref line of the step under any other work order, which books nothing. Greedy: re-asks at "
    "temperature 0 that book.",
    "The rows without a work order are a floor that the protocol sets: there is nothing to book. Reported values are "
    "those of the original paper's own models, 248 and 227 trap turns at S=10; -- stands where its text gives none.",
)


@dataclass(frozen=True)
class ProbeTableWords:
    """What the table of one protocol says in its own words.

    Parameters
    ----------
    heads : tuple of str
        Over what is measured: again, the four sorts of samples, the old work order, the greedy re-ask.
    record_prose, record_erased : str
        The agent's own record, rewritten and erased.
    reported : mapping of str to str
        The paper's models, and the cell of their values in data/reported.csv.
    notes : tuple of str
        Below the table.
    source : str
        Where the values come from.
    """

    heads: tuple[str, str, str, str, str, str, str]
    record_prose: str
    record_erased: str
    reported: Mapping[str, str]
    notes: tuple[str, ...]
    source: str


IN_TEXT = ProbeTableWords(
    ("Books again", "book", "state, book", "decline", "neither", "ref", "books"), "booking line rewritten as prose",
    "booking line erased", _REPORTED, _NOTES, SOURCE)


def trap_probe_table(probes: pd.DataFrame, reported: Sequence[Reported], name: str = "trap_probe",
                     said: ProbeTableWords = IN_TEXT) -> Table:
    """One row a variant: booked again, in which way, and the paper's own share.

    Parameters
    ----------
    probes : DataFrame
        One row a reply, see `load_probes`.
    reported : sequence of Reported
        The paper's values.
    name : str
        File name.
    said : ProbeTableWords
        The words of the protocol.
    """
    theirs = {(row.cell, row.arm): row.value for row in reported if row.metric == "re_execution_share"}
    blocks: list[Block] = []
    records: list[dict[str, object]] = []
    found: list[tuple[Configuration | None, pd.DataFrame]] = [*configurations(probes)]
    for configuration, group in found or [(None, probes)]:
        rows: list[tuple[str, ...]] = []
        for heading, variants in _ROWS.items():
            rows.append((rf"\emph{{{escape(heading)}}}",))
            for variant, words, reported_as in variants:
                measured = summarize(group, variant)
                words = {ProbeVariant.RECORD_PROSE: said.record_prose,
                         ProbeVariant.RECORD_ERASED: said.record_erased}.get(variant, words)
                values = {model: theirs.get((cell, reported_as), theirs.get((cell, _EVERY)) if reported_as else None)
                          for model, cell in said.reported.items()}
                rows += _rows(words, measured, values)
                own = identifiers(configuration) if configuration else NOT_IDENTIFIED
                records.append({**own, "options": group["options"].iloc[0] if configuration else "",
                                "variant": variant.value, **_record(measured),
                                **{f"reported_{model}": value or "" for model, value in values.items()}})
        blocks.append(Block(_heading(configuration, group) if configuration else "", tuple(rows)))
    tex = booktabs(
        "@{}lcc" + "r" * 6 + "cc@{}",
        [("", rf"\multicolumn{{2}}{{c}}{{{said.heads[0]}}}", r"\multicolumn{4}{c}{Samples that}", "Old", "Greedy",
          r"\multicolumn{2}{c}{Reported}"),
         ("Changed", "samples", "trap turns", *said.heads[1:], *map(escape, said.reported))],
        blocks, notes=said.notes, source=said.source)
    return Table(name, tex, tuple(records))


def probe_numbers(notebook: str, probes: pd.DataFrame) -> list[Number]:
    """What the text may cite: totals, and for each configuration and variant the shares that Table 3 shows."""
    episodes, turns, replies = totals(probes)
    stem, source = macro_name(notebook, "trap probe"), "artifact.scorer.probe_frame, completed logs"
    reproduced = summarize(probes, ProbeVariant.AS_RECORDED).reproduced
    numbers = [
        Number(f"{stem}Episodes", str(episodes), source),
        Number(f"{stem}Turns", str(turns), source),
        Number(f"{stem}Replies", str(replies), source),
        Number(f"{stem}Reproduced", f"{reproduced.k}/{reproduced.n}" if reproduced.n else NOT_RUN_TEXT,
               f"{source}, greedy re-asks of the recorded request, column reproduces"),
    ]
    for configuration, group in configurations(probes[probes["options"] == MAIN_OPTIONS]):
        for variant in ProbeVariant:
            found = summarize(group, variant)
            name = macro_name(notebook, configuration_name(configuration), variant.value)
            where = f"study {configuration.study}, cell {configuration.cell}, variant {variant.value}, column books"
            shown = {"Share": NOT_RUN_TEXT, "Count": NOT_RUN_TEXT, "Interval": NOT_RUN_TEXT}
            if found.samples.estimate is not None:
                shown = {"Share": f"{found.samples.estimate:.2f}", "Count": f"{found.samples.k}/{found.samples.n}",
                         "Interval": interval_text(found.samples) or "none"}
            numbers += [Number(name + what, text, where) for what, text in shown.items()]
    return numbers


def _heading(configuration: Configuration, group: pd.DataFrame) -> str:
    episodes, turns, replies = totals(group)
    reproduced = summarize(group, ProbeVariant.AS_RECORDED).reproduced
    options = group["options"].iloc[0]
    variant = "" if options == MAIN_OPTIONS else f", {escape(options)}"
    return (f"{title_tex(configuration)}{variant}: {turns} trap turns of {episodes} episodes, {replies} replies; "
            f"greedy reproduces {reproduced.k}/{reproduced.n}")


def _rows(words: str, found: VariantSummary, reported: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    theirs = tuple(value or _ABSENT for value in reported.values())
    if found.samples.estimate is None:
        return [(rf"\quad {escape(words)}", *([small(NOT_RUN_TEXT)] * 8), *theirs)]
    n = found.samples.n
    counts = tuple(f"{found.sorts[sort] / n:.2f}" for sort in _SORTS)
    share = f"{found.samples.estimate:.2f} {small(f'({found.samples.k}/{n})')}"
    first = (rf"\quad {escape(words)}", share, rate_tex(found.traps), *counts, f"{found.redisplays / n:.2f}",
             f"{found.greedy.k}/{found.greedy.n}", *theirs)
    return [first, ("", small(interval_text(found.samples)), interval_tex(found.traps))]


def _record(found: VariantSummary) -> dict[str, object]:
    samples, traps, measured = found.samples, found.traps, found.samples.estimate is not None
    low, high = ("", "") if measured and samples.low is None else (samples.low, samples.high)  # a single episode
    counts: dict[str, object] = {
        "cited": found.cited, "books_another": found.another, "old_ref": found.redisplays,
        **{sort.value: found.sorts[sort] for sort in _SORTS},
        "greedy_k": found.greedy.k, "greedy_n": found.greedy.n, "greedy_unmentioned": found.greedy_unmentioned,
        "greedy_stated": found.greedy_stated,
    }
    return {
        "k": samples.k, "n": samples.n, "share": samples.estimate, "low": low, "high": high,
        "episodes": samples.clusters, "traps_k": traps.k, "traps_n": traps.n, "traps_share": traps.estimate,
        "traps_low": traps.low, "traps_high": traps.high,
        **{key: value if measured else None for key, value in counts.items()},
        "reproduced_k": found.reproduced.k if found.reproduced.n else "",
        "reproduced_n": found.reproduced.n or "", "same_text_k": found.same_text.k if found.same_text.n else "",
    }
