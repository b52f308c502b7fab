"""Whose a record is, where what is said of somebody may have to be erased: told by the record's name alone.

A subject is never named on a log. A mark stands for it (``subject-`` and sixteen hexadecimal digits), drawn at
random and kept with the subject's key. The mark begins the ids, the memory and the series of the subject's
problems, so that every name that is made of them holds it: of episodes, side runs, scopes, batches and sets.
"""

from __future__ import annotations

import re
from typing import Final

MARK: Final = re.compile(r"subject-[0-9a-f]{16}")
"""The whole mark of a subject."""
# A mark counts only as a whole part of a name, or as its beginning before a dot: a text that
# merely holds such letters is nobody's.
_WITHIN: Final = re.compile(r"(?:^|[/.:])(subject-[0-9a-f]{16})(?=[/.]|$)")
ERASURES: Final = "e/"
"""Begins the name of the record that tells of a subject's erasure: it outlives the key."""


def subject_of(name: str) -> str | None:
    """The mark of the subject that a name speaks of; nothing where it speaks of none."""
    # The record that tells of an erasure must outlive the key that would open it.
    if name.startswith(ERASURES):
        return None
    found = _WITHIN.search(name)
    return None if found is None else found[1]


def erasure_of(subject: str) -> str:
    """The name under which a log tells that a subject was erased."""
    return f"{ERASURES}{subject}"


def of_subject(subject: str | None, id: str, memory: str) -> tuple[str, str]:
    """A subject's id of a problem and its own memory: what is learned from it, no other subject's problems read."""
    if subject is None:
        return id, memory
    return own(subject, id), subject if memory == "main" else own(subject, memory)


def own(subject: str, name: str) -> str:
    """A name among a subject's own."""
    # A name that has the mark already is left as it is, so that doing it twice does nothing.
    return name if subject_of(name) == subject else f"{subject}.{name}"
