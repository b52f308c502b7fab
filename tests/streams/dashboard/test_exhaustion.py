"""Whoever opens connections and holds them, by real sockets: the others are answered, or told to wait."""

from __future__ import annotations

import resource
import socket
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from streams.interfaces.dashboard.letters import MOST_OF_STRANGERS
from streams.support.web.bodies import BODY_S, LINGER_S
from streams.support.web.connections import HEAD_S, MOST
from tests.pace import soon
from tests.streams.dashboard.serving import Site, serving

DESCRIPTORS = 1_024
PATIENCE_S, HANGS_S = 15.0, 90.0
LONG = 4 << 20
LIVE = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /dead-letter/replay HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"


SHORT_S = 5.0
HASTY = (
    "from streams.support.web import bodies",
    f"assert (bodies.BODY_S, bodies.LINGER_S) == {BODY_S, LINGER_S}",
    f"bodies.BODY_S, bodies.LINGER_S = {SHORT_S}, {SHORT_S / 4}",
)
"""A body's time and the time for what nobody reads, a quarter of what they are: two tests only wait for them."""


@contextmanager
def narrow(log: Path, *hasty: str, **env: str) -> Generator[Site]:
    """A dashboard that may open as many files as a shell gives a process by default."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
    try:
        started = serving(log, hasty=hasty, **env)
        site = started.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        yield site
    finally:
        started.__exit__(None, None, None)


@contextmanager
def opened(site: Site, count: int, said: bytes = b"") -> Generator[list[socket.socket]]:
    """Connections, each of which says this and no more."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    with ExitStack() as held:
        found: list[socket.socket] = []
        for _ in range(count):
            link = held.enter_context(closing(socket.create_connection((host, int(port)))))
            link.settimeout(HANGS_S)
            link.sendall(said)
            found.append(link)
        yield found


def status(link: socket.socket) -> int:
    """The status of the answer to a request; 0 where the connection ends without one."""
    head = b""
    while b"\r\n" not in head:
        more = link.recv(4096)
        if not more:
            return 0
        head += more
    return int(head.split(b" ", 2)[1])


def ended(link: socket.socket) -> bool:
    """Whether the connection is closed, once everything that was sent is read."""
    try:
        while link.recv(65_536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.slow
def test_streams_leave_places_and_descriptors_for_pages(worked: Path) -> None:
    with narrow(worked) as site, opened(site, 1_300, LIVE) as links:
        found = Counter(map(status, links))
        assert found == {200: MOST // 2, 503: 1_300 - MOST // 2}
        assert site.get("/").status == 200
        links[0].close()
        links[1].close()
        assert again(site), "a stream notices at its next look that nobody reads it any more"


def again(site: Site) -> bool:
    """Whether there is room for one stream more, within a while."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with opened(site, 1, LIVE) as (link,):
            if status(link) == 200:
                return True
        time.sleep(0.2)
    return False


@pytest.mark.slow
def test_who_says_nothing_or_trickles_is_cut_off_and_the_others_are_told_to_wait(
    worked: Path,
) -> None:
    with narrow(worked) as site:
        began = time.monotonic()
        with opened(site, MOST) as links:
            refused = site.get("/")
            assert (refused.status, refused.headers["retry-after"]) == (503, "10")
            assert "too many connections" in refused.text
            while time.monotonic() - began < HEAD_S - 2:
                for link in links[:20]:
                    with suppress(OSError):  # it may be cut off while we were held up
                        link.sendall(b"G")
                time.sleep(1)
            assert all(map(ended, links))
            assert time.monotonic() - began < HEAD_S + soon(PATIENCE_S)
            assert site.get("/").status == 200


@pytest.mark.slow
def test_bodies_that_never_come_hold_nobody_up(worked: Path) -> None:
    with narrow(worked, *HASTY) as site, opened(site, 200, POST % LONG) as links:
        assert Counter(map(status, links)) == {403: 200}, "without a token nothing is read"
        assert all(map(ended, links))
        with opened(
            site, 1, b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
        ) as more:
            assert status(more[0]) == 400
        with opened(site, 1, POST % (LONG + 1)) as (larger,):
            assert status(larger) == 413


@pytest.mark.slow
def test_the_token_is_looked_at_first(worked: Path) -> None:
    with narrow(worked, *HASTY, METALOGUE_DASHBOARD__TOKEN="open sesame") as site:
        wrong, unsaid = b"token=guess&text=", b"text=" + b"x" * MOST_OF_STRANGERS + b"&n="
        with opened(site, 1, POST % LONG + wrong) as (first,):
            assert status(first) == 403
        with opened(site, 1, POST % LONG + unsaid) as (second,):
            assert status(second) == 403
        began = time.monotonic()
        with opened(site, 200, POST % LONG) as links:
            assert site.get("/").status == 200
            for link in links:
                link.settimeout(HANGS_S)
            assert Counter(map(status, links)) == {408: 200}
            assert SHORT_S < time.monotonic() - began < SHORT_S + soon(PATIENCE_S)
