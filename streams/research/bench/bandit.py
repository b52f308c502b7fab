"""``bench bandit``: regret on a synthetic contextual problem, what a choice costs, its share of an episode.

Source: Meta-Reasoner eq. (1), (3), App. E (less than 3 % of the time).
"""

from __future__ import annotations

import asyncio
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import log2
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from handlers.learning.bandits import best
from handlers.learning.linucb import LinUcb, Ridge, Vector, total
from handlers.limits import Ledger
from handlers.policies.base import Task
from handlers.policies.meta_reasoner import META_REASONER
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from schemas.asking import OutOfLimit, Steps
from schemas.memory import Memory
from state.journal import MemoryRecorder
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.drive import Run, drive
from streams.research.analysis.layout import page
from streams.research.analysis.plots import Plot, in_page, without

R = TypeVar("R")

ARMS, DIMS, ROUNDS, NOISE = 5, 8, 4_000, 0.1
SEEDS = 5
SPEED_ARMS, TRIES, CHOICES = 20, 60, 20
LATENCY_MS = 200
PROBLEM = Task("n901", "1 1 11 11", "game24", seed=1)

Chooser = Callable[[LinUcb, Vector, int], int]


def run(out: Path | None = None) -> dict[str, object]:
    """Every figure by its name; the regret is drawn to ``out``."""
    learned, drawn = mean_regret(by_scores), mean_regret(in_turn)
    if out is not None:
        out.write_text(
            page("Regret", [*without(), *in_page([regret_plot(learned, drawn)])]), encoding="utf-8"
        )
    embed_s, choose_s, episode_s = asyncio.run(shares())
    return {
        "regret_quarter": round(learned[ROUNDS // 4 - 1], 2),
        "regret_half": round(learned[ROUNDS // 2 - 1], 2),
        "regret_whole": round(learned[-1], 2),
        "regret_exponent": round(exponent(learned), 3),
        "regret_exponent_in_turn": round(exponent(drawn), 3),
        "choice_us_d64": round(choice_us(64), 1),
        "choice_us_d384": round(choice_us(384), 1),
        "episode_s": round(episode_s, 3),
        "embed_ms": round(1e3 * embed_s, 2),
        "policy_ms": round(1e3 * choose_s, 2),
        "bandit_share_percent": round(100 * (embed_s + choose_s) / episode_s, 3),
    }


# ── Regret ───────────────────────────────────────────────────────────────────────────────────


def by_scores(bandit: LinUcb, x: Vector, at: int) -> int:
    """The highest score, ties first."""
    scores = bandit.scores(x)
    return scores.index(max(scores))


def in_turn(bandit: LinUcb, x: Vector, at: int) -> int:
    """Each arm in turn, whatever is known."""
    return at % ARMS


def mean_regret(choose: Chooser) -> list[float]:
    """Cumulative regret after each round, the mean over seeds."""
    runs = [regret(seed, choose) for seed in range(SEEDS)]
    return [sum(each) / SEEDS for each in zip(*runs, strict=True)]


def regret(seed: int, choose: Chooser, rounds: int = ROUNDS) -> list[float]:
    """What was lost against the best arm of each context, added up. Source: eq. (1), (2).

    Unit contexts, an arm's mean reward is xᵀθ with unit θ, and the noise is normal.
    """
    rng = np.random.default_rng(seed)
    thetas, contexts = units(rng, ARMS), units(rng, rounds)
    noise = rng.normal(scale=NOISE, size=rounds).tolist()
    bandit = LinUcb(DIMS, 1.0, 0.2)
    for _ in range(ARMS):
        bandit.grow()
    # Against the mean and not against what came: the noise is nobody's regret.
    lost: list[float] = []
    for at, x in enumerate(contexts):
        means = [total(x * theta) for theta in thetas]
        chosen = choose(bandit, x, at)
        bandit.add(chosen, x, means[chosen] + noise[at])
        lost.append(max(means) - means[chosen])
    return list(accumulate(lost))


def units(rng: np.random.Generator, count: int) -> list[Vector]:
    """Directions drawn at random."""
    # A normal draw has no direction that it prefers; a cube's corners would be drawn too often.
    drawn = rng.normal(size=(count, DIMS))
    return list(drawn / np.sqrt((drawn * drawn).sum(axis=1))[:, None])


def exponent(cumulative: Sequence[float]) -> float:
    """p, if regret grows as Tᵖ over the last doubling of rounds: below 1 is sublinear."""
    return log2(cumulative[-1] / cumulative[len(cumulative) // 2 - 1])


def regret_plot(learned: Sequence[float], drawn: Sequence[float]) -> Plot:
    """Both curves, thinned to what can be seen."""
    lines: Mapping[str, Sequence[float]] = {"LinUCB": learned, "in turn": drawn}
    thin = {
        name: [[float(at), values[at - 1]] for at in range(20, len(values) + 1, 20)]
        for name, values in lines.items()
    }
    title = f"cumulative regret, {ARMS} arms, d = {DIMS}, mean of {SEEDS} seeds"
    return Plot(title, thin, "round", "cumulative regret", dots=False)


# ── What a choice costs ──────────────────────────────────────────────────────────────────────


def choice_us(dims: int) -> float:
    """Microseconds of one choice among 20 arms that have learned: the best of many tries."""
    rng = np.random.default_rng(1)
    bandit, names = LinUcb(dims, 1.0, 0.2), [f"a{at}" for at in range(SPEED_ARMS)]
    # Arms that have learned: matrices that are still
    # multiples of one would be a case that no episode meets.
    for _ in names:
        arm = Ridge(dims, 1.0)
        for _ in range(3):
            arm.add(direction(rng, dims), 0.5)
        bandit.grow(arm)
    x = direction(rng, dims)

    def choose() -> str:
        return best(list(zip(names, bandit.scores(x), strict=True)))

    # The least of many: whatever made a try slower was not the choice.
    return 1e6 * min(timeit.repeat(choose, number=CHOICES, repeat=TRIES)) / CHOICES


def direction(rng: np.random.Generator, dims: int) -> Vector:
    """A unit vector."""
    drawn: Vector = rng.normal(size=dims)
    unit: Vector = drawn / np.sqrt(total(drawn * drawn))
    return unit


# ── Its share of an episode ──────────────────────────────────────────────────────────────────


class Timed(HashedEmbedder):
    """The hashed embedder with a stopwatch."""

    seconds = 0.0

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """As it does, timed."""
        began = time.perf_counter()
        found = await super().embed(texts)
        self.seconds += time.perf_counter() - began
        return found


class Watch:
    """How long a policy itself works: scoring, updating, and all else that is no question."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def follow(self, steps: Steps[R]) -> Steps[R]:
        """The same policy, timed between its questions."""
        # Driven by hand: `yield from` would count the time in which the question is answered too.
        act: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            began = time.perf_counter()
            try:
                request = act(given)
            except StopIteration as done:
                return cast("R", done.value)
            finally:
                self.seconds += time.perf_counter() - began
            try:
                act, given = steps.send, (yield request)
            except OutOfLimit as limit:
                act, given = steps.throw, limit


async def shares(max_rounds: int = 10) -> tuple[float, float, float]:
    """Seconds of embedding, of the policy itself, and of an episode with a 200 ms model.

    The policy's time bounds the bandit's from above: prompts and parsing are in it. A first episode
    without latency warms up.
    """
    await timed_episode(max_rounds, 0.0)
    return await timed_episode(max_rounds, LATENCY_MS)


async def timed_episode(max_rounds: int, latency_ms: float) -> tuple[float, float, float]:
    """One episode of the Meta-Reasoner, timed as ``shares`` says."""
    embedder, watch = Timed(), Watch()
    model = Rehearsal(Options(latency_ms=latency_ms))
    world = World({"*": model}, embedder, patient=False)
    settings = MetaReasonerSettings(max_rounds=max_rounds)
    steps = watch.follow(META_REASONER.solve(PROBLEM, settings))
    run = Run("bench", {}, 1, Memory("bench", 0), recorder=MemoryRecorder(), world=world)
    began = time.perf_counter()
    await drive(steps, run, Ledger())
    return embedder.seconds, watch.seconds, time.perf_counter() - began
