"""Disturbing a module's state on purpose: done bits flip, prerequisites drop (§5.3, Appendix D.4).

The paper gives a rate ε per step and turn and expected events: 0.8, 1.9 and 6.5 an episode of 15 steps. Two independent
draws, one a kind, give nearly twice that at the same ε; a single draw gives about that. Both are there.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal

from artifact.taskstate.receipts import Receipt
from artifact.taskstate.state import TaskState

_SPURIOUS = ""  # the work order of a done bit that no receipt stands behind


@dataclass(frozen=True)
class Corruption:
    """A disturbance of the module's state, drawn anew each turn from the seed alone.

    Parameters
    ----------
    rate : float
        Probability ε, per step and turn, that the step's done bit flips, and with two draws likewise that it loses
        one prerequisite.
    seed : int
        The episode's seed.
    draws : str
        ``"two"``, one for each kind; or ``"one"``: with probability ε one of the two happens, each as likely where the
        step has a prerequisite to lose.
    """

    rate: float
    seed: int
    draws: Literal["two", "one"] = "two"

    def apply(self, state: TaskState, turn: int) -> TaskState:
        """The state after the corruptions of one turn; at rate 0 the state itself.

        Parameters
        ----------
        state : TaskState
            The module's state at the start of the turn.
        turn : int
            Index of the turn.
        """
        if self.rate <= 0:
            return state
        draw = random.Random(f"corruption:{self.seed}:{turn}")
        for step in state.graph.steps:
            # Three draws a step whatever happens, so that one corruption doesn't shift the next.
            flip, drop, which = draw.random(), draw.random(), draw.random()
            prerequisites = state.graph[step.id].prerequisites
            flips, drops = flip < self.rate, drop < self.rate
            if self.draws == "one":
                is_drop = bool(prerequisites) and drop < 0.5
                flips, drops = flips and not is_drop, flips and is_drop
            if flips:
                if step.id in state.done:
                    state = replace(state, receipts=tuple(r for r in state.receipts if r.step != step.id))
                else:
                    state = replace(state, receipts=(*state.receipts, Receipt(step.id, _SPURIOUS, turn)))
            if drops and prerequisites:
                lost = prerequisites[int(which * len(prerequisites))]
                state = replace(state, graph=state.graph.relax(step.id, lost))
        return state
