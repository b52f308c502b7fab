"""Law: grading answers anew ends where a log ends that was graded so in the first place, and nobody is asked.

But for what was said of answers that turned out to be the opposite: that is set aside, and comes back with the outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from handlers.learning.retire import OVERTURNED
from handlers.policies.registry import find
from schemas.events.base import Event
from schemas.events.learning import BatchClosed, Graded
from schemas.identity import learning_id
from schemas.outcome import Outcome
from schemas.problem import Limits
from state.folds.lives import name_of
from state.folds.state import State
from state.snapshot import Snapshots
from streams.engine.learner import Learner
from tests.laws.test_forgetting import (
    GONE,
    HISTORIES,
    SCOPE,
    Log,
    Ran,
    fed,
    forget,
    held,
    named,
)
from tests.scripted import run

NOW = st.sampled_from(["right", "wrong", "unknown"])
CHANGES = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 3)), NOW, max_size=8)
"""What answers are graded anew as, by their place in a history."""
History = Sequence[Sequence[Ran]]


def plain(history: History) -> list[list[Ran]]:
    """Without grades that come later, and without confidences, whose labels count in the next version."""
    return [[replace(r, regraded=None, confidence=None) for r in batch] for batch in history]


def changed(history: History, now: Mapping[tuple[int, int], Outcome]) -> list[list[Ran]]:
    return [
        [replace(ran, outcome=now.get((n, at), ran.outcome)) for at, ran in enumerate(batch)]
        for n, batch in enumerate(history)
    ]


def worked(
    history: History, log: Log, begin: int = 0, gone: str = "", hidden: Collection[str] = ()
) -> Log:
    """The batches after some, without a problem that is ``gone``; ``hidden`` lessons are in no prompt."""
    for number, batch in enumerate(history[begin:], begin + 1):
        members = [named(number, at, ran) for at, ran in enumerate(batch)]
        left = [(name, ran) for name, ran in members if ran.problem != gone]
        # Prompts hold lessons by their place, so that a hidden one leaves an empty place.
        shown = ["" if name in hidden else name for name in held(history, number)]
        log.batch(number, left, shown)
    return log


def learner_of(log: Log) -> Learner:
    learner = Learner(find, log)
    for (episode, address), event in list(log.records.items()):
        learner.feed(episode, address, event)
    return learner


def regrade(log: Log, now: Mapping[str, Outcome]) -> Learner:
    """What the command says, and what the learner makes of it. Nobody answers."""
    learner = learner_of(log)

    def say(episode: str, address: str, event: Event) -> None:
        log.say(episode, address, event)
        learner.feed(episode, address, event)

    memory = learner.memory(SCOPE)
    pinned = {
        member: (number, outcome)
        for number in memory.versions
        if number
        for closed in [memory.closing(number)]
        for member, outcome in zip(closed.members, closed.outcomes, strict=True)
    }
    for episode, outcome in now.items():
        number, was = pinned[episode]
        again = None if was == outcome else number
        at = f"graded.anew{len(log.records)}"
        told = Graded(scope=SCOPE, outcome=outcome, grader="own@2+0", by="regrade")
        say(episode, at, told if again is None else _again(told, again))
    close_owed(log, learner)
    return learner


def _again(told: Graded, number: int) -> Graded:
    return structs.replace(told, relearned_from=number)


def close_owed(log: Log, learner: Learner) -> None:
    scope = learner.scopes.get(SCOPE)
    while scope is not None and (due := scope.window.due()) is not None:
        closed = learner.batch_closed(scope, due, Limits())
        assert closed.regraded
        episode = learning_id(SCOPE, closed.batch, closed.revision)
        log.say(episode, "batch", closed)
        learner.feed(episode, "batch", closed)
        memory = scope.memory.versions[closed.previous]
        assert not run(learner.steps(scope, closed), (), memory=memory).events
        log.version(closed)
        learner.feed(episode, "version", log.records[episode, "version"])
    assert scope is None or not scope.memory.forgetting.owed


def names(history: History, now: Mapping[tuple[int, int], Outcome]) -> dict[str, Outcome]:
    return {
        named(n + 1, at, ran)[0]: now[n, at]
        for n, batch in enumerate(history)
        for at, ran in enumerate(batch)
        if (n, at) in now
    }


@given(HISTORIES, CHANGES, st.integers(1, 5))
@settings(max_examples=60)
def test_it_ends_where_a_log_ends_that_was_graded_so_at_first(
    history: list[list[Ran]], now: dict[tuple[int, int], Outcome], after: int
) -> None:
    history, after = plain(history), min(after, len(history))
    now = {place: outcome for place, outcome in now.items() if place[0] < after}
    log = worked(history[:after], Log())
    regrade(log, names(history, now))
    gone, mine = fallen(history, now), log.state.memory(SCOPE).versions
    worked(history, log, after, hidden=gone)
    other = worked(changed(history[:after], now), Log())
    ends_alike(log, worked(changed(history, now), other, after, hidden=gone), gone)
    first = min((n for (n, at) in now if _differs(history, n, at, now)), default=99) + 1
    assert all(mine[n].revision == (1 if first <= n <= after else 0) for n in mine)


def fallen(history: History, now: Mapping[tuple[int, int], Outcome]) -> set[str]:
    """Lessons of right answers that are wrong now; each says to do what was done."""
    return {
        f"L{n + 1}.{named(n + 1, at, ran)[0]}"
        for n, batch in enumerate(history)
        for at, ran in enumerate(batch)
        if ran.teaches and (ran.outcome, now.get((n, at))) == ("right", "wrong")
    }


def ends_alike(log: Log, other: Log, gone: set[str]) -> None:
    """Two logs have the same memory, but for lessons that are out of service in the first."""
    mine, theirs = log.state.memory(SCOPE).versions, other.state.memory(SCOPE).versions
    assert mine.keys() == theirs.keys()
    for number, memory in mine.items():
        wanted = theirs[number]
        assert memory.whole() == wanted.whole()
        assert memory.items == tuple(item for item in wanted.items if item.mark not in gone)
        left = {name: part for name, part in memory.standing.items() if name != OVERTURNED}
        assert (memory.learned, left) == (wanted.learned, wanted.standing)
        there = gone & {item.mark for item in wanted.whole()}
        assert memory.standing.get(OVERTURNED, []) == sorted(there)
    live = {name_of(item) for item in log.state.memory(SCOPE).latest.items}
    for (_, name), life in log.state.lives.known.items():
        assert life.withdrawn or (life.until is None) == (name in live)
    if not gone:
        assert log.state.hash() == other.state.hash()


def _differs(
    history: History, number: int, at: int, now: Mapping[tuple[int, int], Outcome]
) -> bool:
    return at < len(history[number]) and history[number][at].outcome != now[number, at]


@given(HISTORIES, CHANGES, CHANGES)
@settings(max_examples=40)
def test_what_is_graded_back_is_as_it_was(
    history: list[list[Ran]],
    now: dict[tuple[int, int], Outcome],
    between: dict[tuple[int, int], Outcome],
) -> None:
    """However often outcomes turn, memory depends on what they were and what they are, and on nothing between."""
    history = plain(history)
    log = worked(history, Log())
    before = log.state.hash()
    for said in (now, between, now):
        regrade(log, names(history, said))
        at_first: dict[str, Outcome] = {
            name: ran.outcome
            for n, batch in enumerate(history)
            for at, ran in enumerate(batch)
            for name, _ in [named(n + 1, at, ran)]
            if (n, at) in said
        }
        ends_alike(log, worked(changed(history, said), Log()), fallen(history, said))
        regrade(log, at_first)
        assert log.state.hash() == before
        assert not any(life.retired for life in log.state.lives.known.values())


@given(HISTORIES, CHANGES)
@settings(max_examples=40)
def test_labels_count_in_the_next_version_as_later_ones_do(
    history: list[list[Ran]], now: dict[tuple[int, int], Outcome]
) -> None:
    history = [[replace(r, regraded=None) for r in batch] for batch in history]
    now = {place: outcome for place, outcome in now.items() if place[0] < len(history)}
    log, new = worked(history, Log()), [*history, [history[0][0]]]
    regrade(log, names(history, now))
    worked(new, log, len(history))
    other = worked(changed(new, now), Log())
    said, wanted = (each.state.memory(SCOPE).latest.labels for each in (log, other))
    found = [{} if each is None else {e.episode: e.right for e in each} for each in (said, wanted)]
    assert {e: r for e, r in found[0].items() if r is not None} == {
        e: r for e, r in found[1].items() if r is not None
    }


@given(HISTORIES, CHANGES, st.data())
@settings(max_examples=40)
def test_a_state_that_was_interrupted_meanwhile_ends_alike(
    history: list[list[Ran]], now: dict[tuple[int, int], Outcome], data: st.DataObject
) -> None:
    now = {place: outcome for place, outcome in now.items() if place[0] < len(history)}
    log = worked(history, Log())
    regrade(log, names(history, now))
    records = [(*place, event) for place, event in log.records.items()]
    at = data.draw(st.integers(0, len(records)))
    with TemporaryDirectory() as folder:
        kept = Snapshots(Path(folder) / "s.db", "log")
        kept.save(fed(kept.load(), log, records[:at]))
        again = Snapshots(kept.path, "log").load()
    forgetting = again.memory(SCOPE).forgetting
    assert forgetting == fed(State(), log, records[:at]).memory(SCOPE).forgetting
    assert fed(again, log, records[at:]).hash() == log.state.hash()


@given(HISTORIES, CHANGES)
@settings(max_examples=40)
def test_what_was_forgotten_stays_so(
    history: list[list[Ran]], now: dict[tuple[int, int], Outcome]
) -> None:
    """A problem is forgotten, then others' answers are graded anew: as if it had never been, and they so at first."""
    history = plain(history)
    left: dict[tuple[int, int], Outcome] = {
        (n, at): outcome
        for (n, at), outcome in now.items()
        if n < len(history) and at < len(history[n]) and history[n][at].problem != GONE
    }
    log, other = worked(history, Log()), Log()
    forget(log)
    regrade(log, names(history, left))
    worked(changed(history, left), other, gone=GONE)
    ends_alike(log, other, fallen(history, left))


@given(HISTORIES, CHANGES)
@settings(max_examples=40)
def test_what_was_set_aside_stays_so_when_a_problem_is_forgotten_later(
    history: list[list[Ran]], now: dict[tuple[int, int], Outcome]
) -> None:
    history = plain(history)
    log, other = worked(history, Log()), worked(changed(history, now), Log(), gone=GONE)
    regrade(log, names(history, now))
    forget(log)
    gone = {name for name in fallen(history, now) if f"/{GONE}/" not in name}
    ends_alike(log, other, gone)


def test_a_batch_of_somebody_who_had_not_read_it_is_closed_again() -> None:
    """On a log with several writers a batch may be closed before its closer reads why others are."""
    ran = Ran("p1", "wrong", None, teaches=False, uses=(), regraded=None)
    log = worked([[ran], [ran]], Log())
    learner = learner_of(log)
    told = Graded(scope=SCOPE, outcome="right", grader="own@2+0", by="regrade", relearned_from=1)
    episode = named(1, 0, ran)[0]
    log.say(episode, "graded.anew", told)
    learner.feed(episode, "graded.anew", told)
    closed = log.records[learning_id(SCOPE, 2), "batch"]
    assert isinstance(closed, BatchClosed)
    forgetting = learner.memory(SCOPE).forgetting
    assert (forgetting.owed, forgetting.regraded) == ([1, 2], {1, 2})
    forgetting.done(2, set(), set())
    forgetting.owe_unaware(closed)
    assert (forgetting.owed, forgetting.regraded) == ([1, 2], {1, 2})
    forgetting.owe([2])
    assert (forgetting.owed, forgetting.regraded) == ([1, 2], {1})
