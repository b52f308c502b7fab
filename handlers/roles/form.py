"""A reply's fields, read from whatever a model wrote: the one reader of all roles.

Labels stand at the start of a line, in any case, bold or not, behind ``- `` or ``#``, with spaces or
underscores, before a colon or ``=``, or in a row of a table; a value runs to the next known label. A
bold label, or one that cannot be a word of a sentence, may do without the colon. A JSON object is
read too, with what models get wrong in it. Where a form is of short fields (``Reply.running``), or a verdict
and why, and cannot be read so, a label may also follow the sentence before it. Of a label that occurs
several times the last readable value counts, for models draft before they settle. Nothing that a model
writes makes this raise, and each character is looked at a bounded number of times.

Thoughts are taken off before (``schemas.spoken``), and who asks sees to it that a reply which was cut
by its length is not read at all (``handlers.roles.role``).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from handlers.answers.extract import FAREWELL, REASONS, boxed, extract
from handlers.answers.forms import canonical
from handlers.answers.forms_json import JSON_CHARS, loaded, refused
from handlers.answers.plain import plain_text
from handlers.roles.labels import first_of, key, marks_of
from handlers.roles.objects import mended, objects_in, told
from handlers.roles.values import LINE_CHARS, NO_ANSWER, NONE, READERS, Exact, Value, is_none
from schemas.answer_type import AnswerType, WrongForm
from schemas.reply import ABOUT, Field, Reply

# How many of the last occurrences of a label are looked at.
TRIES = 8

# What a reply that was asked for no object calls its answer in one.
ANSWERS = frozenset({"answer", "finalanswer", "theanswer"})

Values: TypeAlias = Mapping[str, Value]
Found: TypeAlias = Mapping[str, Sequence[object]]

_COPIED = re.compile(
    rf"^[ \t#*_>-]{{0,12}}{re.escape(ABOUT.rstrip(':'))}[ \t*_]{{0,4}}:?[ \t*_]{{0,4}}$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCED = re.compile(r"^[ \t>]{0,8}```[ \t]{0,4}\w{0,20}[ \t]{0,8}$", re.MULTILINE)
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
"""A line that ends within a cell of a table."""
_SPOKEN = re.compile(r"[^\W\d_]{2,40}")
_NOTHING = re.compile(r"none[ \t]{0,4}(?:\.|$)", re.IGNORECASE | re.MULTILINE)
_BRACKET = re.compile(r"[\[{]")
_JSON = json.JSONDecoder(parse_constant=refused)
_FIGURES = re.compile(
    r"[\s*_`$+\-\d.,/%]{1,40}|[\s$(\[\\]{0,9}\\boxed\{[\d.,/%\\ ]{1,20}\}[\s$)\]\\.]{0,9}"
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a reply could not be read: the field and what is wrong with it."""

    field: str
    reason: str
    form: bool = False
    """Whether an answer was given, of another form than its type's: that is asked for again by every role."""

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


def parse(text: str, reply: Reply) -> Values | Unreadable:
    """The reply's values by label, in the order declared, or the first field that is unreadable."""
    # Small models go on with the form's explanation once they have filled it in. What stands
    # before it is the reply; the explanation's own labels would be the last ones and count.
    copied = _COPIED.search(text)
    if copied is not None:
        values = _parse(text[: copied.start()], reply)
        if not isinstance(values, Unreadable):
            return values
    values = _parse(text, reply)
    if isinstance(values, Unreadable) and (reply.running or _judges(reply)):
        # Only now, and only if nothing is missing then: prose may
        # well hold "… so far. Action: none".
        apart = _parse(_running(reply).sub("\n", text), reply)
        return values if isinstance(apart, Unreadable) else apart
    return values


def _parse(text: str, reply: Reply) -> Values | Unreadable:
    names = {key(field.label): field.label for field in reply.fields}
    # Objects are tried before labels. A label within a string of JSON is no field, and plain text
    # is what is left when objects are written out as lines.
    objects: list[Found] = []
    for said in objects_in(text):
        keyed = ((names.get(key(name)), item) for name, item in said.items())
        found = {
            name: [Exact(item) if isinstance(item, str) else item] for name, item in keyed if name
        }
        if found:
            objects.append(found)
    plain = told(text) if objects else text
    for each in objects:
        values = _read(each, reply, plain)
        if not isinstance(values, Unreadable):
            return values
    values = _read(_labelled(text, reply), reply, plain)
    if isinstance(values, Unreadable):
        verdict = _verdict(text, reply)
        if verdict is not None:
            return _read(verdict, reply, plain)
        return _alone(text, reply) or values
    return values


def every(text: str, reply: Reply, label: str) -> Iterator[Value]:
    """All that a reply says behind one label, in order, as far as it can be read."""
    field = next(field for field in reply.fields if field.label == label)
    for raw in _labelled(text, reply).get(label, ()):
        with suppress(ValueError):
            yield READERS[field.kind](field, raw)


def preamble(text: str, reply: Reply) -> str:
    """What a reply says before its first labelled field."""
    return text[: first_of(text, reply)].strip()


def render_reply(reply: Reply, values: Values) -> str:
    """The canonical text of these values: what ``parse`` reads back as the same values."""
    lines: list[str] = []
    for field in reply.fields:
        if field.label not in values:
            continue
        value = values[field.label]
        if isinstance(value, tuple):
            lines += (f"{field.label}:", *(f"- {item}" for item in value or (NONE,)))
        # A box keeps an answer whole, whatever signs stand in it; ``repr`` keeps a float's last
        # bit.
        elif field.kind == "answer":
            lines.append(f"{field.label}: \\boxed{{{value}}}")
        else:
            lines.append(
                f"{field.label}: {value!r}"
                if isinstance(value, float)
                else f"{field.label}: {value}"
            )
    return "\n".join(lines)


# ── Reading what was found ───────────────────────────────────────────────────────────────────


def _read(found: Found, reply: Reply, text: str) -> Values | Unreadable:
    values: dict[str, Value] = {}
    for field in reply.fields:
        # A field that hangs on a choice is not read under another one, even if it stands there.
        if field.when is not None and values.get(field.when[0]) not in field.when[1]:
            continue
        value = _value(field, found.get(field.label, ()), text)
        if isinstance(value, Unreadable) and field.kind == "choice":
            value = (
                _meant(field, found, reply, text)
                or _spoken(field, found, reply, text)
                or _implied(field, found, values)
                or value
            )
        if not isinstance(value, Unreadable):
            values[field.label] = value
        # A field that is not required is left out, and its fault with it.
        elif field.required:
            return value
    return values


def _meant(field: Field, found: Found, reply: Reply, text: str) -> str | None:
    """The choice that goes with an answer, of a reply that gave the answer and did not choose.

    It copied all choices above the answer, or left them out and boxed the answer or gave it as a number.
    """
    raws = found.get(field.label, ())
    # Another word than the copied list of choices is a choice, though none of ours.
    if raws and str(raws[-1]).strip(" *_`\n") != " | ".join(field.choices):
        return None
    for other in reply.fields:
        if other.kind == "answer" and other.when is not None and other.when[0] == field.label:
            value = _value(other, found.get(other.label, ()), "")
            settled = not isinstance(value, Unreadable) and (bool(raws) or is_figure(str(value)))
            given = settled or (not raws and boxed(text) is not None)
            return other.when[1][0] if given and len(other.when[1]) == 1 else None
    return None


def _spoken(field: Field, found: Found, reply: Reply, text: str) -> str | None:
    """The choice that a sentence names in our spelling: "Therefore, the action is ACCEPT". Two of them are none."""
    if not reply.running or found.get(field.label):
        return None
    named = {said[1] for said in _naming(field.label, field.choices).finditer(text)}
    return named.pop() if len(named) == 1 else None


@lru_cache(maxsize=256)
def _naming(label: str, choices: tuple[str, ...]) -> re.Pattern[str]:
    named = "|".join(map(re.escape, choices))
    # A label that is no word of English needs no "the" before it.
    plain = rf"|{re.escape(label)} is" if "_" in label else ""
    return re.compile(
        rf"\b(?:(?i:the (?:{re.escape(label)}|decision|verdict) is(?: to)?){plain})[ \t]{{1,4}}[*_`\"']{{0,3}}"
        rf"({named})\b(?!\s{{0,4}}(?:\||/|or\b))"
    )


def _implied(field: Field, found: Found, values: Values) -> str | None:
    """The choice that goes without saying where nothing was found to speak of."""
    if field.implied is None or found.get(field.label):
        return None
    label, choice = field.implied
    said = values.get(label)
    return choice if isinstance(said, str) and _NOTHING.match(said) else None


def is_figure(said: str) -> bool:
    """Whether an answer is a number or a formula, with its unit at most: "not yet" is none."""
    return any(map(str.isdigit, said)) and len(_SPOKEN.findall(said)) < 3


def _value(field: Field, raws: Sequence[object], text: str) -> Value | Unreadable:
    """The last readable occurrence; of an answer of a type its canonical form, and no earlier one in its place."""
    form = field.form
    if form is None:
        return _said(field, raws, text)
    if form.type == "json":
        found = _json_said(raws, text)
        return (
            Unreadable(field.label, "missing") if found is None else _canonical(field, form, *found)
        )
    if form.type == "code" and raws and isinstance(raws[-1], str):
        return _canonical(field, form, raws[-1])
    value = _said(field, raws, text)
    # A reply that is nothing but the answer has the form or has not; a long text is never taken
    # for one, since something in it would fit.
    if isinstance(value, Unreadable):
        alone = _canonical(field, form, text) if len(text) < LINE_CHARS and not raws else value
        return value if isinstance(alone, Unreadable) else alone
    if field.none and value == NONE:
        return value
    # Behind the answer may stand why it is so: "42, since 6 * 7 is".
    return _canonical(field, form, value, REASONS.split(str(value), maxsplit=1)[0])


def _json_said(raws: Sequence[object], text: str) -> Sequence[object] | None:
    """What may be the JSON value behind an answer's label, or the reply's own, the likeliest first.

    The whole of it, what stands in its last box, then the first value in it; of a reply without a label also the last
    object in it.
    """
    said = raws[-1] if raws else text
    if not isinstance(said, str):
        return [said]
    found: list[object] = [] if raws else list(objects_in(text)[:1])
    box = (boxed(said) or "").replace("\\{", "{").replace("\\}", "}")
    for whole in filter(None, (said, box)):
        # JSON is read as it stands first: mending would change what is valid already.
        for way in (whole, mended(whole)):
            with suppress(WrongForm):
                return [loaded(way)]
            found += _first_json(way)
    # Alone as well: what prose before it opens, such as the // of an address, would be mended into it.
    opens = _BRACKET.search(said)
    if opens is not None:
        found += _first_json(mended(said[opens.start() :]))
    return [*found, box or said.strip()] if raws or box else found or None


def _first_json(text: str) -> list[object]:
    """The JSON value that the first bracket of a text opens, if one does."""
    opens = _BRACKET.search(text) if len(text) <= JSON_CHARS else None
    if opens is not None:
        with suppress(ValueError, RecursionError):
            return [_JSON.raw_decode(text, opens.start())[0]]
    return []


def _canonical(field: Field, form: AnswerType, *ways: object) -> Value | Unreadable:
    """The first of several readings that has the form; what is wrong with the first of them, where none has."""
    why = ""
    for said in ways:
        try:
            return canonical(form, said)
        except WrongForm as wrong:
            why = why or str(wrong)
    return Unreadable(field.label, why, form=True)


def _said(field: Field, raws: Sequence[object], text: str) -> Value | Unreadable:
    """The last readable occurrence; an answer without its label may stand anywhere as an answer."""
    problem = "missing"
    # The last readable one counts, for models draft before they settle. The first fault found is
    # the last occurrence's, and it is named when the reply is asked for again.
    for raw in raws[::-1][:TRIES]:
        try:
            return READERS[field.kind](field, raw)
        except ValueError as error:
            problem = problem if problem != "missing" else str(error)
    if field.kind == "answer" and problem in ("missing", NO_ANSWER):
        anywhere = _answered(field, text) or extract(text)
        if anywhere is not None:
            return NONE if field.none and is_none(plain_text(anywhere)) else anywhere
    # A number that is all that a reply says needs no label.
    if field.kind == "number" and not raws and _FIGURES.fullmatch(text):
        with suppress(ValueError):
            return READERS["number"](field, text)
    return Unreadable(field.label, problem)


def _answered(field: Field, text: str) -> str | None:
    """The answer in an object of a reply's own making, such as ``{"answer": 42}``."""
    for said in objects_in(text)[:1]:
        for name, value in said.items():
            if key(name) in ANSWERS and value is not None and not isinstance(value, bool | dict):
                try:
                    return str(READERS["answer"](field, Exact(str(value))))
                except ValueError:
                    return None
    return None


def _verdict(text: str, reply: Reply) -> Found | None:
    """A reply of a choice and a text without labels, such as ``**PASS** – the parts agree``.

    The choice may have its label as well, as the last line below the text.
    """
    if not _judges(reply):
        return None
    kinds = {field.kind: field for field in reply.fields}
    choice, beside = kinds["choice"], kinds["text"].label
    named = "|".join(re.escape(name) for name in choice.choices)
    found = re.match(
        rf"\s{{0,9}}\*{{0,2}}({named})\*{{0,2}}[ \t]{{0,4}}[–—:.,-]{{1,2}}\s{{1,9}}", text
    )
    if found is not None:
        return {choice.label: [found[1]], beside: [text[found.end() :]]}
    marks = marks_of(text, reply)
    if [mark.label for mark in marks] != [key(choice.label)]:
        return None
    before, said = text[: marks[0].start].strip(), text[marks[0].end :].strip()
    verdict, unless = _value(choice, [said], ""), kinds["text"].unless
    # Words above a verdict that needs none may as well speak against it: to ask once more costs less.
    spared = unless is not None and verdict in unless[1]
    if not isinstance(verdict, str) or spared or not before or "\n" in said:
        return None
    return {choice.label: [verdict], beside: [before]}


def _judges(reply: Reply) -> bool:
    """Whether a form is a choice and one text: with two nobody could tell to which of them words belong."""
    return sorted(field.kind for field in reply.fields) == ["choice", "text"]


def _alone(text: str, reply: Reply) -> Values | None:
    """A verdict that is all that a reply says, of one beside which nothing else is needed."""
    for field in reply.fields:
        if field.unless is None or len(text) > LINE_CHARS:
            continue
        label, spared = field.unless
        said = _verdict_alone(label, spared, field.label).fullmatch(text.strip())
        if said is not None:
            found = next(each for each in spared if each.casefold() == said["verdict"].casefold())
            return {label: found}
    return None


@lru_cache(maxsize=256)
def _verdict_alone(label: str, verdicts: tuple[str, ...], beside: str) -> re.Pattern[str]:
    """A line, or an object of JSON, of a verdict; the field beside it is missing, or says nothing."""
    verdict = rf"(?P<verdict>{'|'.join(map(re.escape, verdicts))})"
    mark = r"[*_`\"'\s]{0,6}"
    nothing = rf"(?:{mark}{re.escape(beside)}{mark}:{mark}(?:\.{{1,3}}|…|none|n/?a|null|-)?\.?{mark},?\s{{1,4}})?"
    line = rf"{nothing}{mark}{re.escape(label)}{mark}:{mark}{verdict}{mark}\.?{mark}"
    return re.compile(
        rf"(?:```(?:json|text)?\s{{0,4}})?\{{?\s{{0,8}}{line}\}}?\s{{0,4}}(?:```)?", re.IGNORECASE
    )


# ── Finding the fields ───────────────────────────────────────────────────────────────────────


def _labelled(text: str, reply: Reply) -> Found:
    text = "\n".join(_without_tables(text.split("\n"), reply)) if "|" in text else text
    names = {key(field.label): field.label for field in reply.fields}
    marks = marks_of(text, reply)
    # Fences are taken off only where labels stand in them, which can be told once labels are
    # found; their places change with it, so that labels are looked for again.
    if "```" in text:
        text = _without_envelopes(text, [mark.start for mark in marks])
        marks = marks_of(text, reply)
    ends = [*(mark.start for mark in marks), len(text)][1:]
    found: dict[str, list[object]] = {}
    for mark, end in zip(marks, ends, strict=True):
        raw = text[mark.end : mark.until or end]
        if mark.opened is not None:
            head, newline, rest = raw.partition("\n")
            raw = head.rstrip().removesuffix(mark.opened) + newline + rest
        found.setdefault(names[mark.label], []).append(_without_farewell(raw))
    return found


def _without_envelopes(text: str, labels: Sequence[int]) -> str:
    """Without the fences that a form was put into. A fence with no label in it belongs to a value, and stays."""
    fences = list(_FENCED.finditer(text))
    ends = [*fences[1::2], *([None] if len(fences) % 2 else [])]
    kept: list[str] = []
    at = 0
    for opens, closes in zip(fences[::2], ends, strict=True):
        end = len(text) if closes is None else closes.start()
        if bisect_left(labels, opens.end()) < bisect_left(labels, end):
            for fence in filter(None, (opens, closes)):
                kept.append(text[at : fence.start()])
                at = fence.end()
    return "".join((*kept, text[at:]))


def _without_farewell(raw: str) -> str:
    """Without the polite paragraph, or the rule, that ends a reply: the last field's value would run on into it."""
    body, gap, last = raw.rstrip().rpartition("\n\n")
    if gap and (FAREWELL.match(last.strip()) or _is_rule(last)):
        return _without_farewell(body) if _is_rule(last) else body
    return raw


def _is_rule(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 2 and len(bare) < 80 and set(bare) <= set("-*_=")


def _without_tables(lines: Sequence[str], reply: Reply) -> Iterator[str]:
    """Lines, with each row of a table that speaks of a field as a labelled line."""
    names = {key(field.label): field.label for field in reply.fields}
    # A head names the columns; a first cell that is a label names its row. Rows are read both
    # ways.
    heads: list[str | None] = []
    labelled = False
    for line in lines:
        row = cells(line)
        if not row:
            heads, labelled = [], False
            yield line
            continue
        known = [names.get(key(cell.strip("*_`: "))) for cell in row]
        is_rule = "-" in line and set(line) <= set("|:- \t\r")  # between a head and its rows
        if heads and len(row) == len(heads):
            if not is_rule:
                yield from (f"{h}: {c}" for h, c in zip(heads, row, strict=True) if h)
        elif len(row) >= 2 and known[0] is not None and known[1] is None:
            labelled = True
            yield f"{known[0]}: {_BREAK.sub(chr(10), ' | '.join(row[1:]))}"
        elif len(row) >= 2 and all(known):
            heads = known
        # Of a table that is an answer the rule is a part.
        elif not (is_rule and labelled):
            yield line


def cells(line: str) -> list[str]:
    """The cells of a table's row; none for any other line."""
    bare = line.strip()
    # A longer line is no table that anybody drew, and its cells would be looked at one by one.
    if len(bare) < 3 or bare[0] != "|" or bare[-1] != "|" or len(bare) > 20_000:
        return []
    return [cell.strip() for cell in bare[1:-1].split("|")]


@lru_cache(maxsize=256)
def _running(reply: Reply) -> re.Pattern[str]:
    """The gap before a label in just our spelling, with its colon: bold, or behind a sentence's end or a colon."""
    names = "|".join(re.escape(field.label) for field in reply.fields)
    return re.compile(
        rf"(?<=[.!?:)\]}}\"”])[ \t]{{1,3}}(?=(?:{names})[ \t]{{0,2}}:)"
        rf"|(?<=\S)[ \t]{{1,3}}(?=\*\*(?:{names})(?:\*\*)?[ \t]{{0,2}}:)"
    )
