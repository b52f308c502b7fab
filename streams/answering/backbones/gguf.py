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
        try:
            return _header(file) if file.read(4) == MAGIC else None
        except (ValueError, struct.error):
            return None


def _header(file: BinaryIO) -> Header:
    _, tensors, values = _read(file, "<IQQ")
    architecture = ""
    for _ in range(_bounded(values)):
        name = _text(file)
        (kind,) = _read(file, "<I")
        if name == ARCHITECTURE and kind == _TEXT:
            architecture = _text(file)
        else:
            _skip(file, kind)
    types = {_tensor(file) for _ in range(_bounded(tensors))}
    return Header(architecture, frozenset(TYPES.get(each, f"type {each}") for each in types))


def _tensor(file: BinaryIO) -> int:
    """How one tensor is kept."""
    _text(file)
    (dimensions,) = _read(file, "<I")
    file.seek(8 * _bounded(dimensions), 1)
    kind, _ = _read(file, "<IQ")
    return int(kind)


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _TEXT:
        _text(file)
    elif kind == _ARRAY:
        inner, count = _read(file, "<IQ")
        _skip_all(file, inner, _bounded(count))
    elif kind in _WIDTHS:
        file.seek(_WIDTHS[kind], 1)
    else:
        raise ValueError(f"no kind of value: {kind}")


def _skip_all(file: BinaryIO, kind: int, count: int) -> None:
    if kind in _WIDTHS:
        file.seek(_WIDTHS[kind] * count, 1)
        return
    if kind != _TEXT:
        raise ValueError(f"no kind of item: {kind}")
    for _ in range(count):
        _text(file)


def _text(file: BinaryIO) -> str:
    (length,) = _read(file, "<Q")
    return _exactly(file, _bounded(length, MOST_TEXT)).decode("utf-8", "replace")


def _read(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))


def _exactly(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise ValueError("the header ends early")
    return found


def _bounded(count: int, most: int = MOST_ITEMS) -> int:
    if count > most:
        raise ValueError(f"{count} is more than a header holds")
    return count
