"""Buffer of thoughts: distil a problem, retrieve a template of thought, instantiate it; keep new ones.

After Buffer of Thoughts, simplified: one general template where none is near enough, no code is run, and
of what was distilled its descriptor is what templates are found by.

Source: Yang et al. 2024, § 3; MC² App. B.2 (``BoT``); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field as Bounded
from pydantic import PositiveInt

from handlers.learning.cosine import cosine, rounded
from handlers.policies.base import Batch, Conclusion, Member, Policy, Task, Trace
from handlers.policies.facts import generated
from handlers.policies.last_call import answering
from handlers.roles.excerpt import excerpt
from handlers.roles.form import Unreadable, parse, render_reply
from handlers.roles.role import Role, RoleReply, answer, listed, text
from schemas.asking import OutOfLimit, Steps
from schemas.events.graph import ExperienceShown
from schemas.events.learning import LessonDistilled, LessonDropped
from schemas.events.reasoning import Generated
from schemas.memory import MemoryItem
from schemas.questions import Embed, Recall, Sampling
from schemas.settings import PolicySettings
from schemas.vectors import pack, unpack

ROLE = "template"
GENERAL = """\
Name what is given, what is asked and which conditions bind. Choose operations that lead from the \
one to the other, carry them out in order, and hold the outcome against every condition."""
"""The coarse template of a task that is new."""

DISTILLER = Role.of(
    "distiller",
    """\
Distil the problem below: what kind of problem it is, which facts and conditions matter, and what \
the goal is. Leave out whatever does not bear on it, and do not solve it.""",
    sections=("Problem",),
    reply=(
        text("Descriptor", "the kind of problem, in one abstract line"),
        listed("Key_facts", "facts and conditions that matter", most=8),
        text("Goal", "what is to be found"),
    ),
    template="bot.distil",
)
INSTANTIATOR = Role.of(
    "reasoner",
    """\
Solve the problem below. The section "Thought template" holds a way of thinking for problems of its \
kind. Fill it in for this problem, one part after the other.""",
    sections=("Problem", "Essentials?", "Thought template"),
    notes={"Essentials": 'Section "Essentials" is what was distilled from the problem.'},
    reply=[answer()],
    template="bot.instantiate",
    mends=False,
)
MANAGER = Role.of(
    "distiller",
    """\
Take a thought template out of the solution below: how problems of its kind can be thought through, \
so that it serves for others. It names no number and no detail of this problem.""",
    sections=("Problem", "Solution"),
    reply=(
        text("Descriptor", "the kind of problem that it serves, in one abstract line"),
        listed("Recipe", "steps of the template", most=8),
    ),
    template="bot.manage",
)


class BufferSettings(PolicySettings):
    """Settings of the buffer of thoughts."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None, "threshold": 0.6}
    learning: ClassVar[frozenset[str]] = frozenset({"threshold", "excerpt_chars", "batch_size"})

    threshold: Annotated[float, Bounded(ge=0, le=1)] = 0.8
    """A template at least as similar is retrieved; a new one at least as similar to any is not kept.

    The paper's 0.5 to 0.7 are for an embedder that knows meaning; shared letters are alike sooner.
    """
    excerpt_chars: PositiveInt = 3_000
    """How much of a solution the buffer's manager sees."""
    batch_size: PositiveInt = 10
    """Problems that are learned from together."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


def solve(task: Task, settings: BufferSettings) -> Steps[Conclusion]:
    """Two calls: distil, instantiate."""
    sampling = Sampling(max_tokens=settings.output_cap)
    try:
        said = yield from DISTILLER.put({"problem": task.posed}, sampling=sampling)
        yield Generated(role=DISTILLER.name, source=said.source, parse=said.parse)
        template = yield from retrieve(task, said.get("Descriptor") or task.problem, settings)
        own = {
            "problem": task.stated,
            "essentials": essentials(said),
            "thought_template": template,
        }
        made = yield from INSTANTIATOR.put(own, sampling=sampling)
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    yield generated(made, 1)
    return Conclusion(answer=made.answer, ended_by="answered")


def essentials(said: RoleReply) -> str:
    """What was distilled of a problem, as text; empty if nothing could be read."""
    return render_reply(DISTILLER.reply, said.values)


def retrieve(task: Task, descriptor: str, settings: BufferSettings) -> Steps[str]:
    """The template whose descriptor is nearest to the distilled one, if near enough; else the general one."""
    if task.memory_version == 0:
        return GENERAL
    found = yield from Recall(descriptor, (ROLE,), 1, ("lesson",), exclude=task.subject)
    # A template of another kind of problem misleads more than none: the paper too has coarse ones
    # for new tasks, of which this build has one.
    near = [item for item in found.items if similar(item.similarity, settings.threshold)]
    if not near:
        return GENERAL
    scores = tuple(item.similarity or 0.0 for item in near)
    yield ExperienceShown(sort=ROLE, items=(near[0].id,), scores=scores)
    return near[0].text


def similar(similarity: float | None, threshold: float) -> bool:
    """Whether two are alike by the one criterion of retrieval and renewal."""
    return similarity is not None and rounded(similarity) >= threshold


def reflect(trace: Trace, conclusion: Conclusion, settings: BufferSettings) -> dict[str, Any]:
    """The solution, head and tail."""
    made = [e for _, e in trace.events if isinstance(e, Generated) and e.round == 1]
    solution = trace.text(made[-1].source) if made else ""
    return {
        "ended_by": conclusion.ended_by,
        "answer": conclusion.answer,
        "solution": excerpt(solution, settings.excerpt_chars),
    }


# ── The buffer's manager ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Template:
    """A candidate for the buffer: what it is found by, its text, and where it comes from."""

    descriptor: str
    text: str
    member: Member
    source: str


def learn(batch: Batch, settings: BufferSettings) -> Steps[None]:
    """A template of each solved problem of the batch; those that are new are kept."""
    # Every answer counts as a solution, right or not: the method learns from its
    # own work without labels.
    solved = [each for each in batch.members if each.reflected.summary.get("answer") is not None]
    templates: list[Template] = []
    for member in solved:
        templates += yield from extract(member)
    if not templates:
        return
    vectors = yield from Embed(tuple(template.descriptor for template in templates))
    held = [unpack(item.vector) for item in batch.memory.of(ROLE, "lesson") if item.vector]
    fresh = novel(held, vectors, settings.threshold)
    for at, (template, vector) in enumerate(zip(templates, vectors, strict=True)):
        evidence = (template.member.episode,)
        if at not in fresh:
            # Said and not just left out: a call was paid for it, and whoever reads
            # the log asks why.
            yield LessonDropped(
                role=ROLE, reason="not novel", source=template.source, evidence=evidence
            )
            continue
        told = template.member.reflected
        yield LessonDistilled(
            id=f"T{batch.number}.{at + 1}",
            role=ROLE,
            polarity="do",
            text=template.text,
            subject=f"{told.domain}/{told.problem_id}",
            evidence=evidence,
            source=template.source,
            # What it is found by is its descriptor and not its text, so the vector comes with it.
            vector=pack(vector),
        )


def extract(member: Member) -> Steps[list[Template]]:
    """The template in one solution; none if it cannot be read."""
    told = member.reflected
    said = yield from MANAGER.ask(problem=told.problem, solution=told.summary["solution"])
    if not said.readable:
        return []
    made = render_reply(MANAGER.reply, said.values)
    return [Template(said.get("Descriptor") or made, made, member, said.source)]


def found_by(item: MemoryItem, settings: BufferSettings) -> str:
    """A template's descriptor, should another embedder have to read it."""
    values = parse(item.text, MANAGER.reply)
    descriptor = None if isinstance(values, Unreadable) else values.get("Descriptor")
    return descriptor if isinstance(descriptor, str) else item.text


def novel(
    held: Sequence[Sequence[float]], vectors: Sequence[Sequence[float]], threshold: float
) -> set[int]:
    """The places of those that are like none that is held, nor like one before them that is kept."""
    # One after another, since two templates of one batch may be new to the buffer and
    # alike to each other.
    known = list(held)
    kept: set[int] = set()
    for at, vector in enumerate(vectors):
        if not any(similar(cosine(vector, each), threshold) for each in known):
            known.append(vector)
            kept.add(at)
    return kept


BUFFER_OF_THOUGHT = Policy(
    name="buffer_of_thought",
    version="2",
    about="after Buffer of Thoughts, simplified: distilled problems, templates by similarity, new ones kept",
    settings=BufferSettings,
    roles=("reasoner", "distiller"),
    solve=answering(solve),
    learns="self",
    reflect=reflect,
    learn=learn,
    found_by=found_by,
    window=lambda settings, size: settings.batch_size,
)
