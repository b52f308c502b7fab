"""Refused lines as they are told: the first of each cause in full, then how many each cause has.

A file of the wrong form is refused line by line: six thousand times the same two lines hide the one
refusal that is another. Scripts get all of them, an object a line.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from streams.interfaces.cli.errors import FAILED, CliError
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.output import complain
from streams.producing.sources import BadLine

FIRST: Final = 10
"""Lines that are told in full whatever is wrong with them."""
SHOWN: Final = 3
"""Lines of each further cause that are told in full."""
CAUSES: Final = 12
"""Causes that are told one by one."""
NO_JSON: Final = frozenset({"input.json", "input.type"})
"""What is wrong with lines of another format."""
_VARIES: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*")
Name: TypeAlias = tuple[str, str, str]
"""Code, field, and what is wrong, less what is quoted of the line."""


@dataclass(slots=True)
class Cause:
    """Refusals that say the same."""

    code: str
    place: str
    what: str
    lines: int = 0

    def text(self) -> str:
        """What is wrong, and in which field."""
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.what} [{self.code}]"


@dataclass(slots=True)
class Refusals:
    """Refusals of one source. ``kept`` says where those are that are not told."""

    source: str
    kept: str
    streamed: bool = False
    """Whether the source has no end at which they could be summed up."""
    causes: dict[Name, Cause] = field(default_factory=dict[Name, Cause])
    told: int = 0

    def counts(self, error: BadLine) -> bool:
        """Count a refusal. Returns whether it is to be told, as one of the first of its cause.

        So nobody has to look up what is kept of a line that is not told.
        """
        # By what differs between causes, and not by what is quoted of the line: every line quotes
        # something else.
        name = error.code, error.field, _VARIES.sub("…", error.what)
        cause = self.causes.setdefault(name, Cause(error.code, error.field, error.what))
        cause.lines += 1
        # Lines of one cause quote different values: from the second on the cause is told without
        # them.
        if cause.what != error.what:
            cause.what = name[2]
        among_first = cause.lines <= SHOWN and len(self.causes) <= CAUSES
        if FLAGS.json or among_first or self.told < FIRST:
            self.told += 1
            return True
        # Of a stream the end may never come: each power of ten is told instead.
        if self.streamed and str(cause.lines).strip("0") == "1":
            complain(f"{self.source}: {cause.lines:,} refused so far: {cause.text()}")
        return False

    def tell(self, error: BadLine, at: str, hint: str) -> None:
        """Tell one refusal, with its place and what became of it."""
        where = f"{at}:{error.column}"
        refusal = CliError(
            error.what, error=error.code, exit=FAILED, where=where, field=error.field, hint=hint
        )
        if FLAGS.json:
            sys.stderr.write(json.dumps(refusal.record()) + "\n")
        else:
            # The command goes on: it is not this that it will exit with.
            complain(refusal.text().replace(f", exit {refusal.exit}]", "]"))

    def sum_up(self, *, taken: bool) -> None:
        """Say how many each cause has, where not all of them were told; ``taken``: whether any line was good."""
        total = sum(cause.lines for cause in self.causes.values())
        # Each line's own fault says where JSON ends, and none that there never was any.
        if (
            total > 1
            and not taken
            and not FLAGS.json
            and {code for code, _, _ in self.causes} <= NO_JSON
        ):
            complain(f"{self.source}: no line of it is a JSON object: is it JSON Lines?")
            complain(
                '  A source has one object a line, as {"id": "sum", …}; CSV and indented JSON are none.'
            )
        if total == self.told:
            return
        complain(f"{self.source}: {total:,} refused, by cause:")
        found = sorted(self.causes.values(), key=lambda each: -each.lines)
        for cause in found[:CAUSES]:
            complain(f"{cause.lines:>9,}  {cause.text()}")
        if others := found[CAUSES:]:
            lines = sum(cause.lines for cause in others)
            complain(f"{lines:>9,}  of {len(others):,} other causes")
        complain(f"  {self.kept}")
