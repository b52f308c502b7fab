"""After A-MEM, simplified: notes of trajectories, linked to the nearest; a renewed one is a note anew.

Source: Xu et al. 2025 (A-MEM), § 3; design/baselines.md.
"""

from __future__ import annotations

from handlers.learning.cosine import cosine, rounded
from handlers.policies.base import Batch, Conclusion, Member, Policy, Task
from handlers.policies.baselines.remembered import MemorySettings, fresh, guided, reflect
from handlers.policies.last_call import answering
from handlers.roles.insighter import LINKER, NOTER
from schemas.asking import Steps
from schemas.events.graph import NoteLinked
from schemas.events.learning import LessonDistilled
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed
from schemas.vectors import unpack

# A-MEM rewrites neighbours in place. Here a lesson that was stated is never changed, since episodes
# pinned it: a renewed note joins as one more note, and retrieval finds whichever of both is nearer.

ROLE = "note"
NEAR = 2
"""Earlier notes that a new one is compared with."""


def solve(task: Task, settings: MemorySettings) -> Steps[Conclusion]:
    """The nearest notes, then tool-integrated reasoning."""
    return (yield from guided(task, settings, ROLE, ("lesson",)))


def learn(batch: Batch, settings: MemorySettings) -> Steps[None]:
    """A note of each episode, its links, and what they change."""
    for at, member in enumerate(fresh(batch).members, 1):
        yield from take_note(batch, member, f"N{batch.number}.{at}")


def take_note(batch: Batch, member: Member, name: str) -> Steps[None]:
    """One note: written, embedded, linked."""
    told = member.reflected
    said = yield from NOTER.ask(problem=told.problem, trajectory=told.summary["trajectory"])
    context = said.get("Context") or told.problem
    keywords = ", ".join(said.items("Keywords"))
    text = f"{context}\nKeywords: {keywords}\nAnswer: {told.summary.get('answer') or 'none'}"
    yield _note(name, text, member, said.source)
    vector = (yield from Embed((text,)))[0]
    near = nearest(batch.memory, vector)
    if near:
        yield from link(name, text, near, member)


def nearest(memory: Memory, vector: tuple[float, ...]) -> list[MemoryItem]:
    """The earlier notes most like this one; ties by id."""
    held = [item for item in memory.of(ROLE, "lesson") if item.vector]
    scored = [(-rounded(cosine(vector, unpack(item.vector or ""))), item.id, item) for item in held]
    return [item for _, _, item in sorted(scored, key=lambda each: each[:2])[:NEAR]]


def link(name: str, text: str, near: list[MemoryItem], member: Member) -> Steps[None]:
    """Whether they belong together; the nearest may be understood anew, as one more note."""
    shown = "\n\n".join(item.text for item in near)
    said = yield from LINKER.ask(new_note=text, earlier_notes=shown)
    linked = said.get("Link") == "YES"
    renewed = (said.get("Renewed_context") or "NONE").strip()
    evolved = linked and renewed.upper() != "NONE"
    yield NoteLinked(
        note=name,
        links=tuple(item.id for item in near) if linked else (),
        evolved=((near[0].id, renewed),) if evolved else (),
    )
    if evolved:
        # Only the context is understood anew; keywords and answer are those of the
        # episode that was.
        anew = f"{renewed}\n{near[0].text.partition(chr(10))[2]}"
        yield _note(f"{name}+", anew, member, said.source)
        yield from Embed((anew,))


def _note(name: str, text: str, member: Member, source: str) -> LessonDistilled:
    told = member.reflected
    return LessonDistilled(
        id=name,
        role=ROLE,
        polarity="avoid" if member.outcome == "wrong" else "do",
        text=text,
        subject=f"{told.domain}/{told.problem_id}",
        evidence=(member.episode,),
        source=source,
    )


A_MEM = Policy(
    name="a_mem",
    version="3",
    about="linked notes of past trajectories that evolve guide search and answer",
    settings=MemorySettings,
    roles=("reasoner", "distiller"),
    solve=answering(solve),
    learns="self",
    reflect=reflect,
    learn=learn,
    window=MemorySettings.batch_of,
)
