"""Figures of searches whose trees are made by hand, and what a search that went wrong failed by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.base import Event
from schemas.events.reasoning import Generated
from schemas.events.search import Grown, NodeExpanded, NodePruned, NodeRepaired, SearchDecided
from schemas.problem import Limits
from streams.research.analysis.cases import Case, Shadow
from streams.research.analysis.trees import (
    failed_as,
    failures,
    rivals,
    settings_of,
    tree_figures,
    utility_of,
)
from tests.streams.bench.worlds import OPENED, case, grown

TALE = "\\alpha + 1"
"""What no grader compares with a number."""
PRUNED = NodePruned(round=1, node="1.1.0", value=0.2)
Leaf = tuple[str, str | None, float]


def search(
    problem: str,
    *leaves: Leaf,
    more: Sequence[Event] = (),
    outcome: Any = "wrong",
    answer: str = "25",
    policy: str = "cot2_meta",
    calls: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **closed: Any,
) -> Case:
    """A search for 24 that grew these leaves from its root."""
    made = case(problem, outcome, [*grown(*leaves), *more], reference="24", answer=answer, **closed)
    opened: Any = SimpleNamespace(
        **(vars(OPENED) | {"policy": policy, "limits": Limits(calls=calls)})
    )
    posed = made.problem.model_copy(update={"settings": settings or {}})
    return replace(made, opened=opened, problem=posed)


def shadow(*answers: str | None, node: str = "1.1.0", beside: Sequence[Leaf] = ()) -> Shadow:
    """A relaxed run in which these answers grew under the node that it spared."""
    grew = tuple(Grown(node=f"2.{at}.0", strategy="direct", depth=2) for at in range(len(answers)))
    found: list[Event] = [*grown(("1.1.0", None, 0.2), *beside)]
    found += [Generated(answer=each, source=f"2.{at}.0") for at, each in enumerate(answers)]
    found.append(NodeExpanded(round=1, node=node, children=grew))
    made = case("s", "right", found, reference="24", answer="24")
    return Shadow("3.0.0", node, made.closed, made.trace)


def test_every_figure_of_two_searches() -> None:
    ended = SearchDecided(node="1.0.0", action="return", calls=3)
    found = search(
        "found", ("1.0.0", "24", 0.9), ("1.1.0", "7", 0.2), more=(PRUNED, ended), outcome="right",
        answer="24", confidence=0.8,
    )  # fmt: skip
    mended = NodeRepaired(
        round=1, node="1.0.0", into="2.0.0", parent="opened", step=1, depth=1, before=0.4, value=0.8
    )
    more = (Generated(answer="26", source="2.0.0"), mended)
    lost = search(
        "lost", ("1.0.0", "25", 0.4), more=more, answer="26", confidence=0.5, ended_by="fallback",
        settings={"overconfidence_cost": 3.0},
    )  # fmt: skip
    runs = {
        found.episode: [shadow("24", beside=[("1.2.0", "25", 0.9)]), shadow("25"), shadow(TALE)]
    }
    figures = tree_figures([found, lost], [found, lost], lambda at: runs.get(at, ()))
    assert figures == {
        "actions_by_depth": {"0": {"expand": 2}, "1": {"prune": 1, "return": 1, "repair": 1}},
        "flow": {"correct": 1, "incorrect": 1},
        "repairs": {
            "wrong_before": 1,
            "right_before": 0,
            "unknown": 0,
            "rescue_rate": 0.0,
            "hurt_rate": None,
            "net": 0,
        },
        "parsed": 3,
        "parse_rates": {"first": 1.0, "recovered": 0.0, "defaulted": 0.0},
        "fallback_share": 0.5,
        "utility": (1 - 3 * 0.5) / 2,
        "pruning": {
            "pruned": 1,
            "pruned_right": 0,
            "pruned_unknown": 0,
            "shadow_runs": 3,
            "shadow_unknown": 1,
            "false_prune_rate": 0.5,
            "prune_precision": 0.5,
            "oracle_gap": 0.0,
            "oracle_gap_of": 1,
        },
        "failures": {"unknown": 1},
    }
    assert list(figures["actions_by_depth"]) == ["0", "1"]
    assert tree_figures([found, lost, lost], [], lambda _: ())["fallback_share"] == 2 / 3


def pruning(*cases: Case, runs: Mapping[str, Sequence[Shadow]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = tree_figures(cases, cases, lambda at: (runs or {}).get(at, ()))
    return dict(found["pruning"])


def test_what_pruned_nodes_hold_already_is_right_wrong_or_unknown() -> None:
    def cut(answer: str | None) -> Case:
        return search(str(answer), ("1.0.0", "25", 0.9), ("1.1.0", answer, 0.2), more=(PRUNED,))

    said = pruning(cut("24"), cut("24.0"), cut("25"), cut(TALE), cut(None))
    assert (said["pruned"], said["pruned_right"], said["pruned_unknown"]) == (5, 2, 1)
    assert (said["oracle_gap"], said["oracle_gap_of"]) == (None, 0), "nothing was audited"
    assert (said["shadow_runs"], said["false_prune_rate"]) == (0, None)


def test_the_gap_is_of_the_first_shadow_run_of_episodes_that_were_audited() -> None:
    """Only in it nothing at all is pruned; and it counts as many of its best leaves as are set."""
    relaxed = shadow("24", beside=[("1.2.0", "7", 0.9)])
    worse = shadow("25")
    own = ("1.0.0", "25", 0.9)
    audited = search("audited", own, ("1.1.0", None, 0.2), more=(PRUNED,))
    unjudged = search("unjudged", ("1.0.0", TALE, 0.9))
    alone = search("alone", own)
    runs = {audited.episode: [relaxed, worse], unjudged.episode: [relaxed]}
    said = pruning(audited, unjudged, alone, runs=runs)
    assert (said["oracle_gap"], said["oracle_gap_of"]) == (1.0, 1)
    narrow = search(
        "audited", own, ("1.1.0", None, 0.2), more=(PRUNED,), settings={"audit_leaves": 1}
    )
    assert pruning(narrow, runs=runs)["oracle_gap"] == 0.0, "its best leaf alone is wrong"


def test_a_utility_is_over_what_can_be_judged_at_the_cost_that_each_episode_was_set() -> None:
    cases = [
        search("a", outcome="right", confidence=0.9),
        search("b", confidence=0.5, settings={"overconfidence_cost": 2.0}),
        search("c", confidence=0.5),
        replace(search("d", confidence=0.9), closed=case("d", "withheld").closed),
        search("e", outcome="unknown", confidence=0.9),
    ]
    assert utility_of(cases) == (1 - 1 + 0 + 0) / 4
    assert utility_of(cases[4:]) is None
    assert settings_of(cases[1]).overconfidence_cost == 2.0


def test_rivals_are_other_policies_by_problem_and_limit_and_one_that_solved_it_is_enough() -> None:
    cases = [
        search("a", policy="cot", calls=8),
        search("a", policy="io", calls=8, outcome="right"),
        search("a", policy="sc", calls=8),
        search("a", policy="cot", calls=4),
        search("b", policy="cot", calls=8, outcome="unknown"),
        search("c", calls=8, outcome="right"),
        search("d", policy="cot", outcome="right"),
    ]
    assert rivals(cases) == {("d/a", 8): True, ("d/a", 4): False, ("d/d", None): True}


# ── What it failed by ────────────────────────────────────────────────────────────────────────

APART = (("1.0.0", "25", 0.5), ("1.1.0", "26", 0.4), ("1.2.0", "27", 0.3))
SEEN = (("1.0.0", "25", 0.4), ("1.1.0", "24", 0.5))
SOLVED, UNSOLVED, UNTRIED = {("d/a", 8): True}, {("d/a", 8): False}, {("d/a", 4): True}
CLASSES: list[tuple[str, Sequence[Leaf], dict[str, Any], Any, Sequence[Shadow], str | None]] = [
    ("a wrong leaf is trusted more than a right one", (("1.0.0", "25", 0.9), ("1.1.0", "24", 0.5)),
     {}, UNTRIED, (), "F2"),
    ("a leaf that nobody can judge may be one", (("1.0.0", TALE, 0.9),),
     {"more": (NodePruned(round=1, node="1.0.0", value=0.9),)}, UNSOLVED, [shadow("24")], None),
    ("what was pruned would have solved it", SEEN, {"more": (PRUNED,)}, UNTRIED, [shadow("24")], "F3"),
    ("prunes that were not audited may have", APART, {"more": (PRUNED,)}, UNSOLVED, (), None),
    ("prunes whose audit tells nothing may have", APART, {"more": (PRUNED,)}, UNSOLVED, [shadow(TALE)], None),
    ("nobody solves it", APART, {}, UNSOLVED, (), "F4"),
    ("nobody solves it, and no prune would have", APART, {"more": (PRUNED,)}, UNSOLVED, [shadow("25")], "F4"),
    ("nobody tried it at the same limit", APART, {"ended_by": "budget"}, UNTRIED, (), None),
    ("its calls ran out before it could decide", APART, {"ended_by": "budget"}, SOLVED, (), "F1"),
    ("or it was closed", APART, {"ended_by": "closed"}, SOLVED, (), "F1"),
    ("or it abstained", APART, {"ended_by": "abstained"}, SOLVED, (), "F1"),
    ("it had calls left", APART, {}, SOLVED, (), "unclassified"),
    ("one was sure enough", APART, {"ended_by": "budget", "settings": {"stop_threshold": 0.45}}, SOLVED, (),
     "unclassified"),
    ("its best leaf alone is not torn", APART, {"ended_by": "budget", "settings": {"audit_leaves": 1}}, SOLVED,
     (), "unclassified"),
    ("it had calls left, and a prune may have solved it", APART, {"more": (PRUNED,)}, SOLVED, (), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("leaves", "more", "others", "shadows", "found"),
    [each[1:] for each in CLASSES],
    ids=[each[0] for each in CLASSES],
)
def test_a_failure_is_the_first_class_that_fits_where_all_before_it_are_ruled_out(
    leaves: Sequence[Leaf], more: Any, others: Any, shadows: Sequence[Shadow], found: str | None
) -> None:
    failed = search("a", *leaves, calls=8, **more)
    assert failed_as(failed, tree_of(failed.trace), others, lambda _: shadows) == found


def test_failures_are_wrong_and_withheld_searches_by_class_in_order_of_names() -> None:
    unsolved = [search(name, policy="cot", calls=8) for name in ("a", "b")]
    failed = [
        search("c", *APART, calls=8),
        search("b", *APART, calls=8),
        search("a", *APART, calls=8, outcome="withheld"),
        search("a", ("1.0.0", "25", 0.9), ("1.1.0", "24", 0.5), calls=8),
        search("a", ("1.0.0", "24", 0.9), calls=8, outcome="right", answer="24"),
        search("a", ("1.0.0", TALE, 0.9), calls=8, outcome="unknown", answer=TALE),
    ]
    trees = [(each, tree_of(each.trace)) for each in failed]
    counted = failures(trees, [*unsolved, *failed], lambda _: ())
    assert counted == {"F2": 1, "F4": 2, "unknown": 1}
    assert list(counted) == sorted(counted)
