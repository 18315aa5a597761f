"""Where OpenAI-compatible servers differ, in one place: who they are, what they tell and what a reply looks like.

Everything is read from what servers answer: a server says in its list of models (`owned_by`) which engine it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from artifact.log.faults import Fault
from artifact.models.base import FinishReason, ModelError, Reply
from artifact.models.vllm_settings import read_metrics, read_server_info


@dataclass(frozen=True)
class Switch:
    """What a request carries to select the regime, for models that the registry doesn't know."""

    think: Mapping[str, Any] = field(default_factory=dict)
    no_think: Mapping[str, Any] = field(default_factory=dict)


_BY_TEMPLATE = Switch({"chat_template_kwargs": {"enable_thinking": True}},
                      {"chat_template_kwargs": {"enable_thinking": False}})
_BY_EFFORT = Switch({"reasoning_effort": "medium"}, {"reasoning_effort": "none"})
_BY_TYPE = Switch({"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}})


@dataclass(frozen=True)
class Dialect:
    """One kind of server.

    Parameters
    ----------
    engine : str
        Its name in a log header.
    owners : tuple of str
        What `owned_by` says in its list of models.
    version_path, version_field : str or None
        Where it tells its version, beside the API and not under it.
    budget_field : str
        The request field that holds the reply's token budget.
    lists_openly : bool
        It lists its models whatever the key; a wrong one shows where it tells its version.
    switch : Switch
        How it is asked to reason, or not to; empty where that isn't known.
    settings : tuple of (str, callable)
        Where it tells its settings, beside the API, and what reads them from the answer.
    """

    engine: str
    owners: tuple[str, ...] = ()
    version_path: str | None = None
    version_field: str = "version"
    budget_field: str = "max_tokens"
    lists_openly: bool = False
    switch: Switch = field(default_factory=Switch)
    settings: tuple[tuple[str, Callable[[bytes], dict[str, Any]]], ...] = ()


DIALECTS = (
    Dialect("vllm", ("vllm",), "/version", switch=_BY_TEMPLATE,
            settings=(("/metrics", read_metrics), ("/server_info?config_format=json", read_server_info))),
    Dialect("llama.cpp", ("llamacpp",), "/props", "build_info", lists_openly=True, switch=_BY_TEMPLATE),
    Dialect("sglang", ("sglang",), "/get_server_info", switch=_BY_TEMPLATE),
    Dialect("ollama", ("library",), "/api/version", switch=_BY_EFFORT),
    Dialect("lm-studio", ("organization_owner",), switch=_BY_EFFORT),
    Dialect("deepseek", ("deepseek",), switch=_BY_TYPE),
    Dialect("openai", ("openai", "openai-internal", "system"), budget_field="max_completion_tokens",
            switch=_BY_EFFORT),
)

UNKNOWN_DIALECT = Dialect("openai-compatible")


def find_dialect(owner: str | None) -> Dialect:
    """The dialect of a server that calls itself `owner`."""
    return next((dialect for dialect in DIALECTS if owner in dialect.owners), UNKNOWN_DIALECT)


class _Card(BaseModel):
    id: str
    owned_by: str | None = None
    max_model_len: int | None = None
    root: str | None = None
    meta: dict[str, Any] | None = None


class _Models(BaseModel):
    data: list[_Card] | None  # Ollama answers null where it holds no model


@dataclass(frozen=True)
class ServedModel:
    """A model in a server's list: its name there, who serves it, and, where that is told, context and checkpoint."""

    name: str
    owner: str | None
    context: int | None
    root: str | None = None


def read_models(body: bytes) -> list[ServedModel]:
    """The models that a server lists.

    Raises
    ------
    ValueError
        This is no list of models.
    """
    cards = _Models.model_validate_json(body).data or []
    return [ServedModel(card.id, card.owned_by, card.max_model_len or _whole((card.meta or {}).get("n_ctx")),
                        card.root)
            for card in cards]


def read_properties(body: bytes, dialect: Dialect) -> tuple[str | None, int | None]:
    """Version and context from what a server tells beside the API; None for what it doesn't tell."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None, None
    if not isinstance(told, dict):
        return None, None
    version, settings = told.get(dialect.version_field), told.get("default_generation_settings")
    return (version if isinstance(version, str) else None,
            _whole(settings.get("n_ctx")) if isinstance(settings, dict) else None)


def _whole(number: object) -> int | None:
    return number if isinstance(number, int) and number > 0 else None


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None  # DeepSeek, SGLang, llama.cpp, earlier vLLM
    reasoning: str | None = None          # Ollama, LM Studio, vLLM


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None  # DeepSeek


class _Timings(BaseModel):
    cache_n: int | None = None  # earlier llama.cpp, whose usage has no details


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None
    timings: _Timings | None = None


# Every other reason (stop, eos, tool_calls, none at all) is an end that the model chose.
_CUT_AT_BUDGET = frozenset({"length", "max_tokens"})
_CUT_BY_SERVER = frozenset({"abort", "error", "insufficient_system_resource"})
_CUT_BY_FILTER = "content_filter"


def read_reply(body: bytes, *, who: str, thinks: bool) -> Reply:
    """The reply in the body of a successful answer, without time and tries.

    Parameters
    ----------
    body : bytes
        The body.
    who : str
        Whose answer it is, for errors.
    thinks : bool
        Whether the model was asked to reason; its reasoning may then stand in the text, with nothing before it.

    Raises
    ------
    ModelError
        This is no reply.
    """
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError as error:
        raise ModelError(f"{who} sent something that is no reply ({_first_fault(error)}).", transient=True,
                         fault=Fault.MALFORMED) from None
    if not completion.choices:
        raise ModelError(f"{who} sent a reply without any choice.", transient=True, fault=Fault.NO_CHOICE)
    choice = completion.choices[0]
    message, reason = choice.message, choice.finish_reason
    if reason in _CUT_BY_SERVER:
        raise ModelError(f"{who} broke its reply off ({reason}).", transient=True, fault=Fault.BROKEN_OFF)
    if reason == _CUT_BY_FILTER:
        raise ModelError(f"{who} withheld a reply by its content filter.")
    reasoning = message.reasoning_content or message.reasoning or ""
    text = message.content if message.content is not None else message.refusal
    finish = FinishReason.LENGTH if reason in _CUT_AT_BUDGET else FinishReason.STOP
    # A reply that spent its budget, or itself, on reasoning has no text; any other has one, if an empty one.
    if text is None and not reasoning and finish is FinishReason.STOP:
        raise ModelError(f"{who} sent a reply without content.", transient=True, fault=Fault.NO_CONTENT)
    if not reasoning:
        reasoning, text = _split_reasoning(text or "", thinks)
    usage = completion.usage or _Usage()
    return Reply(text=text or "", reasoning=reasoning, finish_reason=finish, prompt_tokens=usage.prompt_tokens or 0,
                 cached_tokens=_cached_tokens(usage, completion.timings),
                 completion_tokens=usage.completion_tokens or 0)


def _cached_tokens(usage: _Usage, timings: _Timings | None) -> int:
    details = usage.prompt_tokens_details
    return ((details.cached_tokens if details else None) or usage.prompt_cache_hit_tokens
            or (timings.cache_n if timings else None) or 0)


def _split_reasoning(text: str, thinks: bool) -> tuple[str, str]:
    """Reasoning and text of a reply from a server that has no reasoning parser."""
    opened = text.lstrip().startswith("<think>")
    # Templates of thinking checkpoints end with the opening tag, so that the reply holds the closing one alone.
    if not opened and not (thinks and "</think>" in text):
        return "", text
    reasoning, _, rest = text.partition("</think>")
    return reasoning.lstrip().removeprefix("<think>").strip(), rest.lstrip()


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {fault['msg']}" if where else fault["msg"]
