"""Memory versions: what their items are, in which order, and what their digests hang on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.identity import digest, text_digest
from schemas.memory import Label, Labels, Memory, MemoryItem, meant


def item(name: str, kind: str = "lesson", role: str = "a", vector: str | None = None) -> MemoryItem:
    return MemoryItem(
        name, kind, role, f"text {name}", text_digest(f"text {name}"), 1, vector=vector
    )


RULE, ONE, TWO, THREE = item("r", "rule"), item("1"), item("2", role="b", vector="AAA="), item("3")
MEMORY = Memory("s", 4, (RULE, TWO), aside=((1, ONE), (3, THREE)))


def test_items_are_found_by_role_kind_and_id_and_stand_whole_in_their_first_order() -> None:
    assert MEMORY.whole() == (RULE, ONE, TWO, THREE)
    assert replace(MEMORY, aside=()).whole() is MEMORY.items
    assert MEMORY.of("a", "rule") == (RULE,)
    assert MEMORY.of("a", "lesson") == (), "what is retired is in no prompt"
    assert MEMORY.of("b", "lesson") == (TWO,)
    assert MEMORY.item("3") == THREE
    assert MEMORY.item("r") is None, "a rule is no lesson"
    assert MEMORY.item("9") is None
    assert [MEMORY.name, replace(MEMORY, revision=2).name] == ["4", "4.2"]
    assert ONE.mark == "1"
    assert RULE.mark == f"a~{RULE.text_digest}"


def test_an_item_without_a_new_vector_loses_its_own() -> None:
    held = replace(
        MEMORY, items=(item("2", vector="AAA="), RULE, item("5", vector="AAA=")),
        aside=((0, item("1", vector="AAA=")),), embedder="old",
    )  # fmt: skip
    assert [each.id for each in held.embedded()] == ["1", "2", "5"]
    anew = held.embedded_anew(["BBB=", "CCC="], "new", 3)
    assert (anew.embedder, anew.revision, anew.number) == ("new", 3, 4)
    assert [(each.id, each.vector) for each in anew.whole()] == [
        ("1", "BBB="), ("2", "CCC="), ("r", None), ("5", None),
    ]  # fmt: skip
    more = held.embedded_anew(["B", "C", "D", "E"], "new", 1)
    assert [each.vector for each in more.whole()] == ["B", "C", None, "D"]


def label(episode: str, confidence: float, right: bool | None = True) -> Label:
    return Label(episode, ("k",), confidence, right)


def test_the_newest_label_of_an_episode_counts_and_digests_build_on_each_other() -> None:
    first = Labels.on(None, 1, (label("x", 0.1), label("y", 0.2)))
    assert first is not None
    assert Labels.on(first, 2, ()) is first
    assert Labels.on(None, 2, ()) is None
    second = Labels.on(first, 2, (label("y", 0.3, None), label("z", 0.4, False)))
    assert second is not None
    assert [*second] == [label("y", 0.3, None), label("z", 0.4, False), label("x", 0.1)]
    assert first.digest == digest([None, [["x", 0.1, True], ["y", 0.2, True]]])
    assert second.digest == digest([first.digest, [["y", 0.3, None], ["z", 0.4, False]]])
    assert second.number == 2
    assert second == Labels(2, second.digest, (), None), "equal digests are equal labels"


@pytest.mark.parametrize(
    ("memory", "state"),
    [
        (Memory("s", 1), digest([])),
        (Memory("s", 1, (ONE,)), digest([meant(ONE)])),
        (Memory("other", 9, (ONE,), revision=1, embedder="e"), digest([meant(ONE)])),
        (Memory("s", 1, (ONE,), {"arms": [1]}), digest([[meant(ONE)], {"arms": [1]}])),
        (
            Memory("s", 1, (ONE,), aside=((0, TWO),)),
            digest([[meant(ONE)], {}, {"aside": [[0, meant(TWO)]]}]),
        ),
        (
            Memory("s", 1, standing={"ruled": {"1": "retired"}}),
            digest([[], {}, {"standing": {"ruled": {"1": "retired"}}}]),
        ),
        (
            Memory("s", 1, labels=Labels(1, "0f", (), None)),
            digest([[], {}, {"labels": "0f"}]),
        ),
    ],
)
def test_a_state_is_everything_that_an_episode_may_know_and_nothing_else(
    memory: Memory, state: str
) -> None:
    assert memory.state() == state
    assert meant(ONE) == ("1", "lesson", "a", "text 1", 1, "", (), None, None)
