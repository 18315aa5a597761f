"""What compiling a policy costs: each compile's verdicts beside the reference's, and the compiles beside each other."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

from artifact.harness.tau2.compile import CompiledPolicy, read_compiled
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "from the compiles kept in <study>/compiled made by artifact run --harness tau2 --rules compiled"

NOTES = (
    "Verdicts on the benchmark's gold writes and on wrong writes of every reference rule's kind. Missed: the reference "
    "refuses, the compiled rules admit. Wrongly refused: the other way round. Left out: rules that name unknown facts "
    "or can't be used otherwise. Same verdict: mean share of calls on which two compiles by one model agree.",
)


def kept_compiles(sources: Iterable[Path], study: str | None = None) -> Iterator[CompiledPolicy]:
    """The compiles in the folders of studies, or of one study, sorted by path; one that lies in two places once."""
    seen: set[tuple[str, str]] = set()
    for source in sources:
        for path in sorted(source.rglob("compiled/tau2.*.json")):
            of = path.parent.parent.name
            compiled = read_compiled(path)
            if compiled is not None and study in (None, of) and (of, path.name) not in seen:
                seen.add((of, path.name))
                yield compiled


def compile_table(compiles: Sequence[CompiledPolicy], name: str = "tau2_compiles") -> Table:
    """One row a compile, in blocks by model.

    Parameters
    ----------
    compiles : sequence of CompiledPolicy
        With their agreement.
    name : str
        File name.
    """
    records: list[dict[str, object]] = []
    blocks = []
    for model in sorted({one.model for one in compiles}):
        mine = [one for one in compiles if one.model == model]
        rows = [_record(one) for one in mine]
        records += rows
        same = _same_verdict(mine)
        heading = escape(model) + (f", same verdict {same:.2f}" if same is not None else "")
        blocks.append(Block(heading, tuple(_row(row) for row in rows)))
    if not blocks:
        blocks.append(Block("", (("no compiles", small(NOT_RUN_TEXT)),)))
    heads = ("Temperature", "rules", "left out", "agreed", "missed", "wrongly refused")
    return Table(name, booktabs("@{}lrrrrr@{}", [heads], blocks, notes=NOTES, source=SOURCE), tuple(records))


def _record(compiled: CompiledPolicy) -> dict[str, object]:
    found = compiled.agreement
    return {"model": compiled.model, "compile": compiled.seed, "temperature": compiled.temperature,
            "rules": len(compiled.rules), "left_out": len(compiled.rejected),
            "probes": found.probes if found else None, "agreed": found.agreed if found else None,
            "missed": found.missed if found else None, "wrongly_refused": found.wrongly_refused if found else None}


def _row(record: dict[str, object]) -> tuple[str, ...]:
    counts = (str(record["rules"]), str(record["left_out"]))
    if record["probes"] is None:
        return (f"{record['temperature']}", *counts, small(NOT_RUN_TEXT))
    return (f"{record['temperature']}", *counts, f"{record['agreed']}/{record['probes']}", str(record["missed"]),
            str(record["wrongly_refused"]))


def _same_verdict(compiles: Sequence[CompiledPolicy]) -> float | None:
    said = [one.agreement.verdicts for one in compiles if one.agreement is not None]
    shares = [sum(map(bool.__eq__, left, right)) / len(left) for left, right in combinations(said, 2)]
    return sum(shares) / len(shares) if shares else None
