"""A logged episode of real tools lived again from its recorded replies, up to each trap turn (Appendix A.4).

Invariant: a replay does what its log says, call by call and answer by answer, and leaves the same artifacts behind;
where it parts from the log, there is an error and nothing is branched.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from artifact.arms import ArmOptions, PromptSet, Request
from artifact.arms.raw import Raw
from artifact.errors import RequestError
from artifact.harness.reader import HarnessLog
from artifact.harness.tools.actions import parse_actions
from artifact.harness.tools.dispatch import Dispatch
from artifact.harness.tools.failures import Failures
from artifact.harness.tools.graph import TurnContext, take_turn
from artifact.harness.tools.records import REPLY, ToolCall, ToolTurnRecord, WorkspaceRecord
from artifact.harness.tools.trap_records import ToolTrapRecord, as_one
from artifact.harness.tools.workspace import Workspace
from artifact.log.calls import Message
from artifact.log.probes import TrapRecord
from artifact.log.records import EPISODE
from artifact.runner.trap_turns import Trap
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, Status, TaskState

_ALWAYS_WORK = Failures(0.0, (), 0)


@dataclass(frozen=True)
class LiveTrap:
    """A trap turn that a replay stands before.

    Parameters
    ----------
    trap : Trap
        The turn and the realized state at its start.
    record : ToolTrapRecord
        What the probe's log says of it.
    notices : tuple of str
        What the system said before the request in the same message.
    calls : mapping of int to tuple of ToolCall
        What came of each reply that asked for tools, by the reply's index in the conversation; the message after it
        tells the results.
    """

    trap: Trap
    record: ToolTrapRecord
    notices: tuple[str, ...]
    calls: Mapping[int, tuple[ToolCall, ...]]


@dataclass(frozen=True)
class Played:
    """One turn as it went.

    Parameters
    ----------
    said : tuple of Message
        Replies and results in order.
    dispatched : tuple of tuple of ToolCall
        What came of each reply that was followed by results.
    put_off : tuple of ToolCall
        What the last reply asked for beyond the turn's share.
    """

    said: tuple[Message, ...]
    dispatched: tuple[tuple[ToolCall, ...], ...]
    put_off: tuple[ToolCall, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every ACTION line in order."""
        return (*(call for calls in self.dispatched for call in calls), *self.put_off)


class ReplayedEpisode:
    """A logged raw-arm episode, to be lived again.

    Parameters
    ----------
    log : HarnessLog
        Of the harness tools.
    prompts : PromptSet
        The texts of results, and of what a variant shows.
    """

    def __init__(self, log: HarnessLog, prompts: PromptSet) -> None:
        self.episode: Episode = EPISODE.validate_python(log.header.subject["episode"])
        self._log, self.prompts = log, prompts
        self._rounds = int(log.header.subject["rounds"])
        self._idempotent = bool(log.header.subject["idempotent"])

    def workspace(self) -> Workspace:
        """An empty workspace for the episode's tools."""
        return Workspace([step.code for step in self.episode.graph.steps])

    def dispatch(self, workspace: Workspace) -> Dispatch:
        """The raw arm's execution channel on a workspace."""
        return Dispatch(workspace, _ALWAYS_WORK, Raw(ArmOptions()), self.prompts, idempotent=self._idempotent)

    async def play(self, workspace: Workspace, request: Request,
                   answer: Callable[[list[tuple[str, str]]], Awaitable[str]]) -> Played:
        """Take one turn in a workspace."""
        dispatch, dispatched = self.dispatch(workspace), list[tuple[ToolCall, ...]]()

        def carry_out(reply: str) -> str:
            dispatched.append(dispatch.run(request, reply))
            return dispatch.result(dispatched[-1])

        said = await take_turn(TurnContext(answer, lambda reply: bool(parse_actions(reply)), carry_out, self._rounds))
        return Played(tuple(Message(*one) for one in said), tuple(dispatched), dispatch.put_off(said[-1][1]))

    async def traps(self, workspace: Workspace) -> AsyncGenerator[LiveTrap, None]:
        """Live the episode in an empty workspace, and stop before each of its trap turns.

        Raises
        ------
        RequestError
            When the replay parts from the log.
        """
        state, conversation = TaskState(self.episode.graph), list[Message]()
        calls: dict[int, tuple[ToolCall, ...]] = {}
        for turn in self._log.records:
            if not isinstance(turn, ToolTurnRecord):
                continue
            asked = 2 if turn.turn == 0 else 1  # the system prompt, and the request
            conversation += turn.sent[:asked]
            if turn.kind is RequestKind.REDO_PROBE and turn.step and state.status(turn.step) is Status.DONE:
                yield _live_trap(turn, state, conversation, calls, workspace)
            played = await self._again(turn, turn.sent[asked:], workspace)
            dispatched = iter(played.dispatched)
            for message in played.said:
                if message.role == "user":  # results: they belong to the reply before them
                    calls[len(conversation) - 1] = next(dispatched)
                conversation.append(message)
            for step in self.episode.graph.steps:
                if turn.work_order and turn.work_order in workspace.stamps(step.code):
                    state = state.execute(step.id, turn.work_order, turn.turn)
            if turn.kind is RequestKind.REVISION:
                state = state.revise(self.episode.revision)
        left = [record.artifacts for record in self._log.records if isinstance(record, WorkspaceRecord)]
        if left != [workspace.artifacts()]:
            raise self._parted("in what its tools left behind")

    async def _again(self, turn: ToolTurnRecord, results: Sequence[Message], workspace: Workspace) -> Played:
        """Take a turn with its recorded replies."""
        replies = [call.reply for call in turn.replies if call.purpose == REPLY]
        waiting = iter(replies)

        async def answer(_: list[tuple[str, str]]) -> str:
            reply = next(waiting, None)
            if reply is None:
                raise self._parted(f"at turn {turn.turn}")
            return reply

        request = Request(turn.turn, turn.text, turn.work_order, turn.kind not in NOT_A_REQUEST)
        played = await self.play(workspace, request, answer)
        said = {role: [one.content for one in played.said if one.role == role] for role in ("assistant", "user")}
        if (said["assistant"], said["user"], played.calls) != (replies, [one.content for one in results], turn.calls):
            raise self._parted(f"at turn {turn.turn}")
        return played

    def _parted(self, where: str) -> RequestError:
        header = self._log.header
        return RequestError(f"a replay of {header.study}, {header.cell.slug}, raw arm, seed {header.seed} parts from "
                            f"its log {where}; the log was edited, or made under other prompts: run that arm again "
                            "and probe its new log")


def _live_trap(turn: ToolTurnRecord, state: TaskState, conversation: Sequence[Message],
               calls: Mapping[int, tuple[ToolCall, ...]], workspace: Workspace) -> LiveTrap:
    assert turn.step is not None and turn.work_order is not None
    step = state.graph[turn.step]
    reply = as_one(call.reply for call in turn.replies if call.purpose == REPLY)
    trap = TrapRecord(turn.turn, step.id, step.text, step.code, turn.work_order, tuple(conversation), reply)
    return LiveTrap(Trap(trap, state), ToolTrapRecord(trap, turn.calls, workspace.stamps(step.code)), turn.notices,
                    dict(calls))
