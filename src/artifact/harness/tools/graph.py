"""One turn as a LangGraph graph: the agent node, the dispatch node, and the edge that decides between them.

What is alive (model, arm, workspace) is in the runtime context: the state holds texts alone, so that any checkpointer
can keep it.
"""

import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

AGENT, DISPATCH = "agent", "dispatch"
NODES_A_ROUND = 2


class TurnState(TypedDict):
    """The state of a turn.

    Attributes
    ----------
    said : list of (str, str)
        Role and text of what was said in this turn after the request.
    rounds : int
        Rounds of actions dispatched.
    next : str
        The node that comes next.
    """

    said: Annotated[list[tuple[str, str]], operator.add]
    rounds: int
    next: str


@dataclass(frozen=True)
class TurnContext:
    """What the nodes work with.

    Parameters
    ----------
    answer : callable
        Takes what was said in the turn so far; gives the agent's next reply.
    wants_action : callable
        Whether a reply asks for an action.
    dispatch : callable
        Carries out what a reply asks for; gives the text of the results.
    rounds : int
        Rounds of actions that a turn may have.
    """

    answer: Callable[[list[tuple[str, str]]], Awaitable[str]]
    wants_action: Callable[[str], bool]
    dispatch: Callable[[str], str]
    rounds: int


async def _agent(state: TurnState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    reply = await runtime.context.answer(state["said"])
    acts = runtime.context.wants_action(reply) and state["rounds"] < runtime.context.rounds
    return {"said": [("assistant", reply)], "next": DISPATCH if acts else END}


async def _dispatch(state: TurnState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    result = runtime.context.dispatch(state["said"][-1][1])
    return {"said": [("user", result)], "rounds": state["rounds"] + 1}


def _route(state: TurnState) -> str:
    return state["next"]


@cache
def turn_graph() -> "CompiledStateGraph[TurnState, TurnContext, TurnState, TurnState]":
    """The compiled graph; the same one serves every turn."""
    graph = StateGraph(TurnState, context_schema=TurnContext)
    graph.add_node(AGENT, _agent)
    graph.add_node(DISPATCH, _dispatch)
    graph.add_edge(START, AGENT)
    # Without the list of where it may lead, a router that returns an unknown node ends the graph without a word.
    graph.add_conditional_edges(AGENT, _route, [DISPATCH, END])
    graph.add_edge(DISPATCH, AGENT)
    return graph.compile()


async def take_turn(context: TurnContext) -> list[tuple[str, str]]:
    """Run a turn to its end; what was said in it after the request."""
    limit = NODES_A_ROUND * (context.rounds + 1)  # the default lets a loop run on for thousands of steps
    state = await turn_graph().ainvoke({"said": [], "rounds": 0, "next": AGENT}, {"recursion_limit": limit},
                                       context=context)
    return [(role, text) for role, text in state["said"]]
