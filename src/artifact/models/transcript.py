"""A conversation that is encoded once.

Invariant: `Transcript.body` is byte for byte what encoding all messages at once would give, and each message is
encoded exactly once. A turn then costs the encoding of what is new, not of the whole conversation.
"""

from collections.abc import Iterable, Sequence
from typing import overload

import orjson

from artifact.log.records import Message


def encode_messages(messages: Iterable[Message]) -> bytes:
    """The JSON of messages joined by commas, without the brackets."""
    return b",".join(orjson.dumps(message) for message in messages)


class Transcript(Sequence[Message]):
    """Messages in order, with their JSON beside them.

    Parameters
    ----------
    messages : iterable of Message
        The conversation so far.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._body = bytearray()
        self.extend(messages)

    def append(self, message: Message) -> None:
        """Add one message at the end."""
        if self._messages:
            self._body += b","
        self._body += orjson.dumps(message)
        self._messages.append(message)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages at the end."""
        for message in messages:
            self.append(message)

    @property
    def body(self) -> bytes:
        """The JSON of the messages joined by commas, without the brackets."""
        return bytes(self._body)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __repr__(self) -> str:
        return f"Transcript({len(self)} messages, {len(self._body)} bytes)"
