"""Things that a verification leaves out, and why: nobody can compare what a log does not hold twice."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not verified: how many of what, and why."""

    what: str
    why: str
    count: int | None = None

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.what if self.count is None else f'{self.count:,} {self.what}'} ({self.why})"


@dataclass(slots=True)
class Leftovers:
    """The things left out so far, each sort once."""

    found: dict[tuple[str, str], int | None] = field(
        default_factory=dict[tuple[str, str], "int | None"]
    )

    def add(self, what: str, why: str, count: int | None = 1) -> None:
        """So many more; none of them is nothing to tell, an unknown number is told without one."""
        if count == 0:
            return
        # Gathered by what and why: a log with a million records must not tell a million times what
        # nobody can compare.
        known = self.found.setdefault((what, why), None if count is None else 0)
        if known is not None and count is not None:
            self.found[what, why] = known + count

    def all(self) -> list[LeftOut]:
        """Everything, in the order in which it was met."""
        return [LeftOut(what, why, count) for (what, why), count in self.found.items()]
