"""How a policy asks: questions and branches are yielded as they are, and refusals say where and why."""

from __future__ import annotations

import re
from typing import Any

import pytest

from schemas.asking import (
    All,
    Ask,
    Diverged,
    Exhausted,
    OutOfLimit,
    ReplayError,
    Steps,
    Stopped,
    Unanswered,
)
from schemas.events.episode import Checked, Completed, EpisodeClosed, TextKept
from schemas.identity import digest
from schemas.questions import Embed, Remain, Review
from schemas.record import Record, event_id
from schemas.stamps import is_stamped, stamp_of, stamps_of


def lane(name: str) -> Steps[str]:
    yield Remain()
    return name


def test_a_question_is_yielded_and_gives_back_its_answer() -> None:
    def policy() -> Steps[Any]:
        return (yield from Review("Right?"))

    steps = policy()
    asked = next(steps)
    assert asked == Review("Right?")
    with pytest.raises(StopIteration) as ended:
        steps.send("yes")
    assert ended.value.value == "yes"
    with pytest.raises(NotImplementedError, match="Ask must name its parts"):
        Ask[int]().fingerprint()


def test_branches_are_yielded_together_and_a_lone_question_is_one_step() -> None:
    both: All[Any] = All([lane("a"), Embed(("x",))], [2, 1], twins=True)
    steps = iter(both)
    assert next(steps) is both
    assert (both.allow, both.twins, len(both.branches)) == ((2, 1), True, 2)
    assert next(both.branches[1]) == Embed(("x",))
    with pytest.raises(StopIteration) as ended:
        steps.send(("a", Stopped("calls")))
    assert ended.value.value == ("a", Stopped("calls"))
    plain: All[Any] = All([])
    assert (plain.allow, plain.twins, plain.branches) == (None, False, ())


def test_refusals_say_what_ran_out_what_changed_and_where() -> None:
    assert (str(OutOfLimit("calls")), OutOfLimit("calls").which) == ("calls", "calls")
    given_up = Unanswered("no model")
    assert (given_up.which, given_up.reason) == ("patience", "no model")
    changed = Diverged("p/d/x/r", "3", "template", "0f", "ab", Remain())
    assert str(changed) == "p/d/x/r at 3: template changed"
    assert (changed.episode, changed.address, changed.part) == ("p/d/x/r", "3", "template")
    assert (changed.recorded, changed.now, changed.question) == ("0f", "ab", Remain())
    assert Diverged("e", "1", "kind", "a", "b").question is None
    ended = Exhausted("p/d/x/r", "4")
    assert str(ended) == "p/d/x/r at 4: the record ends here"
    assert (ended.episode, ended.address) == ("p/d/x/r", "4")
    assert isinstance(ended, ReplayError)
    assert not isinstance(given_up, ReplayError), "a policy may catch it"


# ── Stamps ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("address", "stamped"),
    [("admitted", True), ("opened", True), ("batch", True), ("3", True), ("3.1.0", True),
     ("asked.3", True), ("asked.x", False), ("closed", False), ("graded.ab", False), ("3.x", False)],
)  # fmt: skip
def test_a_closing_speaks_of_what_its_episode_came_to(address: str, stamped: bool) -> None:
    assert is_stamped(address) == stamped


def test_a_stamp_is_of_a_body_however_it_is_written() -> None:
    assert stamp_of("3", 5, '{"b": 1, "a": 2}') == ("3", 5, digest({"a": 2, "b": 1}))
    assert stamp_of("3", 5, b'{"a":2,"b":1}') == stamp_of("3", 5, '{"b":1,"a":2}')
    assert stamp_of("3", 5, "no json") == ("3", 5, "")


def test_the_stamps_of_an_episode_are_its_first_records_in_order_and_when_it_closed() -> None:
    first, second, other = ("10", 7, "aa"), ("2", 8, "bb"), ("2", 9, "cc")
    opened, graded = ("opened", 1, "dd"), ("graded.x", 2, "ee")
    found = stamps_of([first, second, graded, other, opened], 99)
    assert found == digest([opened, second, first, 99])
    assert found == stamps_of([opened, second, first], 99)
    assert found != stamps_of([opened, second, first], 98)
    assert stamps_of([], 5) == digest([5])


def test_a_record_is_the_same_by_its_place() -> None:
    event = TextKept(text="x")
    record = Record(1, "events", 0, 2, "t/0f", "text", 3, event)
    assert event_id(record.episode, record.address) == "t/0f@text"
    for made in (Checked(asked="q", outcome="right", checker="none"),
                 Completed(asked="q", text="t", finish="stop", model="m")):  # fmt: skip
        assert made.act == {"checked": "assessed", "completed": "generated"}[made.kind]
    assert EpisodeClosed.act == "kept"
    assert re.fullmatch(r"[0-9a-f]{12}", stamps_of([], 5))
