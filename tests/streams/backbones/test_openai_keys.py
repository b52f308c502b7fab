"""A key that an endpoint repeats: nothing that is recorded, raised or logged holds it, nor a piece of it."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import astuple
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.masking import masked
from streams.answering.backbones.openai.options import Site
from streams.core.backbone import BackboneError
from tests.conftest import SLOW
from tests.endpoint import Answer, Endpoint, fails, serving, streamed, whole
from tests.hostile import head, talking
from tests.streams.backbones.asking import always, asking

PIECE = 6
"""Characters of a key that tell something of it."""
QUICK: dict[str, Any] = {"backoff_s": 0.001, "max_attempts": 1}
KEYS = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ-_/+=", min_size=20, max_size=60)
AROUND = st.text("abc ", max_size=320)


def plain(key: str, before: str) -> Answer:
    return whole(f"{before}{key} and again {key}", model=f"m {key}")


def in_pieces(key: str, before: str) -> Answer:
    half = len(key) // 2
    return streamed([before, key[:half], key[half:], "."])


def as_refusal(key: str, before: str) -> Answer:
    return whole(None, refusal=f"{before}{key}")


def as_message(key: str, before: str) -> Answer:
    return fails(400, "bad", f"{before}{key}")


def as_code(key: str, before: str) -> Answer:
    return fails(401, f"{before}{key}", "no")


def as_text(key: str, before: str) -> Answer:
    return Answer(raw=f"{before}{key}".encode(), status=500, type="text/plain")


def within_a_reply(key: str, before: str) -> Answer:
    return Answer(raw=json.dumps({"error": {"message": f"{before}{key}"}}).encode())


def as_page(key: str, before: str) -> Answer:
    return Answer(raw=f"<p>{before}{key}".encode(), type="text/html")


def as_garbage(key: str, before: str) -> Answer:
    return Answer(raw=f"{before}{key}".encode())


def as_place(key: str, before: str) -> Answer:
    return Answer(status=307, headers={"location": f"/{len(before)}/{key}?{key}"})


def as_models(key: str, before: str) -> Answer:
    names = [{"id": f"{before}{key}"}, {"id": "other"}]
    return Answer(raw=json.dumps({"data": names}).encode())


MOODS = [
    *(plain, in_pieces, as_refusal, as_message, as_code, as_text, within_a_reply, as_page),
    *(as_garbage, as_place, as_models),
]


def by_slashes(raw: bytes) -> bytes:
    """As some servers write JSON."""
    return raw.replace(b"/", b"\\/") if raw[:1] == b"{" else raw


@pytest.fixture(scope="module")
def endpoint() -> Any:
    with serving() as made:
        yield made


def shown_at(url: str, key: str, model: str | None) -> str:
    """Everything that a call left: the reply or what it raised."""

    async def body() -> str:
        options = Options(**QUICK)
        backbone = OpenAIBackbone(model, base_url=url, api_key=key, environ={}, options=options)
        try:
            return repr(astuple(await backbone.complete(asking()))) + backbone.name
        except BackboneError as error:
            return f"{error!r} {error}"
        finally:
            await backbone.close()

    return asyncio.run(body())


def shown(endpoint: Endpoint, key: str, answer: Answer, model: str | None) -> str:
    endpoint.script, endpoint.models_answer = always(answer), answer
    return shown_at(endpoint.url, key, model)


@pytest.mark.parametrize("mood", MOODS)
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW],
    deadline=None,
)
@given(key=KEYS, before=AROUND)
def test_no_piece_of_a_key_comes_back(
    endpoint: Endpoint,
    caplog: pytest.LogCaptureFixture,
    mood: Callable[[str, str], Answer],
    key: str,
    before: str,
) -> None:
    answer = mood(key, before)
    for raw in (answer.raw, by_slashes(answer.raw)):
        caplog.clear()
        sent = Answer(raw=raw, status=answer.status, headers=answer.headers, type=answer.type)
        with caplog.at_level(logging.DEBUG):
            said = shown(endpoint, key, sent, None if mood is as_models else "m") + caplog.text
        assert not any(key[at : at + PIECE] in said for at in range(len(key) - PIECE + 1)), said


def test_a_key_on_the_first_line_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-never-to-be-seen"
    with (
        talking(lambda _: [head(f"500 {key}", f"x-key: {key}"), key.encode()]) as server,
        caplog.at_level(logging.INFO),
    ):
        said = shown_at(server.url, key, "m")
    assert "HTTP 500" in said
    assert key not in said + caplog.text


def test_a_reply_says_where_the_key_stood(endpoint: Endpoint) -> None:
    said = shown(endpoint, "sk-never-to-be-seen", plain("sk-never-to-be-seen", "it is "), "m")
    assert "it is [key] and again [key]" in said


@pytest.mark.parametrize(
    ("key", "said"), [("none", "none"), ("EMPTY", "EMPTY"), ("12345678", "[key]")]
)
def test_what_is_short_enough_for_a_word_stays_in_a_reply(key: str, said: str) -> None:
    """Local servers are given such keys, and a reply without the word would be another reply."""
    site = Site(url="http://h/v1", key=key, key_source="here", model=None)
    assert site.unkeyed(f"x {key} y") == f"x {said} y"


SPELLED: list[Callable[[str], str]] = [
    lambda key: quote(key, safe=""),
    lambda key: quote(quote(key, safe=""), safe=""),
    lambda key: "".join(f"%{ord(each):02x}" for each in key),
    lambda key: "".join(f"\\u{ord(each):04X}" for each in key),
    lambda key: key.replace("/", "\\/"),
    html.escape,
    lambda key: "".join(f"&#x{ord(each):x};" for each in key),
]
PACKED: list[Callable[[bytes], bytes]] = [b64encode, urlsafe_b64encode]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_key_in_another_spelling_is_hidden_in_replies_and_errors(
    endpoint: Endpoint, spelled: Callable[[str], str]
) -> None:
    key = "sk+never/to=be<seen&ever"
    for mood in (plain, as_message, as_text):
        said = shown(endpoint, key, mood(spelled(key), "it is "), "m")
        assert "it is [key]" in said
        assert spelled(key) not in said


@pytest.mark.parametrize("packed", PACKED)
@given(key=KEYS, user=st.text("user:", max_size=5), after=st.text("xyz", max_size=4))
def test_a_key_within_base64_is_hidden_wherever_it_begins(
    packed: Callable[[bytes], bytes], key: str, user: str, after: str
) -> None:
    """A header of basic authentication holds the user's name before it."""
    said = masked(f"Basic {packed(f'{user}{key}{after}'.encode()).decode()}", key)
    assert "[key]" in said
    # What stands beside the mask is what stood beside the key, and letters that it shares with it.
    assert len(said) - len("Basic [key]") <= (len(user) + len(after)) * 4 / 3 + 8


def test_a_long_text_is_looked_through_in_time_in_proportion_to_it() -> None:
    begun = time.perf_counter()
    for text in ("\\", "%25", "&#0", "&amp;"):
        masked(text * 300_000, "%25&amp;" + "\\" * 8)
    assert time.perf_counter() - begun < 20
