"""The view that every worker has of the whole log: learning, feedback and checkpoints, read from their beginning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import Embedded
from schemas.events.learning import (
    BatchClosed,
    Graded,
    KnowledgeConsolidated,
    MemoryVersioned,
    Reflected,
)
from schemas.identity import canonical
from schemas.problem import Feedback
from schemas.written import feedback_of
from state.folds.learned import MEASURED
from streams.learner import Learner
from streams.relay import grade_address
from streams.runtime.faults import told
from streams.runtime.judgements import Judgements
from streams.runtime.kafka.envelope import NotOurs, Said, data_of, read
from streams.runtime.kafka.fence import CLAIMED, Fence
from streams.runtime.kafka.letters import letter_key
from streams.runtime.kafka.place import Place

KEPT = (BatchClosed, KnowledgeConsolidated, *MEASURED)
"""What forgetting needs of a learning episode that is over."""
Heard = Callable[[int, str, Event], None]


def _nothing(_: Feedback) -> None:
    return None


def _nobody(partition: int) -> None:
    return None


def _is_kept(event: Event) -> bool:
    """Whether later versions may rest on it: vectors of measures too, which are found by their texts."""
    return isinstance(event, KEPT) or (isinstance(event, Embedded) and event.texts is not None)


class ViewRecords:
    """Records for forgetting, from the part of `learning` that a worker keeps in memory."""

    def __init__(self, view: View) -> None:
        self.view = view

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        return self.journal(episode).get(address)

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of one episode by address; of a finished batch those that later versions rest on."""
        reflected = self.view.reflected.get(episode)
        if reflected is not None:
            return {"reflected": reflected}
        return self.view.journals.get(episode) or self.view.kept.get(episode, {})

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        """Names of a scope's finished episodes that begin with this."""
        named = (each for each in self.view.reflected.items() if each[0].startswith(prefix))
        return [name for name, event in named if event.scope == scope]


class View:
    """Folds of the shared topics. ``heard(partition, episode, event)`` is told of accepted records."""

    def __init__(self, place: Place, learner: Learner, partitions: int, heard: Heard) -> None:
        self.place, self.learner, self.heard = place, learner, heard
        self.fences = [Fence() for _ in range(partitions)]
        self.upto = [0] * partitions
        self.feedback_upto = [0] * partitions
        self.known: set[tuple[str, str]] = set()
        self.reflected: dict[str, Reflected] = {}
        self.reflections: list[list[str]] = [[] for _ in range(partitions)]
        """Reflected episodes by the partition that they are learned from in."""
        self.runs: dict[tuple[str, str], list[str]] = defaultdict(list)
        """Reflected episodes of a problem."""
        self.graders: dict[str | None, dict[tuple[str, str], None]] = defaultdict(dict)
        """Who graded: by whom it was judged, the graders and what they went by, as they were seen first."""
        self.journals: dict[str, dict[str, Event]] = defaultdict(dict)
        """Learning episodes whose version is not there yet."""
        self.kept: dict[str, dict[str, Event]] = {}
        """Closings, rules and measures of the others."""
        learner.records = ViewRecords(self)
        self.checkpoints: dict[int, dict[str, Any]] = {}
        self.said = Judgements()
        self.said_ms = [0] * partitions
        """The latest time on each partition of ``feedback``."""
        self.on_feedback: Callable[[Feedback], None] = _nothing
        self.on_refused: Callable[[int], None] = _nobody
        """Told of a partition in which some feedback cannot be read."""
        self.unread: dict[bytes, tuple[int, Any, str]] = {}
        """Feedback that cannot be read and has no dead letter yet, by the letter's key: where, what and why."""
        self.letters: set[bytes] = set()
        """Keys of the dead letters of feedback that are there."""
        self._names = {place.topic(name): name for name in ("learning", "feedback", "checkpoints")}
        self._names[place.dead("feedback")] = "letters"

    def topics(self) -> list[str]:
        """The full names of the topics that are followed."""
        return list(self._names)

    def take(self, topic: str, partition: int, record: Any) -> None:
        """Take one record of any of the topics."""
        match self._names[topic]:
            case "learning":
                self.upto[partition] = record.offset + 1
                self._learning(partition, record)
            case "letters":
                self.letters.add(record.key)
                self.unread.pop(record.key, None)
            case "feedback":
                self.feedback_upto[partition] = record.offset + 1
                self._feedback(partition, record)
            case _:
                self._checkpoint(record)

    def _learning(self, partition: int, record: Any) -> None:
        try:
            said = read(record.headers, record.value)
        except NotOurs:
            return
        if not self.fences[partition].admits(record.offset, said):
            return
        identity = (said.episode, said.address)
        if identity in self.known and said.kind != CLAIMED:
            return
        try:
            event = decode(said.kind, said.body)
            self._accept(partition, said, event)
        except (BadEvent, LookupError):
            return

    def _accept(self, partition: int, said: Said, event: Event) -> None:
        self.known.add((said.episode, said.address))
        episode = said.episode
        if not self.learner.feed(episode, said.address, event):
            return
        if isinstance(event, Reflected):
            self.reflected[episode] = event
            self.reflections[partition].append(episode)
            self.runs[event.domain, event.problem_id].append(episode)
        elif isinstance(event, Graded):
            self.graders[event.source][event.grader, event.by] = None
        elif isinstance(event, MemoryVersioned):
            journal = self.journals.pop(episode, {})
            self.kept[episode] = {at: e for at, e in journal.items() if _is_kept(e)}
        elif episode.startswith("b/"):
            self.journals[episode][said.address] = event
        self.heard(partition, episode, event)

    def is_graded(self, episode: str, source: str | None, evidence: Any) -> bool:
        """Whether a grade of an episode rests on this: of a checker on nothing. Any grader of ours will do.

        Its address says so; the grades themselves are not kept.
        """
        by = "checker" if evidence is None else "feedback"
        return any(
            (episode, grade_address(grader, each, source, evidence)) in self.known
            for grader, each in self.graders.get(source, ())
            if each == by
        )

    def _feedback(self, partition: int, record: Any) -> None:
        try:
            body, _ = data_of(record.headers, record.value)
            feedback = feedback_of(body)
            canonical(feedback.model_dump(mode="json"))
        except (ValidationError, NotOurs, TypeError, ValueError) as error:
            key = letter_key("feedback", record)
            if key not in self.letters:
                self.unread[key] = partition, record, told(error)
                self.on_refused(partition)
            return
        # By its place among its own partition's, as in ``imported.in_time``: clocks of who speaks go back.
        self.said_ms[partition] = max(self.said_ms[partition], record.timestamp)
        if self.said.add(self.said_ms[partition], feedback):
            self.on_feedback(feedback)

    def _checkpoint(self, record: Any) -> None:
        try:
            found = orjson.loads(record.value)
            known = self.checkpoints.get(found["partition"])
            if known is None or _order(found) >= _order(known):
                self.checkpoints[found["partition"]] = found
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return

    def episodes_of(self, feedback: Feedback) -> list[str]:
        """The reflected episodes that feedback speaks of."""
        if feedback.episode is not None:
            return [feedback.episode] if feedback.episode in self.reflected else []
        return self.runs.get((feedback.domain or "", feedback.problem_id or ""), [])


def _order(checkpoint: Mapping[str, Any]) -> tuple[int, int]:
    """A copy of an older one may come late."""
    return checkpoint["epoch"], checkpoint.get("number", 0)
