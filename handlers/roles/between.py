"""What stands between two marks of a reply, found in one pass: an opening mark that none closes ends the search.

A pattern such as ``<answer>(.*?)</answer>`` looks for the close again from each open, up to the reply's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Marks:
    """What opens and what closes a part of a reply."""

    opens: re.Pattern[str]
    closes: re.Pattern[str]

    @classmethod
    def tag(cls, name: str, flags: re.RegexFlag = re.NOFLAG) -> Marks:
        """``<name>`` and ``</name>``."""
        return cls(re.compile(f"<{name}>", flags), re.compile(f"</{name}>", flags))

    def each(self, text: str) -> Iterator[tuple[int, str]]:
        """Where each part begins, its mark included, and what stands in it; parts do not overlap."""
        at = 0
        while (opened := self.opens.search(text, at)) is not None:
            closed = self.closes.search(text, opened.end())
            # What is opened and never closed ends the search. Looking for the close again from
            # each later opening mark would take the square of a reply that only opens.
            if closed is None:
                return
            yield opened.start(), text[opened.end() : closed.start()]
            at = closed.end()

    def first(self, text: str) -> tuple[int, str] | None:
        """The first part, if there is one."""
        return next(self.each(text), None)
