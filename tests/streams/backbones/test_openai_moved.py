"""An endpoint that sends us elsewhere: nobody follows it, and the place that it names is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from streams.answering.backbones.openai import OpenAIBackbone
from streams.answering.backbones.openai.options import shown
from streams.answering.embedders.openai import OpenAIEmbedder
from streams.core.backbone import SetupBroken
from tests.endpoint import Answer, serving
from tests.streams.backbones.asking import always, asking

KEY = "sk-never-to-be-seen"
Ask = Callable[[str], Coroutine[None, None, object]]


async def completing(url: str) -> object:
    return await closed_after(
        OpenAIBackbone("m", base_url=url, api_key=KEY, environ={}), "complete", asking()
    )


async def listing(url: str) -> object:
    return await closed_after(
        OpenAIBackbone(base_url=url, api_key=KEY, environ={}), "complete", asking()
    )


async def embedding(url: str) -> object:
    embedder = OpenAIEmbedder("m", base_url=url, environ={"OPENAI_API_KEY": KEY})
    return await closed_after(embedder, "embed", ["the prompt"])


async def closed_after(of: Any, name: str, given: object) -> object:
    try:
        return await getattr(of, name)(given)
    finally:
        await of.close()


def refused(ask: Ask, status: int, location: str | None) -> SetupBroken:
    with ExitStack() as stack:
        elsewhere = stack.enter_context(serving())
        to = None if location is None else location.replace("ELSEWHERE", elsewhere.url)
        headers = {} if to is None else {"location": to}
        endpoint = stack.enter_context(serving(always(Answer(status=status, headers=headers))))
        endpoint.models_answer = Answer(status=status, headers=headers)
        with pytest.raises(SetupBroken) as caught:
            asyncio.run(ask(endpoint.url))
        assert not elsewhere.asked
        assert not elsewhere.listings
        assert len(endpoint.asked) + endpoint.listings == 1
        assert caught.value.where == endpoint.url
        assert str(status) in caught.value.detail
        assert to is None or to == location or elsewhere.url in caught.value.detail
    assert caught.value.code == "moved"
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("ask", [completing, listing, embedding])
@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_nobody_is_asked_elsewhere(ask: Ask, status: int) -> None:
    """A 307 once took prompt and answer to whatever address it named."""
    refused(ask, status, "ELSEWHERE/chat/completions")


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (
            "https://other.example/v1?token=secret",
            "sends us to https://other.example/v1; no redirect",
        ),
        ("https://me:secret@other.example", "sends us to https://other.example;"),
        (f"https://other.example/{KEY}", "sends us to https://other.example/[key];"),
        ("//other.example/v1", "sends us to //other.example/v1;"),
        ("/elsewhere", "sends us to /elsewhere;"),
        ("http://[", "sends us to no address;"),
        (None, "sends us to no location;"),
    ],
)
def test_where_it_sends_us_is_told_without_secrets(location: str | None, told: str) -> None:
    error = refused(completing, 307, location)
    assert told in error.detail
    assert "secret" not in str(error)


def test_a_page_without_content_is_no_place() -> None:
    assert "HTTP 304" in refused(completing, 304, None).detail


@pytest.mark.parametrize(
    "url",
    ["http://", "http://:80/v1", "http://[", "http://host:99999", "http://host:x", "http://host:0"],
)
def test_an_address_without_a_host_is_a_broken_set_up(url: str) -> None:
    with pytest.raises(SetupBroken, match="names no host") as caught:
        OpenAIBackbone("m", base_url=url, environ={})
    assert caught.value.code == "model"


def test_an_address_is_shown_without_what_is_nobodys_business() -> None:
    assert shown("http://me:secret@host:1/v1/?token=secret#x") == "http://host:1/v1"
