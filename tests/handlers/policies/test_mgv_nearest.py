"""The cases nearest to a problem: rough in bulk, exact where it counts, and the same whichever way they are found."""

from __future__ import annotations

from math import cos, sin

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cosine import cosine, rounded
from handlers.policies.mgv.nearest import FEW, Vectors
from schemas.vectors import pack, unpack


def around(count: int, turn: float = 0.01) -> list[tuple[str, str | None]]:
    """Vectors in a fan, each a little further from the first axis."""
    return [(f"c{at:03}", pack((cos(turn * at), sin(turn * at), 0.0))) for at in range(count)]


def exactly(
    packed: list[tuple[str, str | None]], query: tuple[float, ...], top: int
) -> list[tuple[str, float]]:
    """All of them compared, one by one."""
    known = [(name, vector) for name, vector in packed if vector]
    scored = [(name, rounded(cosine(query, unpack(vector)))) for name, vector in known]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:top]


def test_many_are_found_as_few_are() -> None:
    query = (1.0, 0.3, 0.0)
    for count in (1, FEW, FEW + 1, 200):
        for top in (1, 5, count * 3 // 4 or 1, count, count + 3):
            found = Vectors(around(count)).nearest(query, top)
            assert found == exactly(around(count), query, top)


@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=FEW + 1, max_size=FEW + 20),
    st.integers(1, 6),
)
def test_ties_go_by_name_and_a_vector_of_nothing_is_like_nothing(
    rows: list[tuple[int, ...]], top: int
) -> None:
    packed: list[tuple[str, str | None]] = [
        (f"c{at % 7}{at:03}", pack(tuple(map(float, row)))) for at, row in enumerate(rows)
    ]
    for query in ((1.0, 2.0, -1.0), (0.0, 0.0, 0.0), (300.0, 0.0, 0.5)):
        assert Vectors(packed).nearest(query, top) == exactly(packed, query, top)


def test_cases_without_a_vector_are_passed_over() -> None:
    packed = [("a", None), *around(2), ("z", "")]
    assert [name for name, _ in Vectors(packed).nearest((1.0, 0.0, 0.0), 9)] == ["c000", "c001"]
    assert Vectors([("a", None)]).nearest((1.0, 0.0, 0.0), 3) == []
