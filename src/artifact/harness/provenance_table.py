"""What the values of the harnesses were measured on: one row a study and cell, read from the headers of the logs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from artifact.harness.reader import harness_outlines
from artifact.harness.records import HarnessRecord
from artifact.log.records import EndReason, EndRecord
from artifact.report.provenance_table import seeds_text
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "from the headers of the harness logs"
NOTES = (
    "Who plays and what serves it, weights by SHA-256, shortened; then settings and couplings. Completed, of all that "
    "were begun: the rest was ended by infrastructure, a full context among it, and counts neither way. Conversations "
    "at a time: of the server. Package, prompts and all the rest stand in the header of every log.",
)
_SHORT = 12

_Outline = tuple[HarnessRecord, EndRecord | None]


def harness_provenance_table(
    sources: Iterable[Path], study: str | None = None, name: str = "harness_provenance",
) -> Table:
    """Build the table; a conversation that lies in two places counts once.

    Parameters
    ----------
    sources : iterable of Path
        Where logs lie, the ones that win first.
    study : str, optional
        Only this study's logs.
    name : str
        File name.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str, int], _Outline]] = {}
    for outline in harness_outlines(sources):
        header = outline[0]
        if study in (None, header.study):
            cells.setdefault((header.study, header.cell.slug), {}).setdefault(
                (header.arm.text, header.item, header.seed), outline)
    records, rows = [], []
    for members in (list(cells[key].values()) for key in sorted(cells)):
        record = _record(members)
        records.append(record)
        rows += [*_rows(record), ()]
    block = Block("", tuple(rows[:-1])) if rows else Block("", (("no logs", small(NOT_RUN_TEXT)),))
    tex = booktabs(r"@{}lp{0.62\linewidth}r@{}", [("Study", "Who plays; settings; couplings", "Completed")], [block],
                   notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def _record(members: Sequence[_Outline]) -> dict[str, object]:
    headers = [header for header, _ in members]
    first = headers[0]
    return {
        "study": first.study, "harness": first.cell.harness, "agent": first.cell.model, **first.cell.settings,
        "models": _joined(_models(header) for header in headers),
        "arms": ", ".join(sorted({header.arm.text for header in headers})),
        "items": _items({header.item for header in headers}),
        "seeds": seeds_text(header.seed for header in headers),
        "completed": sum(end is not None and end.reason is EndReason.COMPLETED for _, end in members),
        "all": len(members), "prompts_sha256": _joined(header.prompts_sha256 for header in headers),
        "package": _joined(" ".join(f"{key} {value}" for key, value in header.package.items()) for header in headers),
    }


def _models(header: HarnessRecord) -> str:
    """Each model with the roles that it plays."""
    played: dict[str, list[str]] = {}
    for role, identity in sorted(header.models.items()):
        if isinstance(identity, dict):
            engine = " ".join(str(identity[key]) for key in ("engine", "engine_version") if identity.get(key))
            shown = [f"{identity.get('name', '?')}{f' on {engine}' if engine else ''}"]
            shown += [str(identity["weights_sha256"])[:_SHORT]] if identity.get("weights_sha256") else []
            shown += [f"context {identity['context']}"] if identity.get("context") else []
            shown += [f"{identity['max_num_seqs']} conversations at a time"] if identity.get("max_num_seqs") else []
            played.setdefault(", ".join(shown), []).append(role)
    return "; ".join(f"{' and '.join(roles)}: {model}" for model, roles in played.items())


def _items(items: set[str]) -> str:
    """Tasks or weeks, numbers as seeds are written; nothing where a seed alone tells the conversations apart."""
    if len(items) == 1:
        return next(iter(items)) if next(iter(items)).isdecimal() else ""
    return seeds_text(map(int, items)) if all(map(str.isdecimal, items)) else ", ".join(sorted(items))


def _rows(record: dict[str, object]) -> list[tuple[str, ...]]:
    settings = ", ".join(str(value) for key, value in record.items()
                         if key not in _COLUMNS and value not in ("", record["agent"]))
    which = f"; items {record['items']}" if record["items"] else ""
    return [
        (escape(record["study"]), escape(record["models"] or record["agent"]),
         escape(f"{record['completed']} of {record['all']}")),
        ("", small(escape(f"{settings}{which}; seeds {record['seeds']}")), ""),
        ("", small(escape(record["arms"])), ""),
    ]


def _joined(values: Iterable[object]) -> str:
    """All different values: normally one, and where a cell was measured on several things that must show."""
    return "; ".join(sorted({str(value) for value in values if value}))


_COLUMNS = ("study", "harness", "agent", "models", "arms", "items", "seeds", "completed", "all", "prompts_sha256",
            "package")
