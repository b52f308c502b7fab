"""The endpoint that tests ask: closing it leaves nothing open, whoever knocks meanwhile."""

import gc
import socket
import threading

import pytest

from tests.endpoint import Endpoint

ROUNDS = 10
MANY = 50
"""Connections that were made before the endpoint is closed."""


def knocked(port: int, made: threading.Semaphore, enough: threading.Event) -> None:
    """Connections made and dropped until told, each counted."""
    while not enough.is_set():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            continue
        made.release()


@pytest.mark.filterwarnings("error")
def test_closing_it_while_many_connect_leaves_no_socket_open() -> None:
    for _ in range(ROUNDS):
        endpoint = Endpoint()
        port = int(endpoint.url.rpartition(":")[2].partition("/")[0])
        made, enough = threading.Semaphore(0), threading.Event()
        given = (port, made, enough)
        who = [threading.Thread(target=knocked, args=given, daemon=True) for _ in range(2)]
        for each in who:
            each.start()
        for _ in range(MANY):
            assert made.acquire(timeout=10)
        endpoint.close()
        enough.set()
        for each in who:
            each.join()
        del endpoint
        gc.collect()
