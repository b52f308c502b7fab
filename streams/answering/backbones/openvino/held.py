"""Where a reply that cannot be read is taken up again, to be ended under a grammar.

A reply is free until its end: nothing forbids thinking, nor stopping, and what can be read stays as it was said. Of
one that cannot be, what was said before its form stands, and the form is decoded anew under its grammar. So a grammar
costs nothing where it is not needed, and a few tokens where a call would have been put again.
"""

from __future__ import annotations

import re
from functools import lru_cache

from handlers.roles.form import Unreadable, parse, preamble
from schemas.reply import Reply
from schemas.spoken import spoken
from streams.answering.backbones.openvino.grammar import is_short
from streams.core.backbone import ModelRequest

_LEFT_OPEN = "=?"
"""How a line of scores ends that was copied from its question."""
_FIGURE = r"[*_`\"'()\[\]{}]{0,6}\.?\d"


def form_in(request: ModelRequest) -> Reply | None:
    """The form that a reply to this call can be held to.

    None where something else may be the reply: a call of a tool, a text up to a stop, or what is asked for in a later
    turn in words of its own.
    """
    reply = request.reply
    # The form is held only where nothing but the form can be meant.
    if reply is None or request.tools or request.sampling.stop or not is_short(reply):
        return None
    return None if any(who == "assistant" for who, _ in request.messages) else reply


def standing(text: str, finish: str, reply: Reply) -> str | None:
    """What of a reply stands before its form, where the form is to be decoded anew; none where it stays as it is.

    A reply that was cut stays cut: nobody knows what it would have come to.
    """
    said, cut = spoken(text)
    if cut or finish != "stop" or not isinstance(parse(said, reply), Unreadable):
        return None
    # Roles read more than forms: what theirs can read is left alone, though no form is found in it.
    if _LEFT_OPEN not in said and _told(reply).search(said) is not None:
        return None
    thoughts, _, _ = text.rpartition(said) if said else (text, "", "")
    kept = f"{thoughts}{preamble(said, reply)}".rstrip()
    # As the prompt has asked for it, the form begins on a line of its own.
    return f"{kept}\n\n" if kept else ""


@lru_cache(maxsize=64)
def _told(reply: Reply) -> re.Pattern[str]:
    """Scores in their order without their label, or a sentence that gives a number: their roles read both."""
    ways = [r"(?!)"]
    for field in reply.fields:
        if field.ratings:
            said = (rf"\b{name}\b\W{{0,8}}{_FIGURE}" for name in field.ratings)
            ways.append(r"[\s\S]{0,80}?".join(said))
        elif field.kind == "number":
            ways.append(rf"\b{field.label}\b.{{0,60}}{_FIGURE}")
    return re.compile("|".join(f"(?:{way})" for way in ways), re.IGNORECASE)
