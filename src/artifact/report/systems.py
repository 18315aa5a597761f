"""Prior systems placed on the ladder (the paper's Table 1): our judgements, from ``data/systems.toml``."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints, TypeAdapter, ValidationError

from artifact import paths
from artifact.errors import RequestError
from artifact.report.ladder import RUNGS
from artifact.report.tables import Table
from artifact.report.tex import Block, booktabs, escape

SYSTEMS = paths.DATA / "systems.toml"
_Line = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]+$")]
_MARKS = {"yes": r"$\bullet$", "dispatch": r"$\circ$", "no": "--"}
NOTES = (
    r"$\bullet$ yes, $\circ$ by dispatch of a program and not by an instruction that a model reads, -- no. Owned: kept "
    "outside the prompt. Verified: done only on evidence. Directs: an instruction a turn. Enforces: a violating action "
    "is refused. From brief: made from the user's conversation. Within a rung in the order of years. The reasons are "
    "in the CSV beside this table.",
)


class Directs(StrEnum):
    """How a system tells what comes next."""

    YES = "yes"
    DISPATCH = "dispatch"
    NO = "no"


@dataclass(frozen=True)
class System:
    """One system and where it stands; the fields are those of the file."""

    name: _Line
    cite: _Line
    owns_state: Literal["yes", "no"]
    verifies_receipts: Literal["yes", "no"]
    directs: Directs
    enforces: Literal["yes", "no"]
    from_brief: Literal["yes", "no"]
    closest_arm: Literal["raw", "checklist", "directive", "enforcement"]
    reason: _Line


@dataclass(frozen=True)
class Systems:
    """All systems, and what the same sections cite besides, with the reason why it is none."""

    system: tuple[System, ...]
    left_out: dict[str, str] = field(default_factory=dict)


def load_systems(path: Path = SYSTEMS) -> Systems:
    """The systems, in the order of the file.

    Raises
    ------
    RequestError
        When the file is missing, or an entry is incomplete or contradicts itself.
    """
    try:
        found = TypeAdapter(Systems).validate_python(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RequestError(f"the systems are not at {path}; restore data/systems.toml from the repository") from None
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{path} is no TOML ({error}); correct that line") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RequestError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; correct that entry") from None
    for system in found.system:
        if (system.enforces == "yes") is not (system.closest_arm == "enforcement"):
            raise RequestError(f"{path}: {system.name} enforces: {system.enforces}, but stands at "
                               f"{system.closest_arm}; a system stands at the strongest rung that it has")
    return found


def systems_table(systems: Sequence[System], name: str = "systems") -> Table:
    """Build the table, weakest rung first.

    Parameters
    ----------
    systems : sequence of System
        The systems.
    name : str
        File name.
    """
    ordered = sorted(systems, key=lambda system: (RUNGS.index(system.closest_arm), _year(system), system.name))
    blocks = []
    for arm in RUNGS:
        rows = [(escape(f"{system.name} ({system.cite})"), *(_MARKS[value] for value in (
            system.owns_state, system.verifies_receipts, system.directs, system.enforces, system.from_brief)))
            for system in ordered if system.closest_arm == arm]
        if rows:
            blocks.append(Block(f"Closest arm: {arm}", tuple(rows)))
    tex = booktabs("@{}lccccc@{}", [("System", "Owned", "Verified", "Directs", "Enforces", "From brief")], blocks,
                   notes=NOTES, source="from data/systems.toml")
    return Table(name, tex, tuple(asdict(system) for system in ordered))


def _year(system: System) -> str:
    return system.cite.rpartition(", ")[2]
