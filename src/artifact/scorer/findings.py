"""What the offline analyses find in one log, as rows: compiles, omissions, corruptions (Appendices B.3, D.3, D.4)."""

from dataclasses import asdict
from typing import Any, NamedTuple

from artifact.log import EpisodeLog
from artifact.scorer.attribution import attribute_omissions
from artifact.scorer.compiles import score_compiles
from artifact.scorer.corruption import tally_corruption
from artifact.scorer.module_state import corruption_rate, module_turns
from artifact.scorer.verdicts import EpisodeVerdict

_EPISODE = {"study": "str", "cell": "str", "arm": "str", "options": "str", "seed": "int64"}
COMPILE_COLUMNS = {
    **_EPISODE, "state_model": "str", "steps": "int64", "dependencies": "int64", "codes": "int64", "failed": "bool",
    "revised": "bool", "cancel": "boolean", "rewire": "boolean", "relax": "boolean", "flagged": "bool",
    "recompiled": "bool", "fell_back": "bool", "whole": "bool",
}
OMISSION_COLUMNS = {
    **_EPISODE, "completed": "bool", "turn": "int64", "step": "str", "cause": "str", "root": "object",
    "directive": "object", "correct_ref_refused": "bool", "names_another": "bool",
}
CORRUPTION_COLUMNS = {
    **_EPISODE, "completed": "bool", "strict": "bool", "rate": "float64", "spurious": "int64", "lost": "int64",
    "dropped": "int64", "changed": "int64", "mended": "int64", "replayed": "bool",
}


class Findings(NamedTuple):
    """Rows of one log for each of the three frames."""

    compiles: list[dict[str, Any]]
    omissions: list[dict[str, Any]]
    corruptions: list[dict[str, Any]]


def findings_of(log: EpisodeLog, verdict: EpisodeVerdict) -> Findings:
    """Analyse one log.

    Parameters
    ----------
    log : EpisodeLog
        Of any arm.
    verdict : EpisodeVerdict
        Its verdict.

    Returns
    -------
    Findings
        A corruption's `replayed` says whether the state that is rebuilt from the log, its corruption drawn again,
        issues every directive that the log holds: its events are counted on that state.
    """
    header = log.header
    own = {"study": header.study, "cell": header.cell.slug, "arm": header.arm.name,
           "options": header.arm.canonical_options, "seed": header.seed}
    compiled = score_compiles(log)
    compiles = [] if compiled is None else [
        {**own, "state_model": header.cell.state_model, **asdict(compiled), "whole": compiled.whole}]
    omissions = [
        {**own, "completed": verdict.completed, "turn": omission.turn, "step": omission.step,
         "cause": omission.cause.value, "root": omission.root.value if omission.root else None,
         "directive": omission.directive, "correct_ref_refused": omission.correct_ref_refused,
         "names_another": omission.names_another}
        for omission in attribute_omissions(log, verdict)]
    corruptions = [] if not corruption_rate(log) else [
        {**own, "completed": verdict.completed, "strict": verdict.strict, "rate": corruption_rate(log),
         **asdict(tally_corruption(log)), "replayed": all(turn.agrees for turn in module_turns(log))}]
    return Findings(compiles, omissions, corruptions)
