"""What compiling a policy costs: each compile's verdicts beside the reference's, and the compiles beside each other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev

from artifact.harness.tau2.agreement import Agreement
from artifact.harness.tau2.compile import CompiledPolicy, read_compiled
from artifact.harness.tau2.reach import distinct_rules, never_refuses
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "from the compiles kept in <study>/compiled made by artifact run --harness tau2 --rules compiled"

NOTES = (
    "Verdicts on the benchmark's gold writes and on wrong writes of every reference rule's kind, each asked after the "
    "look-ups and the user's consent that it needs. Missed: the reference refuses, the compiled rules admit. Wrongly "
    "refused: the other way round. Admit all: the verdicts of no rule at all, above which rules are worth something. "
    "Distinct: rules that differ in tool or conditions. Idle: rules that can refuse nothing, because a condition can't "
    "be decided on any call of their tool or two conditions exclude each other. Left out: rules that name unknown "
    "facts or can't be used otherwise. Mean and SD, and same verdict, the mean share of calls on which two compiles "
    "agree, are over the compiles at one temperature.",
)

_HEADS = ("Temperature", "rules", "distinct", "idle", "left out", "agreed", "missed", "wrongly refused")
_COUNTS = ("agreed", "missed", "wrongly_refused")


@dataclass(frozen=True)
class KeptCompile:
    """A compile and the study that it was made in."""

    study: str
    policy: CompiledPolicy


def kept_compiles(sources: Iterable[Path], study: str | None = None) -> Iterator[KeptCompile]:
    """The compiles in the folders of studies, or of one study, sorted by path; one that lies in two places once."""
    seen: set[tuple[str, str]] = set()
    for source in sources:
        for path in sorted(source.rglob("compiled/tau2.*.json")):
            of = path.parent.parent.name
            compiled = read_compiled(path)
            if compiled is not None and study in (None, of) and (of, path.name) not in seen:
                seen.add((of, path.name))
                yield KeptCompile(of, compiled)


def compile_table(compiles: Sequence[KeptCompile], name: str = "tau2_compiles") -> Table:
    """One row a compile, in blocks by study and model, after the verdicts of no rule and before mean and SD.

    Parameters
    ----------
    compiles : sequence of KeptCompile
        With their agreement.
    name : str
        File name.
    """
    records: list[dict[str, object]] = []
    blocks = []
    for study, model in sorted({(one.study, one.policy.model) for one in compiles}):
        mine = [one.policy for one in compiles if (one.study, one.policy.model) == (study, model)]
        rows = [*_baselines(mine), *map(_record, mine), *_summaries(mine)]
        records += [{"study": study, "model": model, **row} for row in rows]
        blocks.append(Block(f"{escape(model)} ({escape(study)})", tuple(map(_row, rows))))
    if not blocks:
        blocks.append(Block("", (("no compiles", small(NOT_RUN_TEXT)),)))
    return Table(name, booktabs("@{}lrrrrrrr@{}", [_HEADS], blocks, notes=NOTES, source=SOURCE), tuple(records))


def _baselines(compiles: Sequence[CompiledPolicy]) -> list[dict[str, object]]:
    """What admitting every call scores, on each set of calls that the compiles were compared on."""
    asked = {one.agreement.asked_sha256: one.agreement for one in compiles if one.agreement is not None}
    return [{"compile": "admit all", "temperature": "", "rules": 0, "distinct": 0, "idle": 0, "left_out": 0,
             "probes": found.probes, "agreed": found.probes - found.refused_by_reference,
             "missed": found.refused_by_reference, "wrongly_refused": 0} for found in asked.values()]


def _record(compiled: CompiledPolicy) -> dict[str, object]:
    found, rules = compiled.agreement, compiled.usable
    return {"compile": compiled.seed, "temperature": compiled.temperature, "rules": len(rules.rules),
            "distinct": distinct_rules(rules), "idle": sum(map(never_refuses, rules.rules)),
            "left_out": len(compiled.rejected), "probes": found.probes if found else None,
            **{count: getattr(found, count) if found else None for count in _COUNTS}}


def _summaries(compiles: Sequence[CompiledPolicy]) -> Iterator[dict[str, object]]:
    """Mean and SD over the compiles at one temperature that were compared on the same calls, and how far they agree."""
    alike: dict[tuple[float, str], list[Agreement]] = {}
    for one in compiles:
        if one.agreement is not None:
            alike.setdefault((one.temperature, one.agreement.asked_sha256), []).append(one.agreement)
    for (temperature, _), found in sorted(alike.items()):
        if len(found) > 1:
            shares = [fmean(map(bool.__eq__, one.verdicts, other.verdicts)) for one, other in combinations(found, 2)]
            told = {"temperature": temperature, "probes": found[0].probes, "compiles": len(found)}
            measures: tuple[tuple[str, Callable[[list[int]], float]], ...] = (("mean", fmean), ("SD", stdev))
            for name, over in measures:
                yield {"compile": name, **told, "same_verdict": fmean(shares),
                       **{count: over([getattr(one, count) for one in found]) for count in _COUNTS}}


def _row(record: dict[str, object]) -> tuple[str, ...]:
    label = f"{record['temperature']}" if isinstance(record["compile"], int) else str(record["compile"])
    if "compiles" in record:
        label += f" of {record['compiles']} at {record['temperature']}"
        if record["compile"] == "mean":
            label += f", same verdict {record['same_verdict']:.2f}"
        return (label, "", "", "", "", *(f"{record[count]:.1f}" for count in _COUNTS))
    counts = tuple(str(record[name]) for name in ("rules", "distinct", "idle", "left_out"))
    if record["probes"] is None:
        return (label, *counts, small(NOT_RUN_TEXT))
    return (label, *counts, f"{record['agreed']}/{record['probes']}", str(record["missed"]),
            str(record["wrongly_refused"]))
