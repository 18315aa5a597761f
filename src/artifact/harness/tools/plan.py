"""What is to be run of the tool study, checked before anything starts."""

from dataclasses import dataclass

from artifact.arms import ArmOptions, ArmSpec
from artifact.errors import RequestError
from artifact.harness.tools.failures import Failing
from artifact.log.records import Cell
from artifact.runner import StudyPlan

PAPER_SEEDS = range(300, 350)  # Appendix B.4: the tool harness's 50 episodes
ARMS = ("raw", "checklist", "directive", "enforcement")
# Table 19: the four rungs, and enforcement bound to the request.
LADDER = (*(ArmSpec(name) for name in ARMS), ArmSpec("enforcement", ArmOptions(policy="request")))
LADDER_TEXT = ",".join(map(str, LADDER))
ROUNDS = 5


@dataclass(frozen=True)
class ToolsPlan:
    """A study of the tool harness.

    Parameters
    ----------
    study : StudyPlan
        Models, cells, arms and seeds, as in the lifecycle testbed.
    rounds : int
        Rounds of actions that a turn may have.
    failure_rate : float
        Probability that a call of a tool fails.
    failing : tuple of Failing
        How tools fail.
    idempotent : bool
        Whether a tool that did its work for a work order leaves it at that when it is called for it again.
    """

    study: StudyPlan
    rounds: int = ROUNDS
    failure_rate: float = 0.0
    failing: tuple[Failing, ...] = tuple(Failing)
    idempotent: bool = True

    def __post_init__(self) -> None:
        for arm in self.study.arms:
            if arm.name not in ARMS:
                raise RequestError(f"the harness tools has no arm {arm.name!r}; its arms are {', '.join(ARMS)}")
            if arm.options.notice != "next_turn":
                raise RequestError("the harness tools tells of every refusal at once; leave out the arm option notice")
        if self.rounds < 1:
            raise RequestError(f"--rounds {self.rounds} lets no tool run; use 1 or more")
        if not 0 <= self.failure_rate <= 1:
            raise RequestError(f"--failure-rate {self.failure_rate:g} is no rate; use a number from 0 to 1")
        if not self.failing:
            raise RequestError("tools must fail in some way; name before, after or both")

    @property
    def policy(self) -> str | None:
        """The scripted agent's policy, None for a model."""
        return scripted_policy(self.study.model)

    def settings(self, cell: Cell) -> dict[str, str]:
        """What a result depends on beside the model, by name, as it stands in the cell of a log."""
        settings = {"cell": cell.slug.removeprefix(f"{cell.model}."), "rounds": f"r{self.rounds}"}
        if self.failure_rate:
            settings["failures"] = f"f{self.failure_rate:g}-{'-'.join(self.failing)}"
        if not self.idempotent:
            settings["repeats"] = "not_idempotent"
        return settings


def scripted_policy(model: str) -> str | None:
    """The policy that a model's name asks for, None for a model that isn't scripted."""
    scheme, colon, rest = model.partition(":")
    return rest if colon and scheme == "scripted" else None
