"""Fixed rules of two models, computed over chains of both that were recorded once: whose answer would each give?

A run in which a smaller model may ask a larger one is held against rules that know nothing and learn nothing: votes of
the smaller, chains of the larger, and thresholds, by which the larger is asked where too few of the smaller's
chains agree. All tokens count as those of the smaller: one of the larger's costs as many as the run says.

Source: Chen et al. 2023, § 3 (FrugalGPT: an answer is kept where its score is above a threshold, else the next model is
asked); Yue et al. 2024 (the share of chains that agree as that score).
"""

# A threshold over a trained scorer, as FrugalGPT has it, would need labels of its own; agreement needs
# none, so that both sides begin with the same knowledge. `routed` draws both models' chains in the same
# seeded orders as `sampling.evaluate` does, and pairs every rule with the run, problem by problem.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from streams.research.analysis.sampling import (
    ORDERS,
    Course,
    Drawn,
    Ended,
    Outcome,
    Sampled,
    courses,
    mean_of,
    sampled,
    two,
)

VOTES = (1, 3, 5, 10)
"""Chains of one model alone, as many as these."""
THRESHOLDS = ((2, 2), (2, 3), (3, 3), (3, 5), (4, 5), (5, 5))
"""So many that agree, of so many chains of the smaller model: then its vote is kept."""

Rule: TypeAlias = Callable[[Course, Course], Outcome]
"""What comes of one order of the smaller model's chains, and one of the larger's."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A run of two models, and what fixed rules come to on the same problems, each held against the run."""

    run: str
    price: float
    """What a token of the larger model costs, in those of the smaller."""
    problems: int
    rules: tuple[Sampled, ...]
    """The run itself comes first."""


def routed(
    run: str,
    ended: Mapping[str, Ended],
    banks: tuple[Sequence[Drawn], Sequence[Drawn]],
    price: float,
    orders: int = ORDERS,
) -> Routed | None:
    """Hold a run, whose tokens count at their price, against rules over ``banks`` of the smaller and the larger model.

    None where they share no problem, or too few chains of one.
    """
    small, large = ({each.problem: each for each in bank} for bank in banks)
    shared = [problem for problem in small if problem in large and problem in ended]
    size = min((len(bank[at].chains) for bank in (small, large) for at in shared), default=0)
    if size < max(of for _, of in THRESHOLDS):
        return None
    mine = [Outcome(float(ended[at].right), ended[at].calls, ended[at].tokens) for at in shared]
    drawn = [
        [
            (one.upto(size), other.upto(size))
            for one, other in zip(
                courses(small[at], orders), courses(large[at], orders), strict=True
            )
        ]
        for at in shared
    ]
    found = [sampled(run, mine, None)]
    for name, rule in _rules(size, price).items():
        theirs = [mean_of([rule(*each) for each in turns]) for turns in drawn]
        found.append(sampled(name, theirs, mine))
    return Routed(run, price, len(shared), tuple(found))


def _rules(size: int, price: float) -> dict[str, Rule]:
    counts = [count for count in VOTES if count <= size]
    return {
        **{f"vote of {n} of the smaller": _of_smaller(n) for n in counts},
        **{f"vote of {n} of the larger": _of_larger(n, price) for n in counts},
        **{f"the larger, unless {k} of {n} agree": _unless(k, n, price) for k, n in THRESHOLDS},
    }


def _of_smaller(count: int) -> Rule:
    return lambda small, _: Outcome(float(small.right[count - 1]), count, small.tokens[count - 1])


def _of_larger(count: int, price: float) -> Rule:
    return lambda _, large: Outcome(
        float(large.right[count - 1]), count, _priced(0, large.tokens[count - 1], price)
    )


def _unless(agree: int, of: int, price: float) -> Rule:
    """One chain of the larger model, unless so many of the smaller's agree."""

    def outcome(small: Course, large: Course) -> Outcome:
        if two(small.kinds[:of])[0] >= agree:
            return _of_smaller(of)(small, large)
        paid = _priced(small.tokens[of - 1], large.tokens[0], price)
        return Outcome(float(large.right[0]), of + 1, paid)

    return outcome


def _priced(small: float | None, large: float | None, price: float) -> float | None:
    return None if small is None or large is None else small + price * large
