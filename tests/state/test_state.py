"""A scope's state record by record: what it holds, what counts for nothing, and who is told what changed."""

from __future__ import annotations

import pytest

from schemas.events.episode import Completed, Embedded, EpisodeClosed
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    KnowledgeRevised,
    LessonDistilled,
    MemoryVersioned,
    ProblemForgotten,
    TickPassed,
)
from schemas.identity import learning_id
from schemas.memory import Memory
from schemas.usage import NOTHING
from state.folds.memory import MemoryFold, MemoryMismatch
from state.folds.state import number_of, scope_of
from tests.state.told import SCOPE, VECTOR, Log, begun


def counted(log: Log) -> dict[str, tuple[int, int, int]]:
    return {
        name: (life.uses, life.right, life.wrong)
        for (_, name), life in log.state.lives.known.items()
    }


def test_lessons_of_a_batch_become_items_and_episodes_that_had_them_count() -> None:
    log = begun()
    assert [item.id for item in log.state.memory(SCOPE).latest.items] == ["x", "y"]
    assert log.state.digests == {(SCOPE, 1): log.state.memory(SCOPE).latest.state()}
    log.ended("z", 1, "x", "y")
    log.ended("w", 1, "x")
    log.ended("v", 9, "x")
    assert counted(log) == {"x": (2, 0, 0), "y": (1, 0, 0)}
    log.graded("z", "right")
    log.graded("w", "wrong")
    assert counted(log) == {"x": (2, 1, 1), "y": (1, 1, 0)}
    log.graded("z", "wrong")
    assert counted(log) == {"x": (2, 0, 2), "y": (1, 0, 1)}
    assert log.state.lives.known[SCOPE, "x"].off == log.state.offset == log.state.events
    assert log.state.outcomes.offset("p/d/z/r") == len(log.told)
    labels = log.learns("z", "w").labels
    assert labels is not None
    assert [(each.episode, each.right) for each in labels.new] == [
        ("p/d/w/r", False), ("p/d/z/r", False),
    ]  # fmt: skip


def test_a_version_that_does_not_add_up_is_refused() -> None:
    log = begun()
    log.ended("z")
    closed = BatchClosed(
        scope=SCOPE, batch=2, members=("p/d/z/r",), outcomes=("unknown",), previous=1, policy="p",
        policy_version="1", settings="0f", seed=1,
    )  # fmt: skip
    log.say(learning_id(SCOPE, 2), "batch", closed)
    wrong = MemoryVersioned(scope=SCOPE, number=2, live_from=1, state="0f")
    with pytest.raises(MemoryMismatch, match=f"{SCOPE}: version 2 does not add up to its records"):
        log.say(learning_id(SCOPE, 2), "version", wrong)


def test_what_stands_where_nobody_puts_it_counts_for_nothing() -> None:
    log = begun()
    before, known = log.state.hash(), log.state.memory(SCOPE).latest
    lesson = LessonDistilled(
        id="z", role="a", polarity="do", text="z", subject="d/z", evidence=(), source="3"
    )
    for episode, address, event in (
        ("p/d/x/r", "4", lesson),
        ("p/d/x/r", "version", MemoryVersioned(scope=SCOPE, number=2, live_from=1, state="0f")),
        (learning_id(SCOPE, 9), "0", lesson),
        (learning_id(SCOPE, 9), "version", MemoryVersioned(scope=SCOPE, number=9, live_from=1, state="0f")),
        ("n/other/-", "tick.1", TickPassed(scope=SCOPE, batch=1)),
    ):  # fmt: skip
        log.say(episode, address, event)
    assert log.state.hash() == before
    assert log.state.memory(SCOPE).latest is known
    assert log.state.strays.count == 4, "what a policy states while it solves is its own"
    assert [note.split(" was ")[0] for note in log.state.strays.first] == [
        "p/d/x/r at version: memory.versioned",
        f"{learning_id(SCOPE, 9)} at 0: lesson.distilled",
        f"{learning_id(SCOPE, 9)} at version: memory.versioned",
        "n/other/- at tick.1: tick.passed",
    ]
    assert log.state.offset == log.state.events == len(log.told)


def test_the_length_of_vectors_is_that_of_the_first_lessons() -> None:
    log = Log()
    log.ended("x")
    closed = BatchClosed(
        scope=SCOPE, batch=1, members=("p/d/x/r",), outcomes=("unknown",), previous=0, policy="p",
        policy_version="1", settings="0f", seed=1,
    )  # fmt: skip
    log.say(learning_id(SCOPE, 1), "batch", closed)
    for at, (dimensions, vectors, texts) in enumerate(
        [(9, (), None), (7, (VECTOR,), ("0f",)), (2, (VECTOR,), None), (3, (VECTOR,), None)]
    ):
        made = Embedded(
            asked="q", embedder="e", dimensions=dimensions, vectors=vectors, texts=texts
        )
        log.say(learning_id(SCOPE, 1), str(at), made)
    assert [log.state.dimensions] == [2]
    log.say("p/d/x/r", "9", Embedded(asked="q", embedder="e", dimensions=5, vectors=(VECTOR,)))
    assert log.state.dimensions == 2


def test_a_forgotten_problem_takes_back_what_it_counted_and_what_is_said_of_it_later() -> None:
    log = begun()
    log.ended("z", 1, "x")
    log.graded("z", "right")
    log.say(
        "n/" + SCOPE + "/-",
        "forgotten.0",
        ProblemForgotten(scope=SCOPE, domain="d", problem_id="z"),
    )
    at = len(log.told)
    assert counted(log) == {"x": (0, 0, 0), "y": (0, 0, 0)}
    assert log.state.forgotten == {SCOPE: {"p/d/z/": at}}
    assert log.state.forgotten_since(SCOPE, "p/d/z/r") == at
    assert log.state.forgotten_since(SCOPE, "p/d/x/r") is None
    assert log.state.forgotten_since("other", "p/d/z/r") is None
    log.graded("z", "wrong")
    log.ended("z", 1, "x")
    assert log.state.outcomes.outcome("p/d/z/r") == "unknown"
    assert counted(log)["x"] == (0, 0, 0)
    log.say(
        "n/" + SCOPE + "/-",
        "forgotten.1",
        ProblemForgotten(scope=SCOPE, domain="d", problem_id="z"),
    )
    assert log.state.forgotten == {SCOPE: {"p/d/z/": at}}, "since when it is stays"
    assert log.state.memory(SCOPE).forgetting.owed == []
    log.say(
        "n/" + SCOPE + "/-",
        "forgotten.2",
        ProblemForgotten(scope=SCOPE, domain="d", problem_id="x"),
    )
    assert log.state.memory(SCOPE).forgetting.owed == [1], "a version learned from it"


def test_whoever_watches_is_told_what_has_to_be_written_again() -> None:
    log = begun()
    touched = log.state.watch()
    assert [touched.anew] == [False]
    log.ended("z", 1, "x")
    assert touched.episodes == {"p/d/z/r"}
    assert touched.waiting == {(SCOPE, "p/d/z/r")}
    assert touched.lives == {(SCOPE, "x")}
    assert touched.scopes == {SCOPE}
    touched.clear()
    assert not (touched.lives | touched.versions | touched.episodes | touched.batches)
    log.graded("z", "right")
    log.graded("z", "right")
    assert touched.lives == {(SCOPE, "x")}
    touched.clear()
    closing = EpisodeClosed(status="answered", ended_by="x", usage=NOTHING)
    log.say("p/d/w/r", "closed", closing)
    said = Completed(asked="q", text="t", finish="stop", model="m")
    log.say("p/d/w/r", "0", said)
    assert (touched.episodes, touched.scopes, touched.lives) == ({"p/d/w/r"}, set(), set())
    assert log.state.costs.columns["episodes"].calls == 1
    touched.clear()
    log.learns("z", lessons="z")
    assert touched.versions == {(SCOPE, 2)}
    assert touched.batches == {learning_id(SCOPE, 2)}
    assert touched.waiting == {(SCOPE, "p/d/z/r")}
    assert touched.lives == {(SCOPE, "z")}
    assert [touched.anew] == [False]
    touched.clear()
    log.say(
        "n/" + SCOPE + "/-",
        "forgotten.0",
        ProblemForgotten(scope=SCOPE, domain="d", problem_id="q"),
    )
    assert [touched.anew] == [True]
    touched.clear()
    assert (touched.anew, touched.waiting, touched.scopes) == (False, set(), set())


def test_a_hash_is_of_what_was_learned_and_of_no_place() -> None:
    one, other = begun(), Log()
    other.say("p/d/w/r", "0", Completed(asked="q", text="t", finish="stop", model="m"))
    for name in "yx":
        other.ended(name)
    other.learns("x", "y", lessons="xy")
    assert one.state.hash() == other.state.hash()
    other.graded("x", "right")
    graded = other.state.hash()
    assert graded != one.state.hash()
    one.graded("x", "right")
    assert one.state.hash() == graded
    one.ended("z", 1, "x")
    assert one.state.hash() != graded
    assert Log().state.hash() != graded


def test_persons_words_wait_for_the_next_version() -> None:
    log = begun()
    fold = log.state.memory(SCOPE)
    word = KnowledgeRevised(scope=SCOPE, item="x", name="x", change="retired", by="ann")
    log.say(f"n/{SCOPE}/-", "revised.0", word)
    assert fold.words == {"revised.0": word}
    log.ended("z")
    memory = log.learns("z", revised=("revised.0",), retirement="opportunities@1")
    assert [item.id for item in memory.items] == ["y"]
    assert [item.id for _, item in memory.aside] == ["x"]
    assert fold.words == {}
    assert log.state.lives.known[SCOPE, "x"].retired
    assert fold.changing is None
    log.say(f"n/{SCOPE}/-", "embedder.0", EmbedderChanged(scope=SCOPE, embedder="minilm"))
    assert fold.changing is None, "it holds no vectors that anybody named"


def test_a_word_on_an_arm_is_heeded_by_what_is_learned_next() -> None:
    log = begun()
    word = KnowledgeRevised(scope=SCOPE, item="a1", name="arm~a1", change="retired")
    log.say(f"n/{SCOPE}/-", "revised.0", word)
    log.ended("z")
    constants = {
        "start": [{"when": "w", "text": "t"}], "arms": "scope", "retire_after": 9, "retire_below": 0.0,
    }  # fmt: skip
    memory = log.learns("z", revised=("revised.0",), rule="linucb@1", constants=constants)
    assert [(arm["id"], arm["word"], arm["retired"]) for arm in memory.learned["arms"]] == [
        ("a1", "retired", True)
    ]


def test_a_scope_of_which_something_was_said_before_its_first_problem_is_odd() -> None:
    log = begun()
    assert [log.state.windows.heads[SCOPE].odd] == [False]
    log.ended("z")
    assert [log.state.windows.heads[SCOPE].odd] == [False]
    taught = Log()
    word = KnowledgeRevised(scope=SCOPE, item="x", name="x", change="retired")
    taught.say(f"n/{SCOPE}/-", "revised.0", word)
    assert SCOPE not in taught.state.windows.open
    taught.ended("z")
    assert [taught.state.windows.heads[SCOPE].odd] == [True]


def test_what_learning_episodes_may_still_say() -> None:
    fold = MemoryFold(SCOPE)
    elsewhere = MemoryFold(SCOPE, lambda episode: "right", Log(), anew=lambda episode: "wrong")
    assert fold == elsewhere, "whom it asks is no part of what it holds"
    assert [fold.outcome("e"), fold.anew("e")] == ["unknown", None]
    stated = Embedded(asked="q", embedder="e", dimensions=2, vectors=(VECTOR,))
    fold.feed("p/d/x/r", "0", stated)
    assert fold.learning == {}, "what an episode measured is its own"
    assert [fold.awaits(learning_id(SCOPE, number)) for number in (0, 1)] == [True, False]
    assert not fold.awaits(learning_id("other", 0))
    assert not fold.awaits("p/d/x/r")
    assert not fold.awaits(f"b/{SCOPE}/0.1")
    log = begun()
    known = log.state.memory(SCOPE)
    assert [known.awaits(learning_id(SCOPE, number)) for number in (0, 1, 2)] == [False] * 3
    with pytest.raises(LookupError, match="p/d/q/r left no reflection"):
        known.reflection("p/d/q/r")
    with pytest.raises(LookupError, match=f"{SCOPE}: batch 7 is not on the log"):
        known.closing(7)
    with pytest.raises(LookupError, match="this needs the log to read p/d/q/r from"):
        fold.reflection("p/d/q/r")
    assert known.reflection("p/d/x/r").problem_id == "x"
    assert known.closing(1).members == ("p/d/x/r", "p/d/y/r")
    assert [item.id for item in known.kept(1)] == ["x", "y"]
    assert (scope_of(learning_id(SCOPE, 7, 2)), number_of(learning_id(SCOPE, 7, 2))) == (SCOPE, 7)


def test_episodes_of_a_scope_that_was_heard_of_look_at_none_of_its_older_versions() -> None:
    """Each compared the whole memory, and put together every version that a snapshot had left for later."""
    log = begun()
    versions = log.state.memory(SCOPE).versions
    newest = versions.latest

    def asked() -> Memory:
        raise AssertionError("an older version was put together")

    for number in range(newest.number):
        versions.later(number, 0, asked)
    log.ended("z", newest.number, "x")
    log.graded("z", "right")
    assert counted(log) == {"x": (1, 1, 0), "y": (0, 0, 0)}
