"""The lines of a file of JSON Lines, plain or packed, within bounds: it may come from anybody."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

MOST_LINE = 64 << 20
MOST_UNPACKED = 4 << 30
"""Bytes of a line and of a whole packed file, of which 100 KB can unpack to gigabytes."""
MOST_TO_DECODE = 128 << 20
"""Bytes that a decoder may hold. Our own segments take 65 MiB."""
AT_ONCE = 1 << 20
PIECE = 16 << 10
"""Packed bytes that are read at once. Each end of a member copies what is left of them, and a member may have 20."""
BEHIND = "more stands behind what is packed"
XZ, GZIP = b"\xfd7zXZ\0", b"\x1f\x8b"
"""How packed files begin; what a file is called says nothing."""


class Unreadable(ValueError):
    """A file cannot be unpacked, or holds more than may be read. The message does not name it."""


class _Decoder(Protocol):
    """What unpacks piece by piece, never more at once than it is asked for."""

    @property
    def eof(self) -> bool:
        """Whether the end of what was packed is reached."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What stands behind that end."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes out before more is put in."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """What comes out next."""
        ...


class _Gzip:
    """Gzip in the shape of the decoder for xz."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self.inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.inner.decompress(self.inner.unconsumed_tail + data, max_length)


def _xz() -> _Decoder:
    # Not `lzma.open`, which lets a file say how much memory it is read with.
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_TO_DECODE)


def unpacked(path: str | Path, *, joined: bool = True) -> Iterator[bytes]:
    """The lines of a file, without their ends. Raises ``OSError`` or ``Unreadable``.

    A packed one may be several that were ``joined``, if not said otherwise.
    """
    with open(path, "rb") as file:
        begins = file.peek(len(XZ))
        try:
            if begins.startswith(XZ):
                yield from _decoded(_members(file, XZ, _xz, joined))
            elif begins.startswith(GZIP):
                yield from _decoded(_members(file, GZIP, _Gzip, joined))
            else:
                while line := file.readline(MOST_LINE + 2):
                    _need_room(line)
                    yield line.removesuffix(b"\n")
        except (lzma.LZMAError, zlib.error) as error:
            raise Unreadable(str(error)) from error


def _decoded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of what comes out of a packed file."""
    whole, rest = 0, bytearray()
    for more in pieces:
        whole += len(more)
        if whole > MOST_UNPACKED:
            raise Unreadable(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
        *lines, last = more.split(b"\n")
        for line in lines:
            yield bytes(rest + line)
            rest.clear()
        rest += last
        _need_room(rest)
    if rest:
        yield bytes(rest)


def _members(
    file: BinaryIO, begins: bytes, begun: Callable[[], _Decoder], joined: bool
) -> Iterator[bytes]:
    """What comes out of a packed file piece by piece, one member after another. Raises ``Unreadable``."""
    packed = b""
    while True:
        # Tools fill up with zeros behind a member, and the next one may begin at the end of a piece.
        while len(packed := packed.lstrip(b"\0")) < len(begins) and (more := file.read(PIECE)):
            packed += more
        if not packed:
            return
        if not packed.startswith(begins):
            raise Unreadable(BEHIND)
        decoder = begun()
        while not decoder.eof:
            if decoder.needs_input and not packed and not (packed := file.read(PIECE)):
                raise Unreadable("it is cut off")
            yield decoder.decompress(packed, AT_ONCE)
            packed = b""
        packed = decoder.unused_data
        if not joined and (packed or file.read(1)):
            raise Unreadable(BEHIND)


def _need_room(line: bytes | bytearray) -> None:
    """Raises ``Unreadable`` for a line that is too long."""
    if len(line) > MOST_LINE:
        raise Unreadable(f"a line in it is longer than {MOST_LINE:,} bytes")
