"""Vectors of two embedders are never compared: who recalls or learns has its memory's embedder."""

from __future__ import annotations

from streams.backbones.port import SetupBroken, Stuck
from streams.drive import Run

ANEW = "have them made anew: metalogue lessons embed"
BESIDE = "begin another memory: --memory NAME"
"""What was measured on vectors cannot be carried over to others."""


def need_its_embedder(run: Run, here: str) -> None:
    """Raises ``SetupBroken`` where ``here`` is not the embedder of the run's scope.

    Raises ``Stuck`` where the scope has another embedder since the run's memory was pinned.
    """
    memory = run.memory
    now = run.embedder or memory.embedder
    if now is None:
        return
    if now != here:
        other = BESIDE if memory.learned else ANEW
        said = f"the memory of {memory.scope} holds vectors of {now}, this worker makes those of {here}"
        detail = f"{said}: start it with --role embedder=NAME, or {other}"
        raise SetupBroken("embedder", here, detail)
    if run.topic == "events" and memory.embedder not in (None, now):
        known = f"it knows {memory.scope} by vectors of {memory.embedder}"
        raise Stuck(f"{known}, and those are of {now} by now")
