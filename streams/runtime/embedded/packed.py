"""The lines of a file of JSON Lines, plain or packed, within bounds: it may come from anybody."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

MOST_LINE = 64 << 20
MOST_UNPACKED = 4 << 30
"""Bytes of a line and of a whole packed file, of which 100 KB can unpack to gigabytes."""
MOST_TO_DECODE = 128 << 20
"""Bytes that a decoder may hold. Our own segments take 65 MiB."""
AT_ONCE = 1 << 20
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


def unpacked(path: str | Path) -> Iterator[bytes]:
    """The lines of a file, without their ends. Raises ``OSError`` or ``Unreadable``."""
    with open(path, "rb") as file:
        begins = file.peek(len(XZ))
        try:
            if begins.startswith(XZ):
                # Not `lzma.open`, which lets a file say how much memory it is read with.
                yield from _decoded(file, lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_TO_DECODE))
            elif begins.startswith(GZIP):
                yield from _decoded(file, _Gzip())
            else:
                while line := file.readline(MOST_LINE + 2):
                    _need_room(line)
                    yield line.removesuffix(b"\n")
        except (lzma.LZMAError, zlib.error) as error:
            raise Unreadable(str(error)) from error


def _decoded(file: BinaryIO, decoder: _Decoder) -> Iterator[bytes]:
    whole, rest = 0, bytearray()
    while not decoder.eof:
        packed = file.read(AT_ONCE) if decoder.needs_input else b""
        if decoder.needs_input and not packed:
            raise Unreadable("it is cut off")
        more = decoder.decompress(packed, AT_ONCE)
        whole += len(more)
        if whole > MOST_UNPACKED:
            raise Unreadable(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
        *lines, last = more.split(b"\n")
        for line in lines:
            yield bytes(rest + line)
            rest.clear()
        rest += last
        _need_room(rest)
    if decoder.unused_data or file.read(1):
        raise Unreadable("more stands behind what is packed")
    if rest:
        yield bytes(rest)


def _need_room(line: bytes | bytearray) -> None:
    """Raises ``Unreadable`` for a line that is too long."""
    if len(line) > MOST_LINE:
        raise Unreadable(f"a line in it is longer than {MOST_LINE:,} bytes")
