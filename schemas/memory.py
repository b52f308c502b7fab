"""What a scope knows: memory items, and the versions that episodes pin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from schemas.identity import digest

Sided: TypeAlias = Literal["do", "avoid", "both"]
"""What a lesson teaches: to repeat, to avoid, or (from a whole batch) both."""


# A named tuple, because a memory of thousands of items is compared, digested and copied as a
# whole.
class MemoryItem(NamedTuple):
    """A lesson, rule or other item that may become guidance.

    ``subject`` is the problem it came from (``domain/id``, empty for rules), ``evidence`` the ids of
    episodes, ``vector`` the embedding of its text in base64 float16 if one was recorded.
    """

    id: str
    kind: str
    role: str
    text: str
    text_digest: str
    batch: int
    subject: str = ""
    evidence: tuple[str, ...] = ()
    polarity: Sided | None = None
    vector: str | None = None

    @property
    def mark(self) -> str:
        """What it is retired and measured by: a rule by its text, since ids of rules return."""
        return self.id if self.kind == "lesson" else f"{self.role}~{self.text_digest}"


meant: Callable[[MemoryItem], tuple[Any, ...]] = itemgetter(
    *(at for at, name in enumerate(MemoryItem._fields) if name != "text_digest")
)
"""Everything of an item that an episode may know: all but its digest, which says the text again."""


class Label(NamedTuple):
    """A stated confidence, and whether its answer was right; none where that became unknown again."""

    episode: str
    key: tuple[str, ...]
    """Whose confidence: domain, policy with its settings, model, source."""
    confidence: float
    right: bool | None


FIRST_RULE = "platt-isotonic@1"
"""What fitted calibrators before rules had a second version: digests of labels under it do not name it."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that calibrators rest on: those of one version, on top of those before."""

    number: int
    digest: str
    new: tuple[Label, ...] = field(compare=False)
    before: Labels | None = field(compare=False, repr=False)
    rule: str = FIRST_RULE
    """What fits calibrators to all of them, as ``name@version``."""

    @classmethod
    def on(
        cls, before: Labels | None, number: int, new: tuple[Label, ...], rule: str = FIRST_RULE
    ) -> Labels | None:
        """The labels with some more, under the rule of the batch that brought them; the same where there are none."""
        if not new:
            return before
        said = [[label.episode, label.confidence, label.right] for label in new]
        # Each version's digest builds on the one before, so that equal digests mean equal labels
        # all the way down, and calibrators that are fitted alike.
        named = [] if rule == FIRST_RULE else [rule]
        return cls(number, digest([before and before.digest, said, *named]), new, before, rule)

    def __iter__(self) -> Iterator[Label]:
        """The newest label of every episode."""
        # Walked from the newest version down: a label that was counted again stands twice, and the
        # newer one holds.
        seen: set[str] = set()
        at: Labels | None = self
        while at is not None:
            for label in at.new:
                if label.episode not in seen:
                    seen.add(label.episode)
                    yield label
            at = at.before


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory version of a scope: its rules, then its live lessons, in the order they were learned."""

    scope: str
    number: int
    items: tuple[MemoryItem, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arms, weights, beliefs: what a learning rule made of measured episodes, as JSON values."""
    revision: int = 0
    """How often it was closed again since a problem was forgotten."""
    aside: tuple[tuple[int, MemoryItem], ...] = ()
    """Retired items, each with its place among all: kept on record, in no prompt."""
    standing: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What items are retired on: a person's word, and opportunities with their outcomes."""
    labels: Labels | None = None
    embedder: str | None = None
    """What made its vectors, all of them; unknown where it holds none."""

    @property
    def name(self) -> str:
        """Its number, with its revision: ``4``, ``4.1``."""
        return f"{self.number}.{self.revision}" if self.revision else str(self.number)

    def of(self, role: str, kind: str) -> tuple[MemoryItem, ...]:
        """The items of one role and kind."""
        return tuple(item for item in self.items if item.role == role and item.kind == kind)

    def whole(self) -> tuple[MemoryItem, ...]:
        """All items in order, those that are retired too."""
        if not self.aside:
            return self.items
        # Places were taken in the whole order, from the first on, so that each is right when its
        # turn comes.
        items = list(self.items)
        for place, item in self.aside:
            items.insert(place, item)
        return tuple(items)

    def item(self, name: str) -> MemoryItem | None:
        """The lesson of this id, retired or not."""
        lessons = (item for item in self.whole() if item.kind == "lesson")
        return next((item for item in lessons if item.id == name), None)

    def embedded(self) -> tuple[MemoryItem, ...]:
        """The items that have a vector, those that are retired too."""
        return tuple(item for item in self.whole() if item.vector)

    def embedded_anew(self, vectors: Sequence[str], embedder: str, revision: int) -> Memory:
        """The same with other vectors, in the order of ``embedded``; an item without a new one loses its own."""
        # The endpoint may have given fewer vectors than were asked for; the rest must not keep
        # those of the embedder before.
        pairs = zip_longest(self.embedded(), vectors[: len(self.embedded())])
        new = {id(item): item._replace(vector=vector) for item, vector in pairs}
        return replace(
            self,
            items=tuple(new.get(id(item), item) for item in self.items),
            aside=tuple((place, new.get(id(item), item)) for place, item in self.aside),
            embedder=embedder,
            revision=revision,
        )

    def state(self) -> str:
        """Digest of everything that an episode of this version may know."""
        items = list(map(meant, self.items))
        # What versions of older logs never have is left out where it is empty, so that their
        # digests are what they were.
        parts: dict[str, Any] = {
            "aside": [[place, meant(item)] for place, item in self.aside],
            "standing": dict(self.standing),
            "labels": self.labels and self.labels.digest,
        }
        more = {name: part for name, part in parts.items() if part}
        if more:
            return digest([items, dict(self.learned), more])
        return digest([items, dict(self.learned)] if self.learned else items)
