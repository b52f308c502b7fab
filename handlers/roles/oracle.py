"""The process oracle: scores every step of a trajectory by itself, three numbers each.

Source: CoT2-Meta § B.3, § B.4, tables 4, 22 and 23.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, cast

from handlers.roles.again import Heard, Meter, strictly
from handlers.roles.form import Unreadable, cells, preamble
from handlers.roles.objects import as_text, objects_in
from handlers.roles.role import FAIR, Role
from handlers.roles.steps import shown
from handlers.roles.values import LINE_CHARS
from schemas.asking import Steps
from schemas.questions import Complete, Sampling
from schemas.reply import Field

JUDGEMENT = Sampling(temperature=0.0, max_tokens=512)
"""How scores and confidence are drawn (§ B.5)."""

NAMES = ("Semantic", "Logical", "Fix")
# The line of a step, shown where scores could not be read. A ``0.xx`` in the place of a question
# mark was copied.
LINE = "Step {}: Semantic=?, Logical=?, Fix=?"
PROMPT = f"""\
You evaluate processes of reasoning. Given are a problem and a trajectory. Each of its steps begins \
with a mark like [Step i], and whatever is numbered below a mark is part of that one step. Score \
each of the steps that the section "Steps to score" names by itself, as a whole, with three numbers from 0 to 1:
Semantic: how well the step fits the problem and the goal that is being pursued at this point.
Logical: how coherent and valid the step is in itself, and how well it supports what follows.
Fix: whether the step finds, revises, rejects or corrects a wrong claim made before it; 0 where \
nothing was to be corrected.
If the trajectory is not finished, judge what is there. {FAIR}"""
# What a small model reads last it does: where lines to be filled in stood here, it gave each of
# them one half.
# Asked for a sentence about each, it wrote one behind each of the three names, and no number.
CLOSING = """\
In a sentence or two of plain prose, say what is right and what is wrong with each of these steps; leave the names \
of the three scores out there. Then write Scores, and below it one line for each of the steps, once, with a number \
behind each name."""

AGAIN = f"""\
Give the scores again in exactly this format, one line for each step and a number for each question mark:
{LINE.format("i")}
Write these lines and nothing else."""

ORACLE = Role.of(
    "oracle",
    PROMPT,
    sections=("Problem", "Trajectory", "Steps to score"),
    reply=[
        Field(
            "Scores",
            "list",
            "a line for each step that is asked for",
            ratings=NAMES,
            counted="steps_to_score",
        )
    ],
    sampling=JUDGEMENT,
    mends=False,
    reasons=True,
    closing=CLOSING,
)

Score: TypeAlias = Fraction | None
Scores: TypeAlias = tuple[Score, Score, Score]
NOTHING: Scores = (None, None, None)
UNNAMED = -1

_STEP = re.compile(
    r"^[\s\-*•>\"'`|\[(#\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]{0,12}"
    r"(?:\d{1,4}[.)][ \t*_]{1,6})?(?:scores?[ \t*_]{0,6}:[ \t*_]{0,6})?"
    r"steps?[ \t=#:]{0,4}(\d{1,4})\b[\])*_ \t]{0,6}[:：.)\-–,|]?"
    r"(.{0,1000})",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_DECIMAL = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})", re.ASCII)
_IS = "[=:：＝≈]"
_FIELDS = tuple(
    re.compile(
        rf"\b{name}\b[*_`\"' \t]{{0,6}}(?:{_IS}[*_`\"' \t]{{0,6}}|[ (](?=[01]?\.\d|[01](?:[\s,;|)]|$)))"
        r"((?<!\d)0,\d{1,9}(?![.\d])|[^\s,;|，；]+(?:[ \t]{0,2}%)?)",
        re.IGNORECASE,
    )
    for name in NAMES
)
# Figures alone are in the order of their names.
_BARE = re.compile(
    r"[\s*_(\[]{0,9}([\d.]{1,6})[*_]{0,2}[ \t]{0,3}[,;/|][ \t]{0,3}[*_]{0,2}([\d.]{1,6})[*_]{0,2}"
    r"[ \t]{0,3}[,;/|][ \t]{0,3}[*_]{0,2}([\d.]{1,6})[\s*_)\].]{0,9}"
)
_NUMBERED = re.compile(r"[\s*_>]{0,9}(\d{1,4})[.):][ \t*_]{1,9}(.{1,1000})", re.ASCII)
_COUNTED = re.compile(r"(?:step[ \t]{0,4})?(\d{1,4})", re.IGNORECASE | re.ASCII)
_FIGURE = re.compile(r"[*_`\"'()\[\]{}]{0,6}[+\-−]?\.?\d", re.ASCII)

_ASIDE = re.compile(r"(?<=[A-Za-z])[ \t]{0,4}[(\[][^()\[\]]{1,40}[)\]]$")
"""What stands in brackets behind a name, as its scale does."""
_NOT_ANY = frozenset({"n/a", "na", "none", "-", "–"})
_BELOW = re.compile(
    rf"[\s\-*•>_`]{{0,12}}(?:{'|'.join(NAMES)})\b[*_`\"' \t]{{0,6}}{_IS}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The scores of the steps asked for, and whether every one of them could be read as asked."""

    steps: tuple[Scores, ...]
    whole: bool
    reasons: str = field(default="", compare=False)
    """What was thought before the scores were given."""


def bounded(text: str) -> Fraction | None:
    """A plain decimal number in [0, 1], or a percentage of at most 100, never clipped; none for anything else."""
    digits = text.removesuffix("%")
    if _DECIMAL.fullmatch(digits) is None:
        return None
    value = Fraction(digits.removesuffix(".")) / (100 if digits != text else 1)
    return value if 0 <= value <= 1 else None


def read_scores(text: str, first: int, last: int) -> Reading:
    """The scores of steps ``first`` to ``last``. A step that is scored twice has none, unless both times say the same.

    Steps before them may be scored once more: they are in the trajectory, and what is said of them is left out.
    Of a step behind the last there is none: whoever scores it has numbered steps of his own. Where one step is
    asked for and all of those are scored alike, that is its score. Scores that name no step are of the steps in
    their order, if there are as many; of more, all alike, each step has them.
    """
    text = _spelled_out(text, first)
    values = ORACLE.read(text)
    if isinstance(values, Unreadable):
        return Reading(*_read(text, first, last))
    listed = "\n".join(cast("tuple[str, ...]", values["Scores"]))
    steps, whole = _read(listed, first, last)
    if not whole:
        # A second reading counts only where it is whole; else a reason that mentions a step could
        # displace its score.
        # Below the list its lines may stand once more, where nobody can tell where the list ends.
        anywhere = _read(text, first, last)
        steps, whole = anywhere if anywhere[1] else (steps, whole)
    return Reading(steps, whole, preamble(text, ORACLE.reply))


def _spelled_out(text: str, first: int) -> str:
    """A reply whose scores are an object of steps, or a list of three numbers for each, as lines; else as it is."""
    # Endpoints that enforce JSON make models key their scores by step, or list bare figures in
    # order. Both are put into lines, so that one reader holds all of them to the same bounds.
    bare = text.strip().removeprefix("```json").strip("` \n")
    if bare.startswith("[") and bare.endswith("]"):
        text = f'{{"Scores": {bare}}}'
    for found in objects_in(text):
        scores = found.get("Scores", found)
        if isinstance(scores, list) and not any(map(_names_a_step, cast("list[object]", scores))):
            scores = dict(enumerate(cast("list[object]", scores), first))
        if isinstance(scores, dict):
            lines = [_line_of(*said) for said in cast("dict[object, object]", scores).items()]
            if any(lines):
                thought = (said for said in found.values() if isinstance(said, str))
                return "\n".join((*thought, "Scores:", *filter(None, lines)))
    return as_text(text)


def _names_a_step(said: object) -> bool:
    """Whether an item of a list says itself of which step it is."""
    keys = cast("dict[object, object]", said) if isinstance(said, dict) else ()
    return isinstance(said, str) or any("step" in str(key).casefold() for key in keys)


def _line_of(step: object, said: object) -> str:
    """A step's line, where a key names it and scores stand behind it by name or in their order."""
    number = _COUNTED.fullmatch(str(step).strip())
    if isinstance(said, list):
        values = cast("list[object]", said)
        said = dict(zip(NAMES, values, strict=True)) if len(values) == len(NAMES) else None
    if isinstance(said, dict):
        named = cast("dict[str, object]", said).items()
        said = ", ".join(f"{name}={value}" for name, value in named)
    return f"Step {number[1]}: {said}" if number and isinstance(said, str) else ""


def _read(lines: str, first: int, last: int) -> tuple[tuple[Scores, ...], bool]:
    """The scores of the steps, and whether none is missing and none is of a step that is not there."""
    found: dict[int, list[str]] = {}
    for number, rest in _rows(lines):
        found.setdefault(number, []).append(rest)
    alone = found.pop(UNNAMED, [])
    # Of a single step the scores need not say of which, nor the first ones before those of the next step.
    if (first == last and not found) or (first < last and min(found, default=0) == first + 1):
        found[first] = alone
    elif not found:
        found = dict(enumerate(_in_order(alone, last - first + 1), first))
    steps = tuple(_agreed(found.get(number, [])) for number in range(first, last + 1))
    if first == last and first in found and max(found) > last:
        # Whoever is asked of one thought and scores the lines that it numbers, all of them alike,
        # has said what the thought is worth.
        agreed = _agreed([line for lines in found.values() for line in lines])
        if None not in agreed:
            return (agreed,), True
    is_whole = max(found, default=0) <= last and all(None not in each for each in steps)
    return steps, is_whole


def _in_order(lines: Sequence[str], count: int) -> list[list[str]]:
    """Lines that name no step, by step: one each, or all for each where there are more and they say the same."""
    if len(lines) == count:
        return [[line] for line in lines]
    # Fewer may be of the whole, and of more that differ nobody can say which is whose.
    is_more = len(lines) > count and None not in _agreed(lines)
    return [list(lines)] * count if is_more else []


def _agreed(lines: Sequence[str]) -> Scores:
    """What all lines that score say alike; nothing where two of them differ."""
    # Words beside the names say what was thought of a step, and a line that is given back as it
    # was shown says nothing.
    said = {
        tuple(_field(pattern, line) for pattern in _FIELDS)
        for line in lines
        if any(_FIGURE.match(value) for pattern in _FIELDS for value in pattern.findall(line))
    }
    # Two different scores of one step are none: nobody knows which was the last word.
    return cast("Scores", said.pop()) if len(said) == 1 else NOTHING


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Each step that scores are given for, and what says them: its own line, or a line each below it.

    A step that is only spoken of, as in the reasons for a score, is none. Scores before any step are of none
    that is named.
    """
    number, said = UNNAMED, ""
    names: list[str] = []
    for line in text.split("\n"):
        # A row of a table of scores is a step's line: ``| 1 | 0.9 | 0.8 | 0 |`` below their names.
        row = [_ASIDE.sub("", cell.strip("*_`[] ")) for cell in cells(line)]
        if {name.casefold() for name in NAMES} <= {cell.casefold() for cell in row}:
            names = row
            continue
        if names and len(row) == len(names) and (counted := _COUNTED.fullmatch(row[0])):
            scores = (f"{name}={score}" for name, score in zip(names[1:], row[1:], strict=True))
            line = f"Step {counted[1]}: {', '.join(scores)}"
        step = _STEP.match(line) or _numbered(line)
        if step is not None:
            if said:
                yield number, said
            number, said = int(step[1]), _scores_of(step[2])
        elif _BELOW.match(line):
            if number == UNNAMED and said and _is_whole(line):
                yield number, said
                said = ""
            # The bound keeps what is said of one step short, however many lines follow it.
            if len(said) < LINE_CHARS:
                said = f"{said}, {line[:LINE_CHARS]}"
    if said:
        yield number, said


def _numbered(line: str) -> re.Match[str] | None:
    """A line that a number opens and that has a score behind each name: the number is that of its step."""
    found = _NUMBERED.match(line)
    return found if found and _is_whole(found[2]) else None


def _is_whole(line: str) -> bool:
    """Whether a line has something behind each of the three names."""
    return all(pattern.search(line[:LINE_CHARS]) for pattern in _FIELDS)


def _scores_of(said: str) -> str:
    """What says the scores of a step behind its number; nothing where none does."""
    bare = _BARE.fullmatch(said)
    if bare is not None:
        return ", ".join(
            f"{name}={score}" for name, score in zip(NAMES, bare.groups(), strict=True)
        )
    return said if any(pattern.search(said) for pattern in _FIELDS) else ""


def _field(pattern: re.Pattern[str], line: str) -> Score:
    """The score behind a name; none where it stands there twice with two values, or with none in [0, 1]."""
    # Nothing to correct is scored 0 by definition, and some models write that in words. Other words
    # behind a name are the reasons for its score.
    said = {
        Fraction(0) if word in _NOT_ANY else _share(word)
        for each in pattern.findall(line)
        if (word := each.strip("*_`\"'()[]{}\\$").removesuffix(".").casefold()) in _NOT_ANY
        or _FIGURE.match(each)
    }
    return said.pop() if len(said) == 1 else None


def _share(word: str) -> Score:
    """A number in [0, 1], be it written with a decimal comma, as a share of ten, or in percent."""
    said = word.replace(" ", "").replace("\t", "")
    said = re.sub(r"^0,(?=\d)", "0.", said)
    part, _, whole = said.partition("/")
    if whole.isdecimal() and int(whole[:9]) and _DECIMAL.fullmatch(part):
        value = Fraction(part.removesuffix(".")) / int(whole[:9])
        return value if 0 <= value <= 1 else None
    return bounded(said)


def merged(first: Reading, second: Reading) -> Reading:
    """The second reading, with the first one's fields where the second has none."""
    steps = tuple(
        (now[0] if now[0] is not None else was[0],
         now[1] if now[1] is not None else was[1],
         now[2] if now[2] is not None else was[2])
        for was, now in zip(first.steps, second.steps, strict=True)
    )  # fmt: skip
    return Reading(steps, second.whole, first.reasons)


def question(problem: str, steps: Sequence[str], first: int) -> Complete:
    """The oracle's question about steps ``first`` to the last."""
    named = ", ".join(f"Step {number}" for number in range(first, len(steps) + 1))
    return ORACLE.question(
        {"problem": problem, "trajectory": shown(steps), "steps_to_score": named}
    )


def score(
    problem: str, steps: Sequence[str], meter: Meter, first: int = 1
) -> Steps[Heard[Reading]]:
    """The scores of a trajectory's steps from ``first`` on; at most one re-prompt."""
    return strictly(
        question(problem, steps, first),
        lambda text: read_scores(text, first, len(steps)),
        lambda reading: reading.whole,
        merged,
        AGAIN,
        meter,
    )
