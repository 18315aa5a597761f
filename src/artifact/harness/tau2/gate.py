"""How strongly the rules act on the agent's writes: the four rungs at tool dispatch.

Invariants: under enforcement no write that the rules refuse is ever executed; under notice it is executed only when
the same call was held back in an earlier message, for every rule that is against it now.
"""

from dataclasses import dataclass
from enum import StrEnum

from artifact.harness.tau2.question import Question
from artifact.harness.tau2.rules import RuleSet


class Rung(StrEnum):
    """The couplings, the weaker ones first."""

    RAW = "raw"
    SHOWN = "shown"
    NOTICE = "notice"
    ENFORCEMENT = "enforcement"


@dataclass(frozen=True)
class Ruling:
    """What the gate does with a write.

    Parameters
    ----------
    admitted : bool
        Whether it runs.
    rules : tuple of str
        Ids of the rules against it, whether or not the rung acts on them.
    reason : str
        What the agent is told; empty when admitted.
    repeated : bool
        Whether it runs although rules are against it, having been bounced before (notice).
    """

    admitted: bool
    rules: tuple[str, ...] = ()
    reason: str = ""
    repeated: bool = False


class PolicyGate:
    """A rule set on one rung, for one episode.

    A notice can be overridden once it was read: by the same call in a later message than the one that was held back,
    not by its twin beside it. It is overridden for the rules that it named; when another rule has come to be against
    the call, it is held back once more. What was overridden once stays so.

    Parameters
    ----------
    rules : RuleSet
        The policy.
    rung : Rung
        How strongly it acts.
    """

    def __init__(self, rules: RuleSet, rung: Rung) -> None:
        self._rules, self._rung = rules, rung
        self._named: dict[tuple[str, str], int] = {}  # call and rule -> the message in which the rule was named

    def judge(self, question: Question, message: int) -> Ruling:
        """Rule on a write before it is dispatched.

        Parameters
        ----------
        question : Question
            The write.
        message : int
            Number of the agent's message that makes it.
        """
        against = self._rules.refusals(question)
        names = tuple(rule.id for rule in against)
        if not against or self._rung in (Rung.RAW, Rung.SHOWN):
            return Ruling(True, names)
        call = question.call.canonical
        if self._rung is Rung.NOTICE and all(self._named.get((call, name), message) < message for name in names):
            return Ruling(True, names, repeated=True)
        for name in names:
            self._named.setdefault((call, name), message)
        return Ruling(False, names, " ".join(rule.reason for rule in against))
