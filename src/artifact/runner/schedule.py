"""Which turn comes next: the script, and the re-ask of what was correctly deferred (§4.1)."""

from collections.abc import Collection

from artifact.taskstate import Episode, RequestKind, ScriptedTurn, Status, TaskState


class Schedule:
    """The turns of one conversation, in the order in which they are due.

    A request that was blocked and correctly deferred is asked again as soon as its prerequisites are met,
    unless the script asks for that step later anyway. Re-asks come on top of the scripted turns, at most one
    a step.

    Parameters
    ----------
    episode : Episode
        The script.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._position = 0
        self._deferred: list[str] = []
        self._reasks = {turn.step: turn for turn in episode.reasks}

    def next(self, realized: TaskState) -> tuple[int | None, ScriptedTurn] | None:
        """The turn that is due, with its index in the script (None for a re-ask); None at the end."""
        for step in self._deferred:
            if realized.status(step) is Status.TODO:
                self._deferred.remove(step)
                return None, self._reasks.pop(step)
        if self._position == len(self._episode.turns):
            return None
        self._position += 1
        return self._position - 1, self._episode.turns[self._position - 1]

    def note(self, turn: ScriptedTurn, before: TaskState, executed: Collection[str]) -> None:
        """Take note of how a turn went; `before` is the realized state at its start."""
        step = turn.step
        if step is None or step in executed or before.status(step) is not Status.BLOCKED:
            return
        asked_later = any(later.step == step and later.kind is RequestKind.ASK
                          for later in self._episode.turns[self._position:])
        if not asked_later and step in self._reasks and step not in self._deferred:
            self._deferred.append(step)
