"""TLS to an endpoint: whom nobody vouches for is not asked, and what breaks off is no reply."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="certificates are made with it")

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.core.backbone import ModelReply, SetupBroken, Unreachable
from tests.certificates import YEAR, Authority, Pair, secure
from tests.endpoint import streamed, whole
from tests.hostile import head, talking
from tests.streams.backbones.asking import asking

OK = whole("ok").raw
LENGTH = f"content-length: {len(OK)}"


def asked(url: str, *, stream: bool = False, connect_s: float = 2.0) -> ModelReply:
    async def body() -> ModelReply:
        options = Options(
            max_attempts=1, backoff_s=0.001, timeout_s=20.0, connect_s=connect_s, stream=stream
        )
        backbone = OpenAIBackbone("m", base_url=url, environ={}, options=options)
        try:
            return await backbone.complete(asking())
        finally:
            await backbone.close()

    return asyncio.run(body())


def answering(_: bytes) -> Iterable[bytes]:
    return [head("200 OK", LENGTH), OK]


@contextmanager
def listening(talk: Callable[[socket.socket], object]) -> Generator[str]:
    """A server that does not wait for a request, nor speak TLS; its address all the same."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError), server.accept()[0] as connection:
                talk(connection)
                connection.recv(1 << 16)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def test_whom_the_named_authority_vouches_for_is_asked(trusted: Authority) -> None:
    with secure(answering, trusted.signs()) as server:
        assert asked(server.url).text == "ok"


SIGNED: dict[str, tuple[Callable[[Authority], Pair], str]] = {
    "by itself": (lambda by: by.signs(itself=True), "self-signed certificate"),
    "until yesterday": (lambda by: by.signs(ends=-YEAR), "certificate has expired"),
    "for another": (lambda by: by.signs("other.example"), "not valid for '127.0.0.1'"),
}


@pytest.mark.parametrize("name", SIGNED)
def test_whom_nobody_vouches_for_is_not_asked_and_a_person_has_to_look(
    trusted: Authority, name: str
) -> None:
    """Such an endpoint was once asked again for ever, and a solve said that it should be started."""
    pair, said = SIGNED[name]
    with secure(answering, pair(trusted)) as server:
        with pytest.raises(SetupBroken, match="its certificate is not trusted") as caught:
            asked(server.url)
        assert server.asked == []
    assert (caught.value.code, caught.value.where) == ("tls", server.url)
    assert said in caught.value.detail


def test_an_authority_that_nobody_named_vouches_for_nobody(authority: Authority) -> None:
    with secure(answering, authority.signs()) as server:
        with pytest.raises(SetupBroken, match=r"unable to get local issuer .* SSL_CERT_FILE"):
            asked(server.url)
        assert server.asked == []


@dataclass(frozen=True)
class Strict(Pair):
    """A pair whose server wants a certificate of the client's own."""

    authority: Path

    def context(self) -> ssl.SSLContext:
        made = super().context()
        made.verify_mode = ssl.CERT_REQUIRED
        made.maximum_version = ssl.TLSVersion.TLSv1_2  # a later one says so behind the handshake
        made.load_verify_locations(self.authority)
        return made


def test_a_server_that_wants_to_know_us_is_no_outage(trusted: Authority) -> None:
    pair = trusted.signs()
    strict = Strict(pair.certificate, pair.key, trusted.file)
    said = "no TLS with it"
    with secure(answering, strict) as server, pytest.raises(SetupBroken, match=said) as caught:
        asked(server.url)
    assert caught.value.code == "tls"


def test_https_where_http_is_spoken_is_no_outage(trusted: Authority) -> None:
    def speaks_first(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with (
        listening(speaks_first) as url,
        pytest.raises(SetupBroken, match="is https right") as caught,
    ):
        asked(url)
    assert caught.value.code == "tls"


@pytest.mark.parametrize(
    "said",
    [
        "<center>The plain HTTP request was sent to HTTPS port</center>",
        "Client sent an HTTP request to an HTTPS server.\n",
    ],
)
def test_http_where_https_is_spoken_is_no_fault_of_a_prompt(said: str) -> None:
    """As nginx and Go say it: every prompt would be recorded as refused."""
    page = head("400 Bad Request", kind="text/html")
    with talking(lambda _: [page, said.encode()]) as server, pytest.raises(SetupBroken) as caught:
        asked(server.url)
    assert caught.value.code == "tls"


def silent(connection: socket.socket) -> None:
    connection.recv(1 << 16)


def test_a_handshake_that_never_ends_is_a_connection_that_never_was(trusted: Authority) -> None:
    """No question was sent: as a timeout it would be recorded as an answer that never came."""
    said = r"no connection within 0\.3 s"
    with listening(silent) as url, pytest.raises(Unreachable, match=said) as caught:
        asked(url, connect_s=0.3)
    assert caught.value.tried.free


CUTS: dict[str, list[bytes]] = {
    "before a word": [],
    "within the head": [b"HTTP/1.1 200 OK\r\ncontent-"],
    "within a length": [head("200 OK", LENGTH), OK[:20]],
    "within a chunk": [head("200 OK", "transfer-encoding: chunked"), b"ff\r\n", OK[:20]],
    "between two chunks": [
        head("200 OK", "transfer-encoding: chunked"),
        b"14\r\n",
        OK[:20],
        b"\r\n",
    ],
}


@pytest.mark.parametrize("name", CUTS)
def test_what_breaks_off_is_no_reply_and_may_be_charged(trusted: Authority, name: str) -> None:
    with secure(lambda _: CUTS[name], trusted.signs()) as server:
        with pytest.raises(Unreachable) as caught:
            asked(server.url)
        assert len(server.asked) == 1
    assert not caught.value.tried.free


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_only_the_end_of_its_connection_ends_is_whole_or_junk(
    trusted: Authority, stream: bool
) -> None:
    """Whoever sits between may end a connection: a half is never taken for the whole."""
    raw = streamed(["one ", "two ", "three"]).raw if stream else OK
    replies: list[ModelReply] = []
    kept = bytearray()
    with secure(lambda _: [head(), bytes(kept)], trusted.signs()) as server:
        for size in (*range(0, len(raw), max(len(raw) // 6, 1)), len(raw)):
            kept[:] = raw[:size]
            replies.append(asked(server.url, stream=stream))
    whole_one = ("one two three" if stream else "ok", "stop")
    assert {(reply.text, reply.finish) for reply in replies} == {("", "error"), whole_one}
    assert replies[-1].text == whole_one[0]
