"""Verification: every policy is run again over its recorded answers, with no world to ask.

Theory of operation. A ``Verifier`` goes over the log once. First what every log must satisfy, whichever policies are
installed (``claimed``, ``standing``, ``completeness``); then what was learned, in the order of the log, since
episodes are derived with the memory versions that these records make; then every episode. ``Messages``, ``Grades``
and ``Announced`` gather on the way what is said twice, and are asked at the end what does not agree. A difference
never ends the pass: whoever looks for what was changed wants all of it. Nothing here may ask a model or write to
the log, or a verification would prove no more than that something can be made to fit.

Facts, closings, answers, reflections, grades, batches and memory versions must all come out as they were
recorded. An episode whose policy@version is not installed is not verifiable, never passed.

What no policy states is compared with what the log says of it elsewhere: places and claims of records,
problems and answers on their topics, series, grades and texts; and by the stamps of its closing the models,
usage and times of an episode's records. What is said once only cannot be compared:
that is left out, and told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from msgspec import structs

from handlers.learning.calibrate import RULES
from handlers.policies.base import Policy
from schemas.asking import Diverged, Exhausted
from schemas.events.base import Event
from schemas.events.codec import BadEvent
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import BatchClosed, MemoryVersioned, Reflected
from schemas.events.traces import TraceTaken
from schemas.identity import ASKED, address_order, is_numbered, is_taken, learning_id
from schemas.settings import BadSetting
from streams.answering.grading.own import OwnGrader
from streams.core.closing import Closing, close
from streams.core.compare import as_placed, as_recorded, difference, same
from streams.core.drive import Run, replayed
from streams.core.grants import Grant
from streams.core.totals import EpisodeTotals
from streams.core.unkept import unkept_of
from streams.engine.episode import PolicyChanged, Work, conclude, opening, resolved
from streams.engine.learner import Learner
from streams.engine.learning import learn
from streams.engine.policies import NoPolicy, find_recorded
from streams.producing.traces.reflecting import reflection_of
from streams.replay.announced import Announced
from streams.replay.batches_due import due_of
from streams.replay.claimed import Sort, cut_off, freed, misnumbered, sort_of, unclaimed
from streams.replay.completeness import lacking, misfiled, referred, unreadable
from streams.replay.grades import Grades
from streams.replay.left_out import LeftOut, Leftovers
from streams.replay.messages import Messages
from streams.replay.probes import recorded_work
from streams.replay.sets import derive_set
from streams.replay.stamped import restamped
from streams.replay.standing import disordered, gaps, headless, misplaced
from streams.replay.withdrawn import still_counted
from streams.runtime.embedded.erasing import sealed_on
from streams.runtime.embedded.files import SqliteError
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
    # Earlier builds wrote some fields otherwise; what only they lack is no difference.
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
        self.several = self.sort != "file"
        """Whether somebody may have written who had not read all of it: a file has one writer at a time."""
        self.messages = Messages(log, self.sort, self.left)
        self.grades = Grades(log, self.left, own, part=self.sort == "part")
        self.announced = Announced()
        self.texts: dict[str, str] = {}
        """Digests that records refer to, and where first."""
        self.not_here: dict[str, str] = {}
        """Why episodes are not verifiable, those too that only have a part in such a one."""

    def run(self, only: str | None = None) -> Verified:
        """Verify the whole log, or what was learned and one episode."""
        log, sort = self.log, self.sort
        with log.reading():
            if only is None:
                self._note(misfiled(log))
                # Whether records stand where they may, and under whose claim.
                with self._guarded("-"):
                    self._note(misplaced(log, sort, self.left))
                    self._note(headless(log, whole=sort != "part"))
                    self._note(disordered(log))
                    if sort == "part":
                        why = "this is a part without its claims"
                        self.left.add("the rest of the log", why, None)
                    else:
                        for check in (misnumbered, unclaimed, freed, cut_off):
                            self._note(check(log, sort))
                    if sort == "file":
                        self._note(gaps(log))
                # What was erased is counted; whatever else cannot be read was changed, or its key is lost.
                with self._guarded("-"):
                    sealed = sealed_on(log)
                    self.done.erased = sealed.erased
                    self._note(sealed.diverged)
            self._run(only)
            with self._guarded("-"):
                self._note(restamped(log, self.left, only))
        # Said of every log: nobody can tell from a log alone that it is the one which was written
        # first.
        why = "no head of it was given: metalogue log heads"
        self.left.add("a log that was written anew as a whole", why, None)
        self.done.left_out = self.left.all()
        return self.done

    def _run(self, only: str | None) -> None:
        """Derive what was learned and what was solved, then compare what both say of topics and series."""
        try:  # all can be read, before any is relied on
            deque(self.log.records("learning"), maxlen=0)
        except BadEvent:
            self.done.diverged += unreadable(self.log)
            return
        for record in self.log.records("learning"):
            episode, event = record.episode, record.event
            self._refers(episode, record.address, event)
            with self._guarded(episode):
                match event:
                    case BatchClosed():
                        self._batch(episode, event)
                    case MemoryVersioned():
                        self._version(episode, event)
                    case Reflected() if is_taken(episode):
                        self._taken(episode, event)
                    case _:
                        pass
            # Also where it diverged: what comes after it was learned with the record as it stands, and
            # would otherwise diverge as a whole, which says nothing of where the change is.
            with self._guarded(episode):
                self.learner.feed(episode, record.address, event)
            self.announced.heard(event)
        for episode in episodes.every(self.log):
            if only in (None, episode):
                with self._guarded(episode):
                    self._episode(episode)
        if only is not None:
            return
        # Only now, and never for one episode: what is wanted or announced is known when all were met.
        with self._guarded("-"):
            self.left.add("what may be cut off at the end", "no head of the log is kept", None)
            self._note(self.messages.forged())
            self._note(self.messages.unadmitted())
            self._note(lacking(self.log, self.texts, self.left))
            self._note(self.announced.misstated(settled=self.messages.settled))
            if self.sort != "part":  # where closings may lie in another
                known = (*self.learner.scopes, *self.learner.lost)
                self._note(still_counted(self.learner.memory(name) for name in known))
            many = len(self.announced.series)
            self.left.add("series' seed, order and build", "their source is not on the log", many)

    def _refers(self, episode: str, address: str, event: Event) -> None:
        text = referred(event)
        if text is not None:
            self.texts.setdefault(text, f"{episode} at {address}")

    def _note(self, found: Iterable[Diverged]) -> None:
        self.done.diverged += found

    @contextmanager
    def _guarded(self, episode: str) -> Generator[None]:
        """Note what ends a check, and go on behind it."""
        try:
            yield
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
        except SqliteError:
            raise  # the file is damaged, which says nothing of what was derived from it
        except Exception as error:  # what was changed can break anything that relied on it
            said = f"{type(error).__name__}: {error}"
            self.done.diverged.append(Diverged(episode, "-", "replay", "a record to follow", said))

    def _not_verifiable(self, episode: str, why: str) -> None:
        """Count an episode once, whatever of it this build cannot derive."""
        if episode not in self.not_here:
            self.not_here[episode] = why
            self.done.unverifiable.append(f"{episode}: {why}")

    # -- what was learned --------------------------------------------------------------------------

    def _taken(self, episode: str, reflected: Reflected) -> None:
        """What a case from elsewhere leaves, and how it was graded, by its own record."""
        journal = self.log.journal(episode)
        taken = journal.get("taken")
        if not isinstance(taken, TraceTaken):
            raise Diverged(episode, "taken", "trace.taken", "nothing", "a record")
        name, _, version = reflected.policy.rpartition("@")
        policy = find_recorded(self.find, name, version).as_begun(version)
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
        due = due_of(scope, closed, several=self.several)
        if due is None:
            raise Diverged(episode, "batch", "window", "closed", "not due")
        derived = self.learner.batch_closed(scope, due, closed.limits)
        if due.again is None and closed.calibration in RULES:
            # The rule is pinned, not derived: its calibrators are fitted by it in every later build too.
            # A batch that is closed again has what it was closed with, this too.
            derived = structs.replace(derived, calibration=closed.calibration)
        if scope.policy.learned_as(closed.policy_version):
            derived = structs.replace(derived, policy_version=closed.policy_version)
        if closed.overturned is None and derived.overturned is not None:
            # Builds before this one kept what was said under other outcomes, and their versions hold it.
            self.left.add("batches", "an earlier build closed them again and set nothing aside")
            derived = structs.replace(derived, overturned=None)
        if closed.retold is None and derived.retold:
            # Builds before this one left to what was measured of members the outcomes that it had.
            self.left.add("batches", "an earlier build closed them again and retold no fact")
            derived = structs.replace(derived, retold=None)
        expect(episode, "batch", closed, derived)

    def _installed(self, policy: Policy[Any], closed: BatchClosed) -> None:
        if not policy.learned_as(closed.policy_version):
            recorded = f"{closed.policy}@{closed.policy_version}"
            raise PolicyChanged(f"learned with {recorded}; installed is {policy.reference}")

    def _version(self, episode: str, version: MemoryVersioned) -> None:
        scope = self.learner.known(version.scope)
        if version.number == 0:
            # It begins with rules of another memory, and nothing was learned yet.
            name, _, number = (version.origin or "").rpartition("@")
            versions = self.learner.memory(name).versions
            at, _, revision = number.partition(".")
            source = versions.pinned(int(at), int(revision or 0))
            warmed = self.log.journal(episode)
            for address, event in self.learner.warm(scope, source):
                expect(episode, address, warmed.get(address), event)
                self.done.facts += address != "version"
            self.done.episodes += 1
            return
        closed = scope.batches[version.number]
        self._installed(scope.policy, closed)
        if self.several and version.number in scope.memory.forgetting.overtaken:
            self.left.add(
                "batches", "something was forgotten or graded anew while they were closed again"
            )
            return
        ended = self.log.find(episode, "closed")
        journal = numbered(self.log.journal(episode))
        # A policy that learns nothing has no learning episode, and then there may be no record of one.
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

    def _count(self, run: Run | None, journal: dict[str, Event], episode: str) -> None:
        if run is None:
            return
        # A record that the policy never came by was not made by it, however well it would fit.
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
        """Compare an episode with what the log says of it elsewhere, then derive it."""
        journal = self.log.journal(episode)
        for address, event in journal.items():
            self._refers(episode, address, event)
        admitted, opened = journal.get("admitted"), journal.get("opened")
        # Each under a guard of its own: they are of different things, and all of them are told.
        if isinstance(admitted, ProblemAdmitted):
            with self._guarded(episode):
                self.messages.admitted(episode, admitted)
            with self._guarded(episode):
                self.announced.admitted(episode, journal)
        if isinstance(opened, EpisodeOpened) and opened.within is None:
            with self._guarded(episode):
                self.messages.answered(episode, journal, journal.values())
        with self._guarded(episode):
            self._note(self.grades.compared(episode, journal))
        with self._guarded(episode):
            self._note(self.grades.heard(episode, journal))
        if not isinstance(opened, EpisodeOpened):
            return  # nobody began it yet
        if opened.members is not None:
            self._set(episode, opened)
        elif opened.within is None:
            self._alone(episode, journal, opened)
        elif opened.within in self.not_here:  # else a member's part is derived with its set
            self._not_verifiable(episode, self.not_here[opened.within])

    def _alone(self, episode: str, journal: dict[str, Event], opened: EpisodeOpened) -> None:
        source = self.log.journal(opened.parent) if opened.parent else journal
        admitted = source["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        if opened.parent and opened.at:
            # A fork has on record what it did itself; what it kept stands on its parent's.
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
                end = replace(work, journal=own).closing(conclusion, seconds, tally)
                self._closing(episode, journal, end)
        self._count(run, work.journal, episode)

    def _set(self, episode: str, opened: EpisodeOpened) -> None:
        """A set episode, with what it left of each member."""
        admitted = self.log.find((opened.members or ("",))[0], "admitted")
        scope = admitted.scope if isinstance(admitted, ProblemAdmitted) else ""
        if self._lacks_memory(scope, opened):
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
    end = address_order(at)
    return {a: e for a, e in numbered(journal).items() if address_order(a) < end}
