"""What is to be run of the airline study, checked before anything starts."""

from dataclasses import dataclass

from artifact.errors import RequestError
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.scripted import POLICIES
from artifact.harness.tau2.simulate import MAX_STEPS

REFERENCE, COMPILED = "reference", "compiled"
CALLER = "scripted:caller"
"""The scripted user of a live agent."""


@dataclass(frozen=True)
class AirlinePlan:
    """A study: every rung on every task.

    Parameters
    ----------
    study : str
        Name of the study, and of its folder.
    model : str
        The agent: a model by name or URL, ``scripted:gold`` or ``scripted:nothing``.
    user_model : str or None
        Who plays the user: a model by name or URL, ``scripted:caller``, or None for the agent's own model.
    rungs : tuple of Rung
        The couplings.
    tasks : tuple of str
        Ids of the benchmark's tasks; empty for all.
    seeds : tuple of int
        Runs of each task.
    rules : str
        ``reference``, ``compiled``, or the path of a rules file.
    optional : tuple of str
        Optional rules of the reference or the rules file to switch on.
    compiles : int
        How often the policy is compiled: the first compile is in force, the others measure the variance.
    max_steps : int
        Messages after which the benchmark ends an episode.
    """

    study: str
    model: str
    user_model: str | None = None
    rungs: tuple[Rung, ...] = tuple(Rung)
    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    rules: str = REFERENCE
    optional: tuple[str, ...] = ()
    compiles: int = 1
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        if not self.study or not all(c.isalnum() or c in "-_" for c in self.study):
            raise RequestError(f"the study name {self.study!r} can't be a folder name; use letters, digits, - and _")
        if self.policy is not None and self.policy not in POLICIES:
            raise RequestError(f"the harness tau2 has no scripted agent {self.policy!r}; it has "
                               f"{', '.join(f'scripted:{name}' for name in POLICIES)}")
        if self.policy is not None and self.rules == COMPILED:
            raise RequestError("a scripted agent can't compile the policy; use --rules reference or a rules file")
        if self.rules == COMPILED and self.optional:
            raise RequestError("optional rules belong to the reference or a rules file, and compiled rules have none; "
                               "leave out --optional-rules")
        if self.policy is not None and self.user_model is not None:
            raise RequestError("a scripted agent brings its own user; leave out --user-model")
        if self.user_model is not None and self.user_model.startswith("scripted:") and not self.caller:
            raise RequestError(f"the harness tau2 has no scripted user {self.user_model!r}; it has {CALLER}")
        if self.compiles < 1 or self.max_steps < 1:
            raise RequestError("--compiles and --max-steps must be at least 1")
        for what, values in (("arms", self.rungs), ("seeds", self.seeds), ("tasks", self.tasks)):
            if len(set(values)) != len(values):
                raise RequestError(f"the {what} of a study must differ from each other; one is named twice")

    @property
    def policy(self) -> str | None:
        """The scripted agent's policy, None for a model."""
        scheme, colon, rest = self.model.partition(":")
        return rest if colon and scheme == "scripted" else None

    @property
    def caller(self) -> bool:
        """Whether the scripted caller plays the user."""
        return self.user_model == CALLER
