"""The graph of cases, paths and principles after each fact: edges, counts, strengths and weights."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest

from handlers.learning.graph import (
    EMPTY,
    Induce,
    active,
    after,
    anew,
    borrowed,
    bounded,
    embedded_text,
    evidence,
    induction,
    met,
    runs_of,
    split,
    stands,
    told,
)
from schemas.events.episode import TextKept
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced
from schemas.outcome import Outcome

CONSTANTS = {"initial_weight": 0.5, "step_size": 0.25}


def grounded(case: str, path: str, outcome: Outcome = "right") -> PathGrounded:
    return PathGrounded(case=case, subject=f"d/{case}", path=path, outcome=outcome, source="e")


def induced(principle: str | None, *paths: str, **more: Any) -> PrincipleInduced:
    said: dict[str, Any] = {
        "case": "contrast", "decision": "create", "summary": "Look twice.", "score": 40.0, **more,
    }  # fmt: skip
    return PrincipleInduced(principle=principle, paths=paths, **said)


def grown(*facts: Any, before: Any = EMPTY) -> dict[str, Any]:
    return after(before, (), CONSTANTS, facts)


def test_a_run_is_an_edge_that_counts_how_it_ended() -> None:
    outcomes: list[Outcome] = ["right", "wrong", "withheld", "unknown", "right"]
    graph = grown(*(grounded("q", "t", outcome) for outcome in outcomes))
    assert graph == {
        "version": 1,
        "cases": {
            "q": {
                "subject": "d/q", "at": 1,
                "paths": {"t": {"weight": 0.5, "right": 2, "wrong": 2, "runs": 5, "at": 1}},
            }
        },
        "paths": {"t": {"principles": {}, "at": 1}},
        "principles": {},
    }  # fmt: skip
    again = met({**graph, "version": 2}, grounded("q", "u"), 0.9)
    assert again["cases"]["q"]["paths"]["t"] == graph["cases"]["q"]["paths"]["t"]
    assert again["cases"]["q"]["paths"]["u"] == {
        "weight": 0.9, "right": 1, "wrong": 0, "runs": 1, "at": 2,
    }  # fmt: skip
    assert again["cases"]["q"]["at"] == again["paths"]["u"]["at"] == 2
    assert runs_of(again, "q") == (["t", "u"], ["t"], 6)
    assert runs_of(again, "other") == ([], [], 0)


def test_paths_are_parted_by_how_they_ended_each_once() -> None:
    runs = [("b", "right"), ("a", "wrong"), ("b", "right"), ("c", "withheld"), ("d", "unknown")]
    assert split([*runs, ("a", "right"), ("a", "wrong")]) == (["b", "a"], ["a", "c"])


@pytest.mark.parametrize(
    ("succeeded", "failed", "speculate", "distil", "found"),
    [
        ("s", "f", False, False, ("contrast", 1)),
        ("", "f", True, False, ("speculative", 1)),
        ("", "f", False, True, ("neighbours", 0)),
        ("s", "", True, True, ("positive", 1)),
        ("s", "", True, False, ("nothing", 0)),
        ("", "", True, True, ("nothing", 0)),
    ],
)
def test_what_is_made_of_a_case_hangs_on_how_its_runs_ended(
    succeeded: str, failed: str, speculate: bool, distil: bool, found: tuple[Induce, int]
) -> None:
    assert induction([*succeeded], [*failed], speculate=speculate, distil=distil) == found


def test_a_principle_is_linked_to_its_paths_and_its_text_has_versions() -> None:
    first = induced(
        "m", "t", "new", strategies=(("s", "strong", 0.5),), uncertainty="some", vector="AAA=",
        confidence="high", reason="why",
    )  # fmt: skip
    graph = grown(grounded("q", "t"), first)
    assert graph["principles"]["m"] == {
        "version": 1, "score": 40.0, "at": 1, "summary": "Look twice.",
        "strategies": [["s", "strong", 0.5]], "uncertainty": "some", "vector": "AAA=",
    }  # fmt: skip
    edge = {"m": {"weight": 0.5, "at": 1}}
    assert graph["paths"] == {
        "t": {"principles": edge, "at": 1}, "new": {"principles": edge, "at": 1},
    }  # fmt: skip
    assert evidence(graph, "m") == ["new", "t"]
    assert evidence(graph, "other") == []
    borne = grown(induced("m", "t", summary="", score=45.0), before=graph)
    assert borne["principles"]["m"] == {**graph["principles"]["m"], "score": 45.0, "at": 2}
    assert borne["paths"] == graph["paths"], "what is linked keeps its weight"
    seen = grown(induced("m", summary="", score=50.0, case="positive"), before=graph)
    assert seen["principles"]["m"]["score"] == 40.0, "only a contrast adds to a strength"
    touched = grown(induced("m", "u", summary="", score=None, case="neighbours"), before=graph)
    assert touched["principles"] == graph["principles"]
    assert touched["paths"]["u"] == {"principles": {"m": {"weight": 0.5, "at": 2}}, "at": 2}
    retold = grown(induced("m", summary="Otherwise.", score=60.0), before=graph)
    assert retold["principles"]["m"]["version"] == 2
    assert retold["principles"]["m"]["summary"] == "Otherwise."
    assert (bounded(29), bounded(86), bounded(50)) == (30.0, 85.0, 50)


def test_what_a_fact_rests_on_must_be_there() -> None:
    graph = grown(grounded("q", "t"), grounded("r", "u", "wrong"), induced("m", "t"))
    rests: list[tuple[PrincipleInduced, bool]] = [
        (induced("new"), True),
        (induced("gone", summary=""), False),
        (induced("m", summary=""), True),
        (induced("m", near=("q",), case="neighbours", summary=""), True),
        (induced("m", near=("r",), case="neighbours", summary=""), False),
        (induced("new", "t", near=("q",)), True),
        (induced("new", "u", near=("r",)), False),
        (induced("new", "u", near=("q",)), False),
    ]
    for fact, stood in rests:
        assert stands(graph, fact) == stood
        assert (told(graph, fact, CONSTANTS) == graph) != stood or fact.summary == ""
    assert borrowed(graph, ("q", "r")) == ["m"]
    assert told(graph, induced(None), CONSTANTS) == graph
    assert told(graph, TextKept(text="x"), CONSTANTS) == graph


def test_a_principle_is_embedded_by_its_summary_where_it_has_a_vector() -> None:
    assert embedded_text(induced("m", vector="AAA=")) == "Look twice."
    assert embedded_text(induced("m")) is None
    assert embedded_text(grounded("q", "t")) is None
    state = {"version": 3, "principles": {
        "m": {"summary": "Look.", "vector": "old"}, "n": {"summary": "Wait.", "vector": None},
    }}  # fmt: skip
    assert anew(state, lambda text: f"of {text}") == {"version": 3, "principles": {
        "m": {"summary": "Look.", "vector": "of Look."}, "n": {"summary": "Wait.", "vector": None},
    }}  # fmt: skip
    assert anew({"version": 3}, lambda text: None) == {"version": 3}


TWO = grown(
    grounded("q", "t"), grounded("r", "u"), induced("m", "t", "u"), induced("n", "u"),
    before={**EMPTY, "version": 6},
)  # fmt: skip


def test_active_cases_bring_their_edges_and_ablations_pass_over_weights() -> None:
    part = active(TWO, {"q": 0.8, "gone": 0.5})
    assert part.similar == {"q": 0.8, "gone": 0.5}
    assert part.to_path == {("q", "t"): 0.5}
    assert part.to_principle == {("t", "m"): 0.5}
    frozen = active(TWO, {"q": 0.8}, "frozen")
    assert (frozen.similar, frozen.to_path) == ({"q": 0.8}, {("q", "t"): 1.0})
    assert frozen.to_principle == {("t", "m"): 1.0}
    counted = active(TWO, {"q": 0.8}, "structural")
    assert (counted.similar, counted.to_path) == ({"q": 1.0}, {("q", "t"): 1.0})


def compared(principle: str, with_it: float, without: float, **more: Any) -> PairCompared:
    return PairCompared(
        pair="p", problem="d/x", active=(("q", 0.8), ("r", 0.4)), principle=principle, p=0.5,
        with_reward=with_it, without_reward=without, memory_version=7, **more,
    )  # fmt: skip


def test_a_pair_moves_the_edges_of_all_active_principles_by_their_slopes() -> None:
    graph = grown(compared("m", 1.0, 0.5), before=TWO)
    flow = {"t": 0.8 * 0.5, "u": 0.4 * 0.5}
    scores = {"m": (flow["t"] + flow["u"]) * 0.5, "n": flow["u"] * 0.5}
    share = exp(scores["m"]) / sum(map(exp, scores.values()))
    lack = {"m": 1 - share, "n": share - 1}
    step = 0.25 * 0.5
    for path, name in (("t", "m"), ("u", "m"), ("u", "n")):
        edge = graph["paths"][path]["principles"][name]
        assert edge["weight"] == pytest.approx(0.5 + step * flow[path] * lack[name])
        assert edge["at"] == 8
    moved = graph["cases"]["q"]["paths"]["t"]
    assert moved["weight"] == pytest.approx(0.5 + step * 0.8 * 0.5 * lack["m"])
    assert (moved["at"], moved["right"], moved["runs"]) == (8, 1, 1)
    both = graph["cases"]["r"]["paths"]["u"]
    assert both["weight"] == pytest.approx(0.5 + step * 0.4 * 0.5 * (lack["m"] + lack["n"]))
    assert graph["paths"]["t"]["at"] == 7, "the path itself did not change"


@pytest.mark.parametrize(
    "fact",
    [
        compared("m", 0.5, 0.5),
        compared("gone", 1.0, 0.0),
        compared("m", 1.0, 0.0, out=("m",)),
        compared("m", 1.0, 0.0, out=("n",)),
    ],
)
def test_a_pair_without_a_difference_or_a_rival_moves_nothing(fact: PairCompared) -> None:
    graph = grown(fact, before=TWO)
    assert graph == {**TWO, "version": 8}


def test_pairs_of_one_batch_are_weighed_by_the_graph_before_it() -> None:
    pairs = [compared("m", 1.0, 0.0), compared("n", 1.0, 0.25), compared("m", 0.0, 0.5)]
    one, other = grown(*pairs, before=TWO), grown(*pairs[::-1], before=TWO)
    for path in ("t", "u"):
        for name, edge in one["paths"][path]["principles"].items():
            assert edge["weight"] == pytest.approx(
                other["paths"][path]["principles"][name]["weight"], abs=1e-15
            )
    alone = told({**TWO, "version": 8}, pairs[0], CONSTANTS)
    assert alone == grown(pairs[0], before=TWO), "without a start it is the graph itself"
