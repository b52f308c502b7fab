"""How long clients wait for a broker's answer: by what they asked, and never as long as a dead one takes to replace.

aiokafka has one limit for everything that a client asks. It has to be long, since who joins a group waits for its
other members; so a broker that is stopped where it stands, with its connections open, would hold up everything else
for as long. ``install`` puts itself around aiokafka's connections: what any broker answers at once is waited for
briefly, fetches and appends a little longer, and only joining a group as long as the client says.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

PROMPT_S: Final = 4.0
"""What a broker answers from memory; a connection too. Whoever asks tries another one after it."""
ANSWER_S: Final = 10.0
"""Anything else: a cluster takes as long to see that a broker is gone."""
FETCH_S: Final = 6.0
"""Records: our fetches ask a broker to hold its answer back for a fraction of that."""
ANSWER_MS: Final = round(ANSWER_S * 1000)
LAST_S: Final = 2.0
"""A farewell: nobody hangs on its answer."""
_PROMPT: Final = frozenset({2, 3, 9, 10, 12, 18, 22})
"""Offsets of a log, metadata, committed offsets, coordinators, heartbeats, versions, numbers for producers."""
_JOINING: Final = frozenset({11, 14})
"""Joining a group, and hearing what its leader dealt."""
_FETCHING: Final = 1
_LEAVING: Final = 13


def limit_s(asked: int, whole_s: float) -> float:
    """How long to wait for the answer to a request of this kind; ``whole_s`` is the client's own limit."""
    # The broker answers only once all members have come back, however long that takes.
    if asked in _JOINING:
        return whole_s
    if asked == _LEAVING:
        return min(whole_s, LAST_S)
    if asked == _FETCHING:
        return min(whole_s, FETCH_S)
    return min(whole_s, PROMPT_S if asked in _PROMPT else ANSWER_S)


@cache
def install() -> None:
    """Limit every connection of this process in this way."""
    connection: Any = import_module("aiokafka.conn").AIOKafkaConnection
    send, connect = connection.send, connection.connect

    def sent(self: Any, request: Any, expect_response: bool = True) -> Any:
        # The limit is read while the request is sent, and not when its answer comes: so it may be put back at once.
        whole_s = self._request_timeout
        self._request_timeout = limit_s(request.API_KEY, whole_s)
        try:
            return send(self, request, expect_response)
        finally:
            self._request_timeout = whole_s

    # A machine that is gone refuses no connection: it leaves whoever connects waiting.
    async def connected(self: Any) -> Any:
        whole_s = self._request_timeout
        self._request_timeout = min(whole_s, PROMPT_S)
        try:
            return await connect(self)
        finally:
            self._request_timeout = whole_s

    connection.send, connection.connect = sent, connected
