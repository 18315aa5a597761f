"""One logged episode as a page of its own: no scripts, nothing fetched, every text escaped."""

from html import escape

from artifact.cli.render import same_turn
from artifact.cli.words import printable
from artifact.log import EpisodeLog, TurnRecord
from artifact.scorer import TurnVerdict, score_log

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .2rem 0 }
.turn { border-left: 4px solid #8a9aa9; padding: .1rem 1rem; margin: 1rem 0 }
.wrong { border-color: #b3261e } .right { border-color: #2e7d5b }
.module { color: #5b3f8c }
.refused { color: #6b7683; text-decoration: line-through }
.reply { background: #f3f5f7; padding: .3rem .6rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
"""


def log_page(log: EpisodeLog, only_turn: int | None = None) -> str:
    """The page.

    Parameters
    ----------
    log : EpisodeLog
        What is shown.
    only_turn : int or None
        Index of the only turn to show.

    Returns
    -------
    str
        HTML.
    """
    header, verdict = log.header, score_log(log)
    title = f"{header.cell.slug}, {header.arm.text}, seed {header.seed}"
    plan = "".join(
        f"<tr><td>{escape(step.id)}<td>{escape(step.text)}<td>{escape(step.code)}"
        f"<td>{escape(', '.join(step.prerequisites)) or 'nothing'}" for step in header.episode.graph.steps)
    turns = "".join(_turn(record, judged) for record, judged in zip(log.turns, verdict.turns, strict=True)
                    if only_turn in (None, record.turn))
    outcome = "strict success" if verdict.strict else f"{sum(not t.right for t in verdict.turns)} turns with violations"
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
            f"<h1>{escape(title)}</h1><p>{escape(outcome)}</p><h2>Plan</h2>"
            f"<table><tr><th>step<th>what<th>code<th>requires</tr>{plan}</table>"
            f"<h2>Conversation</h2>{turns}</html>\n")


def _turn(record: TurnRecord, verdict: TurnVerdict) -> str:
    module = "".join(f"<pre class=module>{escape(printable(text))}</pre>" for text in
                     (*record.notices, record.checklist, record.directive.text if record.directive else "") if text)
    module += "".join(f"<pre class={'refused' if mark == 'x' else 'module'}>{escape(printable(text))}</pre>"
                      for text, mark in same_turn(record))
    bookings = "".join(f"<li>{escape(b.code)}/{escape(b.work_order)}: "
                       f"{'entered' if b.accepted else 'refused, ' + escape(b.reason)}" for b in record.bookings)
    wrong = ", ".join(f"{v.channel} of {v.step}" for v in verdict.violations)
    about = f": {record.step} is {verdict.status}" if record.step else ""
    mark = "wrong" if wrong else "right"
    return (f"<section class='turn {mark}'><h3>{record.turn}. {verdict.label}{escape(about)}</h3>"
            f"<pre>{escape(printable(record.text))}</pre>{module}"
            f"<pre class=reply>{escape(printable(record.reply))}</pre><ul>{bookings}</ul>"
            f"<p>{escape(wrong) or 'right'}</p></section>")
