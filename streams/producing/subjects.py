"""Subjects of the problems that are produced: their marks, and what may be kept of a line that is refused."""

from __future__ import annotations

from typing import Any, cast

import orjson

from schemas.identity import digest
from schemas.problem import Problem
from schemas.subjects import of_subject, own, subject_of
from streams.producing.sources import BadLine
from streams.runtime.embedded.keys import Keys
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.sealing import subject_of_message

NOBODY = "subject-0000000000000000"
"""The mark of a subject in a dry run, which begins no key."""
UNREAD = "unread"
"""Ends the name of a refused line of which nothing is kept."""
NO_KEYS = "this log was not begun with keys (--keys FILE), so that nothing on it could be erased"
UNNAMED = (
    "name the series (--series): that of standard input is a digest of what subjects' problems say"
)


class Subjects:
    """The subjects of one log, if it was begun with keys."""

    def __init__(self, log: SqliteLog) -> None:
        self.keys: Keys | None = None if log.sealing is None else log.sealing.keys
        self.dry, self.begins = False, False
        """Of a dry run without a log: whether that would be begun with keys."""

    def mark(self, name: str | None) -> str | None:
        """The mark of a subject. One that is new has its key from now on. Raises ``BadLine`` on a log without keys."""
        if name is None:
            return None
        # A dry run must not begin a key: to be known to a log is itself something about a person.
        if self.keys is None and self.begins:
            return NOBODY
        if self.keys is None:
            raise BadLine(1, "subject", NO_KEYS, "input.subject")
        return (self.keys.known(name) or NOBODY) if self.dry else self.keys.of(name)

    def series(self, mark: str | None, series: str | None, *, named: bool) -> str | None:
        """The series of a subject's problems, which is no other's. Raises ``BadLine`` for one named by their texts."""
        if mark is None or series is None:
            return series
        if not named:
            raise BadLine(1, "subject", UNNAMED, "input.subject")
        return own(mark, series)

    def about(self, name: str | None, problem: Problem) -> Problem:
        """A problem that is named by its text, as one of a subject's. Raises ``BadLine`` on a log without keys."""
        mark = self.mark(name)
        if mark is None or self.keys is None:
            return problem
        # Named by a digest under the subject's key: the name stays on the log when what
        # it names is erased.
        text = self.keys.digest(mark, problem.problem.encode("utf-8", "surrogatepass"))
        id, memory = of_subject(mark, f"solve-{text}", problem.memory)
        changed = problem.model_dump() | {"id": id, "memory": memory, "subject": mark}
        return Problem.model_validate(changed)

    def need_own(self, problem: Problem, *, id: str = "id") -> None:
        """Raises ``BadLine`` for a name that says another subject than the problem does.

        ``id`` is what the line calls the problem's id.
        """
        if self.keys is None:
            return
        for field in ("id", "memory", "series", "domain"):
            said = subject_of(getattr(problem, field) or "")
            if said not in (None, problem.subject):
                field = id if field == "id" else field
                raise BadLine(1, field, f"speaks of {said}, which is no name", "input.subject")

    def need_key(self, raw: bytes) -> None:
        """Raises ``BadLine`` for what is said of a subject who was erased."""
        mark = None if self.keys is None else subject_of_message("", raw)
        if mark is not None and self.keys is not None and not self.keys.holds(mark):
            raise BadLine(1, "problem_id", f"{mark} has no key: it was erased", "input.subject")

    def letter(self, raw: bytes, subject: str | None, why: str = "") -> tuple[str, bytes]:
        """The last part of a refused line's name, and what is kept of it.

        On a log with keys that is nothing of a line that cannot be read, or that speaks of subjects and names none:
        nobody knows whom it is about. ``why`` tells refusals of one line apart, where it may have several.
        """
        plain = digest([raw.hex(), why] if why else raw.hex())
        if self.keys is None:
            return plain, raw
        mark, said = None if subject is None else self.mark(subject), None
        if mark is None:
            try:
                said = orjson.loads(raw)
            except orjson.JSONDecodeError:
                return UNREAD, b""
            named: Any = (
                cast("dict[str, Any]", said).get("subject") if isinstance(said, dict) else None
            )
            if not isinstance(named, str | None):
                return UNREAD, b""
            mark = subject_of_message("", raw) or self.mark(named or None)
        if mark is None:
            # One that speaks of a subject in another spelling, or in another place, nobody could erase.
            spoken = raw + orjson.dumps(said)  # as it came, and with its escapes undone
            return (UNREAD, b"") if b"subject" in spoken.lower() else (plain, raw)
        # Erased: what is kept now would be kept for good, as its key is gone.
        if not self.keys.holds(mark):
            return UNREAD, b""
        # Under the subject's own key: a plain digest would let anybody try out which line it was.
        return f"{mark}/{self.keys.digest(mark, raw + why.encode('utf-8', 'surrogatepass'))}", raw
