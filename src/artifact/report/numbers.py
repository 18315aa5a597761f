"""Numbers in the paper's text, as TeX macros. Only what is computed gets one.

Invariant: a name depends on what the number is, never on its value or on what else was measured.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from artifact import paths
from artifact.arms import ArmOptions
from artifact.arms.memory.exchanges import RECALLED
from artifact.arms.memory.reflection import LOOKED_AT, QUESTIONS
from artifact.arms.memory.scoring import DECAY
from artifact.arms.paged import MOST_ROUNDS, SHARE, WARNED_AT
from artifact.errors import RequestError
from artifact.report.claims import ClaimResult, ClaimVerdict
from artifact.report.ladder import BRIEFS, RUNGS, Configuration, Ladder, Scoring, adjacent_contrasts
from artifact.report.scored import ScoredLogs
from artifact.report.tables import NOT_RUN_TEXT, p_text, write_text
from artifact.report.tex import escape, macro_name
from artifact.taskstate import CANONICAL


@dataclass(frozen=True)
class Number:
    """One macro.

    Parameters
    ----------
    name : str
        Letters alone; see `artifact.report.tex.macro_name`.
    text : str
        What it expands to, not yet escaped.
    provenance : str
        Where it comes from, for the comment line above it.
    """

    name: str
    text: str
    provenance: str


def write_numbers(numbers: Iterable[Number], notebook: str, folder: Path = paths.NUMBERS) -> Path:
    """Write ``<folder>/<notebook>.tex``.

    Raises
    ------
    RequestError
        When a name is no macro name, or two studies or models would have the same: only letters and digits count.
    """
    lines = [f"% Numbers of notebook {notebook}: \\name{{}} in the text. Generated; each line above says where from."]
    seen: set[str] = set()
    for number in numbers:
        if not re.fullmatch("[A-Za-z]+", number.name) or number.name in seen:
            raise RequestError(f"{number.name!r} can't be the name of a macro, or is the name of two; give one of the "
                               "studies or models a name that differs in letters or digits")
        seen.add(number.name)
        lines += [f"% {' '.join(number.provenance.split())}",
                  rf"\newcommand{{\{number.name}}}{{{escape(number.text)}}}"]
    return write_text(folder / f"{notebook}.tex", "\n".join(lines) + "\n")


def configuration_name(configuration: Configuration) -> str:
    """The part of a macro's name that stands for a configuration; what is as in the main grid is left out."""
    c = configuration
    parts: list[object] = [c.study, c.model]
    parts += ["state", c.state_model] if c.state_model != c.model else []
    parts += [f"S{c.size}"]
    parts += [f"d{c.density:g}"] if c.density != 0.15 else []
    parts += [c.domain] if c.domain != "procurement" else []
    parts += [c.brief] if c.brief != BRIEFS[0] else []
    parts += [c.regime] if c.regime != "no_think" else []
    parts += [c.prompts] if c.prompts != "fewshot" else []
    parts += [c.schedule] if c.schedule != CANONICAL else []
    return macro_name(*parts)


def ladder_numbers(notebook: str, found: Iterable[Ladder], arms: Iterable[str] = RUNGS) -> list[Number]:
    """Rate, k/n and interval of each arm of each ladder, and the adjusted p of its contrasts, for both scorings."""
    ladders, wanted = tuple(found), tuple(arms)
    contrasts = {scoring: adjacent_contrasts(ladders, scoring) if len(wanted) > 1 else {} for scoring in Scoring}
    numbers = []
    for ladder in ladders:
        c = ladder.configuration
        where = f"study {c.study}, cell {c.cell or 'without logs'}"
        for scoring in Scoring:
            stem = macro_name(notebook, configuration_name(c), scoring.value)
            for arm in wanted:
                value, name = ladder.proportion(arm, scoring), stem + macro_name(arm)
                source = f"{where}, arm {arm}, column {scoring.value} of episode_frame"
                shown = {"Rate": NOT_RUN_TEXT, "Count": NOT_RUN_TEXT, "Interval": NOT_RUN_TEXT}
                if value.estimate is not None:
                    shown = {"Rate": f"{value.estimate:.2f}", "Count": f"{value.k}/{value.n}",
                             "Interval": f"[{value.low:.2f}, {value.high:.2f}]"}
                numbers += [Number(name + what, text, source) for what, text in shown.items()]
            for test in contrasts[scoring].get(c, ()):
                if {test.lower, test.upper} <= set(wanted):
                    numbers.append(Number(f"{stem}{macro_name(test.lower, 'to', test.upper)}P", p_text(test.p_holm),
                                          f"{where}, {test.lower} against {test.upper}, exact McNemar, Holm"))
    return numbers


def totals(notebook: str, scored: ScoredLogs) -> list[Number]:
    """How much was measured."""
    episodes = scored.episodes
    completed = episodes[episodes["completed"].astype(bool)]
    source = "episode_frame of the released logs and of the runs of this machine"
    stem = macro_name(notebook)
    return [
        Number(f"{stem}Episodes", str(len(episodes)), source),
        Number(f"{stem}Completed", str(len(completed)), source),
        Number(f"{stem}Excluded", str(len(episodes) - len(completed)), f"{source}; not completed"),
        Number(f"{stem}Turns", str(int(completed["turns"].sum())), f"{source}; completed episodes"),
        Number(f"{stem}Models", str(completed["model"].nunique()), f"{source}; completed episodes"),
    ]


def rq1_numbers(scored: ScoredLogs, found: Iterable[Ladder]) -> list[Number]:
    """What the text on RQ1 may cite: how much was measured, and the raw transcript under both briefs."""
    return [*totals("rq1", scored), *ladder_numbers("rq1", found, arms=("raw",))]


def memory_settings() -> list[Number]:
    """What the memory arms are set to where no option says otherwise."""
    settings = {
        "recalled": (str(RECALLED), "RECALLED"), "decay": (str(DECAY), "DECAY"),
        "reflect at": (str(ArmOptions().reflect_at), "option reflect_at"), "questions": (str(QUESTIONS), "QUESTIONS"),
        "looked at": (str(LOOKED_AT), "LOOKED_AT"), "window": (str(ArmOptions().window), "option window"),
        "warned at": (f"{WARNED_AT:.0%}", "WARNED_AT"), "share": (f"{SHARE:.0%}", "SHARE"),
        "rounds": (str(MOST_ROUNDS), "MOST_ROUNDS"),
    }
    return [Number(macro_name("rq2", "memory", *name.split()), text, f"{source} of the memory arms")
            for name, (text, source) in settings.items()]


def rq2_numbers(scored: ScoredLogs, found: Iterable[Ladder], results: Iterable[ClaimResult]) -> list[Number]:
    """What the text on RQ2 may cite: all rungs with their contrasts, and how many claims hold or differ."""
    verdicts = [result.verdict for result in results]
    counts = [Number(macro_name("rq2", "claims", verdict.value), str(verdicts.count(verdict)),
                     f"claims.txt: verdicts '{verdict.value}', one for each claim and configuration")
              for verdict in ClaimVerdict]
    return [*totals("rq2", scored), *counts, *memory_settings(), *ladder_numbers("rq2", found)]
