"""How the time of a reader grows with its text, and texts made to hurt it.

``tests.attacked`` finds the readers. Patterns are attacked with what their own grammar repeats; functions
with the same and with the families of its ``COMMON``.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import combinations
from types import FrameType
from typing import Any, TypeAlias

from state.collecting import uncollected
from tests.pace import LAP_S, lap

SIZES = (4_096, 16_384)
"""Characters of a text, small and large."""
FLOOR_S = 0.02
"""What takes less is not looked at: at these sizes anything quadratic takes longer."""
GROWTH = 8.0
"""Four times the text takes a linear reader four times as long, a quadratic one sixteen times."""
LIMIT_S = 1.5
"""A text of ``SIZES`` takes no reader so long on a desk, nor so many times longer on a slower machine."""
ROUNDS = (1, 2, 3, 4)
"""Timings of a round; the first that shows no growth ends the matter."""
TICK_S = 0.004
"""What a process's own time may be wrong by."""

Call: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Text:
    """A family of texts: ``head``, then ``pump`` as often as there is room for, then ``tail``."""

    head: str
    pump: str
    tail: str

    def at(self, chars: int) -> str:
        """The family's text of about so many characters."""
        room = max(chars - len(self.head) - len(self.tail), len(self.pump))
        return self.head + self.pump * (room // len(self.pump)) + self.tail

    def __str__(self) -> str:
        return f"{self.head!r} + {self.pump!r} * n + {self.tail!r}"


class TooLong(BaseException):
    """A reader went on beyond ``LIMIT_S``; no reader's own ``except Exception`` takes it."""


# ── Measuring ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """``TooLong`` after so much of this process's own time; patterns too heed it."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def slowness() -> float:
    """How many times as long as a desk this machine takes; one at least."""
    return max(1.0, max(lap() for _ in range(3)) / LAP_S)


def seconds(call: Call, text: str, times: int = 1) -> float:
    """The least time that a call took, its own or the clock's; what it raises is no matter here.

    A short call's time is told by the clock, unless somebody else had the processor; a long one's by the
    process, which does not count what others take. No garbage is collected meanwhile: a collection takes as
    long as whatever else the process holds.
    """
    least = float("inf")
    for _ in range(times):
        with uncollected():
            own, began = time.process_time(), time.perf_counter()
            with suppress(Exception):
                call(text)
            taken = time.perf_counter() - began
            least = min(least, taken, time.process_time() - own + TICK_S)
    return least


def growth(call: Call, family: Text) -> str | None:
    """What is wrong with the growth of a call's time over a family; none where it is linear.

    Only a text that takes longer than ``FLOOR_S`` is looked at, and only what grows too fast in every round, the
    least of ever more timings, is wrong: others on the machine may spoil one round, seldom two, and never all.
    """
    small, large = (family.at(size) for size in SIZES)
    before = after = 0.0
    try:
        for times in ROUNDS:
            with limited(times * LIMIT_S * slowness()):
                after = seconds(call, large, times)
            if after < FLOOR_S:
                return None
            before = seconds(call, small, 2 * times)
            if after < GROWTH * before:
                return None
    except TooLong:
        return f"{family}: more than {LIMIT_S:g} s for {len(large)} characters"
    return f"{family}: {SIZES[0]} to {SIZES[1]} characters, {before:.4f} to {after:.4f} s"


# ── What a pattern repeats ───────────────────────────────────────────────────────────────────

_PARSER: Any = import_module("re._parser")
_USUAL = "a1 \n_-.,:\\{}()<>\"'/*#A$;|é"
_PICKED = 3
"""Samples that are kept of a class, of a choice, of a sequence."""


WIDE = 64
"""A repetition of fewer is no loop, and a pattern that takes fewer characters has none."""
TAILS = ("", "!", "\n", "a")


@cache
def families(pattern: re.Pattern[Any]) -> tuple[Text, ...]:
    """Texts that make a pattern try again: what it repeats, and every stretch of its parts, again and again."""
    flags, source = pattern.flags, pattern.pattern
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    tree = _PARSER.parse(source, flags)
    if tree.getwidth()[1] < WIDE:
        return ()
    pumps = dict.fromkeys(_pumps(list(tree), ""))
    return tuple(Text(head, pump, tail) for head, pump in pumps if pump for tail in TAILS)


def _pumps(nodes: list[Any], head: str) -> Iterator[tuple[str, str]]:
    """What is repeated somewhere in a sequence, with what stands before it; and stretches of the sequence."""
    parts = _parts(nodes)
    firsts = [_samples(part)[0] for part in parts]
    for start, end in combinations(range(len(parts) + 1), 2):
        if any(map(_is_wide, parts)) and end - start < 8:
            yield head, "".join(firsts[start:end])
            yield head, " ".join(filter(None, (text.strip() for text in firsts[start:end])))
    for at, part in enumerate(parts):
        before = head + "".join(firsts[:at])
        if _is_wide(part):
            for sample in _samples(part):
                yield before, sample[:WIDE]
                yield "", sample[:WIDE]
            for inner in _inner(part[0]):
                yield from _pumps(inner, before)


def _parts(nodes: list[Any]) -> list[tuple[Any, ...]]:
    """The nodes of a sequence, with letters in a row as one part."""
    parts: list[tuple[Any, ...]] = []
    for node in nodes:
        if str(node[0]) == "LITERAL" and parts and str(parts[-1][0][0]) == "LITERAL":
            parts[-1] = (*parts[-1], node)
        else:
            parts.append((node,))
    return parts


def _is_wide(part: tuple[Any, ...]) -> bool:
    """Whether something in a part may be repeated without a small bound."""
    name, value = str(part[0][0]), part[0][1]
    if name.endswith("_REPEAT") and int(value[1]) >= WIDE:
        return True
    return any(_is_wide((node,)) for inner in _inner(part[0]) for node in inner)


def _inner(node: Any) -> Iterator[list[Any]]:
    name, value = str(node[0]), node[1]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        yield list(value[2])
    elif name == "SUBPATTERN":
        yield list(value[3])
    elif name == "ATOMIC_GROUP":
        yield list(value)
    elif name in ("ASSERT", "ASSERT_NOT"):
        yield list(value[1])
    elif name == "BRANCH":
        yield from (list(branch) for branch in value[1])
    elif name == "GROUPREF_EXISTS":
        yield from (list(branch) for branch in value[1:] if branch is not None)


def _samples(part: Sequence[Any]) -> list[str]:
    """A few texts that a part of a pattern matches."""
    if len(part) > 1:
        return ["".join(chr(node[1]) for node in part)]
    name, value = str(part[0][0]), part[0][1]
    if name == "LITERAL":
        return [chr(value)]
    if name in ("NOT_LITERAL", "IN", "ANY"):
        return _signs(name, value)
    if name.endswith("_REPEAT"):
        return [sample * min(max(1, value[0]), WIDE) for sample in _sequence(list(value[2]))]
    found: list[str] = []
    if name not in ("ASSERT", "ASSERT_NOT", "AT", "GROUPREF"):
        for inner in _inner(part[0]):
            found += _sequence(inner)[:_PICKED]
    return found[: 2 * _PICKED] or [""]


def _sequence(nodes: list[Any]) -> list[str]:
    parts = [_samples(part)[:2] for part in _parts(nodes)]
    if len(parts) == 1:
        return _samples(_parts(nodes)[0])
    return list(
        dict.fromkeys(("".join(part[0] for part in parts), "".join(part[-1] for part in parts)))
    )


def _signs(name: str, value: Any) -> list[str]:
    if name == "ANY":
        return ["a", " ", "("]
    matches = [sign for sign in _USUAL if _takes(name, value, sign)]
    own = [chr(item[1]) for item in value if str(item[0]) == "LITERAL"] if name == "IN" else []
    own = [sign for sign in own if _takes(name, value, sign)]
    return list(dict.fromkeys((*matches[:_PICKED], *own[:_PICKED]))) or [""]


def _takes(name: str, value: Any, sign: str) -> bool:
    """Whether a class of a pattern holds a sign."""
    if name == "NOT_LITERAL":
        return sign != chr(value)
    negated, held = False, False
    for kind, item in ((str(kind), item) for kind, item in value):
        if kind == "NEGATE":
            negated = True
        elif kind == "LITERAL":
            held |= ord(sign) == item
        elif kind == "RANGE":
            held |= item[0] <= ord(sign) <= item[1]
        elif kind == "CATEGORY":
            held |= re.fullmatch(_CATEGORIES[str(item)], sign) is not None
    return held != negated


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
