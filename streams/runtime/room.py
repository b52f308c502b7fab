"""How large a problem or a label may be where the log's records have a limit, as they have on Kafka.

A log in one file has none: there this asks nothing.
"""

from __future__ import annotations

from schemas.identity import canonical
from schemas.problem import Feedback, Problem
from streams.producing.sources import BadLine


def need_room(
    room: int | None, problem: Problem | None = None, label: Feedback | None = None
) -> None:
    """Raises ``BadLine`` where a problem, or what was said of its answer, is larger than the log takes.

    Settings count twice: they stand in the admission, and again as the text that is kept of them.
    """
    if room is None:
        return
    sizes: dict[str, int] = {}
    # What is too large is refused where it is put, with its line. Later it could only become a dead
    # letter.
    if problem is not None:
        settings = len(canonical(problem.settings))
        sizes["problem"] = len(problem.model_dump_json().encode()) + settings
    if label is not None:
        sizes["answer"] = len(label.model_dump_json().encode())
    for name, size in sizes.items():
        if size > room:
            said = f"comes to {size:,} bytes; this log takes {room:,}"
            raise BadLine(1, name, said, "input.size")
