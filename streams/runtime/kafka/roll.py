"""Which brokers answer, asked by plain sockets: for people who wait, and for errors that tell what was missing.

aiokafka says that it could not do something, and of whom it heard only in its log.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from streams.runtime.kafka.place import KafkaAddress

WAIT_S: Final = 1.5
MOST: Final = 1 << 20
VERSIONS, METADATA = 18, 3
Found: TypeAlias = Literal["answers", "is silent", "refuses the connection", "cannot be reached"]
NUMBERS: Final = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True, slots=True)
class Roll:
    """The result of asking each known broker."""

    found: dict[str, Found]

    @property
    def answered(self) -> list[str]:
        """Those that answered."""
        return [server for server, did in self.found.items() if did == "answers"]

    def told(self) -> str:
        """How many of how many answered, and what the others do."""
        number, of = len(self.answered), len(self.found)
        brokers = "broker" if of == 1 else "brokers"
        if number == of:
            return f"the {brokers} answered" if of == 1 else f"all {_word(of)} {brokers} answered"
        missing = [f"{server} {did}" for server, did in self.found.items() if did != "answers"]
        return f"{_word(number)} of {_word(of)} {brokers} answered; " + ", ".join(missing)


def _word(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def call(place: KafkaAddress) -> Roll:
    """Ask every broker that the place names, or that one of these knows."""
    named = place.servers.split(",")
    answers = _ask_all(place, named)
    # Those that are named may be a few of many, and the one that is missing is often another one.
    others = {each for _, known in answers.values() for each in known} - answers.keys()
    answers |= _ask_all(place, sorted(others))
    return Roll({server: did for server, (did, _) in answers.items()})


def _ask_all(place: KafkaAddress, servers: list[str]) -> dict[str, tuple[Found, list[str]]]:
    # All at once: several silent ones would else take several times the wait.
    with ThreadPoolExecutor(max(1, len(servers)), "roll") as asking:
        asked = {server: asking.submit(_ask, place, server) for server in servers}
        return {server: each.result() for server, each in asked.items()}


def _ask(place: KafkaAddress, server: str) -> tuple[Found, list[str]]:
    """Ask one broker for its state, and for the other brokers that it knows."""
    host, _, port = server.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), WAIT_S)) as plain:
            context: Any = place.clients.get("ssl_context")
            link = plain if context is None else context.wrap_socket(plain, server_hostname=host)
            with closing(link):
                link.settimeout(WAIT_S)
                _request(link, VERSIONS, b"")
                # Who is asked without having logged in answers no more than its versions.
                secret = "SASL" in str(place.clients.get("security_protocol", ""))
                known = [] if secret else list(_others(link))
                return "answers", known
    except TimeoutError:
        return "is silent", []
    except ConnectionRefusedError:
        return "refuses the connection", []
    except (OSError, struct.error, UnicodeDecodeError):
        return "cannot be reached", []


def _request(link: socket.socket, asked: int, body: bytes, version: int = 0) -> bytes:
    """Ask in the oldest version; the answer, without its number."""
    said = struct.pack(">hhih", asked, version, 1, -1) + body
    link.sendall(struct.pack(">i", len(said)) + said)
    (size,) = struct.unpack(">i", _read(link, 4))
    # Whatever listens there need not be Kafka, and the size that it seems to name may be anything.
    return _read(link, min(size, MOST))[4:]


def _read(link: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = link.recv(size - len(found))
        if not more:
            raise ConnectionResetError
        found += more
    return found


def _others(link: socket.socket) -> Iterator[str]:
    """The brokers that a broker knows of; of topics it is asked for none."""
    said = _request(link, METADATA, struct.pack(">i", 0), version=1)
    (count,), at = struct.unpack_from(">i", said), 4
    for _ in range(count):
        (length,) = struct.unpack_from(">h", said, at + 4)
        host = said[at + 6 : at + 6 + length].decode()
        at += 6 + length
        port, rack = struct.unpack_from(">ih", said, at)
        at += 6 + max(rack, 0)
        yield f"{host}:{port}"
