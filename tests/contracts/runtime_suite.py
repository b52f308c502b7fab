"""What every runtime does with the same problems. A subclass says which runtime, by a fixture."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from schemas.answer_type import AnswerType
from schemas.events.base import Event
from schemas.events.episode import (
    EpisodeAdopted,
    EpisodeClosed,
    EpisodeParked,
    QuestionAbandoned,
)
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    MemoryVersioned,
)
from schemas.identity import episode_id
from schemas.problem import Feedback, Limits, Problem
from schemas.vectors import pack, unpack
from state.folds.state import State
from streams.answering.embedders.hashed import hashed
from streams.core.backbone import SetupBroken
from streams.engine.learner import Learner
from streams.engine.progress import Outcome
from streams.interfaces.cli.doctor.adopting import voided
from streams.replay.digest import log_digest
from streams.replay.lineage import command
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.contracts.runtimes import Find, Life, OnKafka, Runtime, count, in_one_process, messages
from tests.normal import spelled_otherwise
from tests.pupil import (
    PUPIL,
    SIZE,
    Put,
    alone,
    both,
    by_file,
    meant,
    newer,
    not_given,
    one_that_says_nonsense,
    only_the_other,
    opened_with,
    problems,
    publication,
)
from tests.streams.measuring import BANDIT, lived

WINDOW = 3


@pytest.fixture(scope="session")
def undisturbed() -> tuple[str, str]:
    """What the series of problems means: its digest and the hash of what was learned."""
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        return meant(runtime.log())


def verified(log: SqliteLog) -> list[Any]:
    """What diverges when every policy is run again over its record; all of it is spelled in one way."""
    assert spelled_otherwise(log) == []
    return Verifier(log, lambda name: PUPIL).run().diverged


def learned(log: SqliteLog) -> Learner:
    """What the log adds up to."""
    learner = Learner(lambda name: PUPIL, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    return learner


def changed(log: SqliteLog, embedder: str) -> tuple[str, str, Event]:
    """The command that has the only scope's lessons found by another embedder."""
    (scope,) = learned(log).scopes
    return f"n/{scope}/-", "embedder.0", EmbedderChanged(scope=scope, embedder=embedder)


def meant_by_both(log: SqliteLog) -> tuple[str, str]:
    """The digests of a log on which two policies worked."""
    verifier = Verifier(log, both)
    done = verifier.run()
    assert (done.diverged, done.unverifiable) == ([], [])
    return log_digest(log), verifier.learner.state_hash()


@pytest.fixture(scope="session")
def two_undisturbed() -> tuple[str, str]:
    """What the series and a problem of another policy mean."""
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        runtime.log().publish([alone("z", policy="other")])
        assert runtime.live(Life(find=both)) == Outcome()
        return meant_by_both(runtime.log())


def unfinished(log: SqliteLog) -> tuple[set[str], set[str]]:
    """Episodes that are not closed: who was opened, and who was only admitted."""
    opened, closed = (
        {record.episode for record in log.records(kinds=[f"episode.{life}"])}
        for life in ("opened", "closed")
    )
    admitted = {record.episode for record in log.records(kinds=["problem.admitted"])}
    return opened - closed, admitted - opened - closed


class RuntimeSuite:
    """One instance a runtime."""

    @pytest.mark.parametrize("slots", [1, 20])
    def test_a_series_means_the_same(
        self, runtime: Runtime, undisturbed: tuple[str, str], slots: int
    ) -> None:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life(slots=slots, delays=(3, 0, 5))) == Outcome()
        log = runtime.log()
        assert meant(log) == undisturbed
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}
        assert log.counter("repeated") == log.counter("stale") == 0
        assert len(messages(log, "answers")) == SIZE

    def test_what_an_application_gives_a_problem_comes_back_on_its_answer(
        self, runtime: Runtime
    ) -> None:
        topic, key, _, body = alone("a")
        given = {"correlation-id": "7", "traceparent": "00-é"}
        runtime.log().publish([(topic, key, given, body), alone("b")])
        assert runtime.live(Life()) == Outcome()
        found = {
            key.split("/")[2]: headers for _, key, headers, _ in runtime.log().messages("answers")
        }
        assert given.items() <= found["a"].items()
        assert not found["b"].keys() & given.keys()

    def test_a_second_worker_finds_nothing_to_do(
        self, runtime: Runtime, undisturbed: tuple[str, str]
    ) -> None:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        runtime.log().publish(*publication(problems()))
        twice = isinstance(runtime, OnKafka)  # while it gathers what was closed long ago
        assert runtime.live(Life(asks_twice=twice)) == Outcome()
        assert meant(runtime.log()) == undisturbed

    def test_workers_that_die_mean_the_same(
        self, runtime: Runtime, undisturbed: tuple[str, str]
    ) -> None:
        runtime.log().publish(*publication(problems()))
        for left in (9, 23, 40):
            runtime.live(Life(dies_after=left))
        assert runtime.live(Life()) == Outcome()
        log = runtime.log()
        assert meant(log) == undisturbed
        assert log.counter("repeated") == 0

    def test_a_drained_worker_leaves_what_the_next_one_finishes(
        self, runtime: Runtime, undisturbed: tuple[str, str]
    ) -> None:
        runtime.log().publish(*publication(problems()))
        runtime.live(Life(drains_after=7, delays=(1, 4)))
        assert count(runtime.log(), "completed") < 3 * SIZE
        assert runtime.live(Life()) == Outcome()
        assert meant(runtime.log()) == undisturbed

    def test_places_that_nobody_fills_are_named_and_voided_when_settling(
        self, runtime: Runtime
    ) -> None:
        given = [problem for problem in problems() if problem.position not in (1, 5)]
        runtime.log().publish(*publication(given))
        held = runtime.live(Life())
        assert held is not None
        assert any("waits for position 1" in each for each in held.held)
        assert runtime.live(Life(settle=True)) == Outcome()
        batches = [r.event for r in runtime.log().records(kinds=["batch.closed"])]
        assert [len(b.members) for b in batches if isinstance(b, BatchClosed)] == [2, 2, 2]

    def test_a_series_without_barriers_waits_for_nothing(self, runtime: Runtime) -> None:
        messages_, commands = publication(problems(labelled=False))
        ((episode, address, opened),) = commands
        runtime.log().publish(
            messages_, [(episode, address, structs.replace(opened, timing="streaming"))]
        )
        assert runtime.live(Life(settle=True)) == Outcome()
        assert len(messages(runtime.log(), "answers")) == SIZE

    @pytest.mark.parametrize("more", [b'"never": 1', b'"walk": 99999999999999999999'])
    def test_what_is_no_problem_is_kept_as_it_came(self, runtime: Runtime, more: bytes) -> None:
        broken = b'{"id": "7", "problem": "1", "domain": "d", "policy": "pupil", ' + more + b"}"
        good = (
            Problem(id="good", problem="1", domain="d", policy="pupil").model_dump_json().encode()
        )
        runtime.log().publish(
            [("problems", "broken", {}, broken), ("problems", "p/d/good/x", {}, good)]
        )
        assert runtime.live(Life(settle=True)) == Outcome()
        log = runtime.log()
        assert messages(log, "dead-letters") == [broken]
        ((_, _, headers, _),) = log.messages("dead-letters")
        assert headers["__metalogue.errors.topic"] == "problems"
        assert len(messages(log, "answers")) == 1

    def test_what_says_a_thing_twice_or_spells_a_name_apart_is_kept_as_it_came(
        self, runtime: Runtime
    ) -> None:
        """Readers differ in which of two values they take; accents apart would make two problems of one."""
        twice = b'{"id": "a", "problem": "1", "domain": "d", "policy": "pupil", "problem": "2"}'
        apart = '{"id": "e\u0301", "problem": "1", "domain": "d", "policy": "pupil"}'.encode()
        verdicts = b'{"domain": "d", "problem_id": "b", "verdict": true, "verdict": false}'
        runtime.log().publish(
            [
                *(("problems", f"{at}", {}, raw) for at, raw in enumerate((twice, apart))),
                ("feedback", "said", {}, verdicts),
                alone("b"),
            ]
        )
        assert runtime.live(Life(settle=True)) == Outcome()
        log = runtime.log()
        found = {value: headers for _, _, headers, value in log.messages("dead-letters")}
        said = {raw: found[raw]["__metalogue.errors.message"].partition(":")[0] for raw in found}
        assert {raw: said[raw] for raw in (twice, apart)} == {twice: "problem", apart: "id"}
        assert len(messages(log, "answers")) == 1
        assert count(log, "graded") == 0

    def test_a_problem_that_is_there_with_another_type_of_answer_is_kept_as_it_came(
        self, runtime: Runtime
    ) -> None:
        """Waiting, in the same batch, and answered long ago: the type is no part of an episode's name."""
        number = AnswerType(type="number")

        def put(name: str, id: str, typed: AnswerType | None, text: str = "1") -> Put:
            problem = Problem(id=id, problem=text, domain="d", policy="pupil", answer_type=typed)
            return "problems", name, {}, problem.model_dump_json(exclude_defaults=True).encode()

        listed, choice = "Which? A) one B) two", AnswerType(type="choice")
        first = [put("a1", "a", None), put("b1", "b", number), put("c1", "c", choice, listed)]
        other = [put("a2", "a", number), put("b2", "b", AnswerType(type="number", unit="h"))]
        runtime.log().publish([*first, other[0]])
        assert runtime.live(Life(settle=True)) == Outcome()
        said = choice.model_copy(update={"options": ("one", "two")})
        same = [put("a3", "a", None), put("b3", "b", number), put("c2", "c", said, listed)]
        runtime.log().publish([other[1], *same, put("b4", "b", None)])
        assert runtime.live(Life(settle=True)) == Outcome()

        log = runtime.log()
        found = [(headers, value) for _, _, headers, value in log.messages("dead-letters")]
        assert {value for _, value in found} == {other[0][-1], other[1][-1], put("", "b", None)[-1]}
        told = {headers["__metalogue.errors.message"] for headers, _ in found}
        assert told == {
            f"answer_type: {name!r} is already there with another type of answer" for name in "ab"
        }
        admitted: list[Any] = [each.event for each in log.records(kinds=["problem.admitted"])]
        types = {each.problem.id: each.problem.answer_type for each in admitted}
        assert len(admitted) == len(messages(log, "answers")) == 3
        assert (types["a"], types["b"]) == (None, number)

    def test_feedback_that_comes_late_is_graded_and_learned_from(self, runtime: Runtime) -> None:
        runtime.log().publish([alone("a")])
        assert runtime.live(Life(settle=True)) == Outcome()
        said = Feedback(domain="d", problem_id="a", verdict=True, by="ann")
        body = said.model_dump_json(exclude_none=True).encode()
        for _ in range(2):
            runtime.log().publish([("feedback", "said", {}, body)])
            assert runtime.live(Life(settle=True)) == Outcome()
        assert count(runtime.log(), "graded") == 1

    @pytest.mark.parametrize("late", [False, True])
    def test_the_newest_verdict_of_a_person_stands(self, runtime: Runtime, late: bool) -> None:
        """Whatever it speaks of, and whatever a reference says before it or after it."""
        problem = Problem(id="a", problem="1", domain="d", policy="pupil")
        episode = episode_of(problem, "pupil")
        said = [
            Feedback(domain="d", problem_id="a", reference="no", by="source"),
            Feedback(episode=episode, verdict=False, by="bob"),
            Feedback(domain="d", problem_id="a", verdict=True, by="ann"),
            Feedback(domain="d", problem_id="a", reference="nor that", by="source"),
        ]
        runtime.log().publish([alone("a")] if late else [])
        for number, each in enumerate(said):
            body = each.model_dump_json(exclude_none=True).encode()
            runtime.log().publish([("feedback", f"said.{number}", {}, body)])
            assert runtime.live(Life(settle=True)) == Outcome()
        if not late:
            runtime.log().publish([alone("a")])
            assert runtime.live(Life(settle=True)) == Outcome()
        log = runtime.log()
        assert count(log, "graded") == 4
        known = fold(log, State()).outcomes.of(episode)
        assert (known.outcome, known.by) == ("right", "ann")
        assert learned(log).grades.of(episode) == known
        assert verified(log) == []

    def test_an_episode_of_another_build_is_parked_until_a_person_lets_it_go_on(
        self, runtime: Runtime
    ) -> None:
        runtime.log().publish([alone("a")])
        runtime.live(Life(drains_after=2, delays=(4,)))
        parked = runtime.live(Life(find=newer))
        assert parked is not None
        (episode,) = parked.parked
        assert runtime.live(Life()) == Outcome(parked=[episode])
        runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=False))])
        assert runtime.live(Life(settle=True)) == Outcome()
        assert len(messages(runtime.log(), "answers")) == 1

    @pytest.mark.parametrize("broken", [only_the_other, one_that_says_nonsense])
    def test_a_policy_that_is_not_here_stops_nobody_else(
        self, runtime: Runtime, two_undisturbed: tuple[str, str], broken: Find
    ) -> None:
        runtime.log().publish(*publication(problems()))
        runtime.live(Life(find=both, drains_after=2 * 3 * WINDOW + 1, delays=(1, 4)))
        begun, waiting = unfinished(runtime.log())
        assert count(runtime.log(), "memory.versioned") == 1
        assert waiting

        runtime.log().publish([alone("z", policy="other")])
        left = runtime.live(Life(find=broken))
        assert left is not None
        assert (set(left.parked), set(left.held)) == (begun, waiting)
        again = runtime.live(Life(find=broken))
        assert again is not None
        assert (sorted(again.parked), sorted(again.held)) == (
            sorted(left.parked),
            sorted(left.held),
        )
        assert count(runtime.log(), "episode.parked") == len(begun), "and nobody is parked twice"
        answered = [json.loads(value)["problem_id"] for value in messages(runtime.log(), "answers")]
        assert "z" in answered

        adopted = [(each, "adopted.0", EpisodeAdopted(void=False)) for each in sorted(begun)]
        runtime.log().publish((), adopted)
        assert runtime.live(Life(find=both)) == Outcome()
        assert meant_by_both(runtime.log()) == two_undisturbed

    def test_a_policy_that_comes_back_finds_everything_as_it_was(
        self, runtime: Runtime, two_undisturbed: tuple[str, str]
    ) -> None:
        series, other = publication(problems()), alone("z", policy="other")
        runtime.log().publish(*series)
        assert runtime.live(Life(find=both)) == Outcome()
        runtime.log().publish([other])
        assert runtime.live(Life(find=only_the_other)) == Outcome()
        assert runtime.live(Life(find=both)) == Outcome()
        assert meant_by_both(runtime.log()) == two_undisturbed

    def test_who_waits_for_a_policy_that_never_comes_back_is_taken_out(
        self, runtime: Runtime
    ) -> None:
        runtime.log().publish(*publication(problems()))
        runtime.log().publish([alone("a")])
        runtime.live(Life(find=both, drains_after=2 * 3 * WINDOW + 1, delays=(1, 4)))
        begun, waiting = unfinished(runtime.log())
        answers = len(messages(runtime.log(), "answers"))
        left = runtime.live(Life(find=only_the_other))
        assert left is not None
        assert left.held
        log = runtime.log()
        log.publish((), [each for name in begun | waiting for each in voided(log, name)])
        for find in (only_the_other, both, only_the_other):
            assert runtime.live(Life(find=find)) == Outcome()
        log = runtime.log()
        assert len(messages(log, "answers")) == answers, "and nobody works on them any more"
        taken = {r.episode for r in log.records(kinds=["episode.adopted"])}
        assert taken == begun | waiting
        runtime.log().publish(*publication(problems()))
        again = runtime.live(Life(find=both))
        assert again == Outcome(), f"to produce them again changes nothing, and left {again}"
        assert len(messages(runtime.log(), "answers")) == answers
        verifier = Verifier(runtime.log(), both)
        assert verifier.run().diverged == []

    def test_a_problem_of_a_file_that_was_not_given_waits_for_it(self, runtime: Runtime) -> None:
        runtime.log().publish([by_file("w", told=True), by_file("x", told=False), alone("z")])
        left = runtime.live(Life(find=not_given))
        assert left is not None
        (episode,) = left.held
        assert left.parked == []
        assert episode.startswith("p/d/w/")
        log = runtime.log()
        assert [json.loads(each)["problem_id"] for each in messages(log, "answers")] == ["z"]
        (refused,) = messages(log, "dead-letters")
        assert json.loads(refused)["id"] == "x"

        assert runtime.live(Life(find=both)) == Outcome()
        answers = [json.loads(each) for each in messages(runtime.log(), "answers")]
        assert [each["problem_id"] for each in answers] == ["z", "w"]

    @pytest.mark.parametrize(
        ("silent_on", "ended_by"),
        [("unknown problem 4", "learned"), ("texts of a batch", "unanswered: here: it hurts: ")],
    )
    def test_a_learner_s_question_that_is_never_answered_is_given_up(
        self, runtime: Runtime, silent_on: str, ended_by: str
    ) -> None:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life(silent_on=silent_on)) == Outcome()
        log = runtime.log()
        (given_up, *_) = log.records(kinds=["question.abandoned"])
        assert isinstance(given_up.event, QuestionAbandoned)
        assert "here: it hurts" in given_up.event.reason
        closed = log.find(given_up.episode, "closed")
        assert isinstance(closed, EpisodeClosed)
        assert closed.ended_by.startswith(ended_by)
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}, "in order, to the end"
        assert log.counter("repeated") == 0
        assert verified(log) == []
        assert runtime.live(Life()) == Outcome()
        assert count(runtime.log(), "memory.versioned") == count(runtime.log(), "batch.closed") == 3

    def test_another_embedder_makes_every_vector_anew_before_anything_opens(
        self, runtime: Runtime
    ) -> None:
        first, later = problems()[: 2 * WINDOW], problems()[2 * WINDOW :]
        runtime.log().publish(*publication(first))
        assert runtime.live(Life()) is not None
        runtime.log().publish(commands=[changed(runtime.log(), "hashed-8")])
        with pytest.raises(SetupBroken, match="metalogue lessons embed"):
            runtime.live(Life())
        runtime.log().publish(*publication(later))
        runtime.live(Life(dimensions=8, dies_after=2))
        assert runtime.live(Life(dimensions=8, settle=True)) == Outcome()

        log = runtime.log()
        made = [r.event for r in log.records(kinds=["memory.versioned"])]
        assert [(e.number, e.revision) for e in made if isinstance(e, MemoryVersioned)] == [
            *((1, None), (2, None), (2, 1), (3, None))
        ]
        (scope,) = learned(log).scopes.values()
        fold = scope.memory
        for memory, made_by in [(fold.versions.pinned(2, None), 16), (fold.versions[2], 8)]:
            assert memory.embedder == f"hashed-{made_by}"
            assert {len(unpack(item.vector or "")) for item in memory.embedded()} == {made_by}
        assert fold.latest.embedder == "hashed-8"
        runtime.log().publish([alone("z")])
        with pytest.raises(SetupBroken, match="this worker makes those of hashed-16"):
            runtime.live(Life(settle=True))
        assert runtime.live(Life(dimensions=8, settle=True)) == Outcome()
        assert verified(runtime.log()) == []
        assert log.counter("repeated") == 0

    def test_another_embedder_makes_measures_anew(self, runtime: Runtime) -> None:
        memory = lived(runtime, BANDIT, (16, 24), (5,), deaths=(2,), forgotten=(0,))
        arms, name = memory.learned["arms"], memory.embedder
        texts = {arm["text"]: arm["vector"] for arm in arms if "vector" in arm}
        assert (name, len(arms)) == ("hashed-24", 3 + len(texts))
        assert texts == {text: pack(hashed(text, 24)) for text in texts}
        contexts = {context for arm in arms for context, _ in arm.get("rows", ())}
        assert contexts
        assert {len(unpack(context)) for context in contexts} == {24}
        assert runtime.log().counter("repeated") == 0

    def test_who_has_recalled_nothing_yet_is_parked_when_the_embedder_changes(
        self, runtime: Runtime
    ) -> None:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        runtime.log().publish([alone("z")])
        runtime.live(Life(drains_after=1))
        runtime.log().publish(commands=[changed(runtime.log(), "hashed-8")])
        left = runtime.live(Life(dimensions=8))
        assert left is not None
        (episode,) = left.parked
        parked = runtime.log().find(episode, "parked.0")
        assert isinstance(parked, EpisodeParked)
        assert "by vectors of hashed-16, and those are of hashed-8 by now" in parked.reason
        assert verified(runtime.log()) == []

    def test_a_forgotten_problem_is_withdrawn_by_the_next_worker(self, runtime: Runtime) -> None:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        it = problems()[0]
        said = command(scope_of(PUPIL, it), it.domain, it.id, Limits(), None, None)
        runtime.log().publish(commands=[said])
        assert runtime.live(Life()) == Outcome()
        closed = [r.event for r in runtime.log().records(kinds=["batch.closed"])]
        again = [e for e in closed if isinstance(e, BatchClosed) and e.revision == 1]
        assert [each.batch for each in again] == list(range(1, len(closed) // 2 + 1))
        prefix = episode_id(it.domain, it.id, "")
        assert not [m for each in again for m in each.members if m.startswith(prefix)]
        assert verified(runtime.log()) == []
