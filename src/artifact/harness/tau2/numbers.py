"""What the text on the airline study may cite."""

from collections.abc import Sequence

from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.intervals import discordant, paired_difference, pass1, raw_beside
from artifact.harness.tau2.measures import Verdict
from artifact.harness.tau2.rules import reference_rules
from artifact.harness.tau2.table import limits
from artifact.report.numbers import Number
from artifact.report.tables import NOT_RUN_TEXT
from artifact.report.tex import macro_name

PROOF = "tau2_proof"
"""The study of scripted agents that needs no model; its numbers are defined whether it was run or not."""

_PROOF_RUNS = (("scripted:gold", Rung.RAW), ("scripted:gold", Rung.ENFORCEMENT), ("scripted:nothing", Rung.RAW))


def airline_numbers(verdicts: Sequence[Verdict]) -> list[Number]:
    """Numbers of every rung that has logs, and of the scripted proof; what wasn't measured reads ``not run``."""
    cells = {(v.study, v.cell.model, tuple(v.cell.settings.values()), v.rung) for v in verdicts}
    cells |= {(PROOF, model, ("scripted", "reference"), str(rung)) for model, rung in _PROOF_RUNS}
    rules = reference_rules().rules
    numbers = [
        Number("RqFourAirlineRules", str(len(rules)), "the reference rules that are on by default"),
        Number("RqFourAirlineInferred", str(sum(rule.inferred for rule in rules)), "those marked as inferred"),
    ]
    for study, model, settings, rung in sorted(cells):
        mine = [v for v in verdicts if (v.study, v.cell.model, tuple(v.cell.settings.values()), v.rung) ==
                (study, model, settings, rung)]
        stem = macro_name("rq4", study, model, *settings, rung)
        where = f"study {study}, agent {model}, {', '.join(settings)}, rung {rung}, completed episodes"
        numbers += [Number(stem + name, text, where) for name, text in _values(mine).items()]
        if rung != Rung.RAW:
            raw = raw_beside(verdicts, study, mine[0].cell) if mine else []
            numbers += [Number(stem + name, text, f"{where}, paired with raw by task and seed")
                        for name, text in _paired(raw, mine).items()]
    return numbers


def _paired(raw: Sequence[Verdict], mine: Sequence[Verdict]) -> dict[str, str]:
    found, (only_raw, only_rung) = paired_difference(raw, mine), discordant(raw, mine)
    told = {"Pairs": str(found.episodes), "OnlyRaw": str(only_raw), "OnlyRung": str(only_rung),
            "Difference": f"{found.value:+.2f}" if found.value is not None else ""}
    return told if found.episodes else dict.fromkeys(told, NOT_RUN_TEXT)


def _values(verdicts: Sequence[Verdict]) -> dict[str, str]:
    done = [verdict for verdict in verdicts if verdict.completed]
    unaffected = [verdict for verdict in done if verdict.unaffected]
    passing = pass1(done)
    told = {
        "Passed": f"{sum(v.passed for v in done)}/{len(done)}",
        "UnaffectedPassed": f"{sum(v.passed for v in unaffected)}/{len(unaffected)}",
        "PassOne": f"{passing.value:.2f}" if passing.value is not None else "",
        "Wrongful": f"{sum(v.wrongful for v in done)}/{len(done)}",
        "Violating": str(sum(v.violating_writes for v in done)),
        "Refused": str(sum(len(v.refusals) for v in done)),
        "RefusedGold": str(sum(v.refused_gold for v in done)),
        "Catchable": f"{sum(v.catchable for v in done)}/{len(done)}",
        "Silent": f"{sum(v.silent for v in done)}/{len(done)}",
        "Cut": f"{sum(v.cut for v in done)}/{len(done)}",
        "MaxSteps": limits(done),
    }
    return told if done else dict.fromkeys(told, NOT_RUN_TEXT)
