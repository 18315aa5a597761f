"""Which rules do the refusing, and how often they refuse a gold write."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from artifact.harness.tau2.measures import Verdict
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "measured: artifact.harness.tau2.measures.judged"

NOTES = (
    "Refused: calls of completed episodes that the gate refused or bounced, counted under each rule that was against "
    "them; of gold: among them, calls that equal a gold write.",
)


def refusals_by_rule(verdicts: Iterable[Verdict]) -> list[tuple[str, int, int]]:
    """Each rule that refused something, with how many calls it refused and how many of them equal a gold write."""
    refused: Counter[str] = Counter()
    of_gold: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.completed:
            refused.update(rule for rules in verdict.refusals for rule in rules)
            of_gold.update(rule for rules in verdict.refusals_of_gold for rule in rules)
    return [(rule, count, of_gold[rule]) for rule, count in sorted(refused.items())]


def rules_table(verdicts: Sequence[Verdict], name: str = "tau2_rules") -> Table:
    """A row for each rule that refused something, in blocks by study, cell and rung.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Scored logs.
    name : str
        File name.
    """
    records = list(_records(verdicts))
    headings = dict.fromkeys(tuple(record.values())[:-3] for record in records)
    blocks = [Block(escape(", ".join(map(str, heading))),
                    tuple((escape(record["rule"]), str(record["refused"]), str(record["of_gold"]))
                          for record in records if tuple(record.values())[:-3] == heading)) for heading in headings]
    if not blocks:
        blocks = [Block("", (("no refusals", small(NOT_RUN_TEXT if not verdicts else "")),))]
    return Table(name, booktabs("@{}lrr@{}", [("Rule", "refused", "of gold")], blocks, notes=NOTES, source=SOURCE),
                 tuple(records))


def _records(verdicts: Sequence[Verdict]) -> Iterator[dict[str, object]]:
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.study, verdict.cell.slug, verdict.rung), []).append(verdict)
    for (study, _, rung), mine in sorted(groups.items()):
        cell = mine[0].cell
        for rule, refused, of_gold in refusals_by_rule(mine):
            yield {"study": study, "agent": cell.model, **cell.settings, "rung": rung, "rule": rule,
                   "refused": refused, "of_gold": of_gold}
