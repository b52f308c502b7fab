"""Vectors of two embedders are never compared: who recalls or learns has its memory's embedder."""

from __future__ import annotations

from schemas.questions import Embed, Recall
from streams.core.backbone import SetupBroken, Stuck
from streams.core.drive import Run

OTHERWISE = ", or have them made anew: metalogue lessons embed"


def embedder_of(run: Run) -> str | None:
    """Return the embedder whose vectors a run is given: its scope's, its memory's, or its own."""
    return run.embedder or run.memory.embedder or run.tally.embedder()


def need_its_embedder(run: Run, question: Embed | Recall, here: str) -> None:
    """Raises ``SetupBroken`` where ``here`` is not the embedder of the run's scope, or of its own vectors.

    Raises ``Stuck`` where the scope has another embedder since the run began, and what is asked would be
    compared with vectors of then.
    """
    memory = run.memory
    own = memory.embedder or run.tally.embedder()
    now = embedder_of(run)
    if now is None:
        return
    if now != here:
        whose = "the memory of" if run.embedder or memory.embedder else f"{run.episode} in"
        said = f"{whose} {memory.scope} holds vectors of {now}, this worker makes those of {here}"
        # Vectors of a memory can be made anew; those of a single episode are on its record as they
        # are.
        otherwise = OTHERWISE if run.embedder or memory.embedder else ""
        detail = f"{said}: start it with --role embedder=NAME{otherwise}"
        raise SetupBroken("embedder", here, detail)
    # A learner's lessons and texts by name are compared with nothing that the run knows already.
    compares = (
        run.topic == "events"
        or isinstance(question, Recall)
        or (bool(run.memory.learned) and not question.named)
    )
    if own not in (None, now) and compares:
        known = f"it knows {memory.scope} by vectors of {own}"
        raise Stuck(f"{known}, and those are of {now} by now")
