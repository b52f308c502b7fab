"""MC² table 1 (intervals), figures 1 and 3 (restarts), figure 6 (relevance of guidance).

Source: design/mc2.md D11.
"""

from __future__ import annotations

from math import cos, sin

import pytest

from handlers.policies.mc2.measure import Guided, fits, without_question
from schemas.identity import hash01
from streams.research.analysis.statistics import t_half_width
from streams.research.bench.metrics import METRICS
from tests.papers.mc2_says import PROBLEM, answering, episode, full_memory, rounds
from tests.scripted import shown
from tests.streams.bench.worlds import case

GAME24 = [
    ((85, 89, 92), "88.67 ± 8.72"),
    ((7, 8, 8), "7.67 ± 1.43"),
    ((27, 27, 27), "27.00 ± 0.00"),
]


@pytest.mark.claim("mc2-ci")
@pytest.mark.parametrize(("values", "printed"), GAME24)
def test_interval_over_three_seeds(values: tuple[int, ...], printed: str) -> None:
    half = t_half_width(values)
    assert half is not None
    assert f"{sum(values) / len(values):.2f} ± {half:.2f}" == printed


@pytest.mark.claim("mc2-ci")
def test_one_value_has_no_interval() -> None:
    assert t_half_width([3.0]) is None
    assert t_half_width([]) is None


def test_restart_shares() -> None:
    """D11: of decisions, and of episodes."""
    played = [(("NO", 1),), (("YES", 3), ("NO", 1)), (("YES", 3), ("YES", 3), ("YES", 3))]
    found = [
        case(str(at), events=[event for _, event in rounds(*one).trace.events])
        for at, one in enumerate(played)
    ]
    assert METRICS["restarts"].of(found) == pytest.approx(400 / 6)
    assert METRICS["restarted"].of(found) == pytest.approx(200 / 3)
    assert METRICS["restarts"].of([]) is METRICS["restarted"].of([]) is None


@pytest.mark.claim("mc2-fig-06")
def test_relevance_of_guidance() -> None:
    """Own guidance against another's of the batch; batch 1 and lone episodes left out."""
    across, up = (1.0, 0.0), (0.0, 1.0)
    fitting = [Guided(across, (across, (3.0, 4.0))), Guided(up, (up,))]
    assert fits(fitting, 1) == [None, None]
    assert fits(fitting[:1], 3) == [None]
    for batch in (fitting, [*fitting, Guided(up, ())]):
        one, other, *unguided = fits(batch, 2)
        assert one == pytest.approx(((1.0 + 0.6) / 2, 0.0))
        assert other == pytest.approx((1.0, (0.0 + 0.8) / 2))
        assert unguided == [None] * (len(batch) - 2)


@pytest.mark.claim("mc2-fig-06")
def test_another_s_guidance_is_drawn_among_all_of_the_batch_but_its_own() -> None:
    """Each of four has its own direction, so the cosine says whose guidance was drawn."""
    angles = (0.0, 0.1, 0.4, 1.2)
    batch = [Guided((cos(at), sin(at)), ((cos(at), sin(at)),)) for at in angles]
    drawn: dict[int, set[float]] = {at: set() for at in range(len(batch))}
    for number in range(2, 42):
        for at, found in enumerate(fits(batch, number)):
            assert found is not None
            drawn[at].add(round(found[1], 9))
    for at, mine in enumerate(angles):
        others = {round(cos(mine - each), 9) for each in angles if each != mine}
        assert drawn[at] == others


@pytest.mark.claim("mc2-fig-06")
def test_another_is_so_many_steps_on_as_the_draw_says() -> None:
    angles = (0.0, 0.1, 0.4, 1.2)
    batch = [Guided((cos(at), sin(at)), ((cos(at), sin(at)),)) for at in angles]
    drawn = [1 + int(hash01(5, 3, at) * 3) for at in range(4)]
    assert set(drawn) - {2}, "two steps on are two steps back"
    wanted = [
        cos(mine - angles[(at + step) % 4])
        for at, (mine, step) in enumerate(zip(angles, drawn, strict=True))
    ]
    assert [found and found[1] for found in fits(batch, 3, 5)] == pytest.approx(wanted)
    assert fits(batch, 3) == fits(batch, 3, 0)
    assert any(fits(batch, number) != fits(batch, number, 1) for number in range(2, 9))


@pytest.mark.claim("mc2-fig-06")
def test_another_is_never_oneself() -> None:
    basis = [tuple(float(i == j) for j in range(5)) for i in range(5)]
    batch = [Guided(vector, (vector,)) for vector in basis]
    for seed in range(20):
        assert fits(batch, 2, seed) == [(1.0, 0.0)] * len(batch)


@pytest.mark.claim("mc2-fig-06")
def test_guidance_only_snippet() -> None:
    prompt = shown(episode(answering, memory=full_memory()).asks("reasoner")[0])
    snippet = without_question(prompt, PROBLEM)
    assert PROBLEM in prompt
    assert PROBLEM not in snippet
    assert "note for the reasoner" in snippet
