r"""From the fields of a form to a grammar that OpenVINO decodes by: what it lets pass can be read.

Only forms of short values are held by one: numbers, choices, answers, scores of steps. A text ends where its writer
ends it; a grammar that waited for the next label would forbid just that. A step is scored once, and steps come
in their order, so that a list of them comes to its end.

The grammar is XGrammar's EBNF, which works on letters. A bound on repetitions costs minutes there, where each count
of a class of letters becomes a state that the whole vocabulary is held against. So there is none on an answer,
which may have several lines, as code has.
"""

from __future__ import annotations

from functools import lru_cache

from schemas.reply import Field, Reply
from streams.answering.backbones.grammar import (
    STEP,
    choice,
    literal,
    needed,
    number,
    ratings_of,
    ways,
)

GROUP = 'group ::= "{" [^{}]* "}"'
ANSWER = r'" \\boxed{" [-+($|"<]* [^\u0000-/:-@\[\]^_`{-\u007f] ([^{}] | group)* "}"'
"""A sign or two, and then a letter, a digit, or what LaTeX begins with: a box of signs alone holds no answer."""
STEPS = 24
"""So many steps can be scored in one reply; trajectories are shorter."""


def is_short(reply: Reply) -> bool:
    """Whether all values of a form are short, so that a grammar can hold it."""
    return bool(reply.fields) and all(
        field.kind in ("number", "choice", "answer") or bool(field.ratings)
        for field in reply.fields
    )


@lru_cache(maxsize=256)
def form_of(reply: Reply) -> str:
    """The grammar of a form of short values, from its first label to the end of the reply."""
    answers = any(field.kind == "answer" for field in reply.fields)
    rules = [GROUP] if answers else []
    for field in reply.fields:
        name = f"s{_name(field)}x"
        if field.ratings and field.steps:
            asked = (f"{literal(f'{STEP}{step}: ')} {ratings_of(field)}" for step in field.steps)
            rules.append(f"{name}1 ::= {' '.join(asked)}")
        elif field.ratings:
            # Nobody says which steps: at least one, each once and in their order. A list whose order
            # were free would never have to end.
            for step in range(1, STEPS + 1):
                scored = f"{literal(f'{STEP}{step}: ')} {ratings_of(field)}"
                later = f"{name}{step + 1}"
                more = f" ({later})? | {later}" if step < STEPS else ""
                rules.append(f"{name}{step} ::= {scored}{more}")
    roots: list[str] = []
    for way, chosen in enumerate(ways(reply)):
        fields = [field for field in reply.fields if needed(field, chosen)]
        if not fields:
            continue
        lines: list[str] = []
        for field in fields:
            made = chosen.get(field.label)
            value = _value(field) if made is None else literal(f" {made}")
            lines.append(f"{literal(f'{field.label}:')} {value}")
        roots.append(f"w{way}")
        rules.append(f"w{way} ::= " + ' "\\n" '.join(lines))
    return "\n".join((f"root ::= {' | '.join(roots)}", *rules))


def _value(field: Field) -> str:
    match field.kind:
        case "number":
            return number(field)
        case "choice":
            return choice(field)
        case "answer":
            return ANSWER
        case "list" | "text":
            return f"s{_name(field)}x1"


def _name(field: Field) -> str:
    return "".join(filter(str.isalnum, field.label.lower()))
