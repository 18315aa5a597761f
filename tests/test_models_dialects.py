"""What servers answer: the same reply, the same refusal, whatever its shape and wording.

llama.cpp's answers were recorded from the embedded engine, with the smallest model; those of the other servers follow
their documentation and the answers that their users published.
"""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest

from artifact.models.base import FinishReason, ModelError, Reply
from artifact.models.dialects import UNKNOWN_DIALECT, find_dialect, read_models, read_properties, read_reply
from artifact.models.refusals import Failure, printable, read_refusal, reported_error, retry_after

STOP, LENGTH = FinishReason.STOP, FinishReason.LENGTH

REPLIES = {
    "vllm": (b"""{"id":"chatcmpl-8c1f","object":"chat.completion","created":1763000000,"model":"Qwen/Qwen3-0.6B",
        "choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null,"annotations":null,
        "audio":null,"function_call":null,"tool_calls":[],"reasoning":null,"reasoning_content":null},"logprobs":null,
        "finish_reason":"stop","stop_reason":null,"token_ids":null}],"service_tier":null,"system_fingerprint":null,
        "usage":{"prompt_tokens":33,"total_tokens":36,"completion_tokens":3,"prompt_tokens_details":
        {"cached_tokens":32}},"prompt_logprobs":null,"kv_transfer_params":null}""",
             Reply("Hello", "", STOP, 33, 32, 3)),
    "vllm, budget spent on reasoning": (b"""{"choices":[{"index":0,"message":{"role":"assistant","content":null,
        "reasoning_content":"Okay, the user","tool_calls":[]},"finish_reason":"length","stop_reason":null}],
        "usage":{"prompt_tokens":20,"total_tokens":24,"completion_tokens":4,"prompt_tokens_details":null}}""",
                                        Reply("", "Okay, the user", LENGTH, 20, 0, 4)),
    "llama.cpp": (b"""{"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":
        "Hello there!"}}],"created":1796006197,"model":"smollm2-135m","system_fingerprint":"b0-unknown",
        "object":"chat.completion","usage":{"completion_tokens":3,"prompt_tokens":33,"total_tokens":36,
        "prompt_tokens_details":{"cached_tokens":32}},"id":"chatcmpl-lKt8FfQH9PBVB6xJ2v4fuaIkxxVdYmPZ","timings":
        {"cache_n":32,"prompt_n":1,"prompt_ms":12.45,"predicted_n":3,"predicted_ms":427.586}}""",
                  Reply("Hello there!", "", LENGTH, 33, 32, 3)),
    "llama.cpp, before its usage had details": (b"""{"choices":[{"finish_reason":"stop","index":0,"message":{"role":
        "assistant","reasoning_content":"Hm.","content":"Hi"}}],"usage":{"completion_tokens":3,"prompt_tokens":33,
        "total_tokens":36},"timings":{"cache_n":30,"prompt_n":3}}""", Reply("Hi", "Hm.", STOP, 33, 30, 3)),
    "ollama": (b"""{"id":"chatcmpl-308","object":"chat.completion","created":1777529963,"model":"qwen3:4b",
        "system_fingerprint":"fp_ollama","choices":[{"index":0,"message":{"role":"assistant","content":"Hello",
        "reasoning":"The user greets."},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":5,
        "total_tokens":16}}""", Reply("Hello", "The user greets.", STOP, 11, 0, 5)),
    "lm-studio": (b"""{"id":"chatcmpl-b2","object":"chat.completion","created":1741000000,"model":"qwen2.5-7b-instruct",
        "choices":[{"index":0,"logprobs":null,"finish_reason":"length","message":{"role":"assistant","content":
        "Hello","tool_calls":[]}}],"usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17},"stats":{},
        "system_fingerprint":"qwen2.5-7b-instruct"}""", Reply("Hello", "", LENGTH, 9, 0, 8)),
    "sglang": (b"""{"id":"5f1c","object":"chat.completion","created":1750000000,"model":"Qwen/Qwen3-8B","choices":
        [{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":null,"tool_calls":null},
        "logprobs":null,"finish_reason":"stop","matched_stop":151645}],"usage":{"prompt_tokens":12,"total_tokens":15,
        "completion_tokens":3,"prompt_tokens_details":{"cached_tokens":11},"reasoning_tokens":0},
        "metadata":{"weight_version":"default"}}""", Reply("Hello", "", STOP, 12, 11, 3)),
    "openai": (b"""{"id":"chatcmpl-Abc","object":"chat.completion","created":1750000000,"model":"gpt-5-mini-2025-08-07",
        "choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null,"annotations":[]},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":1200,"completion_tokens":74,"total_tokens":1274,
        "prompt_tokens_details":{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":
        {"reasoning_tokens":64,"audio_tokens":0}},"service_tier":"default","system_fingerprint":null}""",
               Reply("Hello", "", STOP, 1200, 1024, 74)),
    "openai, declined": (b"""{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":
        "I can't help with that."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":8}}""",
                         Reply("I can't help with that.", "", STOP, 9, 0, 8)),
    "deepseek": (b"""{"id":"930c","object":"chat.completion","created":1750000000,"model":"deepseek-v4-pro","choices":
        [{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"They greet."},"logprobs":null,
        "finish_reason":"stop"}],"usage":{"prompt_tokens":85,"completion_tokens":233,"total_tokens":318,
        "completion_tokens_details":{"reasoning_tokens":179},"prompt_cache_hit_tokens":64,
        "prompt_cache_miss_tokens":21},"system_fingerprint":"fp_3a5770e1b4_prod"}""",
                 Reply("Hello", "They greet.", STOP, 85, 64, 233)),
    "a server that counts nothing": (b"""{"choices":[{"message":{"content":""}}]}""", Reply("")),
}


@pytest.mark.parametrize("server", REPLIES)
def test_a_reply_is_read_whatever_its_shape(server: str) -> None:
    body, reply = REPLIES[server]
    assert read_reply(body, who="x", thinks=False) == reply


@pytest.mark.parametrize(("text", "thinks", "reasoning", "said"), [
    ("<think>\nhm\n</think>\n\nref RC-1", True, "hm", "ref RC-1"),
    ("<think>\nhm\n</think>\n\nref RC-1", False, "hm", "ref RC-1"),
    ("hm, ref RC-2\n</think>\n\nref RC-1", True, "hm, ref RC-2", "ref RC-1"),
    ("<think>\nhm, ref RC-2", True, "hm, ref RC-2", ""),
    ("see </think> there", False, "", "see </think> there"),
    ("say <think> twice", True, "", "say <think> twice"),
])
def test_reasoning_in_the_text_is_no_part_of_it(text: str, thinks: bool, reasoning: str, said: str) -> None:
    body = orjson.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
    reply = read_reply(body, who="x", thinks=thinks)
    assert (reply.reasoning, reply.text) == (reasoning, said)


def test_a_filters_cut_is_an_error_that_stays() -> None:
    body = b'{"choices":[{"message":{"content":"I"},"finish_reason":"content_filter"}]}'
    with pytest.raises(ModelError, match="content filter") as caught:
        read_reply(body, who="x", thinks=False)
    assert not caught.value.transient


OVERFLOWS = {
    "vllm": "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (37500 in the "
            "messages, 2500 in the completion). Please reduce the length of the messages or completion.",
    "vllm, budget": "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length "
                    "is 4096 tokens and your request has 12 input tokens (5000 > 4096 - 12).",
    "vllm, prompt": "The decoder prompt (length 12324) is longer than the maximum model length of 8192. Make sure that "
                    "`max_model_len` is no smaller than the number of text tokens.",
    "vllm, of late": "You passed 31745 input tokens and requested 1024 output tokens. However, the model's context "
                     "length is only 32768 tokens, resulting in a maximum input length of 31744 tokens. Please reduce "
                     "the length of the input prompt. (parameter=input_tokens, value=31745)",
    "vllm, at first": "max_tokens must be at least 1, got -186.",
    "vllm, a prompt that fills the context": "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
    "llama.cpp": "request (431 tokens) exceeds the available context size (256 tokens), try increasing it",
    "llama.cpp, before": "the request exceeds the available context size. try increasing the context size or enable "
                         "context shift",
    "openai": "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
              "Please reduce the length of the messages.",
    "openai, of late": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "sglang": "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    "sglang, budget": "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested "
                      "a total of 40000 tokens: 37500 tokens from the input messages and 2500 tokens for the "
                      "completion.",
    "lm-studio": "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with "
                 "context length of only 4096 tokens, which is not enough.",
    "lm-studio, of late": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
    "ollama": "the input length exceeds the context length",
}

SHAPES = {
    "nested": lambda words: {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}},
    "flat": lambda words: {"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": 400},
    "text": lambda words: {"error": words},
    "detail": lambda words: {"detail": words},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wording", OVERFLOWS)
def test_an_overflow_is_known_by_its_words(wording: str, shape: str) -> None:
    for status in (400, 500):
        refusal = read_refusal(status, orjson.dumps(SHAPES[shape](OVERFLOWS[wording])))
        assert (refusal.failure, refusal.words) == (Failure.OVERFLOW, OVERFLOWS[wording])


@pytest.mark.parametrize("body", [
    b'{"error":{"code":400,"message":"?","type":"exceed_context_size_error","n_prompt_tokens":431,"n_ctx":256}}',
    b'{"error":{"message":"?","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}'])
def test_an_overflow_is_known_by_its_code(body: bytes) -> None:
    assert read_refusal(400, body).failure is Failure.OVERFLOW


@pytest.mark.parametrize(("status", "body", "failure"), [
    (400, b'{"error":{"message":"max_tokens is too large: 50000. This model supports at most 16384 completion '
          b'tokens"}}', Failure.REFUSED),
    (400, b'{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}', Failure.UNKNOWN_MODEL),
    (404, b'{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","code":404}}',
     Failure.UNKNOWN_MODEL),
    (401, b'{"error":"Unauthorized"}', Failure.BAD_KEY),
    (402, b'{"error":{"message":"Insufficient Balance"}}', Failure.NO_CREDIT),
    (429, b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}', Failure.NO_CREDIT),
    (429, b'{"error":{"message":"Rate limit reached for requests","code":"rate_limit_exceeded"}}', Failure.PASSING),
    (422, b'{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing"}]}', Failure.REFUSED),
    (503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}', Failure.PASSING),
    (502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", Failure.PASSING),
    (500, b"\xff\xfe", Failure.PASSING), (400, b"", Failure.REFUSED), (400, b"[1]", Failure.REFUSED),
    (307, b"", Failure.REDIRECT),
])
def test_a_refusal_is_told_by_status_and_words(status: int, body: bytes, failure: Failure) -> None:
    assert read_refusal(status, body).failure is failure


def test_a_page_for_people_is_quoted_without_its_tags() -> None:
    assert printable(read_refusal(502, b"<html><h1>502 Bad Gateway</h1>\n</html>").words) == "502 Bad Gateway"


def test_an_error_behind_a_status_of_success_is_told_from_a_reply() -> None:
    reported = reported_error(b'{"error":{"message":"rate limited","code":429}}')
    assert reported and (reported.failure, reported.status) == (Failure.PASSING, 429)
    assert reported_error(REPLIES["vllm"][0]) is None and reported_error(b"<html>") is None


@pytest.mark.parametrize(("owner", "engine"), [
    ("vllm", "vllm"), ("llamacpp", "llama.cpp"), ("sglang", "sglang"), ("library", "ollama"),
    ("organization_owner", "lm-studio"), ("system", "openai"), ("deepseek", "deepseek")])
def test_a_server_is_known_by_what_it_calls_itself(owner: str, engine: str) -> None:
    assert find_dialect(owner).engine == engine
    assert find_dialect("acme") is find_dialect(None) is UNKNOWN_DIALECT


def test_context_and_version_are_read_where_they_are_told() -> None:
    listed = b"""{"models":[{"name":"smollm2-135m","tags":[""]}],"object":"list","data":[{"id":"smollm2-135m","aliases":
        ["smollm2-135m"],"object":"model","created":1796006191,"owned_by":"llamacpp","meta":{"n_ctx":256,
        "n_ctx_train":8192,"ftype":"Q4_1"}}]}"""
    assert [(model.name, model.owner, model.context) for model in read_models(listed)] == [
        ("smollm2-135m", "llamacpp", 256)]
    properties = b'{"default_generation_settings":{"n_ctx":512},"total_slots":4,"build_info":"b6500-abc"}'
    assert read_properties(properties, find_dialect("llamacpp")) == ("b6500-abc", 512)
    assert read_properties(b'{"version":"0.15.1"}', find_dialect("vllm")) == ("0.15.1", None)


def test_a_wait_is_read_in_seconds_milliseconds_and_as_a_date() -> None:
    assert retry_after({"Retry-After": "2"}) == 2.0 and retry_after({"Retry-After": " 1.5"}) == 1.5
    assert retry_after({"Retry-After-Ms": "250", "Retry-After": "9"}) == 0.25
    later = retry_after({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)})
    assert later is not None and 50 < later <= 60
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    for nonsense in ("", "soon", "-1", "nan", "inf", "9" * 400):
        assert retry_after({"Retry-After": nonsense}) is None


def test_words_of_a_server_are_one_short_line_without_control_characters() -> None:
    assert printable("a\x1b[31m\r\n\u202eb\u0000.") == "a [31m b"
    assert len(printable("x" * 10_000)) < 310
