"""People for the tests: whoever is asked says that the answer is right, or gives one."""

from __future__ import annotations

from streams.interfaces.cli.reviews import asking, judgement, put
from streams.runtime.embedded.log import SqliteLog


def answer_all(log: SqliteLog) -> int:
    """Answer every question to a person that is open on a log; how many there were."""
    waiting = list(asking(log))
    for item in waiting:
        word = {"reference": "24"} if item.answer is None else {"verdict": True}
        put(log, judgement(item, "Ada", **word))
    return len(waiting)
