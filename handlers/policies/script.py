"""A policy without a model: hand it the replies, and see what it concludes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from schemas.asking import All, Ask, Steps
from schemas.questions import Complete, Completion

R = TypeVar("R")


def play(steps: Steps[R], *replies: str) -> R:
    """What a policy comes to if the model says this: a reply for each completion, in order.

    Lanes take their replies one lane after another. Raises ``LookupError`` where the policy asks for
    more than there is, or for anything else than a completion.
    """
    return _played(steps, iter(replies))


def _played(steps: Steps[R], replies: Iterator[str]) -> R:
    answer: Any = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as done:
            return cast("R", done.value)
        answer = _answer(request, replies)


def _answer(request: Any, replies: Iterator[str]) -> Any:
    """A fact gets no answer."""
    if isinstance(request, All):
        lanes = cast("All[Any]", request).branches
        return tuple(_played(lane, replies) for lane in lanes)
    if isinstance(request, Complete):
        text = next(replies, None)
        if text is None:
            raise LookupError(f"no reply is left for {request.role}")
        return Completion("0", text, "stop", "script")
    if isinstance(request, Ask):
        raise LookupError(f"a script holds replies only, and is asked for {request!r}")
    return None
