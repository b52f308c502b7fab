"""Proxies of the environment: which are used for whom, what they see, and what they answer in the endpoint's place."""

from __future__ import annotations

import asyncio
import base64
import os

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.proxies import is_here
from streams.core.backbone import BackboneError, ModelReply, SetupBroken, Unreachable
from tests.endpoint import serving, whole
from tests.hostile import Talk, head, talking
from tests.streams.backbones.asking import asking

# The client's own transport hands a proxy's login on in the older of aiohttp's two ways.
pytestmark = [
    pytest.mark.filterwarnings("ignore:BasicAuth is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'proxy_auth' parameter is deprecated"),
]

KEY = "sk-never-to-be-seen"
PLAIN, SECURE = "http://endpoint.example/v1", "https://endpoint.example/v1"
OK = whole("ok").raw
PASSWORD = "hidden-word"


@pytest.fixture(autouse=True)
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy but a test's own."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def asked(url: str) -> ModelReply:
    async def body() -> ModelReply:
        options = Options(max_attempts=1, backoff_s=0.001, timeout_s=20.0, connect_s=2.0)
        backbone = OpenAIBackbone("m", base_url=url, api_key=KEY, environ={}, options=options)
        try:
            return await backbone.complete(asking())
        finally:
            await backbone.close()

    return asyncio.run(body())


def answering(_: bytes) -> list[bytes]:
    return [head(), OK]


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_is_asked_in_the_endpoint_s_place(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(answering) as proxy:
        monkeypatch.setenv(name, f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}")
        assert asked(PLAIN).text == "ok"
        (said,) = proxy.asked
    assert said.startswith(b"POST http://endpoint.example/v1/chat/completions HTTP/1.1\r\n")
    login = base64.b64encode(f"me:{PASSWORD}".encode())
    assert b"proxy-authorization: basic " + login.lower() in said.lower()


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_behind_tls_a_proxy_learns_the_host_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(lambda _: [head("502 Bad Gateway")]) as proxy:
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(Unreachable, match="the proxy did not reach it, HTTP 502") as caught:
            asked(SECURE)
        (said,) = proxy.asked
    assert caught.value.tried.free
    assert said.startswith(b"CONNECT endpoint.example:443 HTTP/1.1\r\n")
    assert KEY.encode() not in said
    assert b"2+2" not in said


@pytest.mark.parametrize(
    "names", ["endpoint.example", ".example", "other,endpoint.example", "*", "example"]
)
def test_whom_no_proxy_names_is_asked_without_one(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(answering) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", names)
        with pytest.raises(Unreachable, match="no such host"):
            asked(PLAIN)
        assert proxy.asked == []


def test_what_listens_here_is_asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A company's proxy once got the prompts and the key of a server on the same machine."""
    with talking(answering) as proxy, serving() as endpoint:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert asked(endpoint.url).text == "2+2"
        assert asked(endpoint.url.replace("127.0.0.1", "localhost")).text == "2+2"
        assert proxy.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "a.localhost"])
def test_which_hosts_are_this_machine(host: str) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", ["", "127.evil.example", "localhost.example", "10.0.0.1", "::2"])
def test_which_hosts_are_not(host: str) -> None:
    assert not is_here(host)


# -- what a proxy answers itself


def failing(url: str, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> BackboneError:
    with talking(talk) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}")
        with pytest.raises(BackboneError) as caught:
            asked(url)
        assert len(proxy.asked) == 1
    assert PASSWORD not in str(caught.value)
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("url", [PLAIN, SECURE])
def test_a_proxy_that_wants_a_login_is_a_broken_set_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a key that was refused, nor an endpoint to be asked for ever."""
    page = head("407 Proxy Authentication Required", kind="text/html")
    error = failing(url, lambda _: [page, b"<html>log in</html>"], monkeypatch)
    assert isinstance(error, SetupBroken)
    assert error.code == "proxy"
    assert "wants a user and a password, HTTP 407" in error.detail


@pytest.mark.parametrize("status", ["403 Forbidden", "405 No", "302 Found"])
def test_a_proxy_that_lets_nobody_through_is_a_broken_set_up(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = failing(SECURE, lambda _: [head(status, "location: http://portal/")], monkeypatch)
    assert isinstance(error, SetupBroken)
    assert error.code == "proxy"
    assert f"lets nobody through to it, HTTP {status[:3]}" in error.detail


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (PLAIN, [head(kind="text/html"), b"<html>welcome</html>"]),
        (PLAIN, [head("504 Gateway Timeout", kind="text/html"), b"<html>later</html>"]),
        (SECURE, [head("503 Service Unavailable")]),
        (SECURE, [b"no HTTP at all\r\n\r\n"]),
        (SECURE, []),
    ],
)
def test_a_proxy_s_own_trouble_is_the_moment_s(
    url: str, said: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(failing(url, lambda _: said, monkeypatch), Unreachable)


def test_a_portal_in_a_proxy_s_place_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = head("302 Found", "location: http://portal.example/login?from=x")
    error = failing(PLAIN, lambda _: [moved], monkeypatch)
    assert isinstance(error, SetupBroken)
    assert error.code == "moved"
    assert "sends us to http://portal.example/login;" in error.detail


@pytest.mark.parametrize("url", [PLAIN, SECURE])
def test_a_proxy_that_is_away_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"http://me:{PASSWORD}@127.0.0.1:9")
    with pytest.raises(Unreachable, match="the proxy: connection refused") as caught:
        asked(url)
    assert caught.value.tried.free
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        (f"socks5://me:{PASSWORD}@127.0.0.1:9", "socks5 is no proxy that can be used"),
        ("socks5h://127.0.0.1:9", "socks5h is no proxy that can be used"),
        ("ftp://127.0.0.1:9", "ftp is no proxy that can be used"),
        (f"http://me:{PASSWORD}@host:99999", "names no host and port"),
        ("http://", "names no host and port"),
        ("http://[::", "names no host and port"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_said_before_anything_is_sent(
    proxy: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of SOCKS was spoken to in HTTP: prompt and key went to it as they were."""
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(SetupBroken, match=said) as caught:
        asked(PLAIN)
    assert caught.value.code == "proxy"
    assert PASSWORD not in str(caught.value)


def test_a_proxy_that_does_not_concern_us_is_none_of_our_business(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with serving() as endpoint:
        assert asked(endpoint.url).text == "2+2"
    monkeypatch.setenv("NO_PROXY", "endpoint.example")
    with pytest.raises(Unreachable, match="no such host"):
        asked(PLAIN)
