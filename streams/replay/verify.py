"""Verification: every policy is run again over its recorded answers, with no world to ask.

Facts, closings, answers, reflections, grades, batches and memory versions must all come out as they were
recorded. An episode whose policy@version is not installed is not verifiable, never passed.

What no policy states is compared with what the log says of it elsewhere: places and claims of records,
problems and answers on their topics, series, grades and texts; and by the stamps of its closing the models,
usage and times of an episode's records. What is said once only cannot be compared:
that is left out, and told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from msgspec import structs

from handlers.policies.base import Policy
from schemas.asking import Diverged, Exhausted
from schemas.events.base import Event
from schemas.events.codec import BadEvent
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import BatchClosed, MemoryVersioned, Reflected
from schemas.events.traces import TraceTaken
from schemas.identity import ASKED, is_numbered, is_taken, learning_id
from schemas.record import Record
from schemas.settings import BadSetting
from state.folds.windows import Due
from streams.answering.grading.own import OwnGrader
from streams.core.closing import Closing, close, closing
from streams.core.compare import as_placed, as_recorded, difference, same
from streams.core.drive import Run, replayed
from streams.core.grants import Grant
from streams.core.totals import EpisodeTotals
from streams.core.unkept import unkept_of
from streams.engine.episode import PolicyChanged, Work, conclude, opening, resolved
from streams.engine.learner import Learner
from streams.engine.learning import learn
from streams.engine.policies import NoPolicy, find_recorded
from streams.engine.scopes import Scope
from streams.producing.traces.reflecting import reflection_of
from streams.replay.announced import Announced
from streams.replay.claimed import Sort, cut_off, freed, misnumbered, sort_of, unclaimed
from streams.replay.completeness import lacking, misfiled, referred, unreadable
from streams.replay.grades import Grades
from streams.replay.left_out import LeftOut, Leftovers
from streams.replay.messages import Messages
from streams.replay.probes import recorded_work
from streams.replay.sets import derive_set
from streams.replay.stamped import restamped
from streams.replay.standing import disordered, gaps, headless, misplaced
from streams.runtime.embedded.erasing import sealed_on
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes
from streams.runtime.embedded.records import LogRecords


@dataclass(slots=True)
class Verified:
    """The result of a verification: what was verified, what diverged, and what this build cannot verify."""

    episodes: int = 0
    facts: int = 0
    diverged: list[Diverged] = field(default_factory=list[Diverged])
    unverifiable: list[str] = field(default_factory=list[str])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    """What nobody can compare, for the log says it once only."""
    erased: int = 0
    """Episodes whose subjects were erased: nothing of them can be read."""
    covered: int | None = None
    """How many records and messages published heads speak of; unknown where none were given."""
    since: int | None = None
    """How many came after those heads."""


def expect(episode: str, address: str, recorded: Event | None, derived: Event) -> None:
    """Raises ``Diverged`` unless the record holds what was derived."""
    if recorded is None:
        raise Diverged(episode, address, derived.kind, "nothing", "a record")
    derived = as_placed(recorded, as_recorded(recorded, derived))
    if recorded != derived and not same(recorded, derived):
        raise Diverged(episode, address, *difference(recorded, derived))


class Verifier:
    """One pass over one log."""

    def __init__(
        self, log: SqliteLog, find: Callable[[str], Policy[Any]], own: OwnGrader | None = None
    ) -> None:
        """Verify with these policies. ``own`` says again what a grader of somebody's own said."""
        self.log, self.find = log, find
        self.learner = Learner(find, LogRecords(log))
        self.done = Verified()
        self.left = Leftovers()
        self.sort: Sort = sort_of(log)
        self.messages = Messages(log, self.sort, self.left)
        self.grades = Grades(log, self.left, own, part=self.sort == "part")
        self.announced = Announced()
        self.texts: dict[str, str] = {}
        """Digests that records refer to, and where first."""
        self.not_here: dict[str, str] = {}
        """Why episodes are not verifiable, those too that only have a part in such a one."""

    def run(self, only: str | None = None) -> Verified:
        """Verify the whole log, or what was learned and one episode."""
        with self.log.reading():
            if only is None:
                self._note(misfiled(self.log))
                self._guard("-", self._standing)
                self._guard("-", self._sealed)
            self._run(only)
            self._guard("-", lambda: self._note(restamped(self.log, self.left, only)))
        why = "no head of it was given: metalogue log heads"
        self.left.add("a log that was written anew as a whole", why, None)
        self.done.left_out = self.left.all()
        return self.done

    def _run(self, only: str | None) -> None:
        try:  # all can be read, before any is relied on
            deque(self.log.records("learning"), maxlen=0)
        except BadEvent:
            self.done.diverged += unreadable(self.log)
            return
        for record in self.log.records("learning"):
            self._refers(record.episode, record.address, record.event)
            self._guard(record.episode, partial(self._learned, record))
            self._guard(
                record.episode,
                partial(self.learner.feed, record.episode, record.address, record.event),
            )
            self.announced.heard(record.event)
        for episode in self._episodes(only):
            self._guard(episode, partial(self._episode, episode))
        if only is None:
            self._guard("-", self._told_elsewhere)

    def _episodes(self, only: str | None) -> Iterator[str]:
        yield from (each for each in episodes.every(self.log) if only in (None, each))

    def _refers(self, episode: str, address: str, event: Event) -> None:
        text = referred(event)
        if text is not None:
            self.texts.setdefault(text, f"{episode} at {address}")

    # -- what no policy states ---------------------------------------------------------------------

    def _standing(self) -> None:
        """Whether records stand where they may, and under whose claim."""
        log, sort = self.log, self.sort
        self._note(misplaced(log, sort, self.left))
        self._note(headless(log, whole=sort != "part"))
        self._note(disordered(log))
        if sort == "part":
            self.left.add("the rest of the log", "this is a part without its claims", None)
            return
        for check in (misnumbered, unclaimed, freed, cut_off):
            self._note(check(log, sort))
        if sort == "file":
            self._note(gaps(log))

    def _sealed(self) -> None:
        """Count what was erased; whatever else cannot be read was changed, or its key is lost."""
        sealed = sealed_on(self.log)
        self.done.erased = sealed.erased
        self._note(sealed.diverged)

    def _told_elsewhere(self) -> None:
        """Compare topics, texts and series with all episodes."""
        self.left.add("what may be cut off at the end", "no head of the log is kept", None)
        self._note(self.messages.forged())
        self._note(self.messages.unadmitted())
        self._note(lacking(self.log, self.texts, self.left))
        self._note(self.announced.misstated(settled=self.messages.settled))
        many = len(self.announced.series)
        self.left.add("series' seed, order and build", "their source is not on the log", many)

    def _note(self, found: Iterable[Diverged]) -> None:
        self.done.diverged += found

    def _guard(self, episode: str, check: Callable[[], object]) -> None:
        try:
            check()
        except Diverged as error:
            self.done.diverged.append(error)
        except Exhausted as error:
            self.done.diverged.append(
                Diverged(episode, error.address, "length", "the record ends", "a further question")
            )
        except (NoPolicy, PolicyChanged, BadSetting) as error:
            self._not_verifiable(episode, str(error))
        except BadEvent:
            self.done.diverged += unreadable(self.log, episode)
        except Exception as error:  # what was changed can break anything that relied on it
            said = f"{type(error).__name__}: {error}"
            self.done.diverged.append(Diverged(episode, "-", "replay", "a record to follow", said))

    def _not_verifiable(self, episode: str, why: str) -> None:
        """Count an episode once, whatever of it this build cannot derive."""
        if episode not in self.not_here:
            self.not_here[episode] = why
            self.done.unverifiable.append(f"{episode}: {why}")

    # -- what was learned --------------------------------------------------------------------------

    def _learned(self, record: Record) -> None:
        match record.event:
            case BatchClosed():
                self._batch(record.episode, record.event)
            case MemoryVersioned():
                self._version(record.episode, record.event)
            case Reflected() if is_taken(record.episode):
                self._taken(record.episode, record.event)
            case _:
                pass

    def _taken(self, episode: str, reflected: Reflected) -> None:
        """What a case from elsewhere leaves, and how it was graded, by its own record."""
        journal = self.log.journal(episode)
        taken = journal.get("taken")
        if not isinstance(taken, TraceTaken):
            raise Diverged(episode, "taken", "trace.taken", "nothing", "a record")
        name, _, version = reflected.policy.rpartition("@")
        policy = find_recorded(self.find, name, version)
        derived = reflection_of(policy, taken)
        if derived.policy != reflected.policy:
            raise PolicyChanged(f"taken in with {reflected.policy}; installed is {derived.policy}")
        expect(episode, "reflected", reflected, derived)
        if self.sort == "part":
            self.left.add("grades", "what was said of other tools' traces is in another part")
        else:
            self._note(self.grades.compared(episode, journal))
        self._note(self.announced.taken(episode, taken))
        self.left.add("traces' tools, ids and files", "they stand there once")
        self.done.facts += 1

    def _batch(self, episode: str, closed: BatchClosed) -> None:
        scope = self.learner.known(closed.scope)
        self._installed(scope.policy, closed)
        due: Due | None = scope.window.due()
        if scope.memory.forgetting.is_unknown_to(closed):  # it is closed again, with other members
            due = Due(closed.batch, closed.series, closed.members)
        if due is None:
            raise Diverged(episode, "batch", "window", "closed", "not due")
        expect(episode, "batch", closed, self.learner.batch_closed(scope, due, closed.limits))

    def _installed(self, policy: Policy[Any], closed: BatchClosed) -> None:
        if policy.version != closed.policy_version:
            recorded = f"{closed.policy}@{closed.policy_version}"
            raise PolicyChanged(f"learned with {recorded}; installed is {policy.reference}")

    def _version(self, episode: str, version: MemoryVersioned) -> None:
        scope = self.learner.known(version.scope)
        if version.number == 0:
            self._warm(episode, scope, version)
            return
        closed = scope.batches[version.number]
        self._installed(scope.policy, closed)
        ended = self.log.find(episode, "closed")
        journal = numbered(self.log.journal(episode))
        if ended is None and scope.policy.learns != "none":
            raise Diverged(episode, "closed", "episode.closed", "nothing", "a record")
        if ended is None and journal:
            raise Diverged(
                episode, min(journal), "length", "a record", "a policy that learns nothing"
            )
        if isinstance(ended, EpisodeClosed):
            spy = Counting()
            derived = replayed(
                learn(scope, closed, self.learner, None, None, journal, spy.see, unkept_of(ended))
            )
            expect(episode, "closed", ended, derived)
            self._count(spy.run, journal, episode)
        if not scope.memory.forgetting.replaces(version):
            expect(episode, "version", version, self.learner.version(scope, closed))

    def _warm(self, episode: str, scope: Scope, version: MemoryVersioned) -> None:
        name, _, number = (version.origin or "").rpartition("@")
        versions = self.learner.memory(name).versions
        at, _, revision = number.partition(".")
        source = versions.pinned(int(at), int(revision or 0))
        journal = self.log.journal(episode)
        for address, event in self.learner.warm(scope, source):
            expect(episode, address, journal.get(address), event)
            self.done.facts += address != "version"
        self.done.episodes += 1

    def _count(self, run: Run | None, journal: dict[str, Event], episode: str) -> None:
        if run is None:
            return
        if strange := sorted(run.put.keys() - run.posed):
            where = f"{ASKED}{strange[0]}"
            raise Diverged(episode, where, "review.asked", "a question", "nothing asked there")
        unmet = journal.keys() - run.visited
        if unmet:
            raise Diverged(episode, min(unmet), "length", "a further record", "the policy ended")
        self.done.episodes += 1
        self.done.facts += run.restated

    # -- what was solved ---------------------------------------------------------------------------

    def _episode(self, episode: str) -> None:
        journal = self.log.journal(episode)
        self._accounts(episode, journal)
        opened = journal.get("opened")
        if not isinstance(opened, EpisodeOpened):
            return  # nobody began it yet
        if opened.members is not None:
            self._set(episode)
        elif opened.within is None:
            self._alone(episode, journal, opened)
        elif opened.within in self.not_here:  # else a member's part is derived with its set
            self._not_verifiable(episode, self.not_here[opened.within])

    def _accounts(self, episode: str, journal: dict[str, Event]) -> None:
        """Compare an episode's records with what the log says of it elsewhere."""
        for address, event in journal.items():
            self._refers(episode, address, event)
        admitted = journal.get("admitted")
        if isinstance(admitted, ProblemAdmitted):
            self._guard(episode, partial(self.messages.admitted, episode, admitted))
            self._guard(episode, partial(self.announced.admitted, episode, journal))
        opened = journal.get("opened")
        if isinstance(opened, EpisodeOpened) and opened.within is None:
            met = journal.values()
            self._guard(episode, partial(self.messages.answered, episode, journal, met))
        self._guard(episode, lambda: self._note(self.grades.compared(episode, journal)))
        self._guard(episode, lambda: self._note(self.grades.heard(episode, journal)))

    def _alone(self, episode: str, journal: dict[str, Event], opened: EpisodeOpened) -> None:
        source = self.log.journal(opened.parent) if opened.parent else journal
        admitted = source["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        if opened.parent and opened.at:
            journal = before(source, opened.at) | journal
        if self._lacks_memory(admitted.scope, opened):
            return
        policy = find_recorded(self.find, opened.policy, opened.policy_version)
        memories = self._memories(admitted.scope)
        work = recorded_work(self.log, episode, admitted, journal, policy, memories)
        run = work.run(None, None)
        try:
            conclusion, seconds = replayed(conclude(work, run))
        except Exhausted:
            if "closed" in journal:
                raise
            self._count(run, work.journal, episode)
            return
        if "closed" in journal:
            numbers = numbered(self.log.journal(episode))
            own = {a: e for a, e in work.journal.items() if opened.parent is None or a in numbers}
            tally = replace(EpisodeTotals.of(own), texts=run.tally.texts)
            if opened.purpose is not None:  # a fork's trace begins in the middle
                expect(episode, "closed", journal["closed"], close(tally, conclusion, seconds))
            else:
                self._opening(work, opened)
                given = work.policy, work.settings, episode, admitted, opened, own
                self._closing(
                    episode, journal, closing(*given, conclusion, seconds, tally, work.room)
                )
        self._count(run, work.journal, episode)

    def _set(self, episode: str) -> None:
        """A set episode, with what it left of each member."""
        opened = self.log.find(episode, "opened")
        assert isinstance(opened, EpisodeOpened)
        if self._lacks_memory(self._scope_of(opened), opened):
            return
        found = derive_set(self.log, episode, self.find, self._memories)
        for address, recorded, derived in found.own:
            expect(episode, address, recorded, derived)
        for member, record, end in found.members:
            self._opening(member, structs.replace(member.opened, within=None))
            if end is not None:
                self._closing(member.episode, record, end)
                met = dict(found.part(member).events).values()
                self.messages.answered(member.episode, record, met)
                self.done.episodes += 1
        self._count(found.run, found.run.journal, episode)

    def _lacks_memory(self, scope: str, opened: EpisodeOpened) -> bool:
        """Whether what an episode knew was learned in a part of the log that is not here."""
        if self.sort != "part":
            return False
        versions, number = self._memories(scope), opened.memory_version
        given = orjson.loads(self.log.text(opened.settings) or "{}")
        begun = number > 0 or given.get("warm_start") is not None
        is_here = self.log.find(learning_id(scope, number, opened.memory_revision), "version")
        if not begun or (is_here is not None and number in versions):
            return False
        self.left.add(
            "episodes' answers and facts", "their memory was learned in another part of the log"
        )
        return True

    def _memories(self, scope: str) -> Mapping[int, Any]:
        return self.learner.memory(scope).versions

    def _scope_of(self, opened: EpisodeOpened) -> str:
        admitted = self.log.find((opened.members or ("",))[0], "admitted")
        return admitted.scope if isinstance(admitted, ProblemAdmitted) else ""

    def _opening(self, work: Work, opened: EpisodeOpened) -> None:
        problem = work.admitted.problem
        settings = resolved(work.policy, problem).digest
        grant = Grant(
            limits=opened.limits, prices=opened.prices or {}, price_list=opened.price_list
        )
        told = opening(work.policy, settings, problem, work.memory, opened.backbones, grant)
        expect(work.episode, "opened", opened, told)

    def _closing(self, episode: str, journal: dict[str, Event], end: Closing) -> None:
        expect(episode, "closed", journal["closed"], end.closed)
        expect(episode, "reflected", journal.get("reflected"), end.reflected)
        for address, graded in end.graded:
            expect(episode, address, journal.get(address), graded)


class Counting:
    """Keeps the run that a learning episode was replayed with."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def see(self, run: Run) -> None:
        """Remember the run."""
        self.run = run


def numbered(journal: dict[str, Event]) -> dict[str, Event]:
    """The records that the policy yielded."""
    return {address: event for address, event in journal.items() if is_numbered(address)}


def before(journal: dict[str, Event], at: str) -> dict[str, Event]:
    """The numbered records before an address."""
    from schemas.identity import address_order

    end = address_order(at)
    return {a: e for a, e in numbered(journal).items() if address_order(a) < end}
