"""What tables of variants count beside strict success: one function a column."""

from collections.abc import Callable

import pandas as pd

from artifact.report.channel_rates import channel_rate
from artifact.report.grid import ABSENT, Value, count, share
from artifact.report.measures import matched_requests
from artifact.report.samples import Sample
from artifact.taskstate import Channel, RequestKind

_REWRITTEN = (RequestKind.ASK, RequestKind.PREMATURE, RequestKind.REDO_PROBE)


def fresh_order_hazard(found: Sample) -> Value:
    """Finished steps executed again on a fresh request that doesn't order a redo, of all such requests (§5.1)."""
    rate = channel_rate(found, Channel.RE_EXECUTION)
    return share("re_execution", rate.k, rate.n, digits=2)


def hazardous_episodes(found: Sample) -> Value:
    """Episodes with any re-execution."""
    return share("episodes_with_re_execution", int((found.episodes[Channel.RE_EXECUTION.value] > 0).sum()), found.n,
                 digits=2)


def re_executions(found: Sample) -> Value:
    """Re-executions in all episodes."""
    return count("re_executions", int(found.episodes[Channel.RE_EXECUTION.value].sum()))


def superseded_executions(found: Sample) -> Value:
    """Executions of a cancelled step."""
    return count("superseded", int(found.episodes[Channel.SUPERSEDED.value].sum()))


def premature_executions(found: Sample) -> Value:
    """Executions of a step before its prerequisites."""
    return count("premature", int(found.episodes[Channel.PREMATURE.value].sum()))


def unrequested_executions(found: Sample) -> Value:
    """Executions of a step that was not requested."""
    return count("unrequested", int(found.episodes[Channel.UNREQUESTED.value].sum()))


def omissions(found: Sample) -> Value:
    """Owed steps that were not executed."""
    return count("omissions", int(found.episodes[Channel.OMISSION.value].sum()))


def prompt_tokens(found: Sample) -> Value:
    """Mean prompt tokens of an episode, in thousands."""
    mean = float(found.episodes["prompt_tokens"].mean())
    return Value(f"{mean / 1000:.1f}", {"prompt_tokens": mean})


def refused_bookings(found: Sample) -> Value:
    """Bookings that the gate refused."""
    return count("refused_bookings", int(found.episodes["refused_bookings"].sum()))


def flagged_states(found: Sample) -> Value:
    """Episodes whose compiled state the validator flags, or that got none."""
    return count("flagged", int(found.compiles["flagged"].sum()))


def recompiled_states(found: Sample) -> Value:
    """Episodes in which a flagged state was compiled once more."""
    return count("recompiled", int(found.compiles["recompiled"].sum()))


def fallen_back(found: Sample) -> Value:
    """Episodes that refuse nothing, or nothing more, because the second compile is flagged too."""
    return count("fell_back", int(found.compiles["fell_back"].sum()))


def silent_turns(found: Sample) -> Value:
    """Turns with a refused booking whose visible reply reads as completed work (Appendix D.3)."""
    refused = found.turns[found.turns["refused"] > 0]
    return share("silent_turns", int((refused["false_completions"] > 0).sum()), len(refused), digits=2)


def matcher_agreement(found: Sample) -> Value:
    """Asks, premature probes and redo probes that the matcher resolved to their step, as Table 4 counts them.

    These are the requests that held-out phrasing rewrites. None for an arm without a matcher.
    """
    if not found.turns["matched"].any():
        return Value(ABSENT, {"matcher_k": "", "matcher_n": ""})
    requests = matched_requests(found)
    requests = requests[requests["kind"].isin(_REWRITTEN)]
    return share("matcher", int(requests["agrees"].sum()), len(requests))


def redo_precision(found: Sample) -> Value:
    """Requests that the matcher flagged as an order to redo and that are one; a false flag admits a re-execution."""
    flagged = found.turns[found.turns["matched_redo"].eq(True).fillna(False).astype(bool)]
    if flagged.empty:
        return Value(ABSENT, {"redo_precision_k": "", "redo_precision_n": ""})
    return share("redo_precision", int((flagged["kind"] == RequestKind.LEGIT_REDO).sum()), len(flagged), digits=2)


def omissions_naming_another(found: Sample) -> Value:
    """Episodes whose first omitted ask was answered by naming another step, of the episodes with an omission."""
    first = found.omissions.sort_values("turn").drop_duplicates("seed")
    return share("names_another", int(first["names_another"].sum()), len(first), digits=2)


def ambiguous_booked(found: Sample) -> Value:
    """Probes that name two eligible steps on which work was booked, where nothing should be (Appendix A.5)."""
    probes = found.turns[found.turns["kind"] == RequestKind.AMBIGUOUS.value]
    return share("ambiguous_booked", sum(map(bool, probes["executed"])), len(probes), digits=2)


def ledger_accuracy(found: Sample) -> Value:
    """Steps that the agent's own ledger has as they are at the start of a turn, of all steps and turns (§3.3)."""
    return share("ledger", int(found.turns["ledger_right"].sum()), int(found.turns["ledger_entries"].sum()))


def empty_ledger_accuracy(found: Sample) -> Value:
    """What a ledger that is never written would have right on the same turns."""
    return share("empty_ledger", int(found.turns["ledger_open"].sum()), int(found.turns["ledger_entries"].sum()))


def ledger_errors(kind: str) -> Callable[[Sample], Value]:
    """Entries that are wrong in one way, by its name in `LedgerTurn`; none for an arm without a ledger."""
    def errors(found: Sample) -> Value:
        if not found.turns["ledger_entries"].any():
            return Value(ABSENT, {kind: ""})
        return count(kind, int(found.turns[f"ledger_{kind}"].sum()))
    return errors


def wrong_when_forged(found: Sample) -> Value:
    """Turns served wrong, of those on which the client's text carries forged lines."""
    return _wrong_turns("wrong_forged", found.turns[found.turns["forged"]])


def wrong_when_clean(found: Sample) -> Value:
    """Turns served wrong, of those on which it carries none."""
    return _wrong_turns("wrong_clean", found.turns[~found.turns["forged"]])


def _wrong_turns(name: str, turns: pd.DataFrame) -> Value:
    return share(name, int((~turns["right"]).sum()), len(turns))


def refused_redos(found: Sample) -> Value:
    """Redos that were ordered and not carried out."""
    return count("refused_redos", int(found.episodes[Channel.REFUSED_REDO.value].sum()))


def recalled_evidence(found: Sample) -> Value:
    """Requests whose right answer needs something that was said, and that recalled all of it (Appendix F)."""
    return _evidence(found, "recalled", "recall_held")


def shown_evidence(found: Sample) -> Value:
    """The same, of those in whose window all of it stood, recalled or as it was said."""
    return _evidence(found, "shown", "recall_shown")


def _evidence(found: Sample, name: str, column: str) -> Value:
    turns = found.turns[found.turns["recall_needed"] > 0]
    return share(name, int((turns[column] == turns["recall_needed"]).sum()), len(turns), digits=2)


def agent_tokens(found: Sample) -> Value:
    """Mean prompt and completion tokens of the agent in an episode, in thousands."""
    return _thousands(found, "agent_tokens", "prompt_tokens", "completion_tokens")


def helper_tokens(found: Sample) -> Value:
    """The same of the helper calls."""
    return _thousands(found, "helper_tokens", "helper_prompt_tokens", "helper_completion_tokens")


def _thousands(found: Sample, name: str, *columns: str) -> Value:
    mean = float(found.episodes[[*columns]].sum(axis=1).mean())
    return Value(f"{mean / 1000:.1f}", {name: mean})


def helper_calls(found: Sample) -> Value:
    """Mean helper calls of an episode."""
    mean = float(found.episodes["helper_calls"].mean())
    return Value(f"{mean:.1f}", {"helper_calls": mean})


def memory_fallbacks(found: Sample) -> Value:
    """Times that a call for the memory gave nothing usable or didn't fit, in all episodes."""
    return count("memory_fallbacks", int(found.episodes["memory_fallbacks"].sum()))
