"""Other tools' traces on every runtime: learned from in their order, before what comes after, and no work of ours."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from handlers.policies.base import Policy
from handlers.policies.taken import told
from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed, Graded, LessonDistilled
from schemas.events.traces import TraceTaken
from schemas.identity import is_taken
from schemas.problem import Feedback
from state.folds.budgets import BudgetsFold, day_of
from state.folds.state import State
from streams.engine.progress import Outcome
from streams.interfaces.cli.feedback import message
from streams.interfaces.cli.logs import counts
from streams.producing.sources import SourceLine
from streams.producing.traces.taking import Plan, Taken, Taker
from streams.replay.digest import log_digest
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog, now_ms
from streams.runtime.embedded.queries.spending import spent_since
from streams.runtime.embedded.rebuild import fold
from streams.telemetry.figures import Figures
from tests.contracts.runtimes import Life, Runtime, in_a_file, in_one_process, on_kafka_in_memory
from tests.pupil import PUPIL, PupilSettings, problems, publication

RUNTIMES = [in_one_process, in_a_file, on_kafka_in_memory]


def take(taken: TraceTaken, given: PupilSettings) -> dict[str, Any]:
    return {"said": told(taken)}


TAKING = replace(PUPIL, takes=take)
SIZE = 4
"""A window of three, and a short one behind it."""


def find(name: str) -> Policy[Any]:
    return TAKING


LIFE = Life(find=find)


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def case(number: int, **more: Any) -> dict[str, Any]:
    spoken = [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": f"The answer is {number}."},
    ]
    return {"messages": spoken, "id": f"t{number}", "tool": "bot", **more}


def cases(size: int = SIZE) -> list[dict[str, Any]]:
    return [case(n, verdict=n % 2 == 0) for n in range(size)]


def taken_in(
    runtime: Runtime, given: list[dict[str, Any]], domain: str = "d", tenant: str | None = None
) -> Taken:
    lines = [SourceLine(n, json.dumps(each).encode()) for n, each in enumerate(given, 1)]
    plan = Plan(source="traces.jsonl", find=find, policy="pupil", domain=domain, tenant=tenant)
    return Taker(runtime.log(), plan).run(lines)


def verified(log: SqliteLog) -> None:
    found = Verifier(log, find).run()
    assert (found.diverged, found.unverifiable) == ([], [])


def closed(log: SqliteLog) -> list[BatchClosed]:
    events = (record.event for record in log.records("learning", kinds=["batch.closed"]))
    return [event for event in events if isinstance(event, BatchClosed)]


def test_cases_are_learned_from_in_their_order_and_verify(runtime: Runtime) -> None:
    told = taken_in(runtime, cases())
    assert (told.taken, told.known, told.labelled, told.refused) == (SIZE, 0, SIZE, [])
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    assert [each.outcomes for each in closed(log)] == [("right", "wrong", "right"), ("wrong",)]
    assert all(is_taken(member) for each in closed(log) for member in each.members)
    lessons = [record.event for record in log.records(kinds=["lesson.distilled"])]
    assert [each.subject for each in lessons if isinstance(each, LessonDistilled)] == [
        f"d/{record.event.problem_id}"
        for record in log.records(kinds=["trace.taken"])
        if isinstance(record.event, TraceTaken)
    ]
    verified(log)


def test_what_comes_after_reads_what_they_taught(runtime: Runtime) -> None:
    taken_in(runtime, cases())
    runtime.log().publish(*publication(problems()))
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    opened = [record.event for record in log.records("events", kinds=["episode.opened"])]
    versions = sorted(each.memory_version for each in opened if isinstance(each, EpisodeOpened))
    assert versions == [2, 2, 2, 3, 3, 3, 4, 4]
    verified(log)


def test_they_are_no_work_of_ours(runtime: Runtime) -> None:
    taken_in(runtime, cases(), tenant="ann")
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    found = counts(log)
    assert (found["problems"], found["opened"], found["closed"], found["answers"]) == (0, 0, 0, 0)
    budgets = BudgetsFold()
    for each in spent_since(log, 0):
        budgets.feed(*each)
    assert budgets.of("ann", day_of(now_ms())).calls == 0
    figures = Figures()
    for row in log.db.execute("select kind, topic, episode, body from records order by offset"):
        figures.feed(*row)
    assert [batch.members for batch in figures.batches.values()] == [0, 0]
    assert not figures.closings
    assert figures.total == 0
    assert not figures.unlearned, "they were learned from"
    assert not list(log.records("events", kinds=["problem.admitted", "episode.closed"]))


def test_taking_a_file_again_takes_what_is_new(runtime: Runtime) -> None:
    taken_in(runtime, cases())
    assert runtime.live(LIFE) == Outcome()
    again = taken_in(runtime, cases())
    assert (again.taken, again.known) == (0, SIZE)
    more = taken_in(runtime, cases(SIZE + 2))
    assert (more.taken, more.known) == (2, SIZE)
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    assert [len(each.members) for each in closed(log)] == [3, 1, 2]
    verified(log)


def replied(answer: str, **more: Any) -> dict[str, Any]:
    """One conversation of a session, in which the same was asked."""
    spoken = [{"role": "user", "content": "a question"}, {"role": "assistant", "content": answer}]
    return {"messages": spoken, "id": "session", **more}


def test_conversations_under_one_id_are_each_a_case(runtime: Runtime) -> None:
    """Taking the file again finds all of them, whichever of them came first; each keeps its own verdict."""
    given = [replied(answer, verdict=answer == "3") for answer in "123"]
    first = taken_in(runtime, given[1:2])
    assert (first.taken, first.known) == (1, 0)
    told = taken_in(runtime, given)
    assert (told.taken, told.known, told.labelled, told.refused) == (2, 1, 2, [])
    for again in (given, given[::-1]):
        assert (taken_in(runtime, again).taken, taken_in(runtime, again).known) == (0, 3)
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    outcomes = fold(log, State()).outcomes
    taken = {r.episode: r.event for r in log.records(kinds=["trace.taken"])}
    found = {e.answer: outcomes.outcome(n) for n, e in taken.items() if isinstance(e, TraceTaken)}
    assert found == {"1": "wrong", "2": "wrong", "3": "right"}
    verified(log)


def test_answers_that_are_told_apart_by_their_field_are_each_a_case(runtime: Runtime) -> None:
    given = [{**case(1), "answer": answer, "id": None} for answer in "12"]
    assert taken_in(runtime, given).taken == 2
    assert taken_in(runtime, given).known == 2


def test_a_line_that_stands_twice_counts_once_with_what_was_said_of_either(
    runtime: Runtime,
) -> None:
    told = taken_in(runtime, [case(1), case(1, verdict=True), case(2, verdict=False), case(2)])
    assert (told.taken, told.known, told.labelled) == (2, 2, 2)
    assert runtime.live(LIFE) == Outcome()
    assert [each.outcomes for each in closed(runtime.log())] == [("right", "wrong")]
    verified(runtime.log())


def test_a_file_that_is_taken_again_overrules_nobody(runtime: Runtime) -> None:
    """What a tool said since counts, unless somebody else has judged the answer meanwhile."""
    taken_in(runtime, [case(1), case(2)])
    one, two = (r.episode for r in runtime.log().records(kinds=["trace.taken"]))
    runtime.log().publish([("feedback", "odd", {}, b"[]"), ("feedback", "odder", {}, b"{")])
    runtime.log().publish([message(Feedback(episode=one, verdict=False, by="ann"))])
    runtime.log().publish([message(Feedback(episode=two, passed=True, by="ann"))])
    taken_in(runtime, [case(1, verdict=True), case(2, verdict=True)])
    assert runtime.live(LIFE) == Outcome()
    outcomes = fold(runtime.log(), State()).outcomes
    assert [outcomes.outcome(each) for each in (one, two)] == ["wrong", "right"]
    verified(runtime.log())


def test_a_word_of_a_person_stands_for_the_trace_s_own(runtime: Runtime) -> None:
    taken_in(runtime, cases())
    name = next(r.episode for r in runtime.log().records(kinds=["trace.taken"]))
    word = Feedback(episode=name, verdict=False, by="ann")
    runtime.log().publish([message(word)])
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    assert fold(log, State()).outcomes.outcome(name) == "wrong"
    assert len([r for r in log.records(episode=name) if isinstance(r.event, Graded)]) == 2
    verified(log)


def test_a_label_of_the_problem_that_came_before_judges_its_traces(runtime: Runtime) -> None:
    label = Feedback(domain="d", problem_id="q", reference="7", by="source")
    runtime.log().publish([message(label)])
    runtime.live(LIFE)
    taken_in(
        runtime, [case(7, problem_id="q"), {**case(7, problem_id="q"), "answer": "8", "id": "u"}]
    )
    assert runtime.live(replace(LIFE, settle=True)) == Outcome()
    log = runtime.log()
    graded = [record.event for record in log.records(kinds=["graded"])]
    assert sorted(each.outcome for each in graded if isinstance(each, Graded)) == ["right", "wrong"]
    verified(log)


def test_a_domain_that_checks_itself_checks_them(runtime: Runtime) -> None:
    spoken = [
        {"role": "user", "content": "1 2 3 4"},
        {"role": "assistant", "content": "Answer: 1 * 2 * 3 * 4"},
    ]
    taken_in(runtime, [{"messages": spoken}], "game24")
    assert runtime.live(LIFE) == Outcome()
    log = runtime.log()
    assert [each.outcomes for each in closed(log)] == [("right",)]
    verified(log)


def test_what_an_earlier_version_of_a_grader_said_stands(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build with another version takes cases up again at its start, and grades none of them a second time."""
    spoken = [
        {"role": "user", "content": "1 2 3 4"},
        {"role": "assistant", "content": "Answer: 1 * 2 * 3 * 4"},
    ]
    given: dict[str, Any] = {"messages": spoken, "reference": "24"}
    with monkeypatch.context() as patch:
        patch.setattr("handlers.answers.grade.GAME24", "game24@1")
        taken_in(runtime, [given], "game24")
        runtime.live(replace(LIFE, drains_after=1))
    assert not list(runtime.log().records(kinds=["memory.versioned"]))
    assert runtime.live(replace(LIFE, asks_twice=True)) == Outcome()
    graded = [record.event for record in runtime.log().records(kinds=["graded"])]
    assert [each.grader for each in graded if isinstance(each, Graded)] == ["game24@1"] * 2
    verified(runtime.log())


def undisturbed() -> str:
    with in_one_process() as runtime:
        taken_in(runtime, cases())
        runtime.live(LIFE)
        return log_digest(runtime.log())


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8, 13])
def test_a_worker_that_dies_leaves_the_same(runtime: Runtime, after: int) -> None:
    taken_in(runtime, cases())
    runtime.live(replace(LIFE, dies_after=after))
    assert runtime.live(replace(LIFE, asks_twice=True)) == Outcome()
    assert log_digest(runtime.log()) == undisturbed()
    verified(runtime.log())
