"""Linear readers read what the patterns read that they stand for, which are kept here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from handlers.answers.value import Value, read
from handlers.policies.cot2_meta.perturb import Shuffled, jittered, shuffled
from handlers.roles import distiller, inducer, step
from handlers.roles.between import Marks
from schemas.events import codec
from schemas.fence import sections_of
from schemas.identity import hash01
from streams.answering.backbones.openai.rates import number, span
from streams.answering.backbones.rehearsal.learn import rows
from streams.views.words import cells, head, wrap
from tests.data import shared
from tests.pace import within

RULE = re.compile(r"\bIF\b.+\bTHEN\b.+\bBECAUSE\b.+", re.IGNORECASE | re.DOTALL)
RATED = re.compile(r"^(.*?)\s*\(\s*(\w*)\s*,?\s*([-+\w.]*)\s*\)\W*$", re.DOTALL)
ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
STEP = re.compile(r"<next_step>(.*?)</next_step>", re.DOTALL | re.IGNORECASE)
NUMBER = re.compile(
    r"(?<![\w.])[+\-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w|%)", re.ASCII
)
OPTION = re.compile(r"^([ \t]*\(?)([A-J])([).:][ \t]*)(.+?)[ \t]*$", re.MULTILINE)
MATRIX = re.compile(r"\\begin\{[pbvBV]?matrix\}(.*)\\end\{[pbvBV]?matrix\}", re.DOTALL)
PATH = re.compile(r"(?P<what>.*) - at `\$\.?(?P<where>.*)`", re.DOTALL)
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
ROW = re.compile(r"^[-*\s]*(?:\[?[A-Za-z]?-?\d+\]?[:.)]\s*)?(.*\S)\s*$", re.MULTILINE)
LINE = re.compile(
    r"(?P<label>[^:<>]{1,60}): (?P<body>.+?)(?: \(only if (?P<field>.+?) is (?P<values>[^()]+)\))?"
)


def said(*parts: str) -> st.SearchStrategy[str]:
    """Texts of these parts, with a few others between them."""
    return st.lists(st.sampled_from((*parts, " ", "\n", "a", "1", "é")), max_size=14).map("".join)


def anything(*parts: str) -> st.SearchStrategy[str]:
    return said(*parts) | st.text(max_size=60)


def replies() -> Iterator[str]:
    """What models really said, and each of its lines."""
    for path in sorted((shared() / "replies").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in texts(json.loads(line)):
                yield text
                yield from text.splitlines()


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from texts(each)


# ── Roles ────────────────────────────────────────────────────────────────────────────────────


def same_rule(text: str) -> None:
    assert distiller.is_rule(text) == (RULE.search(text) is not None)


def same_rating(text: str) -> None:
    was, now = RATED.match(text), inducer.rating(text)
    assert (was is None) == (now is None)
    if was and now:
        assert (was[1], was[2], was[3]) == (text[: now.start()].rstrip(), now[1], now[2])


def same_marks(text: str) -> None:
    for pattern, marks in ((ANSWER, Marks.tag("answer")), (STEP, step.TAGGED)):
        was = [(found.start(), found[1]) for found in pattern.finditer(text)]
        assert list(marks.each(text)) == was


@given(anything("IF", "THEN", "BECAUSE", "if ", "then ", " because ", "xIF", "ıf", "İF ", "."))
def test_rules(text: str) -> None:
    same_rule(text)


@example("(high, 75)")
@example("(75)")
@given(anything("(", ")", "high", ", ", ",", "75", "-", ".", "_", "?"))
def test_ratings(text: str) -> None:
    same_rating(text)


@given(
    anything("<answer>", "</answer>", "<next_step>", "</next_step>", "</NEXT_STEP>", "<Next_ſtep>")
)
def test_marks(text: str) -> None:
    same_marks(text)


def test_real_replies_are_read_as_before() -> None:
    for text in replies():
        same_rule(text)
        same_rating(text) if len(text) < 2_000 else None
        same_marks(text)
        same_matrix(text)
        same_rows(text)
        same_options(text)


# ── Answers and problems ─────────────────────────────────────────────────────────────────────


def same_matrix(text: str) -> None:
    was = MATRIX.search(text)
    now = read(text)
    if len(text) <= 4_000 and was:
        assert now.kind == "matrix"
        assert now == matrix(was[1])


def matrix(body: str) -> Value:
    """A matrix of this body and no other, as it is read."""
    return read(rf"\begin{{matrix}}{body}\end{{matrix}}")


def same_options(text: str) -> None:
    assert shuffled(text, 7) == shuffled_before(text, 7)


def shuffled_before(problem: str, seed: int) -> Shuffled:
    options = list(OPTION.finditer(problem))
    letters = [found[2] for found in options]
    if len(set(letters)) != len(letters) or len(letters) < 2:
        return Shuffled(jittered(problem, seed), {}, seed)
    order = sorted(range(len(options)), key=lambda at: hash01(seed, "option", problem, at))
    parts: list[str] = []
    end = 0
    for place, found in enumerate(options):
        parts += [problem[end : found.start()], found[1] + found[2] + found[3]]
        parts.append(options[order[place]][4])
        end = found.end()
    text = "".join((*parts, problem[end:]))
    moved = {letters[was]: letters[place] for place, was in enumerate(order)}
    return Shuffled(jittered(text, seed), moved, seed)


@given(
    said(r"\begin{pmatrix}", r"\end{pmatrix}", r"\begin{matrix}", r"\end{bmatrix}", "&", r"\\", ",")
)
def test_matrices(text: str) -> None:
    same_matrix(text)


@given(anything("A) ", "(B) ", "C.", "\n(D)", "\nB: x", "\t", "  "))
def test_options(text: str) -> None:
    same_options(text)


# ── What servers and logs say ────────────────────────────────────────────────────────────────


@given(anything(" - at `$", " - at `$.", "`", "Expected `int`", ".kind", "[...]"))
def test_places_of_errors(text: str) -> None:
    was = PATH.fullmatch(text)
    if was:
        assert codec.what(ValueError(text)) == f"{was['where']}: {was['what']}"
    elif not text.startswith("Object "):
        assert codec.what(ValueError(text)) == f"(whole): {text}"


@given(said("6m", "0s", "1.5", "ms", "h", "20", ".", "d", "s"))
def test_spans(text: str) -> None:
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    if re.fullmatch(rf"(?:{PART.pattern})+", text):
        assert span(text) == sum(float(value) * units[unit] for value, unit in PART.findall(text))
    else:
        assert span(text) == number(text)


# ── Prompts ──────────────────────────────────────────────────────────────────────────────────

TAG = re.compile(r"<([^\s<>/]+)>\n")
OPENS = re.compile(r"\n?\n### (?![^\n]*###[ \t]*(?:\n|$))([^\n]*)(?:\n|$)")


def sections_before(prompt: str) -> Iterator[tuple[str, str]]:
    text = f"\n{prompt}"
    opened = OPENS.search(text)
    if before := text[1 : opened.start() if opened else None]:
        yield "", before
    while opened is not None:
        body, end = filled_before(text, opened.end())
        yield opened[1], body
        opened = OPENS.search(text, end)


def filled_before(text: str, at: int) -> tuple[str, int]:
    tag = TAG.match(text, at)
    close = -1 if tag is None else text.find(f"\n</{tag[1]}>", tag.end())
    if tag is not None and close >= 0:
        end = close + len(f"\n</{tag[1]}>")
        if end == len(text) or OPENS.match(text, end):
            return text[tag.end() : close], end
    following = OPENS.search(text, at)
    end = len(text) if following is None else following.start()
    return text[at:end], end


@given(anything("### A\n", "\n### B\n", "<x>\n", "\n</x>", "<x-2>\n", "\n</x-2>", "</x>", "###"))
def test_sections(prompt: str) -> None:
    assert list(sections_of(prompt)) == list(sections_before(prompt))


def test_tags_that_nothing_closes_are_passed() -> None:
    """Each was looked for again up to the prompt's end: 3 s, where one pass takes a tenth of one."""
    text = "\n### a\n<x>\n" * 24_000
    assert within(1.5, lambda: sum(1 for _ in sections_of(text))) == 24_000


# ── The simulator and screens ────────────────────────────────────────────────────────────────


def same_rows(text: str) -> None:
    assert rows(text) == ROW.findall(text)


@given(anything("- ", "* ", "1. ", "[R1] ", "R-2: ", "\n\n", "5.", "-", "\t"))
def test_rows(text: str) -> None:
    same_rows(text)


@given(
    anything("word", "日本", "\u0301", "longer-word-than-any-line-has-room-for"), st.integers(0, 12)
)
def test_lines(text: str, room: int) -> None:
    assert wrap(text, room) == wrapped_before(text, room)


def wrapped_before(text: str, room: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cells(word) > room:
            if line:
                lines.append(line)
                line = ""
            piece = head(word, room) or word[:1]
            lines.append(piece)
            word = word[len(piece) :]
        if line and cells(line) + 1 + cells(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line or not lines else lines


SLOW = ((RULE, "search"), (ANSWER, "search"), (re.compile(r"(?:a+)+b"), "search"))
"""Some that the law of growth must refuse."""
