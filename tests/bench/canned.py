"""A state model that answers every helper call from a drawer: what a gate costs is then the gate's own."""

from collections.abc import Sequence
from typing import Any

import orjson

from artifact.log.records import Message
from artifact.models.base import Reply


class Canned:
    """Compiles a plan without prerequisites, cancels nothing, and matches every request to the first step."""

    name = "canned"

    def identity(self) -> dict[str, Any]:
        return {"engine": "canned", "name": self.name}

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        assert schema is not None, "a state model is asked for JSON"
        return Reply(orjson.dumps(_answer(schema)).decode())

    async def close(self) -> None:
        pass


def _answer(schema: dict[str, Any]) -> dict[str, Any]:
    asked = schema["properties"]
    match schema["title"]:
        case "compiled_plan":
            steps = asked["steps"]["properties"]
            return {"steps": {step: {"deps": [], "code": f"RC-{9000 + n}"} for n, step in enumerate(steps)}}
        case "compiled_revision":
            return {"cancel": None, "rewires": {}, "relax": None}
        case "match":
            return {"step": asked["step"]["anyOf"][0]["enum"][0], "explicit_redo": False}
        case title:
            raise ValueError(f"nothing is canned for {title}")
