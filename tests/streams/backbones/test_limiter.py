from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.limiter import FIRST, Limiter

BOUNDS = st.integers(1, 500).flatmap(lambda most: st.tuples(st.just(most), st.integers(1, most)))
EVENTS = st.lists(st.one_of(st.none(), st.just("slow"), st.integers(0, 3)), max_size=200)


def run(limiter: Limiter, events: list[int | str | None]) -> None:
    """``None`` is an answer, a number a refusal of a call begun that many rounds ago."""
    for event in events:
        if event is None:
            limiter.succeeded()
        elif isinstance(event, str):
            limiter.eased()
        else:
            limiter.throttled(limiter.round - event)


@given(bounds=BOUNDS, cut=st.floats(0.05, 0.95), events=EVENTS)
def test_the_limit_stays_within_its_bounds(
    bounds: tuple[int, int], cut: float, events: list[int | str | None]
) -> None:
    most, least = bounds
    limiter = Limiter(most, least=least, cut=cut)
    assert limiter.limit == min(most, max(least, FIRST))
    for event in events:
        run(limiter, [event])
        assert least <= limiter.limit <= most


@given(bounds=BOUNDS, events=EVENTS)
def test_an_answer_never_narrows_and_a_refusal_never_widens(
    bounds: tuple[int, int], events: list[int | str | None]
) -> None:
    limiter = Limiter(bounds[0], least=bounds[1])
    for event in events:
        before = limiter.limit
        run(limiter, [event])
        assert limiter.limit >= before if event is None else limiter.limit <= before


@given(most=st.integers(1, 500), refused=st.integers(1, 500))
def test_calls_refused_together_count_once(most: int, refused: int) -> None:
    together, alone = Limiter(most), Limiter(most)
    began = together.round
    for _ in range(refused):
        together.throttled(began)
    alone.throttled(alone.round)
    assert together.limit == alone.limit
    assert together.round == began + 1


@given(most=st.integers(1, 60), events=EVENTS)
def test_enough_answers_open_it_wholly_again(most: int, events: list[int | str | None]) -> None:
    limiter = Limiter(most)
    run(limiter, events)
    run(limiter, [None] * (most * most + most))
    assert limiter.limit == most


def test_it_doubles_each_round_until_the_first_refusal_and_then_adds_one() -> None:
    limiter, found = Limiter(500), list[int]()
    for _ in range(4):
        run(limiter, [None] * limiter.limit)
        found.append(limiter.limit)
    assert found == [16, 32, 64, 128]
    limiter.throttled(limiter.round)
    assert limiter.limit == 96
    run(limiter, [None] * 96)
    assert 96 <= limiter.limit <= 97


@given(most=st.integers(2, 500), inside=st.integers(0, 7))
def test_answers_to_few_calls_do_not_widen_it(most: int, inside: int) -> None:
    limiter = Limiter(most, first=8)
    before = limiter.limit
    for _ in range(50):
        limiter.succeeded(min(inside, before - 1))
    assert limiter.limit == before


@pytest.mark.parametrize(
    ("most", "least", "cut"), [(0, 1, 0.5), (3, 4, 0.5), (3, 1, 1.0), (3, 1, 0)]
)
def test_nonsense_is_refused(most: int, least: int, cut: float) -> None:
    with pytest.raises(ValueError, match="least"):
        Limiter(most, least=least, cut=cut)
