"""Who learns goes on from any snapshot as from the whole log, or reads the whole log."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from handlers.answers.grade import VERDICT
from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import Embedded
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    Graded,
    KnowledgeConsolidated,
    LessonDistilled,
    PositionVoided,
    ProblemForgotten,
    Reflected,
    TickPassed,
)
from schemas.identity import episode_id
from schemas.outcome import Outcome
from schemas.problem import Limits
from schemas.vectors import pack
from state.folds.grades import Known
from state.folds.state import State
from state.folds.strays import Strays
from state.snapshot import Snapshots
from streams.engine.learner import Learner, episode_of, nobody
from streams.engine.policies import NoPolicy
from streams.engine.policies import find as find_ours
from streams.engine.resuming import Lookup, learner_of
from streams.engine.scopes import Scope
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords, known_of, learned
from tests.laws.series import graded, opened, reflected
from tests.pupil import PUPIL
from tests.state.told import Told
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made

Said = tuple[str, str, Event]


def unheard(stray: str) -> None:
    """Nobody is told of strays."""


def of_pupil(name: str) -> Policy[Any]:
    return PUPIL


def meaning(scope: Scope) -> tuple[Any, ...]:
    """What a scope comes to, of whatever still counts."""
    window, memory = scope.window, scope.memory
    series = {
        name: replace(
            each, filled={p: e for p, e in each.filled.items() if p >= each.done_positions}
        )
        for name, each in window.series.items()
    }
    waits = {
        name: by
        for name, by in window.awaited.items()
        if by or name in (*window.stream, *window.late)
    }
    waits |= {e: window.awaited[e] for each in series.values() for e in each.filled.values()}
    windows = (series, window.stream, window.late, waits, window.early, window.unordered)
    counts = (
        window.closed,
        window.versioned,
        window.ticked,
        window.forgotten,
        window.stream_window,
    )
    versions = {number: [*memory.versions.revisions(number)] for number in memory.versions}
    kept = (versions, memory.reflected, memory.batches, memory.learning, memory.words)
    owed = (window.owed, window.again, memory.changing)
    labels = (
        memory.labelling.stated,
        [*memory.labelling.changed(memory.outcome)],
        memory.forgetting,
    )
    heads = (scope.policy, scope.settings_text, scope.constants, scope.profile, scope.warmed)
    return windows, counts, kept, labels, heads, owed, window.due(), scope.unfinished


def same(one: Learner, other: Learner) -> bool:
    ours = {name: meaning(scope) for name, scope in one.scopes.items()}
    theirs = {name: meaning(scope) for name, scope in other.scopes.items()}
    return ours == theirs and known(one) == known(other)


def known(learner: Learner) -> dict[str, Known]:
    """What is known of every answer but those to forgotten problems, of which nothing counts."""
    gone = [s.memory.forgetting.covers for s in learner.scopes.values()]
    return {
        episode: each
        for episode, each in learner.grades.known.items()
        if not any(covers(episode) for covers in gone)
    }


def told(learner: Learner, said: Iterable[Said]) -> Learner:
    for each in said:
        learner.feed(*each)
    return learner


def from_snapshot(path: Path, said: list[Said], cut: int) -> tuple[Learner, int]:
    """The learner as a snapshot of the first records has it."""
    path.unlink(missing_ok=True)
    state, records = State(), Told(said)
    state.attach(Told(said[:cut]))
    for offset, each in enumerate(said[:cut], 1):
        state.feed(offset, *each)
    Snapshots(path, "log").save(state)
    kept = Snapshots(path, "log")

    def whole() -> Learner:
        return told(Learner(of_pupil, records), said)

    rest = (nobody, Strays(unheard))
    return learner_of(lambda: kept, len(said), of_pupil, records, *rest, whole=whole)


def embedded(embedder: str, vectors: Sequence[str]) -> Embedded:
    return Embedded(asked="q", embedder=embedder, dimensions=2, vectors=tuple(vectors))


RARELY = 0.35


class Drawn:
    """A scope's life, drawn: series and streams, grades early and late, batches, lessons and versions."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.said = list[Said]()
        self.learner = Learner(of_pupil, Told(self.said))
        self.names, self.owed = 0, list[Said]()

    def say(self, episode: str, address: str, event: Event) -> None:
        if self.learner.feed(episode, address, event):
            self.said.append((episode, address, event))

    def series(self) -> None:
        name = f"n{self.names}"
        self.names += 1
        event = opened(
            name, self.draw.randint(1, 5), self.draw.randint(1, 3), self.draw.choice([None, True])
        )
        self.say(f"n/s/{name}", "series", structs.replace(event, policy="pupil"))

    def voids(self) -> None:
        series, place = f"n{self.draw.randint(0, self.names)}", self.draw.randint(0, 4)
        void = PositionVoided(scope="s", series=series, position=place, reason="refused")
        self.say(f"n/s/{series}", f"void.{place}", void)

    def reflects(self) -> None:
        series = self.draw.choice([None, *(f"n{n}" for n in range(self.names))])
        place = None if series is None else self.draw.choice([None, *range(5)])
        labelled, domain = self.draw.random() < 0.5, self.draw.choice(["d", "game24"])
        episode = episode_id(domain, f"x{len(self.said)}", "r")
        event = reflected(series, place, labelled, domain)
        more = {
            "confidence": self.draw.random(),
            "confidence_source": "stated",
            "settings": "1",
            "backbones": "b",
        }
        event = structs.replace(event, policy="pupil@1", problem_id=f"x{len(self.said)}", **more)
        self.say(episode, "reflected", event)
        for by in ("feedback", "checker"):
            if labelled or by == "checker":
                grade = structs.replace(graded(by), outcome=self.draw.choice(["right", "wrong"]))
                self.owed.append((episode, f"graded.{by}", grade))

    def grades(self) -> None:
        if self.owed:
            self.say(*self.owed.pop(self.draw.randrange(len(self.owed))))

    def ticks(self) -> None:
        scope = self.learner.scopes.get("s")
        if scope is not None:
            number = scope.window.closed + 1
            self.say("n/s/-", f"tick.{number}", TickPassed(scope="s", batch=number))

    def learns(self) -> None:
        """One step of learning: a batch is closed, something is said of it, or its version is made."""
        scope = self.learner.scopes.get("s")
        if scope is None:
            return
        closed = scope.unfinished
        if closed is None:
            if (due := scope.window.due()) is not None:
                closed = self.learner.batch_closed(scope, due, Limits())
                self.say(episode_of(closed), "batch", closed)
            return
        episode, n = episode_of(closed), closed.batch
        step = len(scope.memory.learned(closed).said)
        if closed.revision is not None:
            self.learns_again(scope, closed, step)
        elif step == 0:
            lesson = LessonDistilled(
                id=f"L{n}",
                role="pupil",
                polarity="do",
                text=f"do {n}",
                subject="d/x",
                evidence=closed.members[:1],
                source="0",
            )
            self.say(episode, "1", lesson)
        elif step == 1 and n % 3:
            self.say(episode, "2", embedded("a", [pack((1.0, float(n)))]))
        elif step < 3 and "3" not in scope.memory.learned(closed).said:
            rules = ((f"R{n}", "the same" if n % 2 else f"rule {n}"),)
            self.say(
                episode,
                "3",
                KnowledgeConsolidated(role="pupil", rules=rules, result="consolidated"),
            )
        else:
            self.say(episode, "version", self.learner.version(scope, closed))

    def learns_again(self, scope: Scope, closed: BatchClosed, step: int) -> None:
        episode = episode_of(closed)
        if step == 0 and closed.embedder is not None:
            vectors = [
                pack((float(len(self.said)), float(at)))
                for at, _ in enumerate(scope.memory.latest.embedded())
            ]
            self.say(episode, "1", embedded(closed.embedder, vectors))
        elif step == 0 and not closed.regraded and self.draw.random() < 0.5:
            rules = ((f"R{closed.batch}", f"rule {closed.batch} again"),)
            again = KnowledgeConsolidated(role="pupil", rules=rules, result="consolidated")
            self.say(episode, "1", again)
        else:
            self.say(episode, "version", self.learner.version(scope, closed))

    def forgets(self) -> None:
        """One of the problems that somebody solved, or none of them."""
        solved = [e for e in self.said if isinstance(e[2], Reflected)]
        if solved and self.draw.random() < RARELY:
            _, _, event = self.draw.choice(solved)
            assert isinstance(event, Reflected)
            forgotten = ProblemForgotten(
                scope="s", domain=event.domain, problem_id=event.problem_id, limits=Limits()
            )
            self.say("n/s/-", f"forgotten.{len(self.said)}", forgotten)

    def regrades(self) -> None:
        """An answer is graded anew that a version rests on."""
        scope = self.learner.scopes.get("s")
        if scope is None or scope.half_made is not None or scope.memory.latest.number == 0:
            return
        number = self.draw.randint(1, scope.memory.latest.number)
        members = [*scope.memory.closing(number).members]
        if members and self.draw.random() < RARELY:
            outcomes: list[Outcome] = ["right", "wrong", "unknown"]
            anew = Graded(
                scope="s",
                outcome=self.draw.choice(outcomes),
                grader="own@2",
                by="regrade",
                relearned_from=number,
            )
            self.say(self.draw.choice(members), f"graded.anew{len(self.said)}", anew)

    def embeds(self) -> None:
        """Another embedder is chosen."""
        if self.draw.random() < RARELY and "s" in self.learner.scopes:
            changed = EmbedderChanged(scope="s", embedder=self.draw.choice("ab"))
            self.say("n/s/-", f"embedder.{len(self.said)}", changed)

    def live(self, steps: int, withdraws: bool = False) -> list[Said]:
        doings = [
            # A series that lacks a member closes no batch, and then there is nothing to make again.
            *([] if withdraws else [self.series, self.voids]),
            self.ticks,
            *[self.reflects] * 5,
            *[self.grades] * 6,
            *[self.learns] * 5,
            *([self.forgets, self.regrades, self.embeds, *[self.learns] * 12] * withdraws),
        ]
        for _ in range(steps):
            self.draw.choice(doings)()
        return self.said


@pytest.mark.parametrize(
    ("withdraws", "seed"), [*((False, seed) for seed in range(12)), *((True, s) for s in range(5))]
)
def test_from_any_cut_of_any_life_it_means_the_same(
    withdraws: bool, seed: int, tmp_path: Path
) -> None:
    said = Drawn(seed).live(240 if withdraws else 160, withdraws)
    whole = told(Learner(of_pupil, Told(said)), said)
    cuts = random.Random(seed).sample(range(1, len(said)), 6)
    for cut in [*cuts, len(said)]:
        resumed, heard = from_snapshot(tmp_path / "kept.db", said, cut)
        assert heard == cut or (withdraws and heard == 0), "while a version has to be made again"
        assert same(resumed, told(Learner(of_pupil, Told(said)), said[:heard])), cut
        assert same(told(resumed, said[heard:]), whole), cut


def test_lives_that_withdraw_have_versions_made_again_and_snapshots_still_count(
    tmp_path: Path,
) -> None:
    sorts, counted = Counter[str](), 0
    for seed in range(5):
        life = Drawn(seed)
        said = life.live(240, withdraws=True)
        again = [e for _, _, e in said if isinstance(e, BatchClosed) and e.revision is not None]
        sorts.update("embedder" if e.embedder else str(e.regraded) for e in again)
        # Who withdraws waits for what it asked for.
        while life.learner.scopes["s"].owes:
            life.learns()
        counted += from_snapshot(tmp_path / "kept.db", said, len(said))[1] == len(said)
    assert set(sorts) == {"embedder", "True", "None"}
    assert counted == 5


def test_lives_that_are_drawn_make_versions_of_series_and_of_streams() -> None:
    whole = [Drawn(seed) for seed in range(12)]
    for each in whole:
        each.live(160)
    scopes = [each.learner.scopes["s"] for each in whole]
    assert max(scope.window.versioned for scope in scopes) >= 4
    began = [n for each in whole for n, (_, at, _) in enumerate(each.said) if at == "batch"]
    ended = [n for each in whole for n, (_, at, _) in enumerate(each.said) if at == "version"]
    assert sum(ended) - sum(began[: len(ended)]) > 5 * len(ended), "what is said between is long"
    assert any(series.done for scope in scopes for series in scope.window.series.values())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    with closing(SqliteLog(copy_of(made(), tmp_path / "a.db"))) as opened_:
        yield opened_


def resumed_at(
    log: SqliteLog, tmp_path: Path, upto: int, known: Lookup | None = None
) -> tuple[Learner, int]:
    kept = Snapshots(tmp_path / "kept.db", "log")
    kept.save(fold(log, State(), upto))
    again = Snapshots(tmp_path / "kept.db", "log")
    rest = (LogRecords(log), nobody, Strays(unheard), known)
    return learner_of(lambda: again, log.end(), find_ours, *rest)


def test_from_any_snapshot_of_a_log_that_taught(log: SqliteLog, tmp_path: Path) -> None:
    whole = Learner(find_ours, LogRecords(log))
    records = list(log.records("learning"))
    told(whole, ((r.episode, r.address, r.event) for r in records))
    for upto in random.Random(5).sample(range(1, log.end()), 5):
        learner, heard = resumed_at(log, tmp_path, upto)
        assert heard == upto
        told(learner, ((r.episode, r.address, r.event) for r in records if r.offset > upto))
        assert same(learner, whole)


def test_grades_of_before_are_looked_up_as_they_stood_at_the_snapshot(
    log: SqliteLog, tmp_path: Path
) -> None:
    """So that a start costs the same however many answers there are."""
    records = list(log.records("learning"))
    names = {each.episode for each in records if isinstance(each.event, Graded)}
    whole = Learner(find_ours, LogRecords(log))
    told(whole, ((r.episode, r.address, r.event) for r in records))
    outcomes = {episode: whole.grades.of(episode) for episode in names}
    assert len(set(outcomes.values())) > 1
    middle = records[len(records) // 2].offset
    writer = log.claim("later")  # what is said now is no news to whoever stands before it
    verdict = Graded(scope="s", outcome="unknown", grader=VERDICT, by="feedback", source="ann")
    writer.state("learning", min(names), "graded.1", verdict)
    writer.flush()
    for upto in (1, middle, log.end() - 1):
        learner, heard = resumed_at(log, tmp_path, upto, partial(known_of, log))
        assert (heard, learner.grades.known) == (upto, {})
        before, _ = resumed_at(log, tmp_path, upto)
        assert all(learner.grades.of(each) == before.grades.of(each) for each in names)
        told(learner, ((r.episode, r.address, r.event) for r in records if r.offset > upto))
        assert {episode: learner.grades.of(episode) for episode in names} == outcomes
        assert learner.grades.of("p/none/of/it").word is None


def test_what_no_snapshot_is_sure_of_is_read_from_the_log(log: SqliteLog, tmp_path: Path) -> None:
    def lost(name: str) -> Policy[Any]:
        raise NoPolicy(name)

    end = log.end()
    kept = Snapshots(tmp_path / "kept.db", "log")
    kept.save(fold(log, State()))
    again = Snapshots(tmp_path / "kept.db", "log")
    rest = (LogRecords(log), nobody, Strays(unheard))
    assert learner_of(lambda: again, end, find_ours, *rest)[1] == end
    assert learner_of(lambda: again, end - 1, find_ours, *rest)[1] == 0, "of a longer log"
    assert learner_of(lambda: again, end, lost, *rest)[1] == 0
    assert learner_of(lambda: Snapshots(again.path, "other"), end, find_ours, *rest)[1] == 0
    state = fold(log, State())
    (scope,) = state.memories
    forgotten = ProblemForgotten(scope=scope, domain="game24", problem_id="n901", limits=Limits())
    state.feed(end + 1, f"n/{scope}/-", "forgotten.x", forgotten)
    Snapshots(tmp_path / "forgot.db", "log").save(state)
    forgot = Snapshots(tmp_path / "forgot.db", "log")
    assert learner_of(lambda: forgot, end + 1, find_ours, *rest)[1] == 0
    whole = partial(learned, log, find_ours)
    assert learner_of(lambda: forgot, end + 1, find_ours, *rest, whole=whole)[1] == 0, "it is owed"


def test_after_a_problem_was_forgotten_a_start_still_begins_where_the_snapshot_ends(
    log: SqliteLog, tmp_path: Path
) -> None:
    """And a version that an open episode pinned before is what it was, with what was withdrawn since."""
    words = ("forget", "--problem", "n905", "--yes", "--backbone", "rehearsal:seed=7")
    done = call(*words, "--log", log.path)
    assert done.code == 0, done.err
    kept = Snapshots(tmp_path / "kept.db", "log")
    kept.save(fold(log, State()))
    read = list[Learner]()

    def whole() -> Learner:
        read.append(learned(log, find_ours))
        return read[-1]

    rest = (LogRecords(log), nobody, Strays(unheard), partial(known_of, log))
    learner, heard = learner_of(lambda: kept, log.end(), find_ours, *rest)
    assert (heard, learner.scopes) == (0, {}), "who cannot read the log again does so now"
    learner, heard = learner_of(lambda: kept, log.end(), find_ours, *rest, whole=whole)
    assert heard == log.end()
    (scope,) = learner.scopes.values()
    versions, known = scope.memory.versions, learned(log, find_ours).scopes[scope.id].memory
    assert versions.latest == known.latest
    assert versions.latest.revision == 1
    assert read == [], "nobody asked for what was"
    before = [versions.pinned(number, None) for number in versions]
    assert before == [known.versions.pinned(number, None) for number in versions]
    assert any(known.forgetting.cites(item) for memory in before for item in memory.items)
    assert len(read) == 1


def test_a_worker_begins_where_the_snapshot_ends(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hears only what came since; and learns on, to the same as without."""
    path = log.path
    other = copy_of(path, path.with_name("b.db"))
    assert call("rebuild", "--log", path).code == 0
    assert path.with_name("a.db.snapshot.db").exists()
    heard = list[str]()
    feed = Learner.feed

    def hear(learner: Learner, episode: str, address: str, event: Event) -> bool:
        heard.append(address)
        return feed(learner, episode, address, event)

    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--no-tables")
    found: list[int] = []
    for each in (path, other):
        heard.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Learner, "feed", hear)
            assert call(*work, "--log", each).code == 0
        found.append(len(heard))
        assert call("produce", "game24:921-940", "--policy", "mc2", "--log", each).code == 0
        assert call(*work, "--log", each).code == 0
    assert found[0] == 0 < found[1]
    digests = [call("log", "digest", "--log", each).out for each in (path, other)]
    assert digests[0] == digests[1]
    assert [call("verify", "--log", each).code for each in (path, other)] == [0, 0]
