"""The airline policy, compiled into typed rules by a model: one call for each write tool (§5.4).

The answer passes the same checks as a person's rules. An answer that can't be used, or a rule that can't, is named to
the model once; what is then still unusable is left out and counted.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from artifact.arms import load_prompts
from artifact.arms.structured import Answer, Ask, Unusable, ask_json
from artifact.errors import RequestError
from artifact.harness.tau2.agreement import Agreement
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.rules import InvalidRule, RuleSet, read_rule
from artifact.harness.tau2.texts import prompts_sha256, render
from artifact.harness.tau2.vocabulary import words
from artifact.log.records import Call
from artifact.runner.loop import together

_MOST_RULES = 12


@dataclass(frozen=True)
class CompiledPolicy:
    """One compile.

    Parameters
    ----------
    model : str
        Who compiled.
    policy_sha256, prompts_sha256 : str
        From what, asked how.
    temperature : float
        Sampling temperature; 0 for the first compile, whose rules are in force.
    seed : int
        Which compile.
    rules : list of dict
        The usable rules, as in a rules file.
    rejected : tuple of str
        What couldn't be used, a sentence each.
    calls : tuple of Call
        What was asked and answered.
    agreement : Agreement or None
        Its verdicts beside the reference's; None where they weren't compared.
    identity : dict or None
        What the compiling model says of itself, weights among it, its address aside; None in older files.
    vocabulary_sha256 : str
        Hash over the facts, tools and schema that were offered; empty in older files.
    """

    model: str
    policy_sha256: str
    prompts_sha256: str
    temperature: float
    seed: int
    rules: list[dict[str, Any]]
    rejected: tuple[str, ...]
    calls: tuple[Call, ...]
    agreement: Agreement | None = None
    identity: dict[str, Any] | None = None
    vocabulary_sha256: str = ""

    def is_of(self, identity: Mapping[str, Any], policy: str, tools: Mapping[str, Any]) -> bool:
        """Whether compiling now would ask the same of the same model; what an older file doesn't say isn't compared."""
        return ((self.policy_sha256, self.prompts_sha256) == (_sha256(policy), prompts_sha256())
                and self.identity in (None, _whose(identity))
                and self.vocabulary_sha256 in ("", _vocabulary_sha256(tools)))

    @cached_property
    def usable(self) -> RuleSet:
        """The usable rules, none among them."""
        return RuleSet(self.model, tuple(read_rule(rule) for rule in self.rules))

    def rule_set(self) -> RuleSet:
        """The rules in force.

        Raises
        ------
        RequestError
            When the policy compiled to nothing.
        """
        if not self.rules:
            why = f": {self.rejected[0]}" if self.rejected else ""
            raise RequestError(f"the policy compiled by {self.model} came to no usable rule{why}; let another model "
                               "compile it, or use --rules reference")
        return self.usable


_COMPILED = TypeAdapter(CompiledPolicy)


async def compile_policy(ask: Ask, model: str, policy: str, tools: Mapping[str, Any], *, temperature: float,
                         seed: int, identity: Mapping[str, Any]) -> CompiledPolicy:
    """Compile a policy.

    Parameters
    ----------
    ask : Ask
        The model, budget and sampling settled.
    model : str
        Its name.
    policy : str
        The policy's text.
    tools : mapping of str to dict
        What the agent is told of each tool, by its name.
    temperature, seed : float, int
        What `ask` samples with, for the record.
    identity : mapping
        What the model says of itself, for the record.
    """
    rules: list[dict[str, Any]] = []
    rejected: list[str] = []
    calls: list[Call] = []

    async def asked(tool: WriteTool) -> tuple[_Reader, Answer[Sequence[dict[str, Any]]]]:
        prompt = render("compile", policy=policy, name=str(tool), vocabulary=_vocabulary(),
                        tool=orjson.dumps(tools[tool], option=orjson.OPT_INDENT_2).decode())
        reader = _Reader(tool)
        return reader, await ask_json(ask, load_prompts("paper"), prompt, purpose="compile", schema=rules_schema(),
                                      read=reader.read)

    for tool, (reader, answer) in zip(WriteTool, await together(map(asked, WriteTool)), strict=True):
        calls += answer.calls
        rules += reader.usable
        rejected += reader.problems if answer.value is None else []
        if answer.value is None and not reader.problems:
            rejected.append(f"the answer for {tool} can't be used: {answer.error}")
    return CompiledPolicy(model, _sha256(policy), prompts_sha256(), temperature, seed, rules, tuple(rejected),
                          tuple(calls), identity=_whose(identity), vocabulary_sha256=_vocabulary_sha256(tools))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _whose(identity: Mapping[str, Any]) -> dict[str, Any]:
    """A model's identity as it reads from a file; a server may have been started anew on another port."""
    told: dict[str, Any] = orjson.loads(orjson.dumps(dict(identity)))
    told.pop("endpoint", None)
    return told


def _vocabulary_sha256(tools: Mapping[str, Any]) -> str:
    offered = [_vocabulary(), rules_schema(), {str(name): described for name, described in tools.items()}]
    return _sha256(orjson.dumps(offered, option=orjson.OPT_SORT_KEYS).decode())


class _Reader:
    """Reads the answers for one tool and remembers what of the last one was usable."""

    def __init__(self, tool: WriteTool) -> None:
        self._tool = tool
        self.usable: list[dict[str, Any]] = []
        self.problems: list[str] = []

    def read(self, answer: dict[str, Any]) -> Sequence[dict[str, Any]]:
        listed = answer.get("rules")
        if not isinstance(listed, list):
            raise Unusable("it has no list \"rules\"")
        usable, problems = [], []
        for number, one in enumerate(listed[:_MOST_RULES], start=1):
            try:
                named = {**one, "id": f"{self._tool}.{number}", "tool": [str(self._tool)]}
                named.pop("optional", None)
                usable.append(read_rule(named).as_data())
            except TypeError:
                problems.append(f"rule {number} for {self._tool} is no JSON object")
            except InvalidRule as error:
                problems.append(str(error))
        self.usable, self.problems = usable, problems
        if problems:
            raise Unusable("; ".join(problems))
        return usable


def rules_schema() -> dict[str, Any]:
    """The JSON schema of an answer: every fact with its own arguments, so that a server can enforce it."""
    conditions = [{
        "type": "object", "additionalProperties": False, "required": ["predicate", "args", "is"],
        "properties": {"predicate": {"const": name}, "args": _inlined(word.arguments.model_json_schema()),
                       "is": {"type": "boolean"}},
    } for name, word in sorted(words().items())]
    rule = {
        "type": "object", "additionalProperties": False, "required": ["refuse_when", "reason"],
        "properties": {"refuse_when": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"anyOf": conditions}},
                       "reason": {"type": "string", "minLength": 1, "maxLength": 200}},
    }
    return {"title": "rules", "type": "object", "additionalProperties": False, "required": ["rules"],
            "properties": {"rules": {"type": "array", "maxItems": _MOST_RULES, "items": rule}}}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references and without prose."""
    definitions = schema.pop("$defs", {})

    def resolve(node: Any, names: bool = False) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return resolve(definitions[node["$ref"].rsplit("/", 1)[1]])
            if "propertyNames" in node:  # engines that enforce schemas know named properties alone
                keys, value = node["propertyNames"]["enum"], node["additionalProperties"]
                return resolve({"type": "object", "properties": dict.fromkeys(keys, value),
                                "additionalProperties": False})
            kept = node if names else {key: value for key, value in node.items()
                                       if key not in ("title", "description", "default")}
            return {key: resolve(value, key == "properties") for key, value in kept.items()}
        return [resolve(one) for one in node] if isinstance(node, list) else node

    return dict(resolve(schema))


def _vocabulary() -> str:
    lines = []
    for name, word in sorted(words().items()):
        arguments = _inlined(word.arguments.model_json_schema()).get("properties", {})
        lines.append(f"- {name}: {word.meaning}. args: {orjson.dumps(arguments).decode()}")
    return "\n".join(lines)


def read_compiled(path: Path) -> CompiledPolicy | None:
    """A compile that was kept, None when there is none.

    Raises
    ------
    RequestError
        When the file is damaged, or holds a rule that can't be used.
    """
    if not path.is_file():
        return None
    try:
        compiled = _COMPILED.validate_json(path.read_bytes())
        compiled.usable  # noqa: B018  (rules are read when they are asked for)
    except ValidationError:
        raise RequestError(f"{path} is damaged; delete it to compile anew") from None
    except InvalidRule as error:
        raise RequestError(f"{path}: {error}; delete it to compile anew") from None
    return compiled


def keep_compiled(policy: CompiledPolicy, path: Path) -> None:
    """Keep a compile, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_bytes(_COMPILED.dump_json(policy))
    os.replace(partial, path)
