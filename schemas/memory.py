"""What a scope knows: memory items, and the versions that episodes pin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.identity import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
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
    polarity: str | None = None
    vector: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory version of a scope: its rules, then its live lessons, in the order they were learned."""

    scope: str
    number: int
    items: tuple[MemoryItem, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arms, weights, beliefs: what a learning rule made of measured episodes, as JSON values."""

    def of(self, role: str, kind: str) -> tuple[MemoryItem, ...]:
        """The items of one role and kind."""
        return tuple(item for item in self.items if item.role == role and item.kind == kind)

    def state(self) -> str:
        """Digest of everything that an episode of this version may know."""
        items = [
            [i.id, i.kind, i.role, i.text, i.batch, i.subject, i.evidence, i.polarity, i.vector]
            for i in self.items
        ]
        return digest([items, dict(self.learned)] if self.learned else items)
