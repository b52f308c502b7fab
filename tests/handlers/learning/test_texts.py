"""What is read off a text at once, and the features that an embedding becomes."""

from __future__ import annotations

import pytest

from handlers.learning.features import features as projected
from handlers.learning.features import signs
from handlers.learning.likeness import BY_LETTERS, USUAL, likeness_of
from handlers.learning.texts import AnswerType, answer_type, content_words, features
from schemas.vectors import pack


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Apples and the apples: 3 pears", ("apples", "pears")),
        ("Is it so? A cat sat.", ("cat", "sat")),
        ("zoo_keeper x2y Straße", ("keeper", "strasse", "zoo")),
        ("All numbers of these", ("these",)),
        ("", ()),
    ],
)
def test_the_words_that_say_what_a_text_is_about(text: str, words: tuple[str, ...]) -> None:
    assert content_words(text) == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", (0, 0, 1)),
        ("Add 3 and 1,234.5 to 2/3.", (6, 3, 5)),
        ("If x is 4, what then?", (6, 1, 5)),
        ("one two", (2, 0, 1)),
        ("android WHILE butter", (3, 0, 2)),
    ],
)
def test_a_problem_has_words_quantities_and_clauses(text: str, found: tuple[int, int, int]) -> None:
    assert features(text) == found


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (" 42 ", "number"), ("-1,234.5", "number"), ("$5", "number"), ("3/4", "number"),
        ("1e-5", "number"), ("50 %", "number"), ("−7", "number"),
        ("B", "choice"), ("(c)", "choice"), ("h.", "choice"), ("A)", "choice"), ("I", "text"),
        ("3 + x", "expression"), ("2x = 4", "text"), ("x + 3", "text"), ("2^k", "expression"),
        ("8 ÷ 2", "expression"), ("Paris", "text"), ("", "text"),
    ],
)  # fmt: skip
def test_what_kind_of_thing_an_answer_is(answer: str, kind: AnswerType) -> None:
    assert answer_type(answer) == kind


def test_an_embedding_becomes_a_vector_of_length_one_that_nobody_can_change() -> None:
    assert projected(pack((3.0, 0.0, 4.0)), None).tolist() == [0.6, 0.0, 0.8]
    assert projected(pack((0.0, 0.0)), None).tolist() == [0.0, 0.0]
    assert projected(pack((0.0, 0.0)), 3).tolist() == [0.0, 0.0, 0.0]
    drawn = signs(4, 3)
    assert drawn.shape == (3, 4)
    assert {*drawn.ravel().tolist()} == {1.0, -1.0}
    assert drawn.tolist() == signs(9, 3)[:, :4].tolist(), "more of them change none"
    assert signs(64, 64).sum() == pytest.approx(0, abs=200)
    found = projected(pack((3.0, 0.0, 4.0)), 4)
    plain = [3 * drawn[0, at] + 4 * drawn[2, at] for at in range(4)]
    length = sum(each * each for each in plain) ** 0.5
    assert found.tolist() == pytest.approx([each / length for each in plain])
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0


@pytest.mark.parametrize(
    ("embedder", "meant"),
    [("hashed-ngrams@1", BY_LETTERS), ("hashed", BY_LETTERS), ("minilm@1", USUAL), (None, USUAL),
     ("", USUAL), ("my-hashed", USUAL)],
)  # fmt: skip
def test_hashed_letters_are_told_by_their_name(embedder: str | None, meant: object) -> None:
    assert likeness_of(embedder) == meant
    assert (USUAL, BY_LETTERS) == ((0.20, 0.95), (0.15, 0.98))
