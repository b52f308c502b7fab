"""Episodes that wait for a person: on every runtime, through every crash, and without holding anything up."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import pytest

from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import All, Ask, Steps
from schemas.events.episode import EpisodeClosed, ReviewAnswered, ReviewAsked
from schemas.events.learning import Graded
from schemas.events.reasoning import Voted
from schemas.identity import canonical, digest
from schemas.problem import Feedback, Problem
from schemas.questions import Review
from streams.replay.digest import log_digest
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from tests.contracts.runtimes import (
    Life,
    Runtime,
    in_a_file,
    in_one_process,
    on_kafka_in_memory,
)
from tests.normal import spelled_otherwise
from tests.pupil import PupilSettings, say

Made: TypeAlias = Callable[[], AbstractContextManager[Runtime]]


def solve(task: Task, given: PupilSettings) -> Steps[Conclusion]:
    """Ask a model and two people at once, then one of them again; a problem ``plain`` asks nobody."""
    if task.problem == "plain":
        reply = yield from say(task.problem)
        return Conclusion(answer=reply.text, ended_by="answered")
    branches: list[Steps[Any] | Ask[Any]] = [ask(task), confirm(task), Review("Which one is it?")]
    lanes = yield from All(branches)
    yield Voted(answer=str(lanes[0]), votes=1, of=3)
    heard = yield from Review("Are you sure?", str(lanes[0]))
    return Conclusion(answer=f"{lanes[0]} {lanes[1]} {heard.verdict}", ended_by="reviewed")


def ask(task: Task) -> Steps[Any]:
    reply = yield from say(task.problem)
    return reply.text


def confirm(task: Task) -> Steps[Any]:
    heard = yield from Review("Is it one?", "1")
    return f"{heard.result} by {heard.by}"


ASKER = Policy(name="asker", version="1", about="asks", settings=PupilSettings, solve=solve)
ADDRESSES = ("0.1.0", "0.2.0", "2")


def find(name: str) -> Policy[Any]:
    return ASKER


def life(**more: Any) -> Life:
    return Life(find=find, asks_twice=True, **more)


def put(runtime: Runtime, name: str, problem: str = "1") -> str:
    """Put a problem; its episode once it is admitted."""
    said = Problem(id=name, problem=problem, domain="d", policy="asker")
    body = said.model_dump_json().encode()
    runtime.log().publish([("problems", f"p/d/{name}/x", {}, body)])
    return name


def episode(runtime: Runtime, name: str) -> str:
    found = runtime.log().records("events", kinds=["problem.admitted"])
    return next(each.episode for each in found if each.event.problem.id == name)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def tell(runtime: Runtime, name: str, address: str, **word: Any) -> None:
    """A person's answer to a question."""
    said = Feedback(episode=episode(runtime, name), review=address, by="Ada", **word)
    value = said.model_dump(mode="json", exclude_none=True)
    runtime.log().publish([("feedback", digest(value), {}, canonical(value))])


def tell_all(runtime: Runtime, name: str, address: str) -> None:
    words: dict[str, dict[str, Any]] = {
        "0.1.0": {"passed": True},
        "0.2.0": {"reference": "two"},
        "2": {"verdict": True, "of": "x"},
    }
    tell(runtime, name, address, **words[address])


def events(log: SqliteLog, kind: type[Any]) -> list[Any]:
    return [each.event for each in log.records() if isinstance(each.event, kind)]


def verified(log: SqliteLog) -> list[Any]:
    assert spelled_otherwise(log) == []
    return Verifier(log, find).run().diverged


@pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def test_an_episode_waits_for_each_of_its_people_and_goes_on_with_what_they_said(
    runtime: Runtime,
) -> None:
    put(runtime, "q")
    ended = runtime.live(life())
    assert ended is not None
    assert ended.asked == [episode(runtime, "q")]
    asked = events(runtime.log(), ReviewAsked)
    assert sorted((each.address, each.question, each.proposed) for each in asked) == [
        ("0.1.0", "Is it one?", "1"),
        ("0.2.0", "Which one is it?", None),
    ]
    assert verified(runtime.log()) == [], "while it waits"
    for address in ADDRESSES:
        assert events(runtime.log(), EpisodeClosed) == []
        tell_all(runtime, "q", address)
        ended = runtime.live(life())
    assert ended is not None
    assert (ended.asked, ended.held) == ([], [])
    (closed,) = events(runtime.log(), EpisodeClosed)
    assert closed.answer.endswith("passed by Ada True")
    heard = [each.result for each in events(runtime.log(), ReviewAnswered)]
    assert sorted(heard) == ["answered", "answered", "passed"]
    assert len(events(runtime.log(), ReviewAsked)) == 3, "each was put once"
    assert events(runtime.log(), Graded) == [], "none of it was about the answer"
    assert verified(runtime.log()) == []


def test_who_waits_holds_no_slot(runtime: Runtime) -> None:
    waiting = [put(runtime, f"q{n}") for n in range(4)]
    put(runtime, "z", "plain")
    ended = runtime.live(life(slots=1))
    assert ended is not None
    assert ended.asked == sorted(episode(runtime, name) for name in waiting)
    assert len(events(runtime.log(), EpisodeClosed)) == 1


def test_an_answer_that_came_before_its_question_is_heard_at_once(runtime: Runtime) -> None:
    put(runtime, "q")
    runtime.live(life())
    for address in ADDRESSES:
        tell_all(runtime, "q", address)
    ended = runtime.live(life())
    assert ended is not None
    assert ended.asked == []
    assert len(events(runtime.log(), EpisodeClosed)) == 1


def test_the_newest_word_counts_until_it_is_recorded(runtime: Runtime) -> None:
    put(runtime, "q")
    runtime.live(life())
    tell(runtime, "q", "0.2.0", reference="one")
    tell(runtime, "q", "0.2.0", reference="two")
    runtime.live(life())
    tell(runtime, "q", "0.2.0", reference="three")
    runtime.live(life())
    assert [each.answer for each in events(runtime.log(), ReviewAnswered)] == ["two"]


@pytest.mark.parametrize("made", [in_one_process, on_kafka_in_memory])
@pytest.mark.parametrize("after", range(1, 16, 2))
def test_a_crash_after_any_record_loses_no_question_and_no_answer(made: Made, after: int) -> None:
    with made() as calm, made() as wild:
        for runtime, crashes in ((calm, False), (wild, True)):
            put(runtime, "q")
            for address in (None, *ADDRESSES):
                if address is not None:
                    tell_all(runtime, "q", address)
                if crashes:
                    runtime.live(life(dies_after=after))
                runtime.live(life())
        assert log_digest(wild.log()) == log_digest(calm.log())
        assert len(events(wild.log(), EpisodeClosed)) == 1
        assert verified(wild.log()) == []


ASKED, ANSWERED = "address = 'asked.0.1.0'", "address = '0.2.0'"


@pytest.mark.parametrize(
    ("where", "field", "value"),
    [
        (ASKED, "question", "Is it two?"),
        (ASKED, "proposed", "2"),
        (ASKED, "address", "0.2.0"),
        (ANSWERED, "answer", "three"),
        (ANSWERED, "by", "Bob"),
        (ANSWERED, "result", "passed"),
        (ANSWERED, "verdict", True),
    ],
)
def test_verify_finds_what_was_changed_of_a_question_and_of_what_a_person_said(
    where: str, field: str, value: object
) -> None:
    with in_one_process() as runtime:
        put(runtime, "q")
        runtime.live(life())
        tell_all(runtime, "q", "0.2.0")
        runtime.live(life())
        log = runtime.log()
        assert verified(log) == []
        changed = "update records set body = json_set(body, ?, ?) where "
        said = "true" if value is True else None
        if said:
            changed = changed.replace("?)", "json(?))")
        log.db.execute(changed + where, (f"$.{field}", said or value))
        assert Verifier(log, find).run().diverged != []
