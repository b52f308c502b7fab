"""A server on loopback that sends whatever bytes a test writes, be they HTTP or not, and for how long it likes."""

from __future__ import annotations

import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress

MIB = 1 << 20
Talk = Callable[[bytes], Iterable[bytes]]
"""What is sent for a request, piece by piece; the connection closes behind it, or when nobody listens."""


class Hostile:
    """``url`` to reach it at; ``asked`` are the requests that came, as bytes, and ``sent`` counts its own."""

    def __init__(self, talk: Talk, tls: ssl.SSLContext | None = None) -> None:
        self.talk, self.tls = talk, tls
        self.asked: list[bytes] = []
        self.sent = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.url = f"http{'' if tls is None else 's'}://127.0.0.1:{self.port}/v1"
        self._stopped = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._stopped = True
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(timeout=10)

    def _accept(self) -> None:
        while not self._stopped:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError), plain, self._secured(plain) as connection:
            connection.settimeout(30)
            request = request_of(connection)
            self.asked.append(request)
            for piece in self.talk(request):
                if self._stopped:
                    return
                connection.sendall(piece)
                self.sent += len(piece)

    def _secured(self, plain: socket.socket) -> socket.socket:
        plain.settimeout(30)
        return plain if self.tls is None else self.tls.wrap_socket(plain, server_side=True)


def request_of(connection: socket.socket) -> bytes:
    """One request with its body."""
    found = b""
    while b"\r\n\r\n" not in found:
        came = connection.recv(1 << 16)
        if not came:
            return found
        found += came
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length and (came := connection.recv(1 << 16)):
        body += came
    return head + b"\r\n\r\n" + body


def head(status: str = "200 OK", *lines: str, kind: str = "application/json") -> bytes:
    """A response's head, which says no length: the body ends with the connection."""
    said = (f"HTTP/1.1 {status}", f"content-type: {kind}", "connection: close", *lines)
    return "\r\n".join((*said, "", "")).encode("latin-1")


def packed(mib: int, unit: bytes = b" " * MIB, layers: int = 1) -> bytes:
    """So many times ``unit`` as gzip, and that as gzip again; made in the time that one unit takes."""
    found = unit * mib if layers > 1 else b""
    for layer in range(layers):
        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        if layer == 0:
            first = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
            again = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
            found = first + again * (mib - 1)  # no end: its checksum is not of interest
        else:
            found = packer.compress(found) + packer.flush()
    return found


@contextmanager
def talking(talk: Talk) -> Generator[Hostile]:
    """Such a server for the length of a block."""
    server = Hostile(talk)
    try:
        yield server
    finally:
        server.close()
