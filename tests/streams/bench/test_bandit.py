"""`bench bandit`: what regret is held against, what a choice is, and whose time is whose in an episode."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from handlers.learning.linucb import LinUcb, Vector
from schemas.asking import OutOfLimit
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.core.backbone import ModelReply, ModelRequest
from streams.research.analysis.plots import Plot
from streams.research.bench import bandit

# ── Regret ───────────────────────────────────────────────────────────────────────────────────


def test_regret_is_against_the_best_arm_of_each_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the arms are learned nearly as they are, and say themselves what was lost."""
    seen: list[tuple[LinUcb, Vector, int, int]] = []

    def watched(known: LinUcb, x: Vector, at: int) -> int:
        seen.append((known, x, at, bandit.in_turn(known, x, at)))
        return seen[-1][-1]

    monkeypatch.setattr(bandit, "NOISE", 0.0)
    lost = bandit.regret(3, watched, 1_200)
    assert [at for _, _, at, _ in seen] == [*range(1_200)]
    assert [chosen for *_, chosen in seen[:7]] == [0, 1, 2, 3, 4, 0, 1]
    arms = [arm.theta for arm in seen[0][0].arms]
    assert len(arms) == 5
    means = [[float(x @ arm) for arm in arms] for _, x, _, _ in seen]
    told = np.cumsum(
        [max(each) - each[chosen] for each, (*_, chosen) in zip(means, seen, strict=True)]
    )
    assert lost == pytest.approx([*told], rel=0.05, abs=0.5)
    # The ridge of 1 draws each arm a little towards 0.
    assert all(0.95 < np.linalg.norm(arm) < 1 for arm in arms)
    assert all(np.linalg.norm(x) == pytest.approx(1) for _, x, _, _ in seen)
    assert abs(np.mean([x for _, x, _, _ in seen])) < 0.02
    assert {len(x) for _, x, _, _ in seen} == {8}


def test_noise_is_nobody_s_regret_and_seeds_are_worlds_apart() -> None:
    one = bandit.regret(1, bandit.in_turn, 50)
    assert one == bandit.regret(1, bandit.in_turn, 50) != bandit.regret(2, bandit.in_turn, 50)
    assert one == sorted(one)
    assert one[0] >= 0


def test_the_highest_score_is_chosen_and_of_equal_ones_the_first() -> None:
    def scores(x: list[float]) -> list[float]:
        return [0.5, *x]

    scored: Any = SimpleNamespace(scores=scores)
    assert bandit.by_scores(scored, [0.25, 0.75, 0.75], 1) == 2  # type: ignore[arg-type]
    assert bandit.by_scores(scored, [0.5], 1) == 0  # type: ignore[arg-type]


def test_regret_is_the_mean_over_five_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    def regret(seed: int, choose: Any) -> list[float]:
        assert choose is bandit.in_turn
        return [float(seed), 10.0 * seed]

    monkeypatch.setattr(bandit, "regret", regret)
    assert bandit.mean_regret(bandit.in_turn) == [2.0, 20.0]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_last_doubling(power: float) -> None:
    assert bandit.exponent([at**power for at in range(1, 41)]) == pytest.approx(power)
    early = [100.0] * 5 + [at**power for at in range(6, 13)]
    assert bandit.exponent(early) == pytest.approx(power), "what came before says nothing"


def test_both_curves_are_drawn_at_every_twentieth_round() -> None:
    learned, drawn = [at / 2 for at in range(1, 61)], [2.0 * at for at in range(1, 61)]
    assert bandit.regret_plot(learned, drawn) == Plot(
        "cumulative regret, 5 arms, d = 8, mean of 5 seeds",
        {
            "LinUCB": [[20.0, 10.0], [40.0, 20.0], [60.0, 30.0]],
            "in turn": [[20.0, 40.0], [40.0, 80.0], [60.0, 120.0]],
        },
        "round",
        "cumulative regret",
        dots=False,
    )


# ── A choice ─────────────────────────────────────────────────────────────────────────────────


def test_a_choice_is_one_of_twenty_arms_that_have_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    def repeat(choose: Any, number: int, repeat: int) -> list[float]:
        told.append((choose(), number, repeat))
        return [0.003, 0.002, 0.004]

    def best(scored: Sequence[tuple[str, float]]) -> str:
        told.append(scored)
        return "one"

    monkeypatch.setattr(bandit, "timeit", SimpleNamespace(repeat=repeat))
    monkeypatch.setattr(bandit, "best", best)
    assert bandit.choice_us(6) == pytest.approx(100.0), "the least of all, in microseconds a choice"
    scored, asked = told
    assert asked == ("one", 20, 60)
    assert [name for name, _ in scored] == [f"a{at}" for at in range(20)]
    assert len({score for _, score in scored}) == 20, "arms that know nothing score alike"


def test_a_direction_is_a_unit_vector_of_so_many_dimensions() -> None:
    rng = np.random.default_rng(0)
    drawn = [bandit.direction(rng, 5) for _ in range(2)]
    assert [np.linalg.norm(each) for each in drawn] == pytest.approx([1, 1])
    assert [each.shape for each in drawn] == [(5,), (5,)]
    assert not np.allclose(drawn[0], drawn[1])


# ── Time ─────────────────────────────────────────────────────────────────────────────────────


def test_a_policy_s_own_time_ends_where_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def policy() -> Generator[str, str, list[str]]:
        nonlocal now
        now += 1
        heard = [(yield "first")]
        now += 2
        try:
            heard.append((yield "second"))
        except OutOfLimit as limit:
            heard.append(str(limit))
        now += 4
        heard.append((yield "third"))
        now += 8
        return heard

    monkeypatch.setattr(bandit, "time", SimpleNamespace(perf_counter=lambda: now))
    watch = bandit.Watch()
    steps: Any = watch.follow(policy())  # type: ignore[arg-type]
    assert next(steps) == "first"
    now += 100
    assert steps.send("a") == "second"
    now += 100
    assert steps.throw(OutOfLimit("calls")) == "third"
    now += 100
    with pytest.raises(StopIteration) as done:
        steps.send("c")
    assert done.value.value == ["a", str(OutOfLimit("calls")), "c"]
    assert watch.seconds == 1 + 2 + 4 + 8


def test_embedding_is_timed_and_embeds_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=count(0.0, 0.5).__next__)
    monkeypatch.setattr(bandit, "time", clock)
    embedder, texts = bandit.Timed(), ["4 4 10 10", "1 1 11 11"]
    found = [asyncio.run(embedder.embed(texts)) for _ in range(3)]
    assert found == [asyncio.run(HashedEmbedder().embed(texts))] * 3
    assert embedder.seconds == 1.5


def test_an_episode_is_timed_after_one_that_warms_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float]] = []

    async def timed(*words: Any) -> tuple[float, float, float]:
        asked.append(words)
        return 0.1 * len(asked), 0.2, 3.0

    monkeypatch.setattr(bandit, "timed_episode", timed)
    assert asyncio.run(bandit.shares(4)) == (0.2, 0.2, 3.0)
    assert asyncio.run(bandit.shares()) == (0.4, 0.2, 3.0)
    assert asked == [(4, 0.0), (4, 200), (10, 0.0), (10, 200)]


def test_parts_of_an_episode_are_less_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Options] = []
    calls: list[ModelRequest] = []

    class Counted(Rehearsal):
        def __init__(self, options: Options) -> None:
            super().__init__(options)
            told.append(options)

        async def complete(self, request: ModelRequest) -> ModelReply:
            calls.append(request)
            return await super().complete(request)

    monkeypatch.setattr(bandit, "Rehearsal", Counted)
    rounds: dict[int, int] = {}
    for most in (1, 3):
        calls.clear()
        embedding, policy, whole = asyncio.run(bandit.timed_episode(most, 7.0))
        assert (embedding > 0) == (most > 1), "a first round knows no arm to choose by"
        assert policy > 0
        assert whole > embedding + policy + 0.004 * len(calls)
        rounds[most] = len(calls)
    assert 0 < rounds[1] < rounds[3]
    assert [each.latency_ms for each in told] == [7.0, 7.0]
    assert all("1 1 11 11" in str(request) for request in calls[:1])


# ── All of it ────────────────────────────────────────────────────────────────────────────────


def test_every_figure_stands_by_its_name_and_regret_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def mean_regret(choose: Any) -> list[float]:
        power = {bandit.by_scores: 0.5, bandit.in_turn: 1.0}[choose]
        return [at**power for at in range(1, 4_001)]

    async def shares() -> tuple[float, float, float]:
        return 0.0012345, 0.0023456, 4.56789

    monkeypatch.setattr(bandit, "mean_regret", mean_regret)
    monkeypatch.setattr(bandit, "shares", shares)
    monkeypatch.setattr(bandit, "choice_us", (1.37).__mul__)
    expected = {
        "regret_quarter": 31.62,
        "regret_half": 44.72,
        "regret_whole": 63.25,
        "regret_exponent": 0.5,
        "regret_exponent_in_turn": 1.0,
        "choice_us_d64": 87.7,
        "choice_us_d384": 526.1,
        "episode_s": 4.568,
        "embed_ms": 1.23,
        "policy_ms": 2.35,
        "bandit_share_percent": 0.078,
    }
    assert bandit.run() == expected
    assert bandit.run(tmp_path / "regret.html") == expected
    page = (tmp_path / "regret.html").read_text(encoding="utf-8")
    assert "<title>Regret</title>" in page
    assert "cumulative regret, 5 arms, d = 8, mean of 5 seeds" in page
