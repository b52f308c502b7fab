"""Which lessons say the same: held against the plain definition, every lesson beside all that stand before it."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from handlers.learning.likeness import BY_LETTERS, USUAL, Likeness
from handlers.learning.sameness import Pointed, grouped, joined, twins
from schemas.identity import text_digest
from schemas.memory import MemoryItem, Sided
from schemas.vectors import pack, unpack

BEFORE = 3
MEANT = st.sampled_from([USUAL, BY_LETTERS])
TURNS = (0.0, 0.1, 0.2, 0.3, 0.318, 0.3175, 0.31756, 0.4, 1.0)
"""Angles between vectors; a cosine of .95 lies at .3176, one of .98 at .2003."""
VECTORS = (
    None,
    *(pack((cos(at), sin(at))) for at in TURNS),
    *(pack((50 * cos(at), 50 * sin(at))) for at in TURNS),
    pack((0.0, 0.0)),
    pack((1.0, 0.0, 0.0)),
    pack((0.0, 0.0, 0.0)),
)


@st.composite
def lessons(draw: st.DrawFn) -> list[MemoryItem]:
    """Lessons of two roles and all sides, among them equal texts, near vectors, zeros and other widths."""
    return [
        MemoryItem(
            id=f"lesson-{at}",
            kind="lesson",
            role=draw(st.sampled_from(["reasoner", "monitor"])),
            text=(text := draw(st.sampled_from("abcdefgh"))),
            text_digest=text_digest(text),
            batch=draw(st.integers(BEFORE - 1, BEFORE + 1)),
            polarity=draw(st.sampled_from([None, "do", "avoid", "both"])),
            vector=draw(st.sampled_from(VECTORS)),
        )
        for at in range(draw(st.integers(0, 9)))
    ]


def pairwise(known: dict[str, str], items: Sequence[MemoryItem], meant: Likeness) -> dict[str, str]:
    """Each new lesson under the first before it that says the same."""
    found = dict(known)
    for at, item in enumerate(items):
        if item.batch > BEFORE and item.mark not in known:
            earlier = (other for other in items[:at] if other.role == item.role)
            like = (
                other.mark for other in earlier if Pointed.at(item).same(Pointed.at(other), meant)
            )
            first = next(like, None)
            if first is not None:
                found[item.mark] = found.get(first, first)
    return found


@given(lessons(), MEANT, st.data())
def test_a_lesson_stands_with_the_first_before_it_that_says_the_same(
    items: list[MemoryItem], meant: Likeness, data: st.DataObject
) -> None:
    marks = st.sampled_from([item.mark for item in items] or ["none"])
    known = data.draw(st.dictionaries(marks, marks, max_size=3))
    standing = {"tally": {"x": [1, 2, 0.5]}, **({"same": known} if known else {})}
    kept = dict(standing)
    after = joined(standing, items, BEFORE, meant)
    assert after.get("same", {}) == pairwise(known, items, meant)
    assert after.get("same") != {}, "nothing is said of lessons that all say something else"
    assert after["tally"] == standing["tally"]
    assert standing == kept, "what was before is not changed"


@given(lessons(), MEANT)
def test_a_group_is_what_its_first_lesson_is_like(items: list[MemoryItem], meant: Likeness) -> None:
    pointed = [Pointed.at(item) for item in items]
    groups = grouped(pointed, meant)
    assert sorted(at for group in groups for at in group) == list(range(len(items)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    firsts = [group[0] for group in groups]
    for group in groups:
        for at in group:
            like = [
                first for first in firsts if first < at and pointed[at].same(pointed[first], meant)
            ]
            assert (like or [at])[0] == group[0]


WIDE = 384
"""As many numbers as a vector of MiniLM has."""


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 1e3), MEANT)
def test_long_vectors_around_the_threshold_are_told_apart_as_exact_cosines_do(
    seed: int, scale: float, meant: Likeness
) -> None:
    """Single precision decides only what it cannot be wrong about."""
    draw = Random(seed)
    one = [draw.gauss(0, 1) for _ in range(WIDE)]
    beside = (1 - meant.same**2) ** 0.5 / meant.same
    others = [
        [x + draw.gauss(0, 1) * beside * (1 + bend) for x in one]
        for bend in (-0.5, -0.01, -0.001, 0.0, 0.001, 0.01, 0.5)
    ]
    packed = [pack([x * scale for x in each]) for each in (one, *others)]
    made = [Pointed.of("", unpack(each), None) for each in packed]
    exact = {each: made[0].near(other, meant) for each, other in zip(packed, made, strict=True)}
    found = twins(packed[:1], packed, meant)
    assert {each: each in found[packed[0]] for each in packed} == exact


TEXT = Pointed.of(text_digest("a"), (1.0, 0.0), "do")


@given(st.sampled_from([None, "do", "avoid", "both"]))
@example("avoid")
def test_equal_texts_say_the_same_whatever_they_are_for_and_equal_vectors_only_on_one_side(
    side: Sided | None,
) -> None:
    assert Pointed.of(TEXT.text, (), side).same(TEXT, USUAL)
    assert Pointed.of("other", (2.0, 0.0), side).same(TEXT, USUAL) == (side == "do")


def test_a_cosine_at_the_threshold_is_enough_and_one_below_it_is_not() -> None:
    for meant in (USUAL, BY_LETTERS):
        beside = (1 - meant.same**2) ** 0.5
        at = Pointed.of("other", (meant.same, beside), "do")
        assert at.same(TEXT, meant)
        assert not at.same(TEXT, Likeness(meant.floor, meant.same + 1e-8))


def test_zeros_and_vectors_of_other_widths_are_like_nothing() -> None:
    zeros, wide = Pointed.of("x", (0.0, 0.0), "do"), Pointed.of("y", (1.0, 0.0, 0.0), "do")
    for one in (zeros, wide):
        assert not one.same(TEXT, USUAL)
        assert not TEXT.same(one, USUAL)
    assert not zeros.same(Pointed.of("z", (0.0, 0.0), "do"), USUAL)


def test_which_vectors_are_one_with_which() -> None:
    one, long, turned, other = (
        pack(each) for each in ((1, 0), (5, 0), (cos(0.1), sin(0.1)), (0, 1))
    )
    wide, zeros = pack((1.0, 0.0, 0.0)), pack((0.0, 0.0))
    every = [other, one, wide, long, zeros, turned, one]
    assert twins([one, wide, zeros, one], every, USUAL) == {
        one: (one, long, turned),
        wide: (wide,),
        zeros: (),
    }
    assert twins([one], every, Likeness(0.2, 0.999)) == {one: (one, long)}
    assert twins([], every, USUAL) == twins([], [], USUAL) == {}
    assert twins([other], [other, pack((0.0, -1.0))], USUAL) == {other: (other,)}
