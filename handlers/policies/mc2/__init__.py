"""MC²: Reasoner, Monitor and Controller in an inner loop; an outer loop learns across problems.

Source: *Metacognitive Consolidation* (MC²), Algorithm 1; design/mc2.md D7, D14.
"""

from __future__ import annotations

from handlers.policies.base import Batch, Policy
from handlers.policies.last_call import answering
from handlers.policies.mc2.consolidate import consolidate, warm_start
from handlers.policies.mc2.distil import distil, found_by, kept
from handlers.policies.mc2.orchestrate import most_calls, solve
from handlers.policies.mc2.reflect import reflect
from handlers.policies.mc2.settings import Mc2Settings, batch_size
from handlers.policies.mc2.take import take
from schemas.asking import Steps

# One episode is ``orchestrate``: three roles, each called with the note that ``guide`` composes for
# it. What the episode leaves is ``reflect``, read off its record by ``trace``. A batch's end is
# ``distil``, then ``consolidate``. The reflection must not know the outcome: MC² claims to learn
# without labels, and is measured as such. Where an outcome does take part, a setting (D7) or
# another tool's trace (D14) says so.


def learn(batch: Batch, settings: Mc2Settings) -> Steps[None]:
    """A batch's end: distil lessons, then consolidate rules (Algorithm 1, lines 18 to 22)."""
    if not settings.learns:
        return
    lessons = yield from distil(batch, settings)
    if "rules" in settings.guidance:
        yield from consolidate(batch, lessons, settings)


def relearn(batch: Batch, settings: Mc2Settings) -> Steps[None]:
    """A batch without a problem that was forgotten: lessons stay, unless all of them were one."""
    if not settings.learns:
        return
    together = settings.distil == "per_batch"
    # A lesson of a single episode falls with it or stands without it; one of the whole batch holds
    # a little of each member, the forgotten one included, and has to be written again.
    lessons = (yield from distil(batch, settings)) if together else kept(batch)
    if "rules" in settings.guidance:
        yield from consolidate(batch, lessons, settings)


MC2 = Policy(
    name="mc2",
    version="15",
    about="Reasoner, Monitor, Controller in rounds; lessons and rules of a batch guide the next",
    settings=Mc2Settings,
    roles=("reasoner", "monitor", "controller", "composer", "distiller", "consolidator"),
    solve=answering(solve, lambda settings: settings.sampling),
    learns="self",
    reflect=reflect,
    takes=take,
    learn=learn,
    relearn=relearn,
    found_by=found_by,
    window=batch_size,
    live_batches=lambda settings: settings.lesson_window,
    retirement="opportunities@3",
    warm_source=lambda settings: settings.warm_start,
    warm_start=warm_start,
    confidence_source="value",
    most_calls=most_calls,
    formerly={version: {"unjudged": "C"} for version in ("12", "13", "14")},
    learns_as=("14",),
)
