"""Typed rules: when a write is refused, and why. Loading, checking, hashing.

A rule refuses when every condition in it holds; a rule set refuses when any rule does. An unknown condition never
holds. Text from outside, a person's file or a model's answer, passes the same checks.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from artifact.errors import RequestError
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.vocabulary import Answer, Arguments, words

REFERENCE = Path(__file__).with_name("rules") / "reference.json"


class _ConditionText(BaseModel):
    model_config = ConfigDict(extra="forbid")
    predicate: str
    args: dict[str, Any] = {}
    holds: Annotated[StrictBool, Field(alias="is")] = True


class _RuleText(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, Field(min_length=1, max_length=64)]
    tool: Annotated[list[WriteTool], Field(min_length=1)]
    refuse_when: Annotated[list[_ConditionText], Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1, max_length=400)]
    source: str = ""
    inferred: StrictBool = False
    optional: StrictBool = False


class InvalidRule(ValueError):
    """A rule that can't be used; the message says why in one sentence."""


@dataclass(frozen=True)
class Condition:
    """A predicate with its arguments and the answer at which the condition holds."""

    predicate: str
    arguments: Arguments
    expected: bool

    def answer(self, question: Question) -> Answer:
        """What the predicate says, whatever is expected."""
        return _WORDS[self.predicate].answer(question, self.arguments)

    def holds(self, question: Question) -> bool:
        """Whether it holds; never when the answer is unknown."""
        return self.answer(question) is self.expected


@dataclass(frozen=True)
class Rule:
    """One rule.

    Parameters
    ----------
    id : str
        Its name in refusals and logs.
    tools : tuple of WriteTool
        The tools that it is about.
    conditions : tuple of Condition
        It refuses when all of them hold.
    reason : str
        What the agent is told.
    source : str
        Where the policy says so.
    inferred : bool
        Whether the policy implies it rather than states it.
    optional : bool
        Whether it is off unless asked for.
    """

    id: str
    tools: tuple[WriteTool, ...]
    conditions: tuple[Condition, ...]
    reason: str
    source: str = ""
    inferred: bool = False
    optional: bool = False

    def refuses(self, question: Question) -> bool:
        """Whether the call must not run."""
        return question.call.tool in self.tools and all(one.holds(question) for one in self.conditions)

    def as_data(self) -> dict[str, Any]:
        """The rule as it stands in a rules file."""
        conditions = [{"predicate": one.predicate, "args": one.arguments.model_dump(mode="json"), "is": one.expected}
                      for one in self.conditions]
        return {"id": self.id, "tool": [str(tool) for tool in self.tools], "refuse_when": conditions,
                "reason": self.reason, "source": self.source, "inferred": self.inferred, "optional": self.optional}


@dataclass(frozen=True)
class RuleSet:
    """A policy as rules.

    Parameters
    ----------
    name : str
        Whose rules: ``reference``, or the model that compiled them.
    rules : tuple of Rule
        In the order in which they are tried.
    """

    name: str
    rules: tuple[Rule, ...]

    def refusals(self, question: Question) -> tuple[Rule, ...]:
        """Every rule that refuses, in order; none for a call that may run."""
        return tuple(rule for rule in self.rules if rule.refuses(question))

    @cached_property
    def sha256(self) -> str:
        """Hash over the rules: their identity in a log."""
        text = json.dumps([rule.as_data() for rule in self.rules], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def read_rule(data: object) -> Rule:
    """One rule from parsed JSON.

    Raises
    ------
    InvalidRule
        When it isn't one; the sentence names rule and field.
    """
    name = data.get("id", "without id") if isinstance(data, Mapping) else "without id"
    try:
        parsed = _RuleText.model_validate(data)
        conditions = tuple(_condition(one) for one in parsed.refuse_when)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the rule"
        raise InvalidRule(f"rule {str(name)[:64]!r} can't be used: {place}: {first['msg']}") from None
    except InvalidRule as error:
        raise InvalidRule(f"rule {str(name)[:64]!r} can't be used: {error}") from None
    return Rule(parsed.id, tuple(parsed.tool), conditions, parsed.reason, parsed.source, parsed.inferred,
                parsed.optional)


def _condition(parsed: _ConditionText) -> Condition:
    known = _WORDS.get(parsed.predicate)
    if known is None:
        raise InvalidRule(f"it names the unknown fact {parsed.predicate[:64]!r}; the known ones are "
                          f"{', '.join(sorted(_WORDS))}")
    try:
        return Condition(parsed.predicate, known.arguments.model_validate(parsed.args), parsed.holds)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidRule(f"{parsed.predicate} is given {place or 'arguments'} wrongly: {first['msg']}") from None


def load_rules(path: Path, *, optional: Sequence[str] = ()) -> RuleSet:
    """The rules of a file.

    Parameters
    ----------
    path : Path
        A JSON file with ``name`` and ``rules``.
    optional : sequence of str
        Ids of optional rules to switch on.

    Raises
    ------
    RequestError
        When the file is missing or no such file, a rule can't be used, nothing is left, or an optional id is unknown.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
        listed = data["rules"]
        rules = [read_rule(one) for one in listed]
    except FileNotFoundError:
        raise RequestError(f"there are no rules at {path}; name a file of rules, or reference or compiled") from None
    except InvalidRule as error:
        raise RequestError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise RequestError(f"{path} is no file of rules; it must be a JSON object with a list \"rules\"") from None
    return RuleSet(str(data.get("name", path.stem)), select(rules, optional, str(path)))


def select(rules: Iterable[Rule], optional: Sequence[str], where: str) -> tuple[Rule, ...]:
    """The rules that are on.

    Raises
    ------
    RequestError
        When nothing is on, an id is there twice, or an optional rule that was asked for isn't there.
    """
    listed = list(rules)
    names = [rule.id for rule in listed]
    if len(set(names)) != len(names):
        raise RequestError(f"{where} has two rules of the same id; give each its own")
    unknown = set(optional) - {rule.id for rule in listed if rule.optional}
    if unknown:
        known = ", ".join(rule.id for rule in listed if rule.optional) or "none"
        raise RequestError(f"{where} has no optional rule {', '.join(sorted(unknown))}; its optional rules are {known}")
    chosen = tuple(rule for rule in listed if not rule.optional or rule.id in optional)
    if not chosen:
        raise RequestError(f"{where} holds no rule, so there is nothing to enforce; write at least one")
    return chosen


def reference_rules(optional: Sequence[str] = ()) -> RuleSet:
    """The rules that people wrote from the airline policy."""
    return load_rules(REFERENCE, optional=optional)


_WORDS = words()
