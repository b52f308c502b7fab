"""Where records may stand, and whom their names speak of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.codec import UnknownEvent
from schemas.events.episode import (
    Completed,
    EpisodeAdopted,
    EpisodeClosed,
    EpisodeParked,
    PartitionClaimed,
    ReviewAsked,
    TextKept,
)
from schemas.events.learning import PositionVoided, SubjectErased, TickPassed
from schemas.places import EVENTS, LEARNING, PLACES, stands
from schemas.subjects import erasure_of, of_subject, own, subject_of
from schemas.usage import NOTHING

SAID = Completed(asked="q", text="t", finish="stop", model="m")
CLOSED = EpisodeClosed(status="answered", ended_by="x", usage=NOTHING)
TICK = TickPassed(scope="d/s", batch=3)
VOID = PositionVoided(scope="d/s", series="x", position=2, reason="r")
ANN = f"subject-{'0f' * 8}"
BOB = f"subject-{'ab' * 8}"


@pytest.mark.parametrize(
    ("name", "address", "event", "topics"),
    [
        ("p/d/x/r", "3.1", SAID, {EVENTS}),
        ("s/x/1", "0", SAID, {EVENTS}),
        ("q/p/d/x/r/3/w/0", "4", SAID, {EVENTS}),
        ("b/d/s/1", "4", SAID, {LEARNING}),
        ("n/d/s/x", "4", SAID, set[str]()),
        ("p/d/x/r", "closed", SAID, set[str]()),
        ("p/d/x/r", "closed", CLOSED, {EVENTS}),
        ("b/d/s/1", "closed", CLOSED, {LEARNING}),
        ("p/d/x/r", "3", CLOSED, set[str]()),
        ("p/d/x/r", "asked.3", ReviewAsked(address="3", question="?"), {EVENTS}),
        ("p/d/x/r", "asked.4", ReviewAsked(address="3", question="?"), set[str]()),
        ("q/d/x/r", "asked.3", ReviewAsked(address="3", question="?"), set[str]()),
        ("p/d/x/r", "parked.0", EpisodeParked(reason="r"), {EVENTS}),
        ("p/d/x/r", "parked", EpisodeParked(reason="r"), set[str]()),
        ("p/d/x/r", "adopted.ab", EpisodeAdopted(), {EVENTS, LEARNING}),
        ("w/1", "claimed.7", PartitionClaimed(worker="w"), {EVENTS, LEARNING}),
        ("t/abc", "text", TextKept(text="x"), {EVENTS, LEARNING}),
        ("t/abc", "texts", TextKept(text="x"), set[str]()),
        ("n/d/s/-", "tick.3", TICK, {LEARNING}),
        ("n/d/s/-", "tick.4", TICK, set[str]()),
        ("n/d/other/-", "tick.3", TICK, set[str]()),
        ("n/d/s/x", "void.2", VOID, {LEARNING}),
        ("n/d/s/y", "void.2", VOID, set[str]()),
        (f"e/{ANN}", "erased", SubjectErased(subject=ANN, by="ann"), {LEARNING}),
        (f"e/{BOB}", "erased", SubjectErased(subject=ANN, by="ann"), set[str]()),
        ("anywhere", "at all", UnknownEvent(named="new", body="{}"), {EVENTS, LEARNING}),
    ],
)
def test_a_record_stands_where_records_of_its_kind_may(
    name: str, address: str, event: Event, topics: set[str]
) -> None:
    assert {topic for topic in (EVENTS, LEARNING) if stands(name, address, event, topic)} == topics
    assert stands(name, address, event) == bool(topics)


@given(
    st.sampled_from((SAID, CLOSED, TICK, VOID, EpisodeAdopted(), TextKept(text="x"))),
    st.builds(
        "{}{}".format,
        st.sampled_from(("p/", "b/", "n/", "t/", "e/", "")),
        st.text("pbn/d-s3", max_size=8),
    ),
    st.sampled_from(("3", "closed", "tick.3", "void.2", "adopted.x", "text", "")),
)
def test_no_place_is_passed_over_that_holds_a_record(event: Event, name: str, address: str) -> None:
    """Only places of its sort of episode are looked at; each of all others would say no."""
    every = PLACES[type(event)]
    assert stands(name, address, event) == any(p.holds(name, address, event) for p in every)
    for topic in (EVENTS, LEARNING):
        wanted = any(p.topic == topic and p.holds(name, address, event) for p in every)
        assert stands(name, address, event, topic) == wanted


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        (ANN, ANN),
        (f"p/d/{ANN}.x/r", ANN),
        (f"b/d/mc2/{ANN}/0/3", ANN),
        (f"p/d/x.{ANN}/r", ANN),
        (f"p/d/x{ANN}/r", None),
        (f"p/d/{ANN}x/r", None),
        (f"p/d/{ANN}-x/r", None),
        (f"e/{ANN}", None),
        ("p/d/subject-x/r", None),
    ],
)
def test_a_name_speaks_of_the_subject_whose_mark_it_holds_whole(
    name: str, subject: str | None
) -> None:
    assert subject_of(name) == subject


def test_what_is_a_subjects_is_named_so_once() -> None:
    assert of_subject(None, "x", "main") == ("x", "main")
    assert of_subject(ANN, "x", "main") == (f"{ANN}.x", ANN)
    assert of_subject(ANN, f"{ANN}.x", "notes") == (f"{ANN}.x", f"{ANN}.notes")
    assert own(BOB, f"{ANN}.x") == f"{BOB}.{ANN}.x"
    assert erasure_of(ANN) == f"e/{ANN}"
