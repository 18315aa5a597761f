"""Token budgets and fall-backs of every call (Appendix B.4), in one place."""

from dataclasses import dataclass
from typing import Literal

Regime = Literal["no_think", "think"]


@dataclass(frozen=True)
class Budgets:
    """Tokens a call may produce.

    Parameters
    ----------
    reply, match, compile : int
        Budget of an agent reply, a matcher call and a compiler call.
    reply_ceiling : int
        A reply that comes back empty from a thinking model is asked again with twice the budget, up to this.
    overflow_floor : int
        A budget that overflows the context is halved, down to this.
    """

    reply: int
    match: int
    compile: int
    reply_ceiling: int = 12_000
    overflow_floor: int = 512


BUDGETS: dict[Regime, Budgets] = {
    "no_think": Budgets(reply=400, match=200, compile=3_000),
    "think": Budgets(reply=2_500, match=2_500, compile=6_000),
}
