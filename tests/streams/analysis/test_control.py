"""A search's figures by depth, its audited prunes and its endings, in worlds whose counts are set by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.reasoning import Generated
from schemas.events.search import OracleScored
from streams.research.analysis.cases import Case
from streams.research.analysis.control import (
    ACTIONS,
    acts,
    false_prunes,
    flows,
    gap,
    precise_prunes,
)
from streams.research.analysis.found import Unit
from tests.papers.cot2_says import always, ran
from tests.streams.bench.worlds import case


def searched() -> Case:
    """Three expansions at the root, three prunes at depth 1, and a leaf that is returned."""
    done = ran(always(step=(0.2, 0.2, 0.2), trust=0.2), calls=10)
    return replace(case("a"), trace=done.trace)


def counted(units: Iterable[Unit]) -> Counter[Any]:
    """How many units there are of each problem and value."""
    return Counter((unit.problem.removeprefix("d/"), unit.value) for unit in units)


@pytest.mark.parametrize(
    ("action", "depth", "this", "others"),
    [
        ("expand", None, 3, 4),
        ("prune", None, 3, 4),
        ("stop", None, 0, 7),
        ("expand", 0, 3, 0),
        ("prune", 0, 0, 3),
        ("expand", 1, 0, 4),
        ("prune", 1, 3, 1),
        ("repair", 1, 0, 4),
        ("prune", 2, 0, 0),
    ],
)
def test_each_action_counts_at_its_depth_alone(
    action: str, depth: int | None, this: int, others: int
) -> None:
    assert action in ACTIONS
    units = acts(action, depth)([searched()])
    assert counted(units) == Counter({("a", True): this, ("a", False): others})


def audited(problem: str, *spared: bool | None, better: float | None = None) -> Case:
    """An episode of whose prunes a shadow run found this, and how much better its best leaves were."""
    return replace(case(problem), spared=spared, gap=better)


def test_a_prune_was_precise_where_nothing_right_came_of_it_and_unknown_where_nobody_can_say() -> (
    None
):
    cases = [audited("a", True, False, None), audited("b", False), audited("c")]
    wrong = [(unit.problem.removeprefix("d/"), unit.value) for unit in false_prunes(cases)]
    assert wrong == [("a", True), ("a", False), ("a", None), ("b", False)]
    precise = [(unit.problem.removeprefix("d/"), unit.value) for unit in precise_prunes(cases)]
    assert precise == [("a", 0), ("a", 1), ("a", None), ("b", 1)]


def test_the_gap_is_of_audited_episodes_alone_and_unknown_where_no_leaf_can_be_judged() -> None:
    cases = [
        audited("a", True, better=1.0),
        audited("b", None),
        audited("c", better=1.0),
        audited("d", False, better=-1.0),
    ]
    assert [(unit.problem.removeprefix("d/"), unit.value) for unit in gap(cases)] == [
        ("a", 1.0),
        ("b", None),
        ("d", -1.0),
    ]


def test_an_ending_is_unknown_where_nobody_can_judge_the_answer() -> None:
    def tree(answer: str) -> list[Event]:
        return [
            Generated(answer=answer, source="1.0.0"),
            OracleScored(node="1.0.0", steps=(), rewards=(), value=0.9, source="1.0.0"),
        ]

    right = replace(case("a", "right", tree("24"), reference="24"), closed=_closed("24"))
    wrong = replace(case("b", "wrong", tree("25"), reference="24"), closed=_closed("25"))
    open_ = replace(case("c", events=tree("25")), closed=_closed("25"))
    none = replace(case("d", "withheld", reference="24"))
    cases = [right, wrong, open_, none]
    ended = {
        end: [u.value for u in flows(end)(cases)] for end in ("correct", "incorrect", "abstained")
    }
    assert ended == {
        "correct": [True, False, None, False],
        "incorrect": [False, True, None, False],
        "abstained": [False, False, None, True],
    }


def _closed(answer: str) -> Any:
    return case("x", answer=answer).closed
