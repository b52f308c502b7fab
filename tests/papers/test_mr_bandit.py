"""Meta-Reasoner's bandit: ridge, scores, forms, features, new arms, retirement, and that it learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.learning.bandits import (
    KEPT,
    Arm,
    Bandit,
    arms_of,
    best,
    born,
    fate,
    linucb,
    regression,
    retires,
    start,
)
from handlers.learning.features import features
from handlers.learning.linucb import Dual, LinUcb, Ridge
from handlers.learning.measured import Measured
from handlers.policies.meta_reasoner.advise import epsilon
from handlers.policies.meta_reasoner.settings import constants
from handlers.policies.meta_reasoner.strategies import BIRTHS, GENERATED, STANDARD, start_arms
from schemas.events.strategy import StrategyChosen, StrategyProposed
from schemas.identity import canonical, hash01
from schemas.vectors import pack
from tests.pace import timed, within
from tests.papers.mr_says import TASK, after, episode, judged, model, noted, paper, summary

SEEDS = st.integers(0, 2**32 - 1)


def unit(rng: np.random.Generator, dims: int) -> Any:
    vector = rng.normal(size=dims)
    return vector / np.sqrt((vector * vector).sum())


def pulls(seed: int, count: int, dims: int) -> list[tuple[Any, float]]:
    rng = np.random.default_rng(seed)
    return [(unit(rng, dims), float(rng.uniform(-1, 1))) for _ in range(count)]


def ridge_of(found: Sequence[tuple[Any, float]], dims: int, ridge: float = 1.0) -> Ridge:
    made = Ridge(dims, ridge)
    for x, reward in found:
        made.add(x, reward)
    return made


@pytest.mark.claim("mr-eq-02")
@given(SEEDS, st.integers(0, 40), st.integers(1, 12), st.sampled_from((0.5, 1.0, 3.0)))
def test_theta_is_the_ridge_solution(seed: int, count: int, dims: int, ridge: float) -> None:
    found = pulls(seed, count, dims)
    X = np.array([x for x, _ in found]).reshape(count, dims)
    r = np.array([reward for _, reward in found])
    direct = np.linalg.solve(ridge * np.eye(dims) + X.T @ X, X.T @ r)
    assert np.allclose(ridge_of(found, dims, ridge).theta, direct, atol=1e-9)


@pytest.mark.claim("mr-eq-03")
def test_scores_by_hand() -> None:
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    bandit = LinUcb(2, 1.0, 0.2)
    bandit.grow()
    assert bandit.scores(one) == [0.2]
    bandit.add(0, one, 1.0)
    assert bandit.scores(one)[0] == pytest.approx(0.641421, abs=1e-6)
    assert bandit.scores(other) == [0.2]
    bandit.add(0, np.array([0.6, 0.8]), -0.5)
    assert bandit.scores(one)[0] == pytest.approx(0.502378, abs=1e-6)
    assert bandit.scores(other)[0] == pytest.approx(-0.190608, abs=1e-6)


@pytest.mark.claim("mr-forms")
@given(SEEDS, st.integers(0, 20), st.integers(1, 12), st.sampled_from((0.5, 1.0, 3.0)))
def test_rank_one_is_dual_is_inverse(seed: int, count: int, dims: int, ridge: float) -> None:
    found = pulls(seed, count, dims)
    x = unit(np.random.default_rng(seed + 1), dims)
    X = np.array([row for row, _ in found]).reshape(count, dims)
    inverse = np.linalg.inv(ridge * np.eye(dims) + X.T @ X)
    theta = inverse @ X.T @ np.array([reward for _, reward in found])
    plain = float(x @ theta + 0.2 * np.sqrt(x @ inverse @ x))
    bandit = LinUcb(dims, ridge, 0.2)
    bandit.grow(ridge_of(found, dims, ridge))
    assert bandit.scores(x)[0] == pytest.approx(plain, abs=1e-8)
    by_pulls = Dual(dims, ridge)
    for row, reward in found:
        by_pulls.add(row, reward)
    assert by_pulls.score(x, 0.2) == pytest.approx(plain, abs=1e-8)
    assert by_pulls.copy().score(x, 0.2) == by_pulls.score(x, 0.2)
    assert np.allclose(ridge_of(found, dims, ridge).inverse, inverse, atol=1e-9)


def batch(seed: int, count: int = 30, width: int = 16) -> list[dict[str, Any]]:
    """Summaries of episodes with pulls of three arms and a proposal of their own."""
    rng = np.random.default_rng(seed)
    made: list[dict[str, Any]] = []
    for at in range(count):
        proposal = {
            "id": "a9",
            "when": "w",
            "text": f"t{at}",
            "parent": "a1",
            "vector": pack(unit(rng, width)),
        }
        rows = [
            [arm, pack(unit(rng, width)), float(rng.uniform(-0.5, 0.8)), float(rng.uniform())]
            for arm in rng.choice(["a1", "a2", "a3", "a9"], size=4)
        ]
        made.append({"proposals": [proposal] if at % 7 == 0 else [], "pulls": rows})
    return made


@pytest.mark.claim("mr-forms")
def test_rebuilt_is_live_to_the_byte() -> None:
    """State kept as rows or as a matrix, folded in one batch or many: the same bytes."""
    pinned = paper(feature_dims=8)
    every = batch(3)
    state: Any = {}
    for at in range(0, 30, 5):
        state = json.loads(json.dumps(after(state, every[at : at + 5], pinned)))
    known = constants(pinned)
    whole = linucb({}, [Measured(str(at), "unknown", s) for at, s in enumerate(every)], known)
    grown = [{k: v for k, v in arm.items() if k != "retired"} for arm in state["arms"]]
    plain = [{k: v for k, v in arm.items() if k != "retired"} for arm in whole["arms"]]
    assert canonical(grown) == canonical(plain)
    for arm in arms_of(whole, known)[:3]:
        assert arm.inverse is not None
        made = Ridge(8, 1.0)
        for summary_of in every:
            for arm_id, x, reward, _ in summary_of["pulls"]:
                if arm_id == arm.id:
                    made.add(features(x, 8), reward)
        kept = regression(arm, 8, known)
        assert kept.inverse.tobytes() == made.inverse.tobytes()
        assert kept.b.tobytes() == made.b.tobytes()


ELSEWHERE = """
import sys
from hashlib import sha256
from handlers.learning.features import features
from schemas.identity import canonical
from schemas.vectors import pack
from tests.papers.mr_says import after, paper
from tests.papers.test_mr_bandit import batch
state = canonical(after({}, batch(5, 40, 32), paper(feature_dims=16)))
x = features(pack([(at % 7 - 3) / 8 for at in range(384)]), 64)
print(sha256(state + x.tobytes()).hexdigest())
"""


def elsewhere(**variables: str) -> str:
    words = [sys.executable, "-c", ELSEWHERE]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | variables
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.claim("mr-forms", "mr-features")
def test_the_same_bytes_in_another_process_and_with_another_kernel() -> None:
    found = {
        elsewhere(PYTHONHASHSEED=seed, OPENBLAS_CORETYPE=kernel)
        for seed, kernel in (("1", "Haswell"), ("2", "Prescott"), ("3", "Nehalem"))
    }
    assert len(found) == 1


@pytest.mark.claim("mr-features")
@given(SEEDS, st.sampled_from((None, 1, 8, 64)))
def test_features_have_length_one(seed: int, dims: int | None) -> None:
    embedding = pack(unit(np.random.default_rng(seed), 48))
    x = features(embedding, dims)
    assert len(x) == (dims or 48)
    assert float((x * x).sum()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.claim("mr-features")
def test_features_are_signed_sums() -> None:
    embedding = (0.5, -0.25, 1.0)
    signs = [[1 if hash01(0, row, at) < 0.5 else -1 for at in range(3)] for row in range(4)]
    sums = [sum(s * e for s, e in zip(row, embedding, strict=True)) for row in signs]
    length = sum(value * value for value in sums) ** 0.5
    assert features(pack(embedding), 4).tolist() == pytest.approx([v / length for v in sums])
    assert features(pack((0.0, 0.0)), 4).tolist() == [0.0] * 4


@pytest.mark.slow
@pytest.mark.claim("mr-speed")
def test_a_choice_takes_less_than_a_tenth_of_a_millisecond() -> None:
    """Of a desk, in the best of many: what the machine can do, not what else it was doing."""
    rng = np.random.default_rng(1)
    bandit = LinUcb(64, 1.0, 0.2)
    for _ in range(20):
        bandit.grow(ridge_of([(unit(rng, 64), 0.5) for _ in range(3)], 64))
    x = unit(rng, 64)
    ids = [f"a{at}" for at in range(20)]

    def choose() -> None:
        for _ in range(100):
            best(list(zip(ids, bandit.scores(x), strict=True)))

    within(100 * 100e-6, choose, rounds=80)


WIDE = 1_536
"""Dimensions of the paper's embedder."""
PULLS = 200


def remembered(count: int, seed: int) -> tuple[tuple[str, float], ...]:
    """Pulls as a scope keeps them: packed contexts of the paper's embedder, each with its reward."""
    return tuple((pack(x), reward) for x, reward in pulls(seed, count, WIDE))


def begun(rows: tuple[tuple[str, float], ...]) -> Bandit:
    """The bandit of an episode whose memory holds one arm of these pulls, and start arms."""
    known = constants(paper(feature_dims=None))
    arms = start(known["start"])
    arms[0] = replace(arms[0], pulls=len(rows), rows=rows)
    return Bandit(arms, known)


@pytest.mark.slow
@pytest.mark.claim("mr-speed")
def test_an_update_in_the_paper_s_dimensions_takes_less_than_a_millisecond() -> None:
    """The episode's own: a score and a credit of an arm of two hundred pulls, its context made once.

    A matrix takes many times as long for the same, and what a memory version holds is reckoned once.
    """
    bandit, x = begun(remembered(PULLS, 1)), pack(unit(np.random.default_rng(2), WIDE))
    bandit.scores(x)
    contexts = iter([pack(unit(np.random.default_rng(seed), WIDE)) for seed in range(10, 90)])

    def update() -> float:
        context = next(contexts)
        bandit.scores(context)
        credit = partial(bandit.credit, "a1", context, 0.5, 0.5)
        return timed(credit)[1]

    taken = sorted(update() for _ in range(60))[30]
    matrix, features_of = Ridge(WIDE, 1.0), features(x, None)
    by_matrix = min(timed(partial(matrix.add, features_of, 0.5))[1] for _ in range(3))
    print(
        f"an update at d = {WIDE}: {1e3 * taken:.2f} ms by pulls, {1e3 * by_matrix:.1f} by a matrix"
    )
    assert taken < 1e-3
    assert by_matrix > 5 * taken


@pytest.mark.slow
@pytest.mark.claim("mr-speed")
def test_a_memory_version_is_reckoned_once_and_the_next_costs_what_is_new() -> None:
    rows = remembered(PULLS + 10, 3)
    KEPT.clear()
    x = rows[0][0]
    first = timed(lambda: begun(rows[:PULLS]).scores(x))[1]
    again = min(timed(lambda: begun(rows[:PULLS]).scores(x))[1] for _ in range(3))
    later = timed(lambda: begun(rows).scores(x))[1]
    assert again < first / 5
    assert later < first / 2


def test_an_episode_changes_nothing_of_what_others_know() -> None:
    """The regression of a memory version is shared: an episode's own rewards stay its own."""
    rows = remembered(5, 4)
    x = rows[0][0]
    mine, theirs = begun(rows), begun(rows)
    before = theirs.scores(x)
    for _ in range(40):
        mine.credit("a1", x, 1.0, 1.0)
    assert begun(rows).scores(x) == theirs.scores(x) == before
    assert mine.scores(x) != before


@pytest.mark.claim("mr-forms")
def test_both_forms_choose_alike_and_fold_alike() -> None:
    """The same scope by a matrix and by pulls: scores to nine digits, and the same arms."""
    pinned = paper(feature_dims=8)
    every = batch(3)
    by_matrix, known = after({}, every, pinned), constants(pinned)
    by_pulls = linucb({}, [Measured(str(at), "unknown", s) for at, s in enumerate(every)],
                      known | {"dual_from": 8})  # fmt: skip
    x = every[0]["pulls"][0][1]
    said = [
        Bandit(arms_of(state, form), form).scores(x)
        for state, form in ((by_matrix, known), (by_pulls, known | {"dual_from": 8}))
    ]
    assert [arm for arm, _ in said[0]] == [arm for arm, _ in said[1]]
    for (_, one), (_, other) in zip(*said, strict=True):
        assert one == pytest.approx(other, abs=1e-8)
    assert not any(arm.get("inverse") for arm in by_pulls["arms"])
    assert any(arm.get("inverse") for arm in by_matrix["arms"])


@pytest.mark.claim("mr-tab-01")
def test_three_and_four_pairs_and_the_start_sets() -> None:
    assert [s.name for s in STANDARD] == ["continue", "backtrack", "restart"]
    assert [s.name for s in GENERATED] == ["pause", "split", "verify", "reset"]
    assert all(s.when and s.text for s in (*STANDARD, *GENERATED))
    three, five = start(start_arms(3)), start(start_arms(5))
    assert [arm.name for arm in five] == [s.name for s in BIRTHS]
    assert five[:3] == three
    assert [(arm.id, arm.birth) for arm in five] == [(f"a{n}", n) for n in range(1, 6)]


@pytest.mark.claim("mr-tab-01")
@pytest.mark.parametrize("count", [3, 5])
def test_ties_go_by_birth(count: int) -> None:
    ran = episode(model(2), paper(strategies="fixed", start_arms=count))
    [chosen] = ran.of(StrategyChosen)
    assert {score for _, score in chosen.scores} == {0.2}
    assert len(chosen.scores) == count
    assert (chosen.arm, chosen.how) == ("a1", "ucb")


def other_words(at: int) -> str:
    return noted(" ".join(f"word{at}x{piece}" for piece in range(12)))


@pytest.mark.claim("mr-dyn-grow")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), SEEDS)
def test_sets_only_grow_and_new_arms_know_nothing(proposals: list[int], seed: int) -> None:
    task = type(TASK)(TASK.id, TASK.problem, TASK.domain, seed)
    ran = episode(
        model(len(proposals) + 1, note=lambda at: other_words(proposals[at - 1])), task=task
    )
    sets = [{arm for arm, _ in chosen.scores} for chosen in ran.of(StrategyChosen)]
    facts = ran.of(StrategyProposed)
    for before, now in zip([{"a1", "a2", "a3"}, *sets], sets, strict=False):
        assert before <= now
        assert len(now - before) <= 1
    for fact, chosen, earlier in zip(facts, ran.of(StrategyChosen), range(9), strict=False):
        same = proposals[earlier] in proposals[:earlier]
        assert fact.result == ("merged" if same else "added")
        if not same:
            assert dict(chosen.scores)[fact.arm or ""] == 0.2, "Q = 0 leaves the bonus alone"
            assert fact.parent is not None
    state = after({}, [summary(ran)])
    assert [arm["id"] for arm in state["arms"]] == sorted({arm for each in sets for arm in each})


@pytest.mark.claim("mr-dyn-grow")
def test_proposals_are_merged_refused_and_limited() -> None:
    known: dict[str, Any] = {**constants(paper(arm_limit=4)), "evicts": False}
    arms = start(known["start"])
    came = fate(pack((1.0, 0.0)), arms, known)
    assert (came.result, came.nearest) == ("added", None)
    arms.append(born(arms, "w", "t", None, pack((1.0, 0.0))))
    assert fate(pack((0.95, 0.1)), arms, known).arm == "a4"
    assert fate(pack((0.0, 1.0)), arms, known).result == "refused"
    arms[3] = replace(arms[3], retired=True)
    assert fate(pack((1.0, 0.0)), arms, known).reason == "like an arm that was retired"


@pytest.mark.claim("mr-dyn-grow")
def test_episodes_of_a_batch_number_their_arms_anew() -> None:
    """Both call their own arm a4; in the scope they are two, and each keeps its reward."""
    east, north = pack((1.0, 0.0)), pack((0.0, 1.0))
    said = [
        {
            "proposals": [{"id": "a4", "when": "w", "text": t, "parent": "a1", "vector": v}],
            "pulls": [["a4", v, r, r]],
        }
        for t, v, r in (("one", east, 0.1), ("two", north, 0.2), ("three", east, 0.4))
    ]
    state = after({}, said)
    arms = {arm["id"]: arm for arm in state["arms"]}
    assert [arms[a]["text"] for a in ("a4", "a5")] == ["one", "two"]
    assert arms["a4"]["rows"] == [[east, 0.1], [east, 0.4]]
    assert arms["a5"]["rows"] == [[north, 0.2]]


@pytest.mark.claim("mr-dyn-eps")
def test_epsilon_is_one_over_t() -> None:
    assert [epsilon(t, "round") for t in (2, 4)] == [0.5, 0.25]
    assert [epsilon(t, "choice") for t in (2, 5)] == [1.0, 0.25]


@pytest.mark.claim("mr-dyn-eps")
@pytest.mark.parametrize(("draw", "how"), [(0.24, "explore"), (0.25, "ucb")])
def test_a_draw_below_epsilon_explores(
    monkeypatch: pytest.MonkeyPatch, draw: float, how: str
) -> None:
    drawn: list[tuple[object, ...]] = []

    def hashed(*parts: object) -> float:
        drawn.append(parts)
        return draw

    monkeypatch.setattr("handlers.policies.meta_reasoner.advise.hash01", hashed)
    ran = episode(model(4, note=lambda at: other_words(at if at == 3 else 0)))
    assert [fact.result for fact in ran.of(StrategyProposed)] == ["added", "merged", "added"]
    assert len(drawn) == 2, "no new arm, no draw"
    last = ran.of(StrategyChosen)[-1]
    assert (last.how, last.arm == "a5") == (how, how == "explore")


@pytest.mark.claim("mr-dyn-retire")
@pytest.mark.parametrize(
    ("mean", "pulled", "origin", "leaves"),
    [
        (0.29, 3, "proposed", True),
        (0.30, 3, "proposed", False),
        (0.29, 2, "proposed", False),
        (0.0, 9, "start", False),
    ],
)
def test_low_rewards_retire_proposed_arms(
    mean: float, pulled: int, origin: str, leaves: bool
) -> None:
    arm = Arm(id="a", birth=4, when="", text="", origin=origin, pulls=pulled, rated=mean * pulled)
    assert retires(arm, constants(paper())) is leaves


@pytest.mark.claim("mr-dyn-retire")
def test_a_retired_arm_stays_on_record_and_is_not_scored() -> None:
    vector = pack((1.0, 0.0))
    said = {
        "proposals": [{"id": "a4", "when": "w", "text": "t", "parent": None, "vector": vector}],
        "pulls": [["a4", vector, 0.1, 0.1]] * 3,
    }
    state = after({}, [said])
    assert state["arms"][3]["retired"]
    bandit = Bandit(arms_of(state, constants(paper())), constants(paper()))
    assert [arm for arm, _ in bandit.scores(vector)] == ["a1", "a2", "a3"]


@pytest.mark.claim("mr-dyn-retire")
def test_what_retirement_looks_at() -> None:
    for setting, place in (("reward", 2), ("progress", None)):
        pinned = paper(retire_on=setting)
        ran = episode(model(3, judge=lambda at: judged(0.8, 0.6)), pinned)
        for pull in summary(ran, pinned)["pulls"]:
            assert pull[3] == (pull[2] if place else 0.7)


@pytest.mark.claim("mr-linucb")
def test_linucb_beats_random_on_twenty_of_twenty_seeds() -> None:
    """K 3, d 8, unit x and θ; a coin of mean .5 + .6·xᵀθ; 500 rounds. Simulated."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        thetas = [unit(rng, 8) for _ in range(3)]
        bandit = LinUcb(8, 1.0, 0.2)
        for _ in thetas:
            bandit.grow()
        ours = theirs = 0.0
        for _ in range(500):
            x, coin = unit(rng, 8), rng.uniform()
            means = [0.5 + 0.6 * float((x * theta).sum()) for theta in thetas]
            scores = bandit.scores(x)
            place = scores.index(max(scores))
            reward = float(coin < means[place])
            bandit.add(place, x, reward)
            ours += reward
            theirs += float(coin < means[int(rng.integers(3))])
        assert ours > theirs, seed


@pytest.mark.claim("mr-tab-01", "mr-eq-03")
def test_warm_up_chooses_each_start_arm_first_once_per_scope() -> None:
    pinned = paper(strategies="fixed", warmup_pulls=1)
    ran = episode(model(6), pinned)
    chosen = ran.of(StrategyChosen)
    assert [(fact.arm, fact.how) for fact in chosen[:3]] == [(f"a{n}", "warmup") for n in (1, 2, 3)]
    assert {fact.how for fact in chosen[3:]} == {"ucb"}
