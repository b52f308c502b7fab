"""Labels of stated confidences, kept with each memory version: what calibrators are fitted to.

A label counts once its episode is a member of a closed batch and its outcome is known; one that changes
later counts in the next version. A calibrator belongs to one domain, policy with its settings, model
and confidence source.

Source: design/vocabulary.md#confidence; design/architecture.md#learning-and-order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from schemas.events.learning import BatchClosed, Reflected
from schemas.memory import Label, Labels

Outcome = Callable[[str], str]
KNOWN = {"right": True, "wrong": False}


# The keys of thousands of episodes differ by a handful; sharing them keeps a worker's memory
# small.
@lru_cache(maxsize=4096)
def _shared(*key: str) -> tuple[str, ...]:
    """Return the key of a confidence, shared by all episodes that have it alike."""
    return key


@dataclass(slots=True)
class Stated:
    """An episode's confidence; ``right`` is its label as it was counted last."""

    key: tuple[str, ...]
    confidence: float
    member: bool = False
    right: bool | None = None


@dataclass(slots=True)
class Labelling:
    """Confidences of one scope, and which of their labels the next version has to count."""

    known: dict[str, Stated] = field(default_factory=dict[str, Stated])
    graded: set[str] = field(default_factory=set[str])
    """Members whose grade came after their batch."""
    later: list[Callable[[dict[str, Stated]], None]] = field(
        default_factory=list[Callable[[dict[str, Stated]], None]], compare=False
    )
    """What a snapshot holds of it, put in when it is first needed."""

    @property
    def stated(self) -> dict[str, Stated]:
        """Confidences by episode."""
        while self.later:
            self.later.pop()(self.known)
        return self.known

    def reflected(self, episode: str, event: Reflected) -> None:
        """Take a confidence, if the record says whose it is."""
        settings, model, source = event.settings, event.backbones, event.confidence_source
        # Records of earlier builds do not say whose confidence it is. A label without its owner
        # would be fitted to the wrong model.
        if event.confidence is None or settings is None or model is None or source is None:
            return
        key = _shared(event.domain, event.policy, settings, model, source)
        # The first confidence of an episode counts, as the first record of an address does.
        self.stated.setdefault(episode, Stated(key, event.confidence))

    def regraded(self, episode: str) -> None:
        """An outcome may have changed."""
        known = self.stated.get(episode)
        if known is not None and known.member:
            self.graded.add(episode)

    def closed(self, batch: BatchClosed) -> None:
        """The members of a batch count from its version on."""
        for member in batch.members:
            known = self.stated.get(member)
            if known is not None:
                known.member = True
                self.graded.add(member)

    def changed(self, outcome: Outcome) -> Iterator[Label]:
        """Labels that differ from what was counted, in order of episodes."""
        # In order of names, and not of grades, so that a version's labels have one digest.
        for episode in sorted(self.graded):
            known, right = self.stated[episode], KNOWN.get(outcome(episode))
            if right is not known.right:
                yield Label(episode, known.key, known.confidence, right)

    def count(
        self, before: Labels | None, number: int, outcome: Outcome, rule: str
    ) -> Labels | None:
        """The labels of the version that closes now, under the rule that its batch named."""
        return Labels.on(before, number, tuple(self.changed(outcome)), rule)

    def counted(self, labels: Labels | None, number: int) -> None:
        """A version holds these labels."""
        self.graded.clear()
        for label in labels.new if labels is not None and labels.number == number else ():
            self.stated[label.episode].right = label.right

    def forget(self, prefix: str) -> None:
        # Confidences of a forgotten problem must not stay in calibrators that are fitted later.
        """Drop the confidences of a problem's episodes."""
        for episode in [name for name in self.stated if name.startswith(prefix)]:
            del self.stated[episode]
            self.graded.discard(episode)


def without(labels: Labels | None, number: int, prefixes: tuple[str, ...]) -> tuple[Label, ...]:
    """The labels that a version added, less those of forgotten problems."""
    if labels is None or labels.number != number:
        return ()
    return tuple(label for label in labels.new if not label.episode.startswith(prefixes))
