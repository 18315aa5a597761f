"""What a rung adds to a step and what it refuses: the intention record shown, told, or enforced.

Invariants: only the two enforcement rungs ever refuse a selection; the state-bound one refuses nothing that resolves
to a pending intention, or to none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from artifact.harness.pmbench.environment import CLOCK, Entry, Moment
from artifact.harness.pmbench.matcher import AskAll, Evidence, match
from artifact.harness.pmbench.record import Record, Standing
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.texts import Texts
from artifact.harness.pmbench.week import CueKind


@dataclass(frozen=True)
class Refusal:
    """A selection that a gate refused, and why."""

    entry: Entry
    reason: str


class Coupling:
    """One rung in one run of a week.

    Parameters
    ----------
    rung : Rung
        The coupling.
    texts : Texts
        Its words.
    record : Record
        The record, kept up to date by the run.
    ask_all : callable
        Who matches.
    """

    def __init__(self, rung: Rung, texts: Texts, record: Record, ask_all: AskAll) -> None:
        self._rung, self._texts, self.record, self._ask_all = rung, texts, record, ask_all
        self._executed: list[Entry] = []
        self._refusals: list[Refusal] = []
        self._day = -1
        self.announced: dict[str, Entry] = {}
        self.carried: dict[str, Entry] = {}
        self.matcher_failures = 0
        self._read: set[str] = set()  # the clock and channels read at this step

    async def at_step(self, moment: Moment) -> list[str]:
        """Book the receipts of the step before, and say what the rung says at this one."""
        same_day = moment.day == self._day
        self._day, self.matcher_failures, self._read = moment.day, 0, set()
        lines = [self._texts.render("refused", handle=one.entry.handle, reason=one.reason) for one in self._refusals]
        if self._rung.owns_record and same_day:
            self.record.receipts(self._executed, moment.menu, moment.day)
        executed = {entry.handle for entry in self._executed}
        listed = {entry.handle for entry in moment.menu}
        self.carried = {handle: entry for handle, entry in self.announced.items()
                        if same_day and handle in listed and handle not in executed}
        self.announced, self._refusals = {}, []
        if self._rung is Rung.CHECKLIST:
            lines.append(self._checklist(moment.day))
        if self._rung.directs:
            lines += await self._due(moment, Evidence(moment.step.text, CueKind.EVENT))
            lines += self._lines("still_due", [one for handle, one in self.carried.items()
                                               if handle not in self.announced])
            lines += self._unseen(moment)
        return lines

    async def on_answer(self, moment: Moment, evidence: Evidence) -> list[str]:
        """What the matcher newly finds due in the answer of clock or channel, and what is still pending unseen."""
        if not self._rung.directs:
            return []
        self._read.add(evidence.channel or CLOCK)
        return [*await self._due(moment, evidence), *self._unseen(moment)]

    async def _due(self, moment: Moment, evidence: Evidence) -> list[str]:
        found = await match(self._ask_all, self._texts, self.record, moment, evidence)
        self.matcher_failures += found.failures
        new = [entry for entry in moment.menu if entry.handle in found.handles and entry.handle not in self.announced]
        self.announced |= {entry.handle: entry for entry in new}
        return self._lines("due", new)

    def judge(self, entries: Sequence[Entry]) -> list[Refusal]:
        """Which selections are refused; a record that compiled to nothing leaves no gate."""
        self._refusals = []
        if len(self.record):
            for entry in entries:
                if self._rung is Rung.JUDGEMENT and entry.handle not in self.announced | self.carried:
                    self._refusals.append(Refusal(entry, "its trigger was not seen"))
                elif self._rung is Rung.STATE:
                    meant = {one.standing for one in self.record.resolve(entry, self._day)}
                    if meant and Standing.PENDING not in meant:
                        self._refusals.append(Refusal(entry, f"it is already {', '.join(sorted(meant))}"))
        refused = {one.entry.handle for one in self._refusals}
        self._executed = [entry for entry in entries if entry.handle not in refused]
        return self._refusals

    def _checklist(self, day: int) -> str:
        lines = [f"- {one.action}: {one.standing.upper()} ({one.condition})" for one in self.record.of_day(day)
                 if one.standing is not Standing.DONE]
        lines += [f"- on {self.record.day_name(one.day)}, {one.action}: {one.condition}"
                  for one in self.record.open_from(day + 1)]
        return self._texts.render("checklist", lines="\n".join(lines) or "- none")

    def _lines(self, name: str, entries: Sequence[Entry]) -> list[str]:
        return [self._texts.render(name, handle=entry.handle, words=entry.words) for entry in entries]

    def _unseen(self, moment: Moment) -> list[str]:
        pending = self.record.pending(moment.day)
        timed = sum(one.kind is CueKind.TIME for one in pending if CLOCK not in self._read)
        channels = sorted({one.channel for one in pending if one.kind is CueKind.CHANNEL} - self._read)
        waits = [f"{timed} by the clock"] * (timed > 0) + [f"in the channels {', '.join(channels)}"] * bool(channels)
        return [self._texts.render("unseen", waits=" and ".join(waits))] if waits else []
