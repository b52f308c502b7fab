"""Head and tail of a long text."""

from __future__ import annotations

MARK = "\n[...]\n"


def excerpt(text: str, chars: int) -> str:
    """At most ``chars`` characters of a text: its head and its tail, with a mark between.

    Source: MC² figures 18 and 23 ("truncated"), which give no number.
    """
    if len(text) <= chars:
        return text
    room = max(chars - len(MARK), 0)
    # The tail gets half: a trajectory ends with its answer, which whoever reads the excerpt has to
    # see.
    tail = room // 2
    return f"{text[: room - tail]}{MARK}{text[len(text) - tail :]}"[: max(chars, 0)]
