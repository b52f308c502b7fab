"""Relevance of principles in a graph, and how measured utility moves its weights. Pure, no BLAS.

Edges lead from cases to paths (q, t) and from paths to principles (t, m); both carry a weight.

Source: trainable graph memory, eq. (3), (5), (8) to (12), Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from handlers.learning.elementary import exp

# ``graph`` holds the state and applies these formulas to it; ``activate`` shows what they rank
# highest. Every sum runs over sorted edges by ``fsum``: relevances are stated on the log, and a
# replay must find the same.

ALIKE = 1e-9
"""Rewards that differ by less are equal."""
Edge = tuple[str, str]
Weights = Mapping[Edge, float]


@dataclass(frozen=True, slots=True)
class Active:
    """The part of a graph that a problem activates: similar cases, and the weights of both layers."""

    similar: Mapping[str, float]
    to_path: Weights
    to_principle: Weights

    def without(self, principles: Collection[str]) -> Active:
        """The same part of the graph with no edge to these principles."""
        kept = {edge: w for edge, w in self.to_principle.items() if edge[1] not in principles}
        return replace(self, to_principle=kept)

    def flow(self) -> dict[str, float]:
        """f_j = Σ_i Sim_i w_qt(i, j), the activation of each path."""
        parts: dict[str, list[float]] = {}
        for (case, path), weight in sorted(self.to_path.items()):
            if case in self.similar:
                parts.setdefault(path, []).append(self.similar[case] * weight)
        return {path: fsum(each) for path, each in parts.items()}


def relevance(active: Active) -> dict[str, float]:
    """ρ(m | q) over all paths through the graph. Source: eq. (9)."""
    flow = active.flow()
    parts: dict[str, list[float]] = {}
    for (path, principle), weight in sorted(active.to_principle.items()):
        if path in flow:
            parts.setdefault(principle, []).append(flow[path] * weight)
    return {principle: fsum(each) for principle, each in parts.items()}


def propagated(
    signals: Mapping[str, float], weights: Weights, bend: Callable[[float], float] = lambda x: x
) -> dict[str, float]:
    """H of the next layer: σ((A ⊙ W)ᵀ H). Source: eq. (3), (8)."""
    parts: dict[str, list[float]] = {}
    for (source, target), weight in sorted(weights.items()):
        if source in signals:
            parts.setdefault(target, []).append(signals[source] * weight)
    return {target: bend(fsum(each)) for target, each in parts.items()}


def softmax(scores: Mapping[str, float]) -> dict[str, float]:
    """Shares that follow from scores; shifting all scores changes nothing."""
    if not scores:
        return {}
    top = max(scores.values())
    # Weights have no bound, so a bare exponential might overflow; shifted by the
    # top none exceeds 1.
    raised = {name: exp(score - top) for name, score in scores.items()}
    whole = fsum(raised.values())
    return {name: value / whole for name, value in raised.items()}


def best(scores: Mapping[str, float], top: int) -> list[str]:
    """The names of highest score, best first; compared at 1e-9, ties by name."""
    return sorted(scores, key=lambda name: (-round(scores[name], 9), name))[:top]


def drawn(shares: Mapping[str, float], chance: float) -> str:
    """The name that a number in [0, 1) falls on, in order of names."""
    reached = 0.0
    names = sorted(shares)
    for name in names:
        reached += shares[name]
        if chance < reached:
            return name
    # Shares that were rounded may add up to a little less than 1, and the draw may
    # fall into the gap.
    return names[-1]


@dataclass(frozen=True, slots=True)
class Gradient:
    """∂ log p(m_k) by edge, on existing edges only."""

    to_path: dict[Edge, float]
    to_principle: dict[Edge, float]


def gradient(active: Active, chosen: str) -> Gradient:
    """Of log p(chosen): rivals' edges move too; a lone principle has gradient 0. Source: eq. (10)."""
    shares = softmax(relevance(active))
    lack = {name: (name == chosen) - share for name, share in shares.items()}
    flow = active.flow()
    to_principle = {
        (path, name): flow[path] * lack[name]
        for path, name in active.to_principle
        if path in flow and name in lack
    }
    pull = {
        path: fsum(
            weight * lack[name]
            for (at, name), weight in sorted(active.to_principle.items())
            if at == path and name in lack
        )
        for path in flow
    }
    to_path = {
        (case, path): active.similar[case] * pull[path]
        for case, path in active.to_path
        if case in active.similar
    }
    return Gradient(to_path, to_principle)


def stepped(weights: Weights, slopes: Weights, step: float, reward: float) -> dict[Edge, float]:
    """w ← w + α ΔR ∂log p / ∂w; no difference in reward changes no weight."""
    if reward == 0:
        return dict(weights)
    return {edge: w + step * reward * slopes.get(edge, 0.0) for edge, w in weights.items()}


def learn_pair(active: Active, chosen: str, reward: float, step: float) -> Active:
    """The graph after one compared pair; ``reward`` is ΔR. Source: Algorithm 2 line 18."""
    slopes = gradient(active, chosen)
    return Active(
        active.similar,
        stepped(active.to_path, slopes.to_path, step, reward),
        stepped(active.to_principle, slopes.to_principle, step, reward),
    )


# ── Group-relative policy optimisation ───────────────────────────────────────────────────────


def advantages(rewards: Sequence[float]) -> list[float]:
    """(R - mean) / population deviation; 0 where all are equal."""
    # The mean of equal rewards may miss them by its last bit, and divided by a deviation of as
    # little it would be a whole advantage: of three rewards of 0.4 it was -1 for each.
    if max(rewards) - min(rewards) < ALIKE:
        return [0.0] * len(rewards)
    mean = fsum(rewards) / len(rewards)
    off = [reward - mean for reward in rewards]
    deviation = sqrt(fsum(each * each for each in off) / len(off))
    return [each / deviation for each in off]


def clipped_loss(ratio: float, advantage: float, clip: float = 0.2) -> float:
    """-min(r Â, clip(r, 1 - ε, 1 + ε) Â) of one token. Source: eq. (12)."""
    bounded = min(1 + clip, max(1 - clip, ratio))
    return -min(ratio * advantage, bounded * advantage)
