"""Vectors of two embedders are never compared: who recalls or learns has its memory's embedder."""

from __future__ import annotations

from handlers.learning.embedding import width_of
from schemas.events.episode import Embedded
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


def need_its_width(run: Run, here: str, width: int) -> None:
    """Raises ``SetupBroken`` where the embedder ``here`` made vectors of another length for the run before."""
    # By one name an endpoint may serve another model than it did. Two lengths have no cosine, and a
    # problem must not fail for that.
    said = (each for each in run.journal.values() if isinstance(each, Embedded))
    known = next((each.dimensions for each in said if each.embedder == here and each.vectors), None)
    whose = run.episode
    if known is None and run.memory.embedder == here:
        known, whose = width_of(run.memory), f"the memory of {run.memory.scope}"
    if known not in (None, width):
        detail = (
            f"{whose} holds its vectors of {known} numbers, and now they have {width}: another model "
            "answers by that name. Have the former one answer, or begin another memory: --memory NAME"
        )
        raise SetupBroken("embedder", here, detail)
