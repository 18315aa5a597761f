"""Counting the faults that records tell of, each once."""

from collections import Counter

from artifact.log.faults import Fault
from artifact.log.records import CompileRecord, EndRecord, EpisodeRecord, MatchRecord, MemoryRecord, Record, TurnRecord


class Tally:
    """Faults by kind over the records of any number of episodes.

    A compiled state stands in the logs of all the arms that share it; its calls were made once and are counted once.
    """

    def __init__(self) -> None:
        self._counts: Counter[Fault] = Counter()
        self._shared: set[CompileRecord] = set()

    def take(self, record: Record) -> None:
        """Count what a record tells of."""
        if isinstance(record, CompileRecord):
            if not faults_of(record) or record in self._shared:
                return
            self._shared.add(record)
        self._counts.update(faults_of(record))

    @property
    def counts(self) -> dict[Fault, int]:
        """How often each fault was met, sorted by name; without those that never were."""
        return dict(sorted(self._counts.items()))


def faults_of(record: Record) -> tuple[Fault, ...]:
    """The faults that a record tells of, in order."""
    match record:
        case TurnRecord():
            usages = [*(call.usage for call in record.superseded_replies), record.usage]
        case CompileRecord() | MatchRecord() | MemoryRecord():
            usages = [call.usage for call in record.calls]
        case EndRecord():
            return record.faults
        case EpisodeRecord():
            return ()
    return tuple(fault for usage in usages for fault in usage.faults)
