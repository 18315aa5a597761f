"""A conversation is encoded once, and to the same bytes as all at once."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifact.log.records import Message
from artifact.models import transcript
from artifact.models.transcript import Transcript

MESSAGES = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]),
                              st.text(st.characters(exclude_categories=["Cs"]))))


@given(MESSAGES)
def test_the_body_is_what_encoding_everything_at_once_gives(messages: list[Message]) -> None:
    grown = Transcript()
    for message in messages:
        grown.append(message)
    assert b"[" + grown.body + b"]" == orjson.dumps(messages)
    assert Transcript(messages).body == grown.body == transcript.encode_messages(messages)


def test_each_message_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []

    class Counting:
        @staticmethod
        def dumps(value: object) -> bytes:
            encoded.append(value)
            return orjson.dumps(value)

    monkeypatch.setattr(transcript, "orjson", Counting)
    grown, messages = Transcript(), [Message("user", str(i)) for i in range(10)]
    for message in messages:
        grown.append(message)
        assert grown.body
    assert encoded == messages


def test_a_transcript_reads_as_a_list_of_messages() -> None:
    messages = [Message("system", "brief"), Message("user", "ask"), Message("assistant", "done")]
    grown = Transcript(messages)
    assert list(grown) == messages and len(grown) == 3
    assert grown[-1] == messages[-1] and grown[:2] == messages[:2]
