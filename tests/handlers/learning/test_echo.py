"""Echoes of guidance are cut from what memory learns from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.echo import MARK, cut_echoes

NOTE = "List the factor pairs of the target before adding anything."


def test_a_span_of_five_words_is_cut() -> None:
    said = "I will list the FACTOR pairs, of the target first. Then 6 * 4 = 24."
    assert cut_echoes(said, [NOTE]) == f"I will {MARK} first. Then 6 * 4 = 24."


def test_four_words_are_no_echo() -> None:
    said = "The factor pairs of a target."
    assert cut_echoes(said, [NOTE]) == said
    assert cut_echoes(said, []) == said


def test_long_and_several_echoes() -> None:
    said = f"{NOTE} So: 10 - 4. {NOTE}"
    assert cut_echoes(said, [NOTE]) == f"{MARK}. So: 10 - 4. {MARK}."


WORDS = st.lists(st.sampled_from(("a", "b", "c", "d")), max_size=40).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=3))
def test_no_echo_is_left_and_the_rest_stays(said: str, guidance: list[str]) -> None:
    cut = cut_echoes(said, guidance)
    assert cut_echoes(cut, guidance) == cut
    assert len([w for w in cut.split() if w != MARK]) <= len(said.split())
    assert MARK in cut or cut == said


@given(st.text(), st.text())
def test_any_texts(said: str, note: str) -> None:
    cut = cut_echoes(said, [note])
    assert cut_echoes(cut, [note]) == cut


@pytest.mark.parametrize(
    ("said", "guidance", "width", "cut"),
    [
        ("a b c d e f", ["a b c d e"], 5, "[...] f"),
        ("a b c d e f", ["b c d e f"], 5, "a [...]"),
        ("x a b y b c z", ["a b", "b c"], 2, "x [...] y [...] z"),
        ("a b c", ["a b", "b c"], 2, "[...]"),
        ("a b. C d", ["a b", "c d"], 2, "[...]. [...]"),
        ("a b c", ["a b [...] c"], 3, "a b c"),
        ("b [...] c", ["b [...] c"], 3, "b [...] c"),
        ("A, b!", ["a b"], 2, "[...]!"),
        ("a b", ["a b c d e"], 5, "a b"),
        ("a b c", [], 1, "a b c"),
    ],
)
def test_what_is_an_echo_and_what_stays(
    said: str, guidance: list[str], width: int, cut: str
) -> None:
    assert cut_echoes(said, guidance, width) == cut


def test_five_words_are_an_echo_where_nobody_says_how_many() -> None:
    assert cut_echoes("one two three four five", ["One, two, three, four, five"]) == MARK
    assert cut_echoes("one two three four", ["one two three four"]) == "one two three four"
