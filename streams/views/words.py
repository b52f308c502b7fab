"""Words and numbers as screens show them: safe for a terminal, short, and aligned in cells."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from schemas.usage import Embedding, Usage

if TYPE_CHECKING:
    from state.folds.grades import Known

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, invisible formatting (text direction too), surrogates, separators of lines."""
_KEPT = frozenset("\u200c\u200d")
"""Joiners that scripts need and that move nothing."""


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if char in _KEPT or unicodedata.category(char) not in _UNSAFE:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clean(text: str) -> str:
    """The text with nothing that could steer a terminal; lines stay lines, tabs become spaces."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    # Nearly every text is plain; only others are worth a look at each sign.
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" else _visible(char) for char in text)


def one_line(text: str) -> str:
    """The text on one line, safe for a terminal."""
    return clean(" ".join(text.split()))


def cells(text: str) -> int:
    """How many columns a line takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def _cell(char: str) -> int:
    if unicodedata.combining(char) or char in _KEPT:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """The text in at most ``room`` columns, ended by … where something was cut."""
    if cells(text) <= room:
        return text
    return head(text, room - 1).rstrip() + "…" if room > 0 else ""


def head(text: str, room: int) -> str:
    """The longest beginning of a text that takes at most ``room`` columns."""
    used = 0
    for at, char in enumerate(text):
        used += _cell(char)
        if used > room:
            return text[:at]
    return text


def pad(text: str, room: int) -> str:
    """The text cut or filled to exactly ``room`` columns."""
    text = cut(text, room)
    return text + " " * (room - cells(text))


def wrap(text: str, room: int) -> list[str]:
    """Lines of whole words in at most ``room`` columns, indented as the text is; a longer word is broken."""
    # The indent takes half of the room at most: deep lists would else be columns of single letters.
    indent = " " * min(len(text) - len(text.lstrip(" ")), room // 2) if text.strip() else ""
    room -= len(indent)
    lines: list[str] = []
    line = ""
    for word in text.split():
        if cells(word) > room:
            lines += [line] if line else []
            *pieces, word = _broken(word, room)
            lines += pieces
            line = ""
        if line and cells(line) + 1 + cells(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line or not lines:
        lines.append(line)
    return [f"{indent}{line}" for line in lines]


def _broken(word: str, room: int) -> list[str]:
    """A word in pieces of at most ``room`` columns, one sign at least; the last may be empty."""
    pieces, start, used = list[str](), 0, 0
    for at, char in enumerate(word):
        taken = _cell(char)
        # One sign at least goes into each piece: a room
        # narrower than a wide sign would else never end.
        if used + taken > room and at > start:
            pieces.append(word[start:at])
            start, used = at, 0
        used += taken
    return [*pieces, word[start:]]


def count(number: int | None) -> str:
    """``1,223``, or a dash for what is unknown."""
    return "–" if number is None else f"{number:,}"


def stamp(at_ms: int | None) -> str:
    """A moment in UTC, or that it is unknown."""
    # On Kafka whoever sends a message says when that was: at no time, or in a year that no calendar has.
    try:
        if at_ms is not None and at_ms >= 0:
            return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        pass
    return "unknown"


def plural(number: int, noun: str) -> str:
    """``1 call``, ``12 calls``, ``3 batches``, ``2 queries``."""
    if number != 1:
        is_changed = noun.endswith("y") and noun[-2:-1] not in "aeiou"
        noun = f"{noun[:-1]}ies" if is_changed else f"{noun}{'es' if noun.endswith('ch') else 's'}"
    return f"{number:,} {noun}"


def kilo(number: int | None) -> str:
    """``950``, ``38.6k``, ``497k``, ``1.2M``; ``unknown`` where it is."""
    if number is None:
        return "unknown"
    # From 200 on a digit behind the point says nothing that anybody compares. What is rounded to a thousand
    # thousands is a million.
    for least, size, letter in ((999_500, 1_000_000, "M"), (1_000, 1_000, "k")):
        if number >= least:
            value = number / size
            return f"{value:.0f}{letter}" if value >= 199.95 else f"{value:.1f}{letter}"
    return str(number)


def clock(seconds: float) -> str:
    """``0:21``, ``1:02:03``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def seconds(value: float | None) -> str:
    """``9.1 s``, or that it is unknown."""
    return "time unknown" if value is None else f"{value:.1f} s"


def two(value: float | None) -> str:
    """Two decimals; a dash for what is unknown."""
    return "–" if value is None else f"{value:.2f}"


def amount(value: float) -> str:
    """``0.0123``, ``0.00001234``, ``12,345.67``: money as it is read off a bill, to its last hundredth from 1000 on."""
    return f"{value:,.2f}" if value >= 1000 else f"{Decimal(f'{value:.4g}'):f}"


def cost(value: float | None, known: bool = True) -> str:
    """``cost 0.0123``, or ``cost unknown``."""
    return "cost unknown" if value is None or not known else f"cost {amount(value)}"


def spent(usage: Usage, limit: int | None = None) -> list[str]:
    """A usage in words, part by part."""
    calls = plural(usage.calls, "call") if limit is None else f"{usage.calls} of {limit} calls"
    tokens = (
        "tokens unknown"
        if usage.tokens is None
        else f"{usage.prompt_tokens:,} tokens in  {usage.completion_tokens:,} out"
    )
    # Attempts that failed were perhaps paid for too; they
    # are told apart from calls, which brought a reply.
    lost = usage.attempts - usage.calls
    tried = [f"{plural(lost, 'attempt')} failed"] if lost > 0 else []
    parts = [calls, *tried, tokens, cost(usage.cost), seconds(usage.seconds)]
    return parts if usage.embedding is None else [*parts, embedded(usage.embedding)]


def embedded(took: Embedding) -> str:
    """What vectors took at an endpoint."""
    tokens = "tokens unknown" if took.tokens is None else f"{took.tokens:,} tokens"
    return f"vectors: {plural(took.attempts, 'attempt')}, {tokens}, {cost(took.cost)}"


def sure(confidence: float | None, source: str | None, calibrated: float | None) -> str:
    """How sure an answer is, first the number that counts: see ``counted``."""
    value, how = counted(confidence, calibrated)
    if value is None:
        return "confidence unknown"
    claimed = f"claimed {confidence:.2f}" if how == "calibrated" else ""
    behind = ", ".join(filter(None, (claimed, source)))
    return f"confidence {value:.2f} {how}" + (f" ({behind})" if behind else "")


def counted(confidence: float | None, calibrated: float | None) -> tuple[float | None, str]:
    """The confidence that every screen names first, and its name.

    It is the *calibrated* chance of being right, once labels allow one, else what the policy *claimed*.
    """
    if confidence is None or calibrated is None:
        return confidence, "claimed"
    return calibrated, "calibrated"


def graded(known: Known, answered: bool = True) -> str:
    """What is known of an answer: the outcome, by which person if one gave it, or who could not tell."""
    # That a checker graded is the rule and goes without saying; a person's word has a name.
    standing, word = known.standing(answered), known.word
    if word is None or standing == "withheld" or not (word.person or standing == "undecided"):
        return standing
    return (
        f"{standing} by {'a person' if word.person and word.who == 'unknown' else clean(word.who)}"
    )


def joined(parts: Iterable[str], room: int, gap: str = "   ") -> list[str]:
    """Parts on as few lines as hold them."""
    lines: list[str] = []
    for part in parts:
        if lines and cells(lines[-1]) + len(gap) + cells(part) <= room:
            lines[-1] += gap + part
        else:
            lines.append(part)
    return lines


def spark(shares: Sequence[float]) -> str:
    """Shares in [0, 1] as a line of bars."""
    return "".join("▁▂▃▄▅▆▇█"[min(int(share * 8), 7)] for share in shares)


def ranges(ids: Sequence[str]) -> str:
    """``R1 R2 R3 L4.R2`` as ``R1-R3 L4.R2``: runs of a letter and a number are drawn together."""
    found: list[tuple[str, str]] = []
    for name in ids:
        last = found[-1][1] if found else ""
        # Only "R" and digits can be drawn together: ids of lessons ("L4.R2") hold two numbers.
        numbered = last[1:].isdecimal() and name[1:].isdecimal()
        if numbered and last[0] == name[0] and int(name[1:]) == int(last[1:]) + 1:
            found[-1] = (found[-1][0], name)
        else:
            found.append((name, name))
    return " ".join(first if first == last else f"{first}-{last}" for first, last in found)
