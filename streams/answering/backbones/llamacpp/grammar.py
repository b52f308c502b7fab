r"""From the fields of a reply to a grammar that llama.cpp decodes by: what it lets pass can be read.

A reply may begin with free reasoning, unless its first field is a text, which is the place for it;
then come the fields, each label at the start of its own line. Where an answer is all that is wanted
the reasoning may also be the end, for the answer can be boxed in it: a model that has said all it has
to say, and may not stop, rambles to its cap.
``!<[0]>`` is any token but the first of the vocabulary, which in no model stands for text. llama.cpp
takes it for the rest of a token that a letter of the grammar began, and then loses its place; so what
borders on it is told by tokens too: a text begins behind a whole token that ends its label, and the
line that it ends with may be part of a token, such as ``.\n``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from schemas.reply import Field, Reply
from streams.answering.backbones.grammar import (
    STEP,
    Chosen,
    choice,
    literal,
    needed,
    number,
    ratings_of,
    ways,
)
from streams.answering.backbones.llamacpp.marks import Marks
from streams.answering.backbones.llamacpp.room import TokenBudget, fitting, items, rated, room_in

TOKEN = "!<[0]>"
GROUP = 'group ::= "{" [^{}\\r\\n]{0,40} "}"'
LONGEST_BOUND, LONGEST_ITEM = 1_000, 200

Before: TypeAlias = Literal["nothing", "line", "text"]
"""What stands before a label: nothing, a value of known letters, or any tokens."""


@lru_cache(maxsize=512)
def grammar_of(reply: Reply, cap: int, marks: Marks) -> str:
    """The GBNF grammar of a reply of at most ``cap`` tokens of a vocabulary with these marks."""
    roots: list[str] = []
    # Which fields a reply has hangs on its choices, and a grammar cannot look back at what was chosen:
    # so each way to choose has a root of its own.
    for chosen in ways(reply):
        fields = fitting([field for field in reply.fields if needed(field, chosen)], cap)
        room = room_in(fields, cap, reply.reasons)
        form = _form(fields, chosen, room, "nothing")
        if not room.reasoning:
            roots.append(form)
            continue
        reasoning = _tokens(room.reasoning)
        answers = all(field.kind == "answer" for field in fields)
        roots.append(
            f"({reasoning} (end {form})? | {form})" if answers else f"({reasoning} end)? {form}"
        )
    colon = _one_of(marks.colons) or literal(":")
    end = " | ".join(filter(None, (literal("\n"), _one_of(marks.ends))))
    return f"root ::= {' | '.join(roots)}\n{GROUP}\ncolon ::= {colon}\nend ::= {end}"


def _one_of(tokens: Sequence[int]) -> str:
    return " | ".join(f"<[{token}]>" for token in tokens)


def _form(fields: Sequence[Field], chosen: Chosen, room: TokenBudget, before: Before) -> str:
    """Fields in their order, the optional ones with what follows them or left out."""
    if not fields:
        return ""
    field, *rest = fields
    made = chosen.get(field.label)
    value = _value(field, room) if made is None else literal(f" {made}")
    start = {"nothing": "", "line": literal("\n") + " ", "text": "end "}[before]
    label = f"{literal(field.label)} colon" if field.kind == "text" else literal(f"{field.label}:")
    line = f"{start}{label} {value}"
    after: Before = "text" if field.kind == "text" else "line"
    following = _form(rest, chosen, room, after)
    if field.required:
        return f"{line} {following}"
    # What follows is spelled out twice only where it begins otherwise without this field: each such
    # field doubles the grammar.
    if after == before or not rest:
        return f"({line})? {following}"
    return f"({line} {following} | {_form(rest, chosen, room, before)})"


def _value(field: Field, room: TokenBudget) -> str:
    match field.kind:
        case "number":
            return number(field)
        case "choice":
            return choice(field)
        case "answer":
            # It neither begins with a blank nor repeats the form's dots.
            inside = f"([^ .{{}}\\r\\n] | group) ([^{{}}\\r\\n] | group){{0,{room.answer - 1}}}"
            return f'" \\\\boxed{{" {inside} "}}"'
        case "text":
            return _tokens(room.text)
        case "list" if field.ratings and field.steps:
            asked = (f"{literal(f'{STEP}{step}: ')} {ratings_of(field)}" for step in field.steps)
            return " ".join(asked)
        case "list" if field.ratings:
            # Nobody says which steps: as many lines as there is room for.
            line = f'{literal(STEP)} [1-9] [0-9]? ": " {ratings_of(field)}'
            return f"({line}){{1,{rated(field, room)}}}"
        case "list":
            item = f'("\\n- " [^ \\t\\r\\n] [^\\r\\n]{{0,{min(room.item, LONGEST_ITEM)}}})'
            return f"{item}{{{field.least},{items(field)}}}"


def _tokens(most: int) -> str:
    """Up to so many tokens; llama.cpp spells a bound out, and refuses a long one."""
    return f"{TOKEN}{{1,{most}}}" if most <= LONGEST_BOUND else f"{TOKEN}+"
