"""What a record says that lacks a field, and which figures no event may hold."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode, plain
from schemas.events.episode import Completed, EpisodeClosed
from schemas.events.union import ANSWER_KINDS, FACT_KINDS, KINDS
from schemas.problem import UNLIMITED
from schemas.struct import to_json
from schemas.usage import NOTHING, Embedding, Usage
from tests.laws.events import EVENTS

UNSAID: dict[tuple[str, str], Any] = {
    **dict.fromkeys([
        ("generated", "round"), ("knowledge.consolidated", "new"), ("knowledge.reached", "cut"),
        ("problem.admitted", "partition"), ("voted", "unreadable"),
    ], 0),
    **dict.fromkeys([("episode.adopted", "void"), ("reward.judged", "self_judged")], False),
    **dict.fromkeys([
        ("answer.weighed", "context"), ("episode.closed", "items"), ("experience.felt", "inputs"),
        ("experience.shown", "scores"), ("knowledge.consolidated", "lessons"),
        ("knowledge.consolidated", "left_out"), ("note.linked", "evolved"),
        ("principle.induced", "strategies"), ("principle.induced", "paths"), ("reflected", "items"),
        ("reward.judged", "parts"), ("reward.judged", "differs"), ("strategy.chosen", "scores"),
        ("strategy.matched", "rates"), ("thresholds.set", "history"),
    ], ()),
    **dict.fromkeys([
        ("cases.reached", "subject"), ("experience.felt", "subject"), ("insight.voted", "text"),
        ("principle.induced", "summary"), ("principle.induced", "confidence"),
        ("principle.induced", "uncertainty"), ("principle.induced", "reason"),
        ("strategy.matched", "subject"), ("tool.called", "text"),
    ], ""),
    **dict.fromkeys([
        ("controller.acted", "parse"), ("generated", "parse"), ("monitor.reported", "parse"),
        ("progress.reported", "parse"), ("reward.judged", "parse"), ("strategy.proposed", "parse"),
    ], "ok"),
    **dict.fromkeys([
        ("confidence.stated", "parse"), ("oracle.scored", "parse"), ("thought.judged", "parse"),
    ], "first"),
    **dict.fromkeys([("batch.closed", "limits"), ("problem.forgotten", "limits")], UNLIMITED),
    ("completed", "attempts"): 1,
    ("confidence.stated", "wording"): "A",
    ("generated", "role"): "reasoner",
    ("node.repaired", "kept"): "new",
    ("series.opened", "order"): "released",
    ("thresholds.set", "factor"): 1.0,
}  # fmt: skip
"""What is known of a field though nobody wrote it; any other is unknown then, or must be said."""


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(st.data())
@settings(max_examples=3)
def test_a_record_without_a_field_says_what_every_build_takes_it_to_say(
    kind: str, data: st.DataObject
) -> None:
    body = plain(data.draw(EVENTS[kind]))
    required = {each.name for each in structs.fields(KINDS[kind]) if each.required}
    bare = {name: body[name] for name in ("kind", *sorted(required))}
    read = decode(kind, orjson.dumps(bare))
    found = {each.name: getattr(read, each.name) for each in structs.fields(KINDS[kind])}
    known = {name: value for (of, name), value in UNSAID.items() if of == kind}
    assert found.pop("version") == 1
    assert {name: found[name] for name in known} == known
    assert all(found[name] is None for name in found.keys() - known - required)
    assert bare.keys() | known.keys() | {"version"} == plain(read).keys(), "and it is written out"


def test_every_kind_is_an_answer_a_fact_or_of_the_life_of_episodes_and_memories() -> None:
    assert {"completed", "tool.called", "review.answered"} < ANSWER_KINDS
    assert {"generated", "voted", "lesson.distilled"} < FACT_KINDS
    assert not ANSWER_KINDS & FACT_KINDS
    assert not {"episode.closed", "problem.admitted", "batch.closed"} & (ANSWER_KINDS | FACT_KINDS)
    assert [KINDS["completed"].act, KINDS["voted"].act] == ["generated", "decided"]


def body_of(kind: str, **said: Any) -> bytes:
    return orjson.dumps({"kind": kind, **said})


COMPLETED = {"asked": "q", "text": "t", "finish": "stop", "model": "m"}
VOTED = {"votes": 0, "of": 1}


def test_counts_begin_with_nothing_and_what_is_there_with_one() -> None:
    assert plain(decode("voted", body_of("voted", **VOTED)))["votes"] == 0
    free = decode("completed", body_of("completed", **COMPLETED, attempts=0, cost=0))
    assert (plain(free)["attempts"], plain(free)["cost"]) == (0, 0)
    for kind, said, wrong in (
        ("voted", VOTED | {"of": 0}, "of: Expected `int` >= 1"),
        ("voted", VOTED | {"votes": -1}, "votes: Expected `int` >= 0"),
        ("completed", COMPLETED | {"attempts": -1}, "attempts: Expected `int` >= 0"),
        ("completed", COMPLETED | {"cost": -0.5}, "cost: Expected `float` >= 0"),
        ("completed", COMPLETED | {"price": 1}, "price: contains unknown"),
    ):
        with pytest.raises(BadEvent, match=wrong):
            decode(kind, body_of(kind, **said))


def completed(**more: Any) -> Completed:
    said: dict[str, Any] = {**COMPLETED, **more}
    return Completed(**said)


def test_tokens_of_a_completion_are_known_only_where_both_parts_are() -> None:
    both = completed(prompt_tokens=0, completion_tokens=7, cost=0.5, attempts=2)
    assert (both.calls, both.tokens) == (1, 7)
    assert completed(prompt_tokens=3).tokens is None
    assert completed(completion_tokens=3).tokens is None
    assert both.usage == Usage(calls=1, attempts=2, prompt_tokens=0, completion_tokens=7, cost=0.5)


def test_a_closing_is_told_whole_but_for_what_only_the_log_needs() -> None:
    closed = EpisodeClosed(status="answered", ended_by="answer", answer="4", usage=NOTHING)
    told = closed.told()
    assert told == {
        "status": "answered",
        "ended_by": "answer",
        "answer": "4",
        "confidence": None,
        "confidence_source": None,
        "calibrated": None,
        "usage": NOTHING.told(),
        "items": (),
    }
    assert NOTHING.told() == {
        "calls": 0, "attempts": 0, "prompt_tokens": 0, "completion_tokens": 0,
        "reasoning_tokens": 0, "cached_tokens": 0, "cost": 0.0, "seconds": 0.0,
    }  # fmt: skip
    with_vectors = structs.replace(NOTHING, embedding=Embedding(attempts=2, tokens=5))
    assert with_vectors.told()["embedding"] == {
        "attempts": 2, "tokens": 5, "cost": None, "seconds": None,
    }  # fmt: skip


@given(st.lists(st.sampled_from([Usage(calls=1, attempts=2, cost=0.5), NOTHING,
                                 Usage(calls=3, prompt_tokens=4, completion_tokens=1),
                                 Usage(embedding=Embedding(attempts=1, tokens=3)),
                                 Usage(embedding=Embedding(attempts=2))])))  # fmt: skip
def test_a_sum_with_an_unknown_part_is_unknown_and_an_empty_one_is_nothing(
    parts: list[Usage],
) -> None:
    whole = sum(parts, NOTHING)
    assert whole.calls == sum(each.calls for each in parts)
    assert whole.attempts == sum(each.attempts for each in parts)
    unknown = any(each.prompt_tokens is None for each in parts)
    assert (whole.tokens is None) == unknown
    if not unknown:
        assert whole.tokens == sum(each.tokens or 0 for each in parts)
    took = [each.embedding for each in parts if each.embedding is not None]
    assert (whole.embedding is None) == (not took)
    if whole.embedding is not None:
        assert whole.embedding.attempts == sum(each.attempts for each in took)
        assert (whole.embedding.tokens is None) == any(each.tokens is None for each in took)


def test_nothing_was_spent_where_nothing_is_said_but_of_what_is_unknown() -> None:
    assert (Usage().calls, Usage().attempts, Embedding().attempts) == (0, 0, 0)
    assert (Usage().tokens, Usage().cost, Embedding().tokens) == (None, None, None)
    assert to_json(Embedding()) == b'{"attempts":0}'
    assert to_json(Usage()) == b'{"calls":0,"attempts":0}'


def test_events_are_values() -> None:
    event: Event = completed()
    with pytest.raises(AttributeError, match="immutable"):
        event.asked = "other"  # type: ignore[attr-defined]
    assert {completed(), completed()} == {completed()}
