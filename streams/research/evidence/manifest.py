"""The manifest of evidence: what it is of, who made it, what it rests on, and what is not in it.

All of it but the product's version follows from the records that come along, so that it is derived again when evidence
is verified. It cannot promise what they do not hold.
"""

# `manifest_of` is asked twice: by `pack.packed`, over a log that holds the chosen records alone,
# and by whoever verifies a file, over the same. Only so can each line of it be checked. Whatever
# the whole log would have to be asked for cannot stand in it.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from schemas.asking import ReplayError
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import BatchClosed, KnowledgeConsolidated, LessonDistilled
from schemas.events.traces import TraceTaken
from schemas.identity import is_taken, learning_id, learning_parts
from schemas.memory import Memory, MemoryItem
from streams.engine.policies import Find, NoPolicy
from streams.research.evidence.chains import Chain
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import learned

FORMAT, VERSION = "metalogue evidence", 1
ABSENT = (
    "other episodes' records and messages, but for their digests",
    "claims, how far readers have come, and counters of the log",
    "the records of the episodes that items were learned from: of them the reflections are here",
    "models, and the policies' code: product and policies are named",
)
Json = dict[str, Any]


def product() -> str:
    """This build's name and version."""
    return f"metalogue {version('metalogue')}"


@dataclass(frozen=True, slots=True)
class Claims:
    """What a manifest says of its file, not of the episode."""

    parts: Json
    numbered: bool
    """Whether offsets are the log's own, which its chains speak of."""
    signed_by: str | None


def manifest_of(
    log: SqliteLog, episode: str, memory: Json | None, chains: Sequence[Chain], said: Claims
) -> Json:
    """The manifest of evidence that lies on a log of its own."""
    total = sum(chain.count + len(chain.records) for chain in chains)
    here = sum(len(chain.here) for chain in chains)
    closed, admitted = log.find(episode, "closed"), log.find(episode, "admitted")
    ended = closed if isinstance(closed, EpisodeClosed) else None
    policies: set[str] = set()
    models: set[str] = set()
    for record in log.records(kinds=("episode.opened", "batch.closed", "completed")):
        event = record.event
        if isinstance(event, EpisodeOpened | BatchClosed):
            policies.add(f"{event.policy}@{event.policy_version}")
        elif isinstance(event, Completed):
            models.add(event.model)
    return {
        "format": FORMAT,  # first: by it a file is known
        "version": VERSION,
        "product": product(),
        "episode": episode,
        "problem": admitted.problem.problem if isinstance(admitted, ProblemAdmitted) else None,
        "status": None if ended is None else ended.status,
        "answer": None if ended is None else ended.answer,
        "confidence": None if ended is None else ended.confidence,
        "policies": sorted(policies),
        "models": sorted(models),
        "memory": memory,
        "absent": {"rows": total - here, "what": list(ABSENT)},
        "parts": said.parts,
        "heads": [chain.head.json for chain in chains],
        "numbered": said.numbered,
        "signed_by": said.signed_by,
    }


# -- what it rests on ------------------------------------------------------------------------------


def memory_of(log: SqliteLog, episode: str, find: Find) -> Json | None:
    """The memory version that an episode knew, and what of it stood in its prompts, with the sources of each.

    Raises ``NoPolicy`` where the policy that learned it is not here.
    """
    opened, closed = log.find(episode, "opened"), log.find(episode, "closed")
    parent = opened.parent if isinstance(opened, EpisodeOpened) else None
    admitted = log.find(parent or episode, "admitted")
    if not isinstance(opened, EpisodeOpened) or not isinstance(admitted, ProblemAdmitted):
        return None
    known = _version(log, find, admitted.scope, opened)
    if known is None:
        return None
    used = closed.items if isinstance(closed, EpisodeClosed) else ()
    sources = Sources(log, known)
    return {
        "scope": known.scope,
        "version": known.name,
        "state": known.state(),
        "items": [sources.told(name) for name in used],
    }


def _version(log: SqliteLog, find: Find, scope: str, opened: EpisodeOpened) -> Memory | None:
    learner = learned(log, find)
    if scope in learner.lost:
        raise NoPolicy(f"the policy of {scope}")
    if scope not in learner:
        return None
    number = opened.memory_version
    versions = learner.memory(scope).versions
    # Without the record of the version nobody can say
    # that the memory which is folded here is that one.
    if log.find(learning_id(scope, number, opened.memory_revision), "version") is None:
        return None
    try:
        return versions.pinned(number, opened.memory_revision or 0)
    except (LookupError, ReplayError):
        return None


class Sources:
    """Where the items of a memory version come from: episodes, or lessons that come from episodes.

    A memory that began with another's version has items from there.
    """

    def __init__(self, log: SqliteLog, memory: Memory) -> None:
        self.log = log
        self.items = {item.id: item for item in memory.whole()}
        self.learned = {memory.scope: Taught()}
        kinds = ("lesson.distilled", "knowledge.consolidated")
        for record in log.records("learning", kinds=kinds):
            place = learning_parts(record.episode)
            if place is not None and (place[0] != memory.scope or place[1] <= memory.number):
                self.learned.setdefault(place[0], Taught()).take(record.episode, record.event)

    def told(self, name: str) -> Json:
        """One item: what it says, and the episodes and lessons that it was made of."""
        item = self.items.get(name)
        if item is None:
            return {"id": name, "kind": None}
        found: Json = {"learned_in": None, "lessons": [], "sources": list(item.evidence)}
        # Its own scope comes first: an item that it took over and then learned itself is its own.
        for taught in self.learned.values():
            if taught.knows(item):
                found = taught.of(item)
                break
        said = {"id": name, "kind": item.kind, "role": item.role, "text": item.text}
        # Sources that another tool recorded are no episodes of ours: their reader must look there.
        taken: Json = {}
        for source in filter(is_taken, found["sources"]):
            if isinstance(case := self.log.find(source, "taken"), TraceTaken):
                taken[source] = {"tool": case.tool, "trace": case.trace, "source": case.source}
        return said | {"batch": item.batch} | found | ({"taken": taken} if taken else {})


@dataclass(slots=True)
class Taught:
    """What learning episodes of one scope stated: lessons by id, and rules by role and text, as first written."""

    lessons: dict[str, tuple[str, LessonDistilled]] = field(
        default_factory=dict[str, "tuple[str, LessonDistilled]"]
    )
    rules: dict[str, dict[str, tuple[str, KnowledgeConsolidated]]] = field(
        default_factory=dict[str, "dict[str, tuple[str, KnowledgeConsolidated]]"]
    )

    def take(self, episode: str, event: object) -> None:
        """A record of a learning episode."""
        if isinstance(event, LessonDistilled):
            self.lessons[event.id] = episode, event
        elif isinstance(event, KnowledgeConsolidated):
            before = self.rules.get(event.role, {})
            # A rule that is kept word for word was learned when
            # it was first written, and not each time since.
            now = {text: before.get(text, (episode, event)) for _, text in event.rules}
            self.rules[event.role] = now

    def knows(self, item: MemoryItem) -> bool:
        """Whether an item was made here."""
        if item.kind == "rule":
            return item.text in self.rules.get(item.role, {})
        return item.id in self.lessons and self.lessons[item.id][1].text == item.text

    def of(self, item: MemoryItem) -> Json:
        """Where it was learned, and what from."""
        if item.kind != "rule":
            return {
                "learned_in": self.lessons[item.id][0],
                "lessons": [],
                "sources": list(item.evidence),
            }
        episode, written = self.rules[item.role][item.text]
        sources = dict.fromkeys(
            source
            for lesson in written.lessons
            if lesson in self.lessons
            for source in self.lessons[lesson][1].evidence
        )
        return {
            "learned_in": episode,
            "lessons": list(written.lessons),
            "sources": list(sources),
        }
