"""Vectors by another embedder: what is asked for, what is lacking, and what regressions become."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.bandits import linucb
from handlers.learning.contexts import Folded, anew, measured_anew, pulls_of
from handlers.learning.embedding import TOGETHER, Anew, embed_anew, embed_named
from handlers.learning.measured import Measured
from handlers.learning.rules import RULES, VECTORS, learned_after
from schemas.events.episode import TextKept
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed
from schemas.usage import Usage
from schemas.vectors import pack
from tests.reflections import reflected

OLD, OTHER, NEW = pack((1.0, 0.0)), pack((0.0, 1.0)), pack((0.0, 1.0, 0.0))
CONSTANTS: dict[str, Any] = {
    "start": [{"when": "always", "text": "Think."}], "arms": "scope", "feature_dims": None,
    "ridge": 1.0, "merge_above": 0.9, "arm_limit": 9, "retire_after": 99, "retire_below": 0.0,
    "dual_from": 1,
}  # fmt: skip


def summary(*pulls: tuple[str, str, float, float]) -> dict[str, Any]:
    proposal = {"id": "a2", "vector": OTHER, "when": "w", "text": "Try.", "parent": "a1"}
    return {"proposals": [proposal], "pulls": list(pulls), "more": 1}


MEMBER = Measured(
    "e", "right", summary(("a1", OLD, 0.5, 1.0), ("a2", OLD, 0.25, 1.0), ("a9", OLD, 1.0, 1.0)),
    texts=("one", "two", "three"),
)  # fmt: skip


def vector_of(text: str | None) -> str | None:
    return None if text in (None, "two") else NEW


def test_what_a_member_measured_is_what_its_episode_left() -> None:
    bare = Measured("e", "right", {})
    assert (bare.problem, bare.answer, bare.calls, bare.texts) == ("", None, 0, ())
    left = reflected(problem="p", answer="4", usage=Usage(calls=3), texts=("t",), summary={"a": 1})
    assert Measured.of("e", "wrong", left) == Measured("e", "wrong", {"a": 1}, "p", "4", 3, ("t",))
    assert Measured.of("e", "wrong", reflected(summary={})).texts == ()


def test_each_pull_goes_with_what_its_context_is_made_of() -> None:
    assert [text for _, text in pulls_of(MEMBER)] == ["one", "two", "three"]
    unsaid = Measured("e", "right", MEMBER.summary)
    assert [text for _, text in pulls_of(unsaid)] == [None, None, None]
    assert [*pulls_of(Measured("e", "right", {}))] == []


def test_a_member_keeps_only_what_has_a_vector_by_the_other_embedder() -> None:
    found = measured_anew(MEMBER, vector_of)
    assert found.texts == ("one", "three")
    assert found.summary["pulls"] == [["a1", NEW, 0.5, 1.0], ["a9", NEW, 1.0, 1.0]]
    assert [each["vector"] for each in found.summary["proposals"]] == [NEW]
    assert found.summary["more"] == 1
    lost = measured_anew(MEMBER, lambda text: None)
    assert (lost.texts, lost.summary["pulls"], lost.summary["proposals"]) == ((), [], [])


def test_arms_are_regressed_again_on_their_own_pulls_and_keep_their_figures() -> None:
    state = linucb({}, [MEMBER], CONSTANTS)
    assert [each["rows"] for each in state["arms"]] == [[[OLD, 0.5]], [[OLD, 0.25]]]
    history = [Folded({}, [MEMBER], CONSTANTS)]
    found = anew(state, history, CONSTANTS, vector_of)
    first, second = found["arms"]
    assert first["rows"] == [[NEW, 0.5]]
    assert (first["pulls"], first["rated"]) == (1, 1.0)
    assert "vector" not in first
    assert "rows" not in second, "nobody knows its context any more"
    assert (second["vector"], second["pulls"]) == (NEW, 1)
    assert [*history[0].credits()] == [("a1", "one", 0.5), ("a2", "two", 0.25)]
    assert anew({"x": 1}, history, CONSTANTS, vector_of) == {"x": 1}


def test_every_pull_goes_again_to_the_arm_that_it_went_to_whoever_was_evicted_since() -> None:
    full = CONSTANTS | {"arm_limit": 3, "evicts": True}
    vectors = [pack(tuple(float(at == one) for at in range(4))) for one in range(4)]

    def member(*pulls: tuple[str, float], new: tuple[str, ...] = ()) -> Measured:
        proposals = [
            {"id": arm, "vector": vectors[int(arm[1:]) - 1], "when": "w", "parent": "a1",
             "text": vectors[int(arm[1:]) - 1]}
            for arm in new
        ]  # fmt: skip
        made = [(arm, vectors[0], reward, reward) for arm, reward in pulls]
        said = {"proposals": proposals, "pulls": made}
        return Measured("e", "right", said, texts=(vectors[0],) * len(made))

    first = [member(("a3", 0.2), new=("a2", "a3"))]
    # The second arm was never pulled, and is the worst until the first member pulls it.
    then = [member(("a2", 0.9)), member(("a4", 0.5), new=("a4",)), member(("a2", 0.5))]
    one = linucb({}, first, full)
    two = linucb(one, then, full)
    assert [arm["id"] for arm in two["arms"]] == ["a1", "a2", "a4"]
    found = anew(two, [Folded({}, first, full), Folded(one, then, full)], full, lambda text: text)
    assert found == two


def test_a_vector_that_is_not_known_is_noted_once_in_the_order_in_which_it_was_missed() -> None:
    found = Anew({text_digest("known"): NEW})
    assert [found("b"), found("known"), found("a"), found("b"), found(None)] == [
        None, NEW, None, None, None,
    ]  # fmt: skip
    assert [*found.lacks] == ["b", "a"]
    assert found.unsaid == 1
    assert Anew().known == {}


@pytest.mark.parametrize("count", [0, 1, TOGETHER, TOGETHER + 1])
def test_texts_are_embedded_so_many_together(count: int) -> None:
    texts = [f"text {at}" for at in range(count)]
    asked = [*embed_named(texts)]
    assert all(isinstance(each, Embed) and each.named for each in asked)
    assert [text for each in asked if isinstance(each, Embed) for text in each.texts] == texts
    assert len(asked) == -(-count // TOGETHER)
    assert all(isinstance(each, Embed) and len(each.texts) <= TOGETHER for each in asked)


def test_items_are_embedded_anew_where_they_have_a_vector_by_what_they_are_found_by() -> None:
    items = [
        MemoryItem(str(at), "lesson", "r", f"text {at}", str(at), 1, vector=vector)
        for at, vector in enumerate((OLD, None, OLD))
    ]
    memory = Memory("s", 1, tuple(items[:2]), aside=((2, items[2]),))
    assert [*embed_anew(memory, lambda item: item.text)] == [Embed(("text 0", "text 2"))]


def test_a_rule_is_found_by_its_name_and_without_one_nothing_changes() -> None:
    before: dict[str, Any] = {"arms": []}
    assert learned_after(None, before, [MEMBER], CONSTANTS) is before
    assert learned_after("linucb@1", {}, [MEMBER], CONSTANTS) == linucb({}, [MEMBER], CONSTANTS)
    with pytest.raises(KeyError, match="linucb@9"):
        learned_after("linucb@9", {}, [], CONSTANTS)
    assert RULES.keys() == VECTORS.keys()
    graph = VECTORS["graph@2"]
    assert graph.member(MEMBER, vector_of) is MEMBER
    assert VECTORS["beliefs@1"].text_of(TextKept(text="x")) is None
    held = VECTORS["beliefs@1"].held(
        {"cases": [{"problem": "x", "vector": "o"}]}, (), {}, vector_of
    )
    assert held == {"cases": [{"problem": "x", "vector": NEW}]}
