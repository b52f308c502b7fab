"""Measures by another embedder: by whose vectors a batch is folded, which texts are wanted, what a state becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.learning.embedding import Anew
from schemas.events.base import Event
from schemas.events.episode import Embedded
from schemas.events.graph import PrincipleInduced
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import learning_id, text_digest
from schemas.memory import Memory
from schemas.vectors import pack
from state.folds.learned import Learned
from state.folds.remeasuring import (
    Remeasuring,
    aligned,
    embedder_of,
    held_anew,
    made_by,
    numbers_of,
    sought_by,
    wanted,
)
from state.folds.versions import Versions
from tests.reflections import reflected

RULE = {"rule": "beliefs@1",
        "constants": {"learn_from": "label", "retire_trials": 9, "retire_below": 0.0}}  # fmt: skip


def closed(batch: int, *members: str, **more: Any) -> BatchClosed:
    said: dict[str, Any] = {
        "scope": "s", "batch": batch, "members": members, "outcomes": ("right",) * len(members),
        "previous": batch - 1, "policy": "p", "policy_version": "1", "settings": "x", "seed": 1,
        **RULE, **more,
    }  # fmt: skip
    return BatchClosed(**said)


def named(embedder: str, **vectors: str) -> Embedded:
    return Embedded(
        asked="q", embedder=embedder, dimensions=1, vectors=tuple(vectors.values()),
        texts=tuple(map(text_digest, vectors)),
    )  # fmt: skip


class Past:
    """Two versions of a scope, each of one batch, and what else its log holds."""

    def __init__(self) -> None:
        self.versions = Versions()
        self.versions[0] = Memory("s", 0)
        self.said: dict[str, dict[str, Event]] = {}
        self.left: dict[str, Reflected] = {}
        self.facts: dict[int, list[Event]] = {}

    def reflection(self, episode: str) -> Reflected:
        return self.left[episode]

    def journal(self, episode: str) -> Mapping[str, Event]:
        return self.said.get(episode, {})

    def closing(self, number: int) -> BatchClosed:
        found = self.said[learning_id("s", number)]["batch"]
        assert isinstance(found, BatchClosed)
        return found

    def facts_kept(self, number: int) -> list[Event]:
        return self.facts.get(number, [])

    def ended(self, name: str, embedder: str | None = "old", vector: str | None = "v") -> None:
        summary = {"class": "c", "vector": vector and f"{vector} {name}"}
        self.left[name] = reflected(problem=f"problem {name}", embedder=embedder, summary=summary)

    def learned(self, *members: str, embedder: str | None = None, **more: Any) -> BatchClosed:
        """A batch that was closed, and its version."""
        number = len(self.versions)
        made = closed(number, *members, **more)
        self.said[learning_id("s", number)] = {"batch": made}
        state = numbers_of(self, self.versions[number - 1], made, (), Learned())
        self.versions[number] = Memory("s", number, learned=state, embedder=embedder)
        return made


def vectors(state: Mapping[str, Any]) -> dict[str, str | None]:
    return {case["id"]: case["vector"] for case in state["cases"]}


def begun(embedder: str | None = "old") -> Past:
    past = Past()
    past.ended("a")
    past.ended("b")
    past.learned("a", embedder=embedder)
    return past


def test_a_batch_is_folded_by_the_embedder_of_the_version_before_or_of_the_last_to_measure() -> (
    None
):
    past = begun()
    past.ended("c", "new")
    past.ended("d", None)
    assert made_by(past, past.versions[1], closed(2, "c")) == "old"
    assert made_by(past, past.versions[0], closed(1, "a", "c", "d")) == "new"
    assert made_by(past, past.versions[0], closed(1, "c", "a", "d")) == "old"
    assert made_by(past, past.versions[0], closed(1, "d")) is None


def test_two_embedders_are_told_by_the_closing_and_nobody_else_is_measured_anew() -> None:
    past = begun()
    past.ended("c", "new")
    past.ended("d", None)
    assert aligned(past, closed(2, "b", "d")).measured is None
    assert aligned(past, closed(2, "b", "c")).measured == "old"
    assert aligned(past, closed(2, "c", rule=None)).measured is None
    past.learned("b", embedder="new")
    again = closed(2, "b", revision=1)
    assert aligned(past, again).measured == "new", "of a revision its own version's"
    state = numbers_of(past, past.versions[1], closed(2, "b"), (), Learned())
    assert vectors(state) == {"a": "v a", "b": "v b"}


def test_members_of_another_embedder_get_vectors_of_their_texts_where_these_are_named() -> None:
    past = begun()
    past.ended("c", "new", "other")
    batch = closed(2, "b", "c", measured="old")
    assert vectors(numbers_of(past, past.versions[1], batch, (), Learned())) == {
        "a": "v a", "b": "v b", "c": None,
    }  # fmt: skip
    learned = Learned()
    learned.feed("0", named("old", **{"problem c": "made c"}))
    learned.feed("1", named("old", **{"problem c": "made again"}))
    learned.feed("2", named("third", **{"problem b": "nobody's"}))
    found = numbers_of(past, past.versions[1], batch, (), learned)
    assert vectors(found) == {"a": "v a", "b": "v b", "c": "made c"}, "the first vector counts"
    assert [*wanted(past, batch).lacks] == ["problem c"]


def test_a_state_that_is_closed_again_for_its_vectors_holds_those_of_the_other_embedder() -> None:
    past = begun()
    past.learned("b", embedder="old")
    again = closed(2, "b", revision=1, embedder="new", measured="new")
    learned = Learned()
    learned.feed("0", named("new", **{"problem a": "new a", "problem b": "new b"}))
    state = held_anew(past, again, past.versions[2].learned, learned)
    assert vectors(state) == {"a": "new a", "b": "new b"}
    assert state["beliefs"] == past.versions[2].learned["beliefs"]
    silent = closed(2, "b", revision=1, embedder="new")
    assert held_anew(past, silent, {"x": 1}, learned) == {"x": 1}
    bare = closed(2, "b", revision=1, embedder="new", measured="new", rule=None)
    assert held_anew(past, bare, {"x": 1}, learned) == {"x": 1}
    reckoned = Remeasuring.of(past, closed(2, "b", revision=1, measured="new"), learned)
    assert vectors(reckoned.numbers(past.versions[1], ())) == {"a": "new a", "b": "new b"}


def test_every_text_that_was_ever_measured_is_wanted_by_a_new_embedder_but_for_what_is_named() -> (
    None
):
    past = begun()
    past.ended("bare", vector=None)
    past.learned("b", "bare", embedder="old")
    past.said[learning_id("s", 1)]["1"] = named("new", **{"problem a": "new a"})
    again = closed(2, "b", revision=1, embedder="new", measured="new")
    past.said[learning_id("s", 2, 1)] = {"batch": again}
    assert [*wanted(past, again).lacks] == ["problem b"]
    assert [*wanted(past, closed(2, "b", revision=1, measured="new")).lacks] == []
    assert [*sought_by(past, past.versions[2]).lacks] == ["problem a", "problem b"]
    fresh = wanted(past, closed(3, "b", measured="old"))
    assert isinstance(fresh, Anew)
    assert [*fresh.lacks] == []


def test_regressions_are_reckoned_again_on_the_members_that_are_left() -> None:
    constants: dict[str, Any] = {
        "start": [{"when": "w", "text": "t"}], "arms": "scope", "feature_dims": None, "ridge": 1.0,
        "merge_above": 0.9, "arm_limit": 9, "retire_after": 99, "retire_below": 0.0, "dual_from": 1,
    }  # fmt: skip
    rule = {"rule": "linucb@1", "constants": constants}
    old, new = pack((1.0, 0.0)), pack((0.0, 1.0))
    past = Past()
    for name, reward in (("a", 0.25), ("b", 0.5), ("c", 0.75)):
        summary = {"pulls": [["a1", old, reward, 0.5]]}
        past.left[name] = reflected(embedder="old", texts=(f"context {name}",), summary=summary)
    past.learned("a", embedder="old", **rule)
    past.learned("b", "c", embedder="new", **rule)
    left = closed(2, "b", revision=1, measured="new", **rule)
    learned = Learned()
    learned.feed("0", named("new", **{f"context {name}": new for name in "abc"}))
    state = numbers_of(past, past.versions[1], left, (), learned)
    assert state["arms"][0]["rows"] == [[new, 0.25], [new, 0.5]], "those of a and b"
    assert state["arms"][0]["pulls"] == 2


def test_principles_are_wanted_by_their_summaries() -> None:
    past = begun()
    past.versions[1] = Memory("s", 1, learned={"version": 1}, embedder="old")
    fact = PrincipleInduced(
        case="contrast", decision="create", principle="m", summary="Look twice.", vector="v"
    )
    past.said[learning_id("s", 1)]["batch"] = closed(1, "a", rule="graph@2")
    past.facts[1] = [fact]
    assert [*sought_by(past, past.versions[1]).lacks] == ["Look twice."]


def test_whose_vectors_members_measured() -> None:
    past = begun()
    assert embedder_of(past, closed(2, "a", rule=None)) is None
    assert embedder_of(past, closed(2, "a")) == "old"
    past.ended("silent", None)
    past.ended("bare", None, None)
    past.said["silent"] = {"0": Embedded(asked="q", embedder="by record", dimensions=1, vectors=())}
    assert embedder_of(past, closed(2, "bare")) is None
    assert embedder_of(past, closed(2, "bare", "silent")) == "by record"
    past.said["silent"] = {}
    assert embedder_of(past, closed(2, "silent")) is None
