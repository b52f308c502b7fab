"""Whatever a server sends, something can be recorded: valid Unicode, finite numbers, a size cap.

A reply costs money from the moment it is asked for. If it could not be recorded, the episode could never get past
it, and each restart would pay for it again. So nothing here raises, and what makes no sense becomes unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from msgspec import structs

from schemas.events.episode import Completed
from streams.core.backbone import ModelReply

TEXT_CAP = 1 << 20
"""Characters of one reply that are kept; a longer one is marked ``truncated``."""
COUNT_CAP = 1 << 53
"""Beyond this, JSON readers that keep numbers as doubles no longer agree on a count."""
MOST_TOKENS = 1 << 17
"""Tokens of one reply whose log-probabilities are kept."""
MOST_DETAIL = 1_000
"""Characters of what was said in the stead of a reply."""


def encodable(raw: str) -> str:
    """The text with every lone surrogate replaced: UTF-8 has no place for one."""
    # ASCII cannot hold a surrogate, and Python knows without looking whether a text is ASCII.
    if not raw.isascii():
        try:
            raw.encode()
        except UnicodeEncodeError:
            # A stream may bring a character in two halves. In UTF-16 they join up again, and only
            # those without a partner are replaced.
            return raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return raw


def text(raw: str, cap: int = TEXT_CAP) -> tuple[str, bool]:
    """The text with lone surrogates replaced and cut at the cap, and whether it was cut."""
    if not raw.isascii():
        raw = encodable(raw)
    return (raw[:cap], True) if len(raw) > cap else (raw, False)


def count(raw: Any) -> int | None:
    """A count that can be recorded, or unknown; ``12.0`` is twelve, a fraction or a truth value is none."""
    if type(raw) is int:
        return raw if 0 <= raw < COUNT_CAP else None
    if raw is None or isinstance(raw, bool):
        return None
    try:
        whole = int(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    return whole if whole == raw and 0 <= whole < COUNT_CAP else None


def amount(raw: Any) -> float | None:
    """A finite amount of at least zero, or unknown."""
    if type(raw) is float and 0.0 <= raw < math.inf:
        return raw
    found = finite(raw)
    return found if found is not None and found >= 0 else None


def finite(raw: Any) -> float | None:
    """A finite number, or unknown."""
    try:
        return float(raw) if math.isfinite(raw) else None
    except (TypeError, OverflowError):  # no number, or an integer beyond every float
        return None


def tokens(raw: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...] | None:
    """Tokens with finite log-probabilities; unknown where one of them has none, or there are too many."""
    kept = tuple(
        (text(each)[0], known) for each, value in raw if (known := finite(value)) is not None
    )
    # All or none: whoever adds them up could not see that one is missing.
    return kept if len(kept) == len(raw) <= MOST_TOKENS else None


NUMBERS: Final[Mapping[str, Callable[[Any], float | None]]] = {
    "reasoning_tokens": count,
    "cached_tokens": count,
    "cost": amount,
    "logprob": finite,
    "answer_logprob": finite,
}
"""What an event names only where it is known, and how it is written."""

_numbers = attrgetter(*NUMBERS)
_NO_NUMBERS: Final = (None,) * len(NUMBERS)


def completed(asked: str, reply: ModelReply) -> Completed:
    """A model's reply as an event, whatever it holds."""
    # A field is named only where the server said something. What is left out here is not written at
    # all, so that events keep the bytes that they had before the field was thought of.
    said_text, cut = text(reply.text)
    said: dict[str, Any] = {}
    if (numbers := _numbers(reply)) != _NO_NUMBERS:
        for (name, normalised), number in zip(NUMBERS.items(), numbers, strict=True):
            if number is not None:
                said[name] = normalised(number)
    # Of a text that was cut its tokens would tell of more than is recorded.
    if reply.token_logprobs and not cut:
        said["token_logprobs"] = tokens(reply.token_logprobs)
    if reply.thought:
        said["thought"] = text(reply.thought)[0]
    if reply.dropped:
        said["dropped"] = tuple(text(name, 60)[0] for name in reply.dropped[:20])
    if reply.detail:
        said["detail"] = text(reply.detail, MOST_DETAIL)[0]
    if cut:
        said["truncated"] = True
    made = Completed(
        asked=asked,
        text=said_text,
        finish=text(reply.finish, 40)[0],
        model=text(reply.model, 200)[0],
        attempts=count(reply.attempts) or 1,
        prompt_tokens=count(reply.prompt_tokens),
        completion_tokens=count(reply.completion_tokens),
        seconds=amount(reply.seconds),
    )
    return structs.replace(made, **said) if said else made
