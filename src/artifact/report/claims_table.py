"""The table of claims: as an overview, in detail for each research question, and as plain text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase

from artifact import paths
from artifact.report.claims import Claim, ClaimResult, ClaimVerdict
from artifact.report.ladder import Configuration
from artifact.report.tables import NOT_IDENTIFIED, Table, identifiers, write_text
from artifact.report.tex import Block, booktabs, escape

SOURCE = "data/claims.toml, decided on artifact.scorer.episode_frame and turn_frame"
_RAGGED = r">{\raggedright\arraybackslash}p"
_NOTE = ("Decided on the models named, and saying nothing of any other. Not tested: no logs, or too few episodes for a "
         "verdict.")


def claims_table(results: Sequence[ClaimResult], name: str = "claims") -> Table:
    """The overview: a row a claim, a column a configuration. The CSV has the measured values, too."""
    configurations = _decided(results)
    letters = dict(zip(configurations, ascii_uppercase, strict=False))
    blocks = []
    for question in sorted({result.claim.question for result in results}):
        rows = []
        for claim, decided, _ in _by_claim(result for result in results if result.claim.question == question):
            verdicts = {result.configuration: result.verdict for result in decided}
            cells = [verdicts.get(configuration, "--") for configuration in letters]
            rows.append(tuple(map(escape, (claim.text, claim.place, claim.paper, *(cells or ["not tested"])))))
        blocks.append(Block(f"RQ{question}", tuple(rows)))
    columns = rf"@{{}}{_RAGGED}{{0.46\linewidth}}l{_RAGGED}{{0.2\linewidth}}" + "c" * max(len(letters), 1) + "@{}"
    tex = booktabs(
        columns, [("Claim", "Place", "Paper", *(letters.values() or ["Verdict"]))], blocks,
        notes=[_NOTE + " --: not tested there.", *(f"{letter}: {escape(_on(c))}." for c, letter in letters.items())],
        source=SOURCE)
    return Table(name, tex, tuple(map(_record, results)))


def claims_detail(results: Sequence[ClaimResult], question: int) -> Table:
    """The claims of one research question with the measured values, one line for each deciding configuration."""
    rows: list[tuple[str, ...]] = []
    mine = [result for result in results if result.claim.question == question]
    for claim, decided, reasons in _by_claim(mine):
        lines = [("" if r.configuration is None else _on(r.configuration), r.measured, r.verdict) for r in decided]
        lines = lines or [("", next(iter(reasons)), ClaimVerdict.NOT_TESTED)]
        for index, line in enumerate(lines):
            left = f"{claim.text} {claim.place}; paper: {claim.paper}." if index == 0 else ""
            rows.append(tuple(map(escape, (left, *line))))
        rows.append(())
    columns = rf"@{{}}{_RAGGED}{{0.37\linewidth}}{_RAGGED}{{0.22\linewidth}}{_RAGGED}{{0.27\linewidth}}l@{{}}"
    tex = booktabs(columns, [("Claim", "Decided on", "Measured", "Verdict")], [Block("", tuple(rows[:-1]))],
                   notes=[_NOTE], source=SOURCE)
    return Table(f"claims_rq{question}", tex, tuple(map(_record, mine)))


def claims_text(results: Sequence[ClaimResult]) -> str:
    """The claims as plain text for a terminal; configurations that couldn't decide a claim share a line."""
    lines = []
    for claim, decided, reasons in _by_claim(results):
        lines += ["", f"RQ{claim.question}  {claim.text}", f"     {claim.place} of the paper: {claim.paper}"]
        for result in decided:
            on = "" if result.configuration is None else f"  ({_on(result.configuration)})"
            lines.append(f"     {result.verdict:<10}  {result.measured}{on}")
        for reason, members in reasons.items():
            on = "; ".join(_on(r.configuration) for r in members if r.configuration is not None)
            lines.append(f"     {ClaimVerdict.NOT_TESTED:<10}  {reason}" + (f"  ({on})" if on else ""))
    return "\n".join(lines[1:]) + "\n"


def write_claims(results: Sequence[ClaimResult], folder: Path = paths.TABLES) -> None:
    """Write the overview, the details of each research question, and the same as plain text."""
    claims_table(results).write(folder)
    for question in sorted({result.claim.question for result in results}):
        claims_detail(results, question).write(folder)
    write_text(folder / "claims.txt", claims_text(results))


def _decided(results: Sequence[ClaimResult]) -> list[Configuration]:
    """The configurations on which anything was decided, in the order of the results."""
    found = {result.configuration: None for result in results if result.verdict is not ClaimVerdict.NOT_TESTED}
    return [configuration for configuration in found if configuration is not None]


def _record(result: ClaimResult) -> dict[str, object]:
    claim, c = result.claim, result.configuration
    return {"claim": claim.id, "question": claim.question, "text": claim.text, "place": claim.place,
            "paper": claim.paper, "test": claim.test.value, **(identifiers(c) if c else NOT_IDENTIFIED),
            "measured": result.measured, "verdict": result.verdict.value}


def _by_claim(
    results: Iterable[ClaimResult],
) -> Iterator[tuple[Claim, list[ClaimResult], dict[str, list[ClaimResult]]]]:
    """Claim by claim: the results that decide it, and the others by their reason."""
    for _, group in groupby(results, key=lambda result: result.claim.id):
        members = list(group)
        reasons: dict[str, list[ClaimResult]] = {}
        for result in members:
            if result.verdict is ClaimVerdict.NOT_TESTED:
                reasons.setdefault(result.measured, []).append(result)
        yield members[0].claim, [r for r in members if r.verdict is not ClaimVerdict.NOT_TESTED], reasons


def _on(c: Configuration) -> str:
    state = f" (state: {c.state_model})" if c.state_model != c.model else ""
    return ", ".join([c.model + state, c.setting, c.brief, c.study])
