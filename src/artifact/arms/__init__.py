"""How state reaches the agent: one file an arm (§3.3)."""

from collections.abc import Callable

from artifact.arms.base import Arm, ArmOptions, ArmSpec, Opening, Outgoing, Request, StateSource
from artifact.arms.checklist import Checklist
from artifact.arms.directive import Directive
from artifact.arms.enforcement import Enforcement
from artifact.arms.prompts import PromptSet, load_prompts
from artifact.arms.raw import Raw
from artifact.errors import RequestError

ARMS: dict[str, Callable[[ArmOptions], Arm]] = {
    "raw": lambda options: Raw(),
    "checklist": lambda options: Checklist(),
    "directive": Directive,
    "enforcement": Enforcement,
}
RUNGS = tuple(ARMS)


def make_arm(spec: ArmSpec) -> Arm:
    """Build the arm that a specification names.

    Raises
    ------
    RequestError
        When there is no such arm.
    """
    if spec.name not in ARMS:
        raise RequestError(f"there is no arm {spec.name!r}; the arms are {', '.join(ARMS)}")
    return ARMS[spec.name](spec.options)


__all__ = ["ARMS", "RUNGS", "Arm", "ArmOptions", "ArmSpec", "Opening", "Outgoing", "PromptSet", "Request",
           "StateSource", "load_prompts", "make_arm"]
