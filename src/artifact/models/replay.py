"""Recorded answers instead of a live model.

Invariant: a replay answers what was recorded for exactly this request, and a request that was never recorded is an
error, not a silent call.

A recording is a JSONL file: first whose answers these are, then one answer a line, with the request's hash before
it. An incident (a timeout, a broken connection) is no answer and isn't recorded; a context overflow is one.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ChatModel, ContextOverflow, Reply
from artifact.models.transcript import Transcript, encode_messages


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Origin(_Line):
    record: Literal["recording"] = "recording"
    name: str
    identity: dict[str, Any]


class _Answer(_Line):
    record: Literal["answer"] = "answer"
    request: str
    session: str | None
    prompt: str  # the last message, for a person who reads the file
    reply: Reply | None = None
    overflow: str | None = None

    def says_the_same_as(self, other: "_Answer | None") -> bool:
        """Whether both say the same, whatever it took."""
        return other is not None and self.overflow == other.overflow and _said(self.reply) == _said(other.reply)


def _said(reply: Reply | None) -> tuple[str, str, str] | None:
    return None if reply is None else (reply.text, reply.reasoning, reply.finish_reason)


_LINE: TypeAdapter[_Origin | _Answer] = TypeAdapter(Annotated[_Origin | _Answer, Field(discriminator="record")])


def hash_request(messages: Sequence[Message], *, max_tokens: int, temperature: float, seed: int | None,
                 schema: dict[str, Any] | None) -> str:
    """SHA-256 over all of a request that bears on its answer."""
    settings = {"max_tokens": max_tokens, "temperature": float(temperature), "seed": seed, "schema": schema}
    digest = hashlib.sha256(messages.body if isinstance(messages, Transcript) else encode_messages(messages))
    digest.update(b"\n" + orjson.dumps(settings, option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()


class Recorder:
    """A model whose answers are kept in a file, for `Replay`.

    A file that holds answers of the same model already is added to; an answer that says what is recorded for its
    request and session isn't recorded again.

    Parameters
    ----------
    model : ChatModel
        Who answers.
    path : Path or str
        The recording.

    Raises
    ------
    RequestError
        The file is no recording, or one of another model.
    InfrastructureError
        The file can't be written.
    """

    def __init__(self, model: ChatModel, path: Path | str) -> None:
        self.name = model.name
        self._model = model
        self._path = Path(path)
        origin = _Origin(name=model.name, identity=orjson.loads(orjson.dumps(model.identity())))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            content = self._path.read_bytes() if self._path.exists() else b""
            earlier, answers = _read(self._path, content)
            if earlier not in (None, origin):
                raise RequestError(f"The recording {self._path} holds replies of another model, or of {self.name} "
                                   "under other settings; record into another file.")
            self._file = self._path.open("ab")
            self._file.truncate(_end_of_lines(content))
        except OSError as error:
            raise InfrastructureError(f"The recording {self._path} can't be written ({error.strerror}); choose "
                                      "another place.") from None
        self._recorded = {(answer.request, answer.session): answer for answer in answers}
        if earlier is None:
            self._append(origin)

    def identity(self) -> dict[str, Any]:
        """The model's own."""
        return self._model.identity()

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Let the model answer, and record the answer; see `ChatModel.complete`."""
        request = hash_request(messages, max_tokens=max_tokens, temperature=temperature, seed=seed, schema=schema)
        prompt = messages[-1].content if messages else ""
        try:
            reply = await self._model.complete(messages, max_tokens=max_tokens, temperature=temperature, seed=seed,
                                               session=session, schema=schema)
        except ContextOverflow as error:
            self._record(_Answer(request=request, session=session, prompt=prompt, overflow=str(error)))
            raise
        self._record(_Answer(request=request, session=session, prompt=prompt, reply=reply))
        return reply

    async def close(self) -> None:
        """Close the file and the model."""
        self._file.close()
        await self._model.close()

    def _record(self, answer: _Answer) -> None:
        key = (answer.request, answer.session)
        if not answer.says_the_same_as(self._recorded.get(key)):
            self._append(answer)
            self._recorded[key] = answer

    def _append(self, line: _Origin | _Answer) -> None:
        try:
            self._file.write(_LINE.dump_json(line) + b"\n")
            self._file.flush()
        except OSError as error:
            raise InfrastructureError(f"The recording {self._path} can't be written ({error.strerror}); make room "
                                      "there.") from None


class Replay:
    """A model that answers from a recording alone.

    A request gets what its own session was answered last; in another session, what anyone was answered last.

    Parameters
    ----------
    path : Path or str
        The recording.

    Raises
    ------
    RequestError
        There is no such file, or it is no recording.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise RequestError(f"The recording {self._path} can't be read ({error.strerror}); name one that "
                               "exists.") from None
        origin, answers = _read(self._path, content)
        if origin is None:
            raise RequestError(f"The recording {self._path} is empty; record it again.")
        self.name = origin.name
        self._identity = {**origin.identity, "recording_sha256": hashlib.sha256(content).hexdigest()}
        self._in_session = {(answer.request, answer.session): answer for answer in answers}
        self._anywhere = {answer.request: answer for answer in answers}

    def identity(self) -> dict[str, Any]:
        """What was recorded, as it was then, and the hash of the recording."""
        return dict(self._identity)

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """The recorded answer to this request; see `ChatModel.complete`.

        Raises
        ------
        RequestError
            The request was never recorded.
        ContextOverflow
            As recorded.
        """
        request = hash_request(messages, max_tokens=max_tokens, temperature=temperature, seed=seed, schema=schema)
        answer = self._in_session.get((request, session)) or self._anywhere.get(request)
        if answer is None:
            raise RequestError(f"The recording {self._path} holds no reply to this prompt of {len(messages)} messages "
                               f"(session {session}); record one under the same prompts and settings.")
        if answer.reply is None:
            raise ContextOverflow(answer.overflow or "The prompt was too long.")
        return answer.reply

    async def close(self) -> None:
        """Nothing to release."""


def _end_of_lines(content: bytes) -> int:
    """Where the whole lines end; what follows was being written when the recording was killed."""
    return content.rfind(b"\n") + 1


def _read(path: Path, content: bytes) -> tuple[_Origin | None, list[_Answer]]:
    """Whose answers a recording holds, and the answers in order; nobody's if it is empty."""
    origin: _Origin | None = None
    answers: list[_Answer] = []
    for number, text in enumerate(content[:_end_of_lines(content)].splitlines(), start=1):
        try:
            line = _LINE.validate_json(text)
        except ValidationError:
            line = None
        if isinstance(line, _Origin) and number == 1:
            origin = line
        elif isinstance(line, _Answer) and origin is not None:
            answers.append(line)
        else:
            raise RequestError(f"Line {number} of {path} is no line of a recording; name another file, or record it "
                               "again.")
    return origin, answers
