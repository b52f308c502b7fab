from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.patience import asked_pause, pause_before
from streams.answering.backbones.openai.reading import Heard, model_ids, read
from streams.core.normalise import encodable
from tests.endpoint import events, streamed, whole

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
NAMES = st.sampled_from(["choices", "message", "content", "usage", "error", "delta", "logprobs"])
SHAPED = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4)
)
NOW = datetime(2025, 1, 1, tzinfo=UTC)


@given(ANY_TEXT)
def test_any_text_comes_back_as_it_was_sent(text: str) -> None:
    heard = read(whole(text).raw)
    assert isinstance(heard, Heard)
    assert heard.text.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@given(st.lists(st.text(), min_size=1))
def test_a_stream_adds_up_to_the_whole(texts: list[str]) -> None:
    assert read(streamed(texts).raw) == read(whole("".join(texts)).raw)


@pytest.mark.parametrize(
    "kept_open", [b": still here\n\n", b"data:\n\n", b"\n" * 99, b"data: \r\n\r\n"]
)
def test_what_only_keeps_a_connection_open_is_no_part_of_a_stream(kept_open: bytes) -> None:
    raw = streamed(["one ", "two"]).raw
    heard = read(kept_open + raw.replace(b"\n\n", b"\n\n" + kept_open))
    assert heard == read(raw)


@given(SHAPED)
def test_any_json_is_read_somehow(value: Any) -> None:
    raw = json.dumps(value).encode()
    assert isinstance(read(raw), (Heard, Fault))
    assert isinstance(read(events([raw.decode(), "[DONE]"]).raw), (Heard, Fault))
    assert all(model_ids(raw))


@given(st.binary())
def test_any_bytes_are_read_somehow(raw: bytes) -> None:
    assert isinstance(read(raw), (Heard, Fault))
    assert isinstance(read(b"data: " + raw), (Heard, Fault))
    model_ids(raw)


@pytest.mark.parametrize("bad", [-1, 1.5, True, "9", None, float("nan"), float("inf"), 10**30, [1]])
def test_a_count_that_is_none_is_unknown(bad: object) -> None:
    heard = read(whole("x", usage={"prompt_tokens": bad, "completion_tokens": 0}).raw)
    assert isinstance(heard, Heard)
    assert (heard.prompt_tokens, heard.completion_tokens) == (None, 0)


@pytest.mark.parametrize(
    "logprobs",
    [{}, {"content": None}, {"content": []}, {"content": [{"logprob": -1}, {}]}, {"content": [1]}],
)
def test_log_probabilities_with_a_hole_are_unknown(logprobs: object) -> None:
    heard = read(whole("x", logprobs=logprobs).raw)
    assert isinstance(heard, Heard)
    assert heard.logprob is None


SURE = [
    ("I add them up. So it is ", -0.01),
    ("\\boxed{", -0.2),
    ("4", -2.0),
    ("2", -1.0),
    ("}.", 0.0),
]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (SURE, -1.5),
        ([("Nothing is marked here.", -0.5)], None),
        ([("So it is \\boxed{42}, I think.", -0.7)], -0.7),
    ],
)
def test_an_answer_s_own_tokens_say_how_sure_it_is(
    said: list[tuple[str, float]], answer: float | None
) -> None:
    text = "".join(token for token, _ in said)
    content = [{"token": token, "logprob": value} for token, value in said]
    heard = read(whole(text, logprobs={"content": content}).raw)
    assert isinstance(heard, Heard)
    assert heard.answer_logprob == (None if answer is None else pytest.approx(answer))
    mean = sum(value for _, value in said) / len(said)
    assert heard.logprob == pytest.approx(mean)


def test_an_error_with_status_200_is_the_error_it_says() -> None:
    told = b'{"error": {"code": 429, "message": "slow down"}}'
    for raw in (told, events([told.decode()]).raw):
        fault = read(raw)
        assert isinstance(fault, Fault)
        assert fault.kind == "busy"


def chunk(text: object, **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": {"content": text}, **more}]})


@pytest.mark.parametrize(
    ("usage", "completion"),
    [
        # As xAI counts, and as Gemini's own OpenAI endpoint does.
        ({"total_tokens": 135, "completion_tokens_details": {"reasoning_tokens": 94}}, 103),
        ({"total_tokens": 135}, 103),
        # As everybody else counts: thoughts are among the completion's.
        ({"total_tokens": 41, "completion_tokens_details": {"reasoning_tokens": 7}}, 9),
        ({"total_tokens": 41}, 9),
        ({}, 9),
        ({"total_tokens": 10}, 9),
        # Whatever the rest may be.
        ({"total_tokens": 135, "completion_tokens_details": {"reasoning_tokens": 7}}, 9),
        ({"total_tokens": 135, "prompt_tokens_details": {"cached_tokens": 94}}, 9),
    ],
)
def test_thoughts_that_only_the_total_counts_are_the_completion_s(
    usage: dict[str, Any], completion: int
) -> None:
    heard = read(whole("x", usage={"prompt_tokens": 32, "completion_tokens": 9} | usage).raw)
    assert isinstance(heard, Heard)
    assert heard.completion_tokens == completion


def test_tokens_that_deepseek_had_read_before_are_known() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 9, "prompt_cache_hit_tokens": 8}
    heard = read(whole("x", usage=usage).raw)
    assert isinstance(heard, Heard)
    assert heard.cached_tokens == 8


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "carry "}], "closed": True}
THOUGHT_ON = {"type": "thinking", "thinking": "the one"}
SAID = {"type": "text", "text": "It is 4"}


def test_a_reply_in_parts_is_read_whole_and_streamed_and_its_thoughts_apart() -> None:
    """Mistral's reasoning models send lists of parts, in both ways."""
    pieces: list[Any] = [[THOUGHT], [THOUGHT_ON], [SAID], "2."]
    heard = read(events([*map(chunk, pieces), chunk("", finish_reason="stop"), "[DONE]"]).raw)
    parts = [THOUGHT, THOUGHT_ON, SAID, {"type": "text", "text": "2."}]
    for each in (heard, read(whole(parts, usage=None).raw)):
        assert isinstance(each, Heard)
        assert (each.text, each.thought) == ("It is 42.", "carry the one")
    assert isinstance(read(whole([THOUGHT]).raw), Fault)


DIED = {"code": 502, "message": "the provider behind it is gone"}


@pytest.mark.parametrize(
    ("raw", "free"),
    [
        (events([json.dumps({"error": DIED})]).raw, True),
        (events([chunk(""), json.dumps({"error": DIED}), "[DONE]"]).raw, True),
        (events([chunk("half"), json.dumps({"error": DIED}), "[DONE]"]).raw, False),
        (events([chunk("half"), chunk("", finish_reason="error", error=DIED)]).raw, False),
        (
            json.dumps(
                {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": DIED}]}
            ).encode(),
            False,
        ),
        (
            json.dumps(
                {
                    "error": DIED,
                    "choices": [{"message": {"content": "half"}, "finish_reason": "error"}],
                }
            ).encode(),
            False,
        ),
    ],
)
def test_an_error_that_broke_a_reply_off_is_the_error_and_may_be_charged(
    raw: bytes, free: bool
) -> None:
    fault = read(raw)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.free) == ("failed", free)


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", "stop"),
        (None, "stop"),
        ("eos", "stop"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("content_filter: PROHIBITED_CONTENT", "refusal"),
        ("RECITATION", "refusal"),
    ],
)
def test_the_end_of_a_reply_is_known_by_every_server_s_word(word: str | None, finish: str) -> None:
    heard = read(whole("half a thought", finish=word).raw)
    assert isinstance(heard, Heard)
    assert heard.finish == finish


@given(ANY_TEXT)
def test_what_is_sent_can_be_encoded_and_valid_text_is_left_alone(text: str) -> None:
    mended = encodable(text)
    mended.encode()
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert mended == text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Wed, 01 Jan 2025 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:00:30"}, 30.0),
        (
            {
                "retry-after": "Wed, 01 Jan 2025 05:00:30 GMT",
                "date": "Wed, 01 Jan 2025 05:00:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Mon, 01 Jan 2024 00:00:30 GMT",
                "date": "Mon, 01 Jan 2024 00:00:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Wed, 01 Jan 2025 00:00:30 GMT", "date": "today"}, 30.0),
        ({"retry-after": "Tue, 31 Dec 2024 00:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_pause(headers, NOW) == seconds


@given(said=ANY_TEXT)
def test_any_retry_after_is_read_somehow(said: str) -> None:
    pause = asked_pause({"retry-after": said}, NOW)
    assert pause is None or pause >= 0


@given(
    attempt=st.integers(1, 10_000),
    seed=st.integers(),
    asked=st.none() | st.floats(0, 1e9),
    base_s=st.floats(0, 10),
    longest_s=st.floats(0, 100),
)
def test_pauses_keep_what_was_asked_and_the_cap(
    attempt: int, seed: int, asked: float | None, base_s: float, longest_s: float
) -> None:
    pause = pause_before(attempt, seed, asked=asked, base_s=base_s, longest_s=longest_s)
    assert min(asked or 0.0, longest_s) <= pause <= longest_s
    assert pause == pause_before(attempt, seed, asked=asked, base_s=base_s, longest_s=longest_s)


def test_pauses_double() -> None:
    pauses = [pause_before(n, 1, asked=None, base_s=1, longest_s=100) for n in range(1, 7)]
    assert all(2 ** (n - 1) / 2 <= pause <= 2 ** (n - 1) for n, pause in enumerate(pauses, 1))
