"""What names an episode among all others: its cell and its arm with options (DESIGN §5.3)."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from artifact.log.options import value_text
from artifact.taskstate import CANONICAL, Brief

_LONGEST_SLUG = 180  # a file name has 255 bytes, and arm and suffix come behind


@dataclass(frozen=True)
class Cell:
    """A configuration: what the four rungs of one ladder share.

    Parameters
    ----------
    model : str
        The agent, by its name in the model registry (or as served).
    size, density, domain, brief : int, float, str, Brief
        The generator's S, ρ and domain, and the wording of the brief.
    regime : str
        ``"no_think"`` or ``"think"``.
    prompts : str
        Name of the prompt set.
    state_model : str
        The model that compiles and matches; the agent's own unless another was asked for.
    schedule : str
        The variant of the schedule, as `ScheduleVariant` writes it; not written to a log for the canonical one.
    """

    model: str
    size: int
    density: float
    domain: str
    brief: Brief
    regime: str
    prompts: str
    state_model: str
    schedule: Annotated[str, Field(exclude_if=lambda schedule: schedule == CANONICAL)] = CANONICAL

    @property
    def slug(self) -> str:
        """The cell's folder name."""
        state = "" if self.state_model == self.model else f"+{self.state_model}"
        name = (f"{self.model}{state}.S{self.size:02d}.d{self.density:g}.{self.domain}.{self.brief}"
                f".{self.regime}.{self.prompts}{'' if self.schedule == CANONICAL else f'.{self.schedule}'}")
        # Names may come from a server: data, never a path, nor a hidden one.
        name = re.sub(r"^\.|[^A-Za-z0-9._+-]", "_", name)
        if len(name) <= _LONGEST_SLUG:
            return name
        return f"{name[:_LONGEST_SLUG - 9]}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class ArmIdentity:
    """An arm and its options, as in the cell's identity."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def canonical_options(self) -> str:
        """The options as JSON with sorted keys and no spaces: equal options, equal text."""
        return json.dumps(self.options, sort_keys=True, separators=(",", ":"))

    @property
    def text(self) -> str:
        """The arm as a person names it, e.g. ``enforcement:notice=same_turn``."""
        options = ",".join(f"{name}={value_text(value)}" for name, value in sorted(self.options.items()))
        return f"{self.name}:{options}" if options else self.name

    @property
    def slug(self) -> str:
        """The arm's folder name: its name, and a short hash of its options where it has any."""
        if not self.options:
            return self.name
        return f"{self.name}.{hashlib.sha256(self.canonical_options.encode()).hexdigest()[:8]}"
