"""Arms on a plan small enough to follow by hand, with a state source that answers from a list; and a model that is
listened to: the arrangement of the arms' tests."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from artifact.arms import ArmOptions, ArmSpec, Opening, Request, load_prompts, make_arm
from artifact.arms.healing import Earlier
from artifact.log import EpisodeLog, iter_logs
from artifact.log.records import CompileRecord, MatchRecord, Message
from artifact.models.base import FinishReason, Reply
from artifact.runner import StudyPlan, run_study_async
from artifact.taskstate import Revision, Step, TaskGraph, validate

GRAPH = TaskGraph((
    Step("s1", "draw the map", "RC-1001"),
    Step("s2", "print the map", "RC-1002", ("s1",)),
    Step("s3", "order the frames", "RC-1003"),
    Step("s4", "hang the map", "RC-1004", ("s2", "s3")),
)).check()
REVISION = Revision("s3", (("s4", ("s2",)),), None)
CODES = {step.id: step.code for step in GRAPH.steps}

Match = str | None | tuple[str, ...]


class FixedSource:
    """A state source that answers from lists: the graphs and revisions of one compile after another, and matches.

    A match is a step, None, or several steps that may be meant; with it goes the redo flag.
    """

    def __init__(self, matches: Mapping[int, tuple[Match, bool]], graphs: Sequence[TaskGraph | None] = (GRAPH,),
                 revisions: Sequence[Revision | None] = (REVISION,)) -> None:
        self.matches, self.graphs, self.revisions = matches, list(graphs), list(revisions)
        self.asked: list[int] = []
        self.earlier: list[Earlier] = []
        self.graph: TaskGraph | None = None

    async def plan(self, earlier: Earlier | None = None) -> CompileRecord:
        if earlier:
            self.earlier.append(earlier)
        graph = self.graphs.pop(0)
        self.graph = graph or self.graph
        return CompileRecord("plan_again" if earlier else "plan", "compiled", graph,
                             error=None if graph else "no JSON", defects=tuple(validate(graph)) if graph else ())

    async def revision(self, message: str, earlier: Earlier | None = None) -> CompileRecord:
        if earlier:
            self.earlier.append(earlier)
        revision = self.revisions.pop(0)
        stage = "revision_again" if earlier else "revision"
        if revision is None or self.graph is None:
            return CompileRecord(stage, "compiled", None, error="no JSON")
        revised = self.graph.revise(revision)
        return CompileRecord(stage, "compiled", revised, revision=revision, defects=tuple(validate(revised)))

    async def match(self, request: Request) -> MatchRecord:
        self.asked.append(request.turn)
        found, redo = self.matches.get(request.turn, (None, False))
        if isinstance(found, tuple):
            return MatchRecord(request.turn, None, False, candidates=found)
        return MatchRecord(request.turn, found, redo)


def open_arm(name: str, matches: Mapping[int, tuple[Match, bool]] | None = None, graph: TaskGraph | None = GRAPH,
             options: ArmOptions | None = None, source: FixedSource | None = None, prompts: str = "paper"):
    spec = ArmSpec(name, options or ArmOptions())
    arm, source = make_arm(spec), source or FixedSource(matches or {}, (graph,))
    asyncio.run(arm.open(Opening(load_prompts(prompts).adding(spec.features), source, seed=7)))
    return arm, source


def ask(arm, turn: int, text: str = "please (#W0001)", order: str | None = "#W0001", is_request: bool = True):
    request = Request(turn, text, order, is_request)
    return request, asyncio.run(arm.compose(request))


def ref(step: str, order: str = "#W0001") -> str:
    """The ref line that books a step."""
    return f"ref {CODES[step]}/{order}"


class Listened:
    """A model whose calls are kept: what it was shown as the agent, and what it was asked beside, call by call.

    Parameters
    ----------
    inner : model
        Who answers; it is also asked whatever has a schema.
    reply : callable or None
        Answers the agent calls instead: given the messages.
    """

    def __init__(self, inner, reply: Callable[[Sequence[Message]], str] | None = None) -> None:
        self.inner, self.answer, self.shown, self.helped = inner, reply, [], []
        self.name = inner.name

    def identity(self):
        return self.inner.identity()

    async def complete(self, messages, **options) -> Reply:
        as_agent = options.get("schema") is None
        (self.shown if as_agent else self.helped).append(list(messages))
        if as_agent and self.answer is not None:
            return Reply(self.answer(messages), "", FinishReason.STOP, 1, 0, 1)
        return await self.inner.complete(messages, **options)

    async def close(self) -> None:
        pass


def run_arm(folder: Path, model, arm: ArmSpec, **changes) -> EpisodeLog:
    """Run one episode at S=5 and read its log."""
    plan = StudyPlan(**({"study": "t", "model": "scripted:reader", "sizes": (5,), "seeds": (100,), "arms": (arm,)}
                        | changes))
    asyncio.run(run_study_async(plan, runs=folder, durable=False, model=model))
    (log,) = (log for log in iter_logs([folder]) if log.header.arm == arm.identity)
    return log
