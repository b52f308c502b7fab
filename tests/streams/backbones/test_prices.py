from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.price import Price
from streams.answering.backbones.prices import book_of, price_for, read


def test_a_price_is_read_as_written() -> None:
    assert read("0.15,0.6") == Price(prompt=0.15, completion=0.6)
    assert read("2,8,0.5") == Price(prompt=2, completion=8, cached=0.5)


@pytest.mark.parametrize("text", ["", "1", "1,2,3,4", "a,b", "-1,2", "nan,1", "1,inf"])
def test_what_is_no_price_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="MODEL=IN,OUT"):
        read(text)


@pytest.mark.parametrize("given", ["m", "=1,2", "m=", "m=1"])
def test_a_price_needs_a_model(given: str) -> None:
    with pytest.raises(ValueError, match="MODEL=IN,OUT"):
        book_of({}, [given])


def test_the_command_line_wins_and_names_may_hold_equals_signs() -> None:
    book = book_of({"m": "1,1", "n": "3,3"}, ["m=2,2", "a=b=4,4"])
    assert {model: price.prompt for model, price in book.items()} == {"m": 2, "n": 3, "a=b": 4}


@pytest.mark.parametrize(
    ("backbone", "prompt"),
    [
        ("openai:m", 1.0),
        ("openai:other", 2.0),
        ("openai:n", 3.0),
        ("rehearsal", 0.0),
        ("llama", None),
    ],
)
def test_a_backbone_is_priced_by_name_model_or_kind(backbone: str, prompt: float | None) -> None:
    book = book_of({"m": "1,1", "openai": "2,2", "openai:n": "3,3", "n": "9,9", "rehearsal": "0,0"})
    price = price_for(book, backbone)
    assert (None if price is None else price.prompt) == prompt


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_cached_tokens_cost_their_own_price(prompt: int, completion: int, cached: int) -> None:
    price = Price(prompt=2.0, completion=8.0, cached=0.5)
    plain = Price(prompt=2.0, completion=8.0)
    saved = plain.of(prompt, completion, cached) - price.of(prompt, completion, cached)
    assert saved == pytest.approx(min(cached, prompt) * 1.5e-6)


def test_nothing_was_cached_where_nobody_says_so() -> None:
    price = Price(prompt=2.0, completion=8.0, cached=0.5)
    assert price.of(10, 0) == price.of(10, 0, 0) == pytest.approx(20e-6)
