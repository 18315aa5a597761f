"""Compiling the brief and the revision message into a task graph by a model (§3.2, Appendix B.1).

Invariant: the compiler sees only the texts that the agent sees. A compile that fails leaves no graph, and
never a guess.
"""

import re
from collections.abc import Iterable
from typing import Any

from artifact.arms.healing import Earlier
from artifact.arms.prompts import PromptSet, numbered_steps
from artifact.arms.structured import Answer, Ask, Unusable, ask_json
from artifact.log.records import Call, CompileRecord
from artifact.taskstate import Defect, Finding, Revision, Step, TaskGraph, validate

# The plan's lines are protocol: `- s3: text (requires: s1, s2) [completion code RC-1234]`, and in a world of tools
# `[tool order_the_seals]`: there a step's tool takes the place of its completion code.
_PLAN_LINE = re.compile(
    r"^- (?P<id>s\d+): (?P<text>.+?)(?: \(requires: [^()]*\))?(?: \[(?P<kind>completion code|tool) [^\]]*\])$",
    re.MULTILINE)
_CODE_PATTERNS = {"completion code": "^RC-[0-9]{4}$", "tool": "^[a-z0-9_]{1,64}$"}


def plan_lines(text: str) -> list[re.Match[str]]:
    """The lines of a text that say a step, each with its ``id``, ``text`` and ``kind`` of code."""
    return list(_PLAN_LINE.finditer(text))


async def compile_plan(ask: Ask, prompts: PromptSet, brief: str, earlier: Earlier | None = None) -> CompileRecord:
    """Compile V, E and the completion codes from the brief.

    Parameters
    ----------
    ask : Ask
        The state model.
    prompts : PromptSet
        Decides the way of asking: the whole plan in one call, or one call for each of its lines.
    brief : str
        The system prompt that the agent gets.
    earlier : Earlier or None
        A compile of the same brief that was flagged: its defects are named, and lines without any are kept.

    Returns
    -------
    CompileRecord
        Stage ``"plan"``, or ``"plan_again"`` after an earlier one; `graph` is None and `error` says why when the
        model gave no usable answer.
    """
    lines = {match["id"]: match for match in plan_lines(brief)}
    texts = {step: match["text"] for step, match in lines.items()}
    patterns = {step: _CODE_PATTERNS[match["kind"]] for step, match in lines.items()}
    calls: list[Call] = []
    steps: list[Step] = []
    if prompts.asking.compile == "plan":
        prompt = prompts.render("compile_plan", brief=brief)
        continued = earlier.continued(prompts, prompt, earlier.findings) if earlier else ()
        answer = await ask_json(ask, prompts, prompt, purpose="compile", schema=_plan_schema(patterns),
                                read=lambda found: _read_plan(found, texts, patterns), continued=continued)
        return _plan_record(answer.value, answer.error, answer.calls, earlier)
    for step, match in lines.items():
        findings = earlier.concerning(step) if earlier else ()
        if earlier and earlier.record.graph is not None and not findings:
            steps.append(earlier.record.graph[step])
            continue
        prompt = prompts.render("compile_step", line=match[0])
        one = await ask_json(ask, prompts, prompt, purpose="compile",
                             schema=_step_schema([other for other in texts if other != step], patterns[step]),
                             read=lambda found, step=step: _read_step(  # type: ignore[misc]
                                 step, found, texts, patterns[step]),
                             continued=earlier.continued(prompts, prompt, findings) if earlier else ())
        calls += one.calls
        if one.value is None:
            return _plan_record(None, f"the line of {step}: {one.error}", tuple(calls), earlier)
        steps.append(one.value)
    return _plan_record(TaskGraph(tuple(steps)), None, tuple(calls), earlier)


def _plan_record(graph: TaskGraph | None, error: str | None, calls: tuple[Call, ...],
                 earlier: Earlier | None) -> CompileRecord:
    defects = tuple(validate(graph)) if graph is not None else ()
    return CompileRecord("plan_again" if earlier else "plan", "compiled", graph, error=error, defects=defects,
                         calls=calls)


def _step_schema(others: list[str], pattern: str) -> dict[str, Any]:
    # An empty enum is no valid schema: a plan of one step has no other step to require.
    deps = {"type": "array", **({"items": {"type": "string", "enum": others}} if others else {"maxItems": 0})}
    code = {"type": "string", "pattern": pattern}
    return {"title": "compiled_step", "type": "object", "properties": {"deps": deps, "code": code},
            "required": ["deps", "code"], "additionalProperties": False}


def _plan_schema(patterns: dict[str, str]) -> dict[str, Any]:
    ids = list(patterns)

    def entry(step: str) -> dict[str, Any]:
        schema = _step_schema([other for other in ids if other != step], patterns[step])
        return {key: value for key, value in schema.items() if key != "title"}
    steps = {"type": "object", "properties": {step: entry(step) for step in ids}, "required": ids,
             "additionalProperties": False}
    return {"title": "compiled_plan", "type": "object", "properties": {"steps": steps}, "required": ["steps"],
            "additionalProperties": False}


def _known(steps: object, texts: dict[str, str]) -> tuple[str, ...]:
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise Unusable("a list of step ids was expected")
    unknown = [step for step in steps if step not in texts]
    if unknown:
        raise Unusable(f"{unknown[0]!r} is not a step of the plan")
    return tuple(dict.fromkeys(steps))


def _read_step(step: str, found: dict[str, Any], texts: dict[str, str], pattern: str) -> Step:
    code = found.get("code")
    if not isinstance(code, str):
        raise Unusable(f"the completion code of {step} is missing")
    # An empty or malformed code is a compile error that the validator reports; it is not corrected here.
    return Step(step, texts[step], code if re.fullmatch(pattern, code) else "", _known(found.get("deps"), texts))


def _read_plan(found: dict[str, Any], texts: dict[str, str], patterns: dict[str, str]) -> TaskGraph:
    entries = found.get("steps")
    if not isinstance(entries, dict):
        raise Unusable('the entry "steps" is missing')
    missing = [step for step in texts if not isinstance(entries.get(step), dict)]
    if missing:
        raise Unusable(f"step {missing[0]} is missing")
    return TaskGraph(tuple(_read_step(step, entries[step], texts, patterns[step]) for step in texts))


async def compile_revision(ask: Ask, prompts: PromptSet, graph: TaskGraph, message: str,
                           earlier: Earlier | None = None) -> CompileRecord:
    """Compile the change of plan from the client's message.

    Parameters
    ----------
    ask, prompts
        As in `compile_plan`.
    graph : TaskGraph
        The compiled graph so far.
    message : str
        The revision message as the agent sees it.
    earlier : Earlier or None
        A compile of the same message that was flagged: its defects are named.

    Returns
    -------
    CompileRecord
        Stage ``"revision"``, or ``"revision_again"`` after an earlier one, `graph` being the revised one; None with
        the reason in `error` on failure.

    Notes
    -----
    Asked in parts (prompt set `fewshot`), an answer must use the message's own words: a step counts as
    affected, cancelled or still required only if the message names it.
    """
    texts = {step.id: step.text for step in graph.steps}
    if prompts.asking.revise == "whole":
        prompt = prompts.render("compile_revision", steps=numbered_steps(texts.items()), message=message)
        answer = await ask_json(
            ask, prompts, prompt, purpose="compile", schema=_revision_schema(list(texts)),
            read=lambda found: _read_revision(found, texts),
            continued=earlier.continued(prompts, prompt, earlier.findings) if earlier else ())
    else:
        answer = await _revision_in_parts(ask, prompts, texts, message, earlier)
    stage = "revision_again" if earlier else "revision"
    if answer.value is None:
        return CompileRecord(stage, "compiled", None, error=answer.error, calls=answer.calls)
    revised = graph.revise(answer.value)
    return CompileRecord(stage, "compiled", revised, revision=answer.value, defects=tuple(validate(revised)),
                         calls=answer.calls)


def _revision_schema(ids: list[str]) -> dict[str, Any]:
    step = {"type": "string", "enum": ids}
    rewires = {"type": "object", "additionalProperties": {"type": "array", "items": step}}
    relax = {"anyOf": [{"type": "array", "items": step, "minItems": 2, "maxItems": 2}, {"type": "null"}]}
    return {"title": "compiled_revision", "type": "object",
            "properties": {"cancel": {"anyOf": [step, {"type": "null"}]}, "rewires": rewires, "relax": relax},
            "required": ["cancel", "rewires", "relax"], "additionalProperties": False}


def _read_revision(found: dict[str, Any], texts: dict[str, str]) -> Revision:
    cancel, rewires, relax = found.get("cancel"), found.get("rewires") or {}, found.get("relax")
    if cancel is not None:
        _known([cancel], texts)
    if not isinstance(rewires, dict):
        raise Unusable('"rewires" must map a step to its prerequisites')
    _known(list(rewires), texts)
    if relax is not None and len(_known(relax, texts)) != 2:
        raise Unusable('"relax" must hold a step and the prerequisite that it drops')
    return Revision(cancel, tuple((step, _known(deps, texts)) for step, deps in rewires.items()),
                    tuple(relax) if relax is not None else None)


async def _revision_in_parts(ask: Ask, prompts: PromptSet, texts: dict[str, str], message: str,
                             earlier: Earlier | None) -> Answer[Revision]:
    named = _named_in(message, texts)
    prompt = prompts.render("revise_cancel", steps=numbered_steps(texts.items()), message=message)
    cancelled = await ask_json(
        ask, prompts, prompt, purpose="compile", schema=_cancel_schema(list(named)),
        read=lambda found: _known([found.get("cancel")], named),
        continued=earlier.continued(prompts, prompt, _about_cancel(earlier, texts, message)) if earlier else ())
    calls = list(cancelled.calls)
    if cancelled.value is None:
        return Answer(None, f"the cancelled step: {cancelled.error}", tuple(calls))
    cancel = cancelled.value[0]
    rewires: list[tuple[str, tuple[str, ...]]] = []
    for step, sentence in _sentences_about(message, texts, cancel).items():
        candidates = {texts[other] for other in _named_in(sentence, texts)} - {texts[step], texts[cancel]}
        if not candidates:  # the message names nothing that the step could still require
            rewires.append((step, ()))
            continue
        prompt = prompts.render("revise_step", message=sentence, step_text=texts[step])
        answer = await ask_json(
            ask, prompts, prompt, purpose="compile", schema=_requires_schema(candidates),
            read=lambda found, candidates=candidates: _read_requires(found, candidates, texts),  # type: ignore[misc]
            continued=earlier.continued(prompts, prompt, earlier.concerning(step), lambda other: f'"{texts[other]}"')
            if earlier else ())
        calls += answer.calls
        if answer.value is None:
            return Answer(None, f"the prerequisites of {step}: {answer.error}", tuple(calls))
        rewires.append((step, answer.value))
    return Answer(Revision(cancel, tuple(rewires), None), None, tuple(calls))


def _about_cancel(earlier: Earlier, texts: dict[str, str], message: str) -> tuple[Finding, ...]:
    """Defects that speak against the cancelled step itself: a step still requires it that the message leaves alone.

    A message names every step that it affects, so such a step was not affected by what it really cancels.
    """
    revision = earlier.record.revision
    if revision is None or revision.cancel is None:
        return ()
    affected = _sentences_about(message, texts, revision.cancel)
    return tuple(finding for finding in earlier.findings
                 if finding.defect is Defect.CANCELLED_PREREQUISITE and finding.steps[0] not in affected)


def _named_in(message: str, texts: dict[str, str]) -> dict[str, str]:
    """The steps that a message names by their text, in the order of naming."""
    places = {step: message.find(text) for step, text in texts.items()}
    return {step: texts[step] for step in sorted(texts, key=lambda step: places[step]) if places[step] >= 0}


def _sentences_about(message: str, texts: dict[str, str], cancelled: str) -> dict[str, str]:
    """The affected steps, each with the sentences that open with it."""
    about: dict[str, str] = {}
    for sentence in re.split(r"(?<=[.;!?])\s+", message):
        named = list(_named_in(sentence, texts))
        if named and named[0] != cancelled:
            about[named[0]] = f"{about[named[0]]} {sentence}" if named[0] in about else sentence
    return about


def _cancel_schema(ids: list[str]) -> dict[str, Any]:
    return {"title": "revision_cancel", "type": "object", "properties": {"cancel": {"type": "string", "enum": ids}},
            "required": ["cancel"], "additionalProperties": False}


def _requires_schema(texts: Iterable[str]) -> dict[str, Any]:
    named = {"type": "array", "items": {"type": "string", "enum": sorted(texts)}}
    return {"title": "revision_step", "type": "object", "properties": {"requires": named},
            "required": ["requires"], "additionalProperties": False}


def _read_requires(found: dict[str, Any], candidates: set[str], texts: dict[str, str]) -> tuple[str, ...]:
    requires = found.get("requires")
    if not isinstance(requires, list):
        raise Unusable('"requires" must be a list')
    ids = {text: step for step, text in texts.items()}
    for text in requires:
        if text not in candidates:
            raise Unusable(f"{text!r} is not a step that the message names")
    return tuple(dict.fromkeys(ids[text] for text in requires))
