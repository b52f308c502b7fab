"""Who of several brokers answers: one that does, one that is silent, one that is gone."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Generator
from contextlib import ExitStack, closing

import pytest

from streams.interfaces.cli import kafka_log
from streams.interfaces.cli.errors import UNREACHABLE, CliError
from streams.interfaces.cli.output import say
from streams.runtime.kafka import aio, roll
from streams.runtime.kafka.place import KafkaAddress
from tests.ports import refusing


def serve(server: socket.socket, others: list[int]) -> None:
    """Answer versions with nothing, and metadata with brokers at these ports, until it is closed."""
    known = b"".join(
        struct.pack(">ih", number, 9) + b"127.0.0.1" + struct.pack(">ih", port, -1)
        for number, port in enumerate(others)
    )
    while True:
        try:
            link, _ = server.accept()
        except OSError:
            return
        with closing(link):
            while len(head := link.recv(4)) == 4:
                asked = link.recv(struct.unpack(">i", head)[0])
                said = struct.pack(">i", len(others)) + known if asked[1] == roll.METADATA else b""
                link.sendall(struct.pack(">ii", 4 + len(said), 1) + said)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[int, int, int]]:
    """Of a broker that answers and knows all three, of one that is silent, and of one that is gone."""
    monkeypatch.setattr(roll, "WAIT_S", 0.8)
    with ExitStack() as stack:
        made = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        well, silent = (each.getsockname()[1] for each in made)
        gone = stack.enter_context(refusing())
        thread = threading.Thread(target=serve, args=(made[0], [well, silent, gone]))
        thread.start()
        stack.callback(thread.join)
        stack.callback(made[0].close)
        stack.callback(made[0].shutdown, socket.SHUT_RDWR)
        stack.callback(made[1].close)
        yield well, silent, gone


def test_all_are_asked_though_one_was_named(ports: tuple[int, int, int]) -> None:
    well, silent, gone = ports
    called = roll.call(KafkaAddress.of(f"kafka://127.0.0.1:{well}"))
    assert called.answered == [f"127.0.0.1:{well}"]
    assert called.told().startswith("one of three brokers answered; ")
    assert f"127.0.0.1:{silent} is silent" in called.told()
    assert f"127.0.0.1:{gone} refuses the connection" in called.told()


def test_a_single_one_and_none() -> None:
    with refusing() as gone:
        place = KafkaAddress.of(f"kafka://127.0.0.1:{gone}")
        said = roll.call(place).told()
    assert said == f"none of one broker answered; {place.servers} refuses the connection"
    assert roll.Roll({"a:1": "answers"}).told() == "the broker answered"
    assert roll.Roll({"a:1": "answers", "b:1": "answers"}).told() == "all two brokers answered"


def test_an_error_says_who_answered(ports: tuple[int, int, int]) -> None:
    def fails() -> None:
        raise aio.kafka_error()("Attempt to send a request to node which is not ready (node id 2).")

    place = KafkaAddress.of(f"kafka://127.0.0.1:{ports[0]}")
    with pytest.raises(CliError) as raised:
        kafka_log.reached(place, fails)
    assert raised.value.exit == UNREACHABLE
    assert raised.value.detail.startswith("one of three brokers answered; ")
    assert raised.value.detail.endswith("not ready (node id 2).")
    assert "no broker answered" not in raised.value.text()


def test_who_waits_for_long_is_told_what_for_once(
    ports: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka_log, "HINT_S", 0.05)
    place, told = KafkaAddress.of(f"kafka://127.0.0.1:{ports[0]}"), threading.Event()

    def heard(text: str) -> None:
        say(text)
        told.set()

    monkeypatch.setattr(kafka_log, "say", heard)
    with kafka_log.hinting(place):
        assert told.wait(60)
    said = capsys.readouterr().err
    assert said.startswith(f"{place.url}: one of three brokers answered; ")
    assert said.endswith("; still waiting\n")
    told.clear()
    with kafka_log.hinting(place) as done:
        done()
        assert not told.wait(0.3)
