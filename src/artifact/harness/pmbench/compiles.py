"""The compile of one week, shared by the runs of a cell: made text by text, kept in the study's folder.

What the texts say doesn't depend on what the agent does, so neither does their compile. Invariant: a kept compile is
used only for the week, the words and the model that it was made with.
"""

import asyncio
import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from artifact.arms.structured import Ask, Unusable
from artifact.errors import RequestError
from artifact.harness.pmbench.compile import can_change_the_record, compile_text
from artifact.harness.pmbench.environment import Moment
from artifact.harness.pmbench.record import Record
from artifact.harness.pmbench.records import CompileRecord
from artifact.harness.pmbench.texts import Texts
from artifact.harness.pmbench.week import Week
from artifact.log.records import Call


@dataclass
class Kept:
    """What a compile file holds."""

    model: str
    weights_sha256: str
    week_sha256: str
    prompts_sha256: str
    stages: list[CompileRecord] = field(default_factory=list)
    calls: list[tuple[Call, ...]] = field(default_factory=list)


_KEPT = TypeAdapter(Kept)


def _identity(kept: Kept) -> tuple[str, str, str, str]:
    return kept.model, kept.weights_sha256, kept.week_sha256, kept.prompts_sha256


class CompiledWeek:
    """A week's compile, as far as it has been asked for.

    Parameters
    ----------
    week : Week
        The week.
    texts : Texts
        How it is asked.
    model : str
        Who compiles.
    path : Path
        Where it is kept.
    weights_sha256 : str
        Its weights, where they are known.

    Raises
    ------
    RequestError
        When what is kept there can't be used.
    """

    def __init__(self, week: Week, texts: Texts, model: str, path: Path, weights_sha256: str = "") -> None:
        self._week, self._texts, self._path = week, texts, path
        self._kept = Kept(model, weights_sha256, week.sha256, texts.sha256)
        self._days = [week.day_name(number) for number in range(len(week.days))]
        self._channels = [channel.id for channel in week.all_channels()]
        self._record = Record(self._days, self._channels)
        self._lock = asyncio.Lock()
        self._take_up()

    def _take_up(self) -> None:
        if not self._path.is_file():
            return
        days = {step.id: day for day, step in self._week.steps()}
        try:
            kept = _KEPT.validate_json(self._path.read_bytes())
            if _identity(kept) == _identity(self._kept):
                for stage in kept.stages:
                    for operation in stage.operations:
                        self._record.apply(operation, days[stage.step])
                self._kept = kept
        except (ValidationError, Unusable, KeyError):
            raise RequestError(f"{self._path} is damaged; delete it to compile anew") from None

    async def of(self, moment: Moment, ask: Ask) -> tuple[CompileRecord, ...]:
        """The compiles of a step's texts: of the plan in the morning, and of a scene that can change the record."""
        wanted = [("plan", self._week.days[moment.day].start_instructions)] if moment.is_morning else []
        wanted += [("note", moment.step.text)] if can_change_the_record(moment.step.text) else []
        missing = [part for part in wanted if not self._find(moment.step.id, part[0])]
        if missing:  # who finds all of it doesn't wait for a run that is ahead and compiles
            await self._compile(moment, missing, ask)
        return tuple(stage for source, _ in wanted for stage in self._find(moment.step.id, source))

    async def _compile(self, moment: Moment, missing: Sequence[tuple[str, str]], ask: Ask) -> None:
        async with self._lock:
            for source, text in missing:
                if not self._find(moment.step.id, source):  # another run may have made it meanwhile
                    # On a copy: a text whose compile broke off has changed nothing, and is compiled anew.
                    record = copy.deepcopy(self._record)
                    stage, calls = await compile_text(
                        ask, self._texts, record, step=moment.step.id, text=text, day=moment.day,
                        source="plan" if source == "plan" else "note", days=self._days, channels=self._channels)
                    self._record = record
                    self._kept.stages.append(stage)
                    self._kept.calls.append(calls)
                    self._keep()

    def _find(self, step: str, source: str) -> list[CompileRecord]:
        return [stage for stage in self._kept.stages if (stage.step, stage.source) == (step, source)]

    def _keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".part")
        partial.write_bytes(_KEPT.dump_json(self._kept))
        os.replace(partial, self._path)
