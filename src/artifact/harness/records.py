"""The first record of a harness log; the last one is the `EndRecord` of every log.

What lies between belongs to each harness. A harness log is named ``ITEM.SEED.harness.jsonl``, so that readers of
episode logs pass it over.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from artifact.log.reader import HARNESS_MARK
from artifact.log.records import ArmIdentity

SCHEMA = 1
MARK = HARNESS_MARK
SUFFIX = f"{MARK}jsonl"
PACKED_SUFFIX = f"{SUFFIX}.zst"


@dataclass(frozen=True)
class HarnessCell:
    """What the arms of one ladder share in a harness.

    Parameters
    ----------
    harness, model : str
        The harness; the agent.
    settings : dict of str to str
        What else a result depends on, by name: who plays the user, whose rules.
    """

    harness: str
    model: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The cell's folder name."""
        name = ".".join((self.harness, self.model, *self.settings.values()))
        return re.sub(r"[^A-Za-z0-9._+-]", "_", name)  # names may come from a server: data, never a path


@dataclass(frozen=True)
class HarnessRecord:
    """First line of a harness log: everything that its result was measured on.

    Parameters
    ----------
    schema : int
        `SCHEMA` of the package that wrote it.
    study : str
        Name of the study.
    cell, arm : HarnessCell, ArmIdentity
        The configuration and the coupling.
    item : str
        Which task, week or episode of the harness.
    seed : int
        Seed of this run of the item.
    subject : dict
        What the scorer must know of the item and of the rules in force.
    prompts_sha256 : str
        Hash of the prompts that the harness adds.
    package : dict
        Version and commit of this package, version of the benchmark.
    models : dict
        By role, what the backends say of themselves.
    sampling : dict
        Temperature and limits.
    started : str
        ISO time, UTC.
    """

    schema: int
    study: str
    cell: HarnessCell
    arm: ArmIdentity
    item: str
    seed: int
    subject: dict[str, Any]
    prompts_sha256: str
    package: dict[str, Any]
    models: dict[str, Any]
    sampling: dict[str, Any]
    started: str
    record: Literal["harness"] = "harness"
