"""The view that every worker has of the whole log: learning, feedback and checkpoints.

Theory of operation. One follower hands every record of these topics to ``take``, on every worker in the same order for
each partition. The fence of its partition and the first of an id decide what counts. What counts is told, in this
order, to the snapshot, to the learner's fold, and to the worker (``heard``), so that whoever acts on a record finds
all that it says already known. The view itself appends nothing.

What grows with the log it keeps in rows, and looks up: which records count, reflections, judgements, and what later
versions may rest on. So it can go on from where a worker of this machine stopped (``snapshot.py``). Rows are
committed between records and never within one: half a record would be taken for a whole one after a crash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

import orjson
from pydantic import ValidationError

from handlers.answers.grade import CHECKERS
from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import Embedded
from schemas.events.learning import (
    BatchClosed,
    Graded,
    GradeProposed,
    KnowledgeConsolidated,
    LessonDistilled,
    MemoryVersioned,
    Reflected,
)
from schemas.identity import canonical
from schemas.places import stands
from schemas.problem import Feedback
from schemas.record import event_id
from schemas.written import feedback_of
from state.folds.learned import MEASURED
from state.folds.memory import MemoryMismatch
from state.folds.state import scope_of
from streams.core.closing import GRADED, evidence_of, grade_address
from streams.engine.learner import Learner
from streams.engine.regraded import is_of_person
from streams.runtime.faults import told
from streams.runtime.kafka.envelope import LogRecord, NotOurs, data_of, read
from streams.runtime.kafka.fence import CLAIMED, Fence
from streams.runtime.kafka.follow import unheard
from streams.runtime.kafka.kept import KeptJudgements, KeptRows
from streams.runtime.kafka.letters import letter_key
from streams.runtime.kafka.place import KafkaAddress, partition_of

KEPT = (BatchClosed, KnowledgeConsolidated, LessonDistilled, *MEASURED)
"""What forgetting and grades given anew need of a learning episode that is over."""
KNOWN: Final = "known"
REFLECTED: Final = "reflected"
RUN: Final = "run"
JOURNAL: Final = "journal"
TAUGHT: Final = "taught"
LETTER: Final = "letter"
PROPOSED: Final = "proposed"
"""Parts of what is kept: records that count, reflections, which are a problem's, dead letters that are there, and
grades that were given anew and wait for the owner of their scope to state them.

What learning episodes said is in one part as long as they are open, and what is needed of it later in another.
"""
Heard = Callable[[int, str, Event], None]
Accepted = Callable[[str, str, Event], None]


class ViewRecords:
    """Records for forgetting, from the part of `learning` that a worker keeps."""

    def __init__(self, view: View) -> None:
        self.view = view

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        return self.journal(episode).get(address)

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of one episode by address; of a finished batch those that later versions rest on."""
        reflected = self.view.reflection(episode)
        if reflected is not None:
            return {"reflected": reflected}
        return self.view.journals.get(episode) or self.view.said_in(TAUGHT, episode)

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        """Names of a scope's finished episodes that begin with this."""
        found = self.view.rows.under(REFLECTED, prefix)
        return [name for name, body in found if _reflected(body).scope == scope]


class View:
    """Folds of the shared topics. ``heard(partition, episode, event)`` is told of accepted records."""

    def __init__(
        self,
        place: KafkaAddress,
        learner: Learner,
        partitions: int,
        heard: Heard,
        rows: KeptRows | None = None,
    ) -> None:
        self.place, self.learner, self.heard = place, learner, heard
        self.rows = KeptRows() if rows is None else rows
        self.fences = [Fence() for _ in range(partitions)]
        self.upto = [0] * partitions
        self.feedback_upto = [0] * partitions
        self.within = False
        """Whether a record is being taken, or was taken in part."""
        self.last: dict[tuple[str, int], Any] = {}
        """The last record of each partition that was read, of ``learning`` and of ``feedback``."""
        self.owing: dict[str, int] = {}
        """Reflected episodes that lack a grade by something known of them, and where they are learned from."""
        self.graders: dict[str | None, dict[tuple[str, str], None]] = defaultdict(dict)
        """Who graded: by whom it was judged, the graders and what they went by, as they were seen first."""
        self.journals: dict[str, dict[str, Event]] = defaultdict(dict)
        """Learning episodes whose version is not there yet."""
        self.proposed: dict[str, dict[str, GradeProposed]] = defaultdict(dict)
        """By scope and episode, grades given anew that its owner has not stated yet."""
        learner.records = ViewRecords(self)
        self.checkpoints: dict[int, dict[str, Any]] = {}
        self.said = KeptJudgements(self.rows)
        self.said_ms = [0] * partitions
        """The latest time on each partition of ``feedback``."""
        self.on_accepted: Accepted = unheard
        """Told of each record of ``learning`` that counts, before anybody learns of it."""
        self.on_feedback: Callable[[Feedback], None] = unheard
        self.on_refused: Callable[[int], None] = unheard
        """Told of a partition in which some feedback cannot be read."""
        self.unread: dict[bytes, tuple[int, Any, str]] = {}
        """Feedback that cannot be read and has no dead letter yet, by the letter's key: where, what and why."""
        self.refused = set[bytes]()
        """Keys of letters of these that we sent and have not read back."""
        self._names = {place.topic(name): name for name in ("learning", "feedback", "checkpoints")}
        self._names[place.dead("feedback")] = "letters"

    def topics(self) -> list[str]:
        """The full names of the topics that are followed."""
        return list(self._names)

    # -- what is known -----------------------------------------------------------------------------

    def knows(self, episode: str, address: str) -> bool:
        """Whether a record of ``learning`` is there and counts."""
        return self.rows.get(KNOWN, event_id(episode, address)) is not None

    def reflection(self, episode: str) -> Reflected | None:
        """The reflection of a finished episode, if it left one."""
        body = self.rows.get(REFLECTED, episode)
        return None if body is None else _reflected(body)

    def newest_grade(self, episode: str) -> str | None:
        """Address of the newest grade of an episode's answer, but for verdicts of persons; none where there is none."""
        # The place on the log stands with those alone that count here, so verdicts have none.
        found = self.rows.under(KNOWN, event_id(episode, GRADED))
        places = [(int(place), key.rpartition("@")[2]) for key, place in found if place]
        return max(places)[1] if places else None

    def said_in(self, part: str, episode: str) -> dict[str, Event]:
        """What a learning episode said, as far as a part has it, in the order of the log."""
        found = (
            (int(number), key.rpartition("@")[2], decode(kind.decode(), body))
            for key, row in self.rows.under(part, event_id(episode, ""))
            for number, kind, body in [row.split(b" ", 2)]
        )
        return {address: event for _, address, event in sorted(found, key=itemgetter(0))}

    def is_graded(self, episode: str, source: str | None, evidence: Any) -> bool:
        """Whether a grade of an episode rests on this: of a checker on nothing. Any grader of ours will do.

        Its address says so; the grades themselves are not kept.
        """
        by = "checker" if evidence is None else "feedback"
        return any(
            self.knows(episode, grade_address(grader, each, source, evidence))
            for grader, each in self.graders.get(source, ())
            if each == by
        )

    def episodes_of(self, feedback: Feedback) -> list[str]:
        """The reflected episodes that feedback speaks of."""
        if feedback.episode is not None:
            return [feedback.episode] if self.reflection(feedback.episode) is not None else []
        under = _runs(feedback.domain or "", feedback.problem_id or "")
        return [key[len(under) :] for key, _ in self.rows.under(RUN, under)]

    # -- what comes in -----------------------------------------------------------------------------

    def take(self, topic: str, partition: int, record: Any) -> None:
        """Take one record of any of the topics."""
        # A record that raises in the middle leaves it so: then ``snapshot.close`` keeps nothing of it.
        self.within = True
        match self._names[topic]:
            case "learning":
                self.upto[partition] = record.offset + 1
                self.last[topic, partition] = record
                self._learning(partition, record)
            case "letters":
                self.rows.add(LETTER, letter_name(record.key))
                self.unread.pop(record.key, None)
                self.refused.discard(record.key)
            case "feedback":
                self.feedback_upto[partition] = record.offset + 1
                self.last[topic, partition] = record
                self._feedback(partition, record)
            case _:
                with suppress(
                    orjson.JSONDecodeError, KeyError, TypeError
                ):  # anybody may write there
                    found = orjson.loads(record.value)
                    known = self.checkpoints.get(found["partition"])
                    if known is None or _order(found) >= _order(known):
                        self.checkpoints[found["partition"]] = found
        self.within = False

    def passed(self, topic: str, partition: int, offset: int) -> None:
        """No record lies before this offset that was not taken."""
        name = self._names[topic]
        if name in ("learning", "feedback"):
            upto = self.upto if name == "learning" else self.feedback_upto
            upto[partition] = max(upto[partition], offset)

    def _learning(self, partition: int, record: Any) -> None:
        try:
            said = read(record.headers, record.value)
        except NotOurs:
            return
        if not self.fences[partition].admits(record.offset, said):
            return
        try:
            # Decoded before it is known: a record that nobody can read must not hide a good one of its id.
            event = decode(said.kind, said.body)
            place = b""
            if isinstance(event, Graded) and not is_of_person(event):
                place = b"%d" % record.offset
            new = self.rows.add(KNOWN, event_id(said.episode, said.address), place)
            if new or said.kind == CLAIMED:
                self._accept(partition, said, event)
        except (BadEvent, LookupError):
            return

    def _accept(self, partition: int, said: LogRecord, event: Event) -> None:
        episode = said.episode
        self.on_accepted(episode, said.address, event)
        try:
            counts = self.learner.feed(episode, said.address, event)
        except MemoryMismatch as error:
            # One scope's damage must not stop the work of all others, at every start of every worker.
            self.learner.lose(scope_of(episode), str(error))
            return
        if not counts:
            return
        match event:
            case Reflected():
                self.rows.put(REFLECTED, episode, said.body)
                self.rows.put(RUN, _runs(event.domain, event.problem_id) + episode, b"")
                self._look_whether_owed(episode, event)
            case Graded():
                self._graded(episode, event)
            case GradeProposed():
                self._proposed(said, event)
            case MemoryVersioned():
                self._versioned(episode)
            case _ if episode.startswith("b/"):
                journal = self.journals[episode]
                self._keep(JOURNAL, len(journal), episode, said.address, event)
                journal[said.address] = event
            case _:
                pass
        self.heard(partition, episode, event)

    def _graded(self, episode: str, event: Graded) -> None:
        self.graders[event.source][event.grader, event.by] = None
        if episode in self.owing:
            self._look_whether_owed(episode, self.reflection(episode))
        # Whatever it says, the one that was proposed to follow its predecessor does not any more.
        if not is_of_person(event) and episode in self.proposed[event.scope]:
            del self.proposed[event.scope][episode]
            self.rows.put(PROPOSED, episode, None)

    def _proposed(self, said: LogRecord, event: GradeProposed) -> None:
        """Keep a grade for its owner, where its answer is there and no other came first. Anybody may have put it."""
        reflected = self.reflection(said.episode)
        is_known = reflected is not None and reflected.scope == event.scope
        # Its owner states it under a claim, so that it may name no other address than that of a grade.
        is_known = is_known and stands(said.episode, said.address, event)
        if is_known and event.after == self.newest_grade(said.episode):
            self.proposed[event.scope][said.episode] = event
            self.rows.put(PROPOSED, said.episode, said.body)

    def _versioned(self, episode: str) -> None:
        # The learning episode is over. Later versions may rest on some of what it said: of vectors only on
        # those of measures, which are found by their texts. The rest would grow with the log.
        for number, (address, event) in enumerate(self.journals.pop(episode, {}).items()):
            self.rows.put(JOURNAL, event_id(episode, address), None)
            by_text = isinstance(event, Embedded) and event.texts is not None
            if isinstance(event, KEPT) or by_text:
                self._keep(TAUGHT, number, episode, address, event)

    def _keep(self, part: str, number: int, episode: str, address: str, event: Event) -> None:
        # Keys are in the order of addresses. The number gives back that of the log.
        row = b"%d %s " % (number, event.kind.encode()) + event.to_json()
        self.rows.put(part, event_id(episode, address), row)

    def _look_whether_owed(self, episode: str, event: Reflected | None) -> None:
        """Note whether an episode lacks a grade, so that a take-over looks at those alone."""
        if event is not None and (
            (event.domain in CHECKERS and not self.is_graded(episode, None, None))
            or any(
                not self.is_graded(episode, each.by, evidence_of(each))
                for each in self.said.of(episode, event)
            )
        ):
            self.owing[episode] = partition_of(event.scope.encode(), len(self.fences))
        else:
            self.owing.pop(episode, None)

    def _feedback(self, partition: int, record: Any) -> None:
        try:
            body, _ = data_of(record.headers, record.value)
            feedback = feedback_of(body)
            canonical(feedback.model_dump(mode="json"))
        except (ValidationError, NotOurs, TypeError, ValueError) as error:
            # Its dead letter may be read already: some owner before us wrote it, or we did before a crash.
            key = letter_key("feedback", record)
            if self.rows.get(LETTER, letter_name(key)) is None:
                self.unread[key] = partition, record, told(error)
                self.on_refused(partition)
            return
        # By its place among its own partition's, as in ``imported.in_time``: clocks of who speaks go back.
        self.said_ms[partition] = max(self.said_ms[partition], record.timestamp)
        if self.said.add(self.said_ms[partition], feedback):
            for episode in self.episodes_of(feedback):
                self._look_whether_owed(episode, self.reflection(episode))
            self.on_feedback(feedback)


def _order(checkpoint: Mapping[str, Any]) -> tuple[int, int]:
    """A copy of an older one may come late."""
    return checkpoint["epoch"], checkpoint.get("number", 0)


def _reflected(body: bytes) -> Reflected:
    event = decode("reflected", body)
    assert isinstance(event, Reflected)
    return event


def grade_proposed(body: bytes) -> GradeProposed:
    """A grade that was given anew, as a row has it. Raises ``BadEvent``."""
    event = decode("grade.proposed", body)
    assert isinstance(event, GradeProposed)
    return event


def _runs(domain: str, problem_id: str) -> str:
    """What the keys of a problem's episodes begin with, and those of no other's."""
    return canonical([domain, problem_id]).decode()


def letter_name(key: bytes | None) -> str:
    """The key of a dead letter as a row's; anybody may have put one there."""
    return (key or b"").decode("latin-1")
