"""Answers by the number of samples that they are made of: any of n, and the vote of n.

Source: design/evaluation.md#metrics; CoT2-Meta table 5 (Best-of-n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from handlers.learning import metrics
from schemas.events.reasoning import Generated
from streams.research.analysis.cases import Case
from streams.research.analysis.found import Cases, Unit, Units
from streams.research.bench.curves import Samples, votes_by_n


def samples(case: Case) -> Samples:
    """What each generation of an episode answered, and whether that is known to be right."""
    return _judged(case)[0]


def _judged(case: Case) -> tuple[Samples, bool]:
    """The same, and whether each answer could be judged; an answer given often is judged once."""
    said = [event.answer for _, event in case.trace.events if isinstance(event, Generated)]
    # A hundred samples give a handful of answers, and judging one may run its code.
    judged = {answer: case.judged(answer) for answer in dict.fromkeys(said)}
    right = tuple(judged[answer] is True for answer in said)
    return Samples(case.problem.problem, tuple(said), right), None not in judged.values()


def _sampled(n: int, of: Callable[[Samples], float]) -> Units:
    def units(cases: Cases) -> Iterator[Unit]:
        for case in cases:
            found, judged = _judged(case)
            # Of fewer samples than n a rule would be told what
            # it would say of n: that is nobody's to know.
            told = judged and len(found.answers) >= n
            yield Unit(case.about, of(found) if told else None)

    return units


def any_of(n: int) -> Units:
    """The chance that n samples hold a right one; unknown of fewer, or where one cannot be judged."""
    return _sampled(n, lambda found: metrics.any_of_n(found.right, n))


def vote_of(n: int) -> Units:
    """How often the vote of n samples is right, over seeded orders of them."""

    def voted(found: Samples) -> float:
        right = dict(zip(found.answers, found.right, strict=True))
        return votes_by_n(found, lambda _, answer: right[answer])[n - 1]

    return _sampled(n, voted)
