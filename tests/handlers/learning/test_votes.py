"""The model of a vote against what it stands for: chains that are drawn from it, and its long form."""

from __future__ import annotations

from collections import Counter
from math import exp, inf, lgamma, log, pi, sin
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.votes import NOVELTY, SPREAD, chance, gain, to_turn
from schemas.identity import hash01

EASE = st.floats(0.05, 0.95)


@st.composite
def votes(draw: st.DrawFn, most: int = 12) -> tuple[int, int, int]:
    """The first two answers of a vote and all chains of it, as they may come about."""
    first = draw(st.integers(1, most))
    second = draw(st.integers(0, first))
    return first, second, first + second + draw(st.integers(0, 4))


# ── Its long form ────────────────────────────────────────────────────────────────────────────


def beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def ewens(counts: list[int]) -> float:
    """The log of the chance that wrong chains fall into answers of these sizes."""
    known = len(counts) * log(NOVELTY) + sum(map(lgamma, counts))
    return known - sum(log(NOVELTY + at) for at in range(sum(counts)))


def posterior(said: list[int], blank: int, ease: float) -> list[float]:
    """For each answer, and at last for none of them, the chance that it is the right one."""
    right, wrong = SPREAD * ease, SPREAD * (1 - ease)
    of = sum(said) + blank
    blanks = [1] * blank
    weights = [
        beta(right + count, wrong + of - count) + ewens([*said[:at], *said[at + 1 :], *blanks])
        for at, count in enumerate(said)
    ]
    weights.append(beta(right, wrong + of) + ewens([*said, *blanks]))
    top = max(weights, default=-inf)
    shares = [exp(each - top) for each in weights]
    return [each / sum(shares) for each in shares]


@given(votes(), EASE)
def test_a_chance_is_the_posterior_of_a_beta_and_of_how_mistakes_repeat(
    vote: tuple[int, int, int], ease: float
) -> None:
    first, second, of = vote
    rest = of - first - second
    # Behind a second answer the rest is taken to be answers of their own, else to be blank.
    said = [first, second, *[1] * rest] if second else [first]
    known = posterior(said, 0 if second else rest, ease)
    assert chance(*vote, ease) == pytest.approx(known[0])


# ── What is true of it ───────────────────────────────────────────────────────────────────────


@given(votes(), EASE)
def test_a_vote_more_for_the_leading_answer_makes_it_likelier_and_one_against_it_less(
    vote: tuple[int, int, int], ease: float
) -> None:
    first, second, of = vote
    assert 0 < chance(*vote, ease) < 1
    assert chance(first + 1, second, of + 1, ease) > chance(*vote, ease)
    assert chance(first, second, of + 1, ease) < chance(*vote, ease)


@given(votes(), EASE, EASE)
def test_what_feels_easier_is_trusted_more(
    vote: tuple[int, int, int], one: float, other: float
) -> None:
    if one < other:
        assert chance(*vote, one) <= chance(*vote, other)


@given(votes(5), EASE)
def test_looking_further_never_lowers_a_chance_and_never_makes_more_of_it_than_there_is(
    vote: tuple[int, int, int], ease: float
) -> None:
    assert 0 <= gain(*vote, ease) <= 1 - chance(*vote, ease) + 1e-12


@given(st.integers(1, 60), EASE)
def test_where_no_chain_has_an_answer_no_more_is_gained_than_the_next_one_is_right(
    of: int, ease: float
) -> None:
    assert chance(0, 0, of, ease) == 0.0
    assert gain(0, 0, of, ease) == pytest.approx(SPREAD * ease / (SPREAD + of))


def test_a_chance_is_the_same_bit_by_bit_on_every_python() -> None:
    """``sum`` adds floats otherwise since 3.12, and by its last bits this one would be rounded down."""
    assert round(chance(1, 1, 7, 0.625), 6) == 0.085938


def test_a_vote_of_a_thousand_chains_that_all_differ_is_weighed_at_once() -> None:
    began = process_time()
    for of in range(900, 1_000):
        assert 0 <= gain(6, 1, of, 0.5) < 1
    assert process_time() - began < 2.0


def test_fewer_chains_than_can_turn_a_vote_are_not_what_it_gains_by() -> None:
    assert [to_turn(*pair) for pair in ((0, 0), (1, 1), (2, 1), (2, 0), (5, 1))] == [1, 1, 2, 3, 5]
    assert gain(1, 1, 2, 0.5) > gain(2, 1, 3, 0.5) > gain(2, 0, 2, 0.5) > 0
    assert gain(5, 0, 5, 0.5) > 0
    assert gain(6, 0, 6, 0.5) == 0, "a lead that so many do not turn is taken for good"


# ── Worlds that are as it says ───────────────────────────────────────────────────────────────


def drawn(world: int, count: int) -> list[str]:
    """The answers of so many chains on one problem of the model's own, at an ease of one half."""
    # Beta(1/2, 1/2) is the arcsine law, which has a closed inverse.
    theta = sin(hash01(world, "theta") * pi / 2) ** 2
    said: list[str] = []
    wrong: list[str] = []
    for at in range(count):
        if hash01(world, "right", at) < theta:
            said.append("right")
            continue
        repeats = hash01(world, "repeats", at) * (NOVELTY + len(wrong))
        mistake = wrong[int(repeats - NOVELTY)] if repeats >= NOVELTY else f"wrong {at}"
        wrong.append(mistake)
        said.append(mistake)
    return said


def vote_of(said: list[str]) -> tuple[str, tuple[int, int, int]]:
    (leader, first), *rest = Counter(said).most_common()
    return leader, (first, rest[0][1] if rest else 0, len(said))


@pytest.mark.slow
def test_of_votes_that_are_as_likely_right_so_many_are() -> None:
    """By each vote that came about often enough, within three standard errors."""
    seen: dict[tuple[int, int, int], list[bool]] = {}
    for world in range(6_000):
        said = drawn(world, 5)
        for count in (2, 3, 4, 5):
            leader, vote = vote_of(said[:count])
            seen.setdefault(vote, []).append(leader == "right")
    common = {vote: right for vote, right in seen.items() if len(right) > 300}
    assert len(common) >= 8
    for vote, right in common.items():
        expected = chance(*vote, 0.5)
        error = (expected * (1 - expected) / len(right)) ** 0.5
        assert abs(sum(right) / len(right) - expected) < 3 * error + 0.01, vote


@pytest.mark.slow
def test_so_many_chains_more_bring_what_they_were_expected_to() -> None:
    gains: dict[tuple[int, int, int], list[int]] = {}
    for world in range(6_000):
        said = drawn(world, 8)
        for count in (2, 3, 4):
            leader, vote = vote_of(said[:count])
            then, _ = vote_of(said[: count + to_turn(*vote[:2])])
            gains.setdefault(vote, []).append((then == "right") - (leader == "right"))
    common = {vote: each for vote, each in gains.items() if len(each) > 300}
    assert len(common) >= 5
    for vote, each in common.items():
        mean = sum(each) / len(each)
        spread = (sum((one - mean) ** 2 for one in each) / len(each)) ** 0.5
        assert abs(mean - gain(*vote, 0.5)) < 3 * spread / len(each) ** 0.5 + 0.01, vote
