"""Files of local models: which one is meant, and what its header says of it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from streams.answering.models import BUNDLED
from streams.core.backbone import SetupBroken

MAGIC = b"GGUF"
ARCHITECTURE = "general.architecture"
MOST_TEXT, MOST_ITEMS = 1 << 24, 1 << 24
"""A header that claims more is none: it would be read for minutes."""
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _ARRAY = 8, 9
_NAMED = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q8_1": 9,
    "Q2_K": 10, "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "Q8_K": 15, "BF16": 30,
}  # fmt: skip
TYPES = {number: name for name, number in _NAMED.items()}
"""How numbers of a tensor are kept, by their number in the file."""


@dataclass(frozen=True, slots=True)
class Header:
    """A model's architecture, such as ``qwen2``, and how its tensors are kept, such as ``Q4_K``."""

    architecture: str
    types: frozenset[str]


def file_of(path: str | Path | None, kind: str) -> Path:
    """The file of a backbone of this kind; the bundled model's where none is named.

    Raises ``SetupBroken`` where it is not there.
    """
    found = BUNDLED.file() if path is None else Path(path).expanduser()
    if found is None:
        detail = "the bundled model is not installed: metalogue models pull"
        raise SetupBroken("model", kind, detail)
    if not found.is_file():
        raise SetupBroken("model", str(found), "no such file")
    return found


def header_of(path: Path) -> Header | None:
    """What the file says of itself; nothing where it is no GGUF."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            return None
        source = _Source(file)
        try:
            _, tensors, values = source.numbers("<IQQ")
            architecture = ""
            for _ in range(bounded(values)):
                name = source.text()
                (kind,) = source.numbers("<I")
                if name == ARCHITECTURE and kind == _TEXT:
                    architecture = source.text()
                else:
                    source.skip(kind)
            types: set[int] = set()
            for _ in range(bounded(tensors)):
                source.text()  # its name
                (dimensions,) = source.numbers("<I")
                file.seek(8 * bounded(dimensions), 1)
                types.add(source.numbers("<IQ")[0])
        except (ValueError, struct.error):
            return None
    return Header(architecture, frozenset(TYPES.get(each, f"type {each}") for each in types))


def bounded(count: int, most: int = MOST_ITEMS) -> int:
    """The count. Raises ``ValueError`` where no header holds so much."""
    if count > most:
        raise ValueError(f"{count} is more than a header holds")
    return count


# The header is read and stepped over by hand, and the library not asked: it loads the whole model before
# it says that it cannot read it, which takes half a minute.


class _Source:
    """A header as it is read, from its beginning on. Raises ``ValueError`` where it is none."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self.exactly(struct.calcsize(form)))

    def text(self) -> str:
        (length,) = self.numbers("<Q")
        return self.exactly(bounded(length, MOST_TEXT)).decode("utf-8", "replace")

    def exactly(self, count: int) -> bytes:
        found = self.file.read(count)
        if len(found) < count:
            raise ValueError("the header ends early")
        return found

    def skip(self, kind: int) -> None:
        count = 1
        if kind == _ARRAY:
            kind, count = self.numbers("<IQ")
            bounded(count)
        if kind in _WIDTHS:
            self.file.seek(_WIDTHS[kind] * count, 1)
            return
        # An array of arrays is refused as well: nested deep enough, it would be read for minutes.
        if kind != _TEXT:
            raise ValueError(f"no kind of value: {kind}")
        for _ in range(count):
            self.text()
