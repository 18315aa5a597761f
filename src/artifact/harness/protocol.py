"""What a harness is to the runner: it gets ready, lists its items, heads a log, and runs one item into it.

The way is the same for every harness: plan -> items -> run one -> log -> score. The runner owns folders, lock,
resume, concurrency and progress; a harness owns its world. Scoring reads logs alone, see `artifact.harness.reader`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter

from artifact.harness.records import HarnessCell, HarnessRecord
from artifact.log.records import ArmIdentity, EndRecord


@dataclass(frozen=True)
class Item:
    """One conversation of a harness: which cell and arm, which of its items, which seed."""

    cell: HarnessCell
    arm: ArmIdentity
    name: str
    seed: int

    @property
    def label(self) -> str:
        """How progress calls it."""
        return f"{self.cell.slug} {self.arm.text} {self.name} seed {self.seed}"


@dataclass(frozen=True)
class Journal:
    """The log of one item, as the harness sees it.

    Parameters
    ----------
    recorded : tuple
        What an earlier run of this item wrote after the header. A harness that is given the same answers does the
        same again, so it takes recorded answers from here instead of asking a model, and writes every record anew:
        the writer compares what is there and appends what isn't.
    write : callable
        Takes the next record.
    """

    recorded: tuple[Any, ...]
    write: Callable[[Any], None]


class Harness(Protocol):
    """A world in which the couplings run.

    Attributes
    ----------
    name : str
        What ``--harness`` calls it.
    record_types : mapping of str to TypeAdapter
        Its own records, by the value of their field ``record``.
    """

    name: str
    record_types: Mapping[str, TypeAdapter[Any]]

    async def open(self, folder: Path) -> None:
        """Get ready: open models, make in the study's folder what all items share. The study is locked by then."""
        ...

    def items(self) -> Sequence[Item]:
        """What there is to run, the arms of an item side by side."""
        ...

    def header(self, item: Item) -> HarnessRecord:
        """The first record of an item's log."""
        ...

    async def run_one(self, item: Item, journal: Journal) -> EndRecord:
        """Run one item and return its last record; infrastructure that failed is a reason there, not an exception.

        Its `seconds` hold what answers taken from an earlier run had cost; the runner adds the time of this one.
        """
        ...

    async def close(self) -> None:
        """Release models and servers."""
        ...
