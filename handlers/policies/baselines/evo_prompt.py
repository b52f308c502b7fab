"""EvoPrompt: a population of instructions evolves on a sample of problems; the best one then solves.

After EvoPrompt, simplified: its genetic form only, and a sample of one batch. The evolution is the
offline phase: it runs in the scope's first learning episodes, under their own limit.

Source: Guo et al. 2023, Algorithm 2 (GA); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import NonNegativeInt, PositiveInt

from handlers.policies.base import Batch, Conclusion, Member, Policy, Task, type_of
from handlers.policies.facts import generated
from handlers.roles.role import Role, answer, text
from schemas.asking import All, Steps, Stopped
from schemas.events.graph import ExperienceShown
from schemas.events.learning import KnowledgeConsolidated
from schemas.events.search import ThoughtsKept
from schemas.identity import hash01
from schemas.questions import Check, Recall, Sampling
from schemas.settings import Lanes, PolicySettings

# Evolution needs many scored runs and no stream of problems. It happens in the learning episodes of
# the first batches, where a limit of its own pays for it and where labels may be asked for; an
# episode only recalls what came of it, for one call.

ROLE = "instruction"
FIRST: tuple[str, ...] = (
    "Think step by step and write each step on a line of its own.",
    "Say first what is given and what is asked; then work towards it and check the result.",
    "Look for several ways to the goal, and follow the one that promises most.",
    "Work backwards from what is asked until you meet what is given.",
)
"""The first generation, where nothing was learned yet."""

SOLVER = Role.of(
    "reasoner",
    """\
Solve the problem below as the section "Instruction" says.""",
    sections=("Problem", "Instruction"),
    reply=[answer()],
    template="evo_prompt.solve",
    mends=False,
)
BREEDER = Role.of(
    "consolidator",
    """\
Below are two instructions for solving problems of one kind. First cross them: make one instruction \
of what is best in each. Then mutate it: change a part of it that could be better. The outcome is \
one instruction of a few sentences which can be followed with any problem of the kind, and which \
names no problem.""",
    sections=("First instruction", "Second instruction"),
    reply=[text("New_wording", "the new instruction alone")],
    template="evo_prompt.breed",
)


class EvoSettings(PolicySettings):
    """Settings of evolved instructions."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}
    learning: ClassVar[frozenset[str]] = frozenset(
        {"generations", "sample", "offline_batches", "batch_size"}
    )

    generations: NonNegativeInt = 2
    """Generations of an offline phase, after the first scores."""
    sample: Lanes = 4
    """Problems of the batch that instructions are scored on."""
    offline_batches: NonNegativeInt = 1
    """Batches that instructions evolve on; later ones leave them alone."""
    batch_size: PositiveInt = 10
    """Problems that are learned from together."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A member of the population: where it comes from, its words, and its share of right answers."""

    name: str
    text: str
    score: float = 0.0


def solve(task: Task, settings: EvoSettings) -> Steps[Conclusion]:
    """One call under the best instruction that is known."""
    known = FIRST[0]
    if task.memory_version > 0:
        found = yield from Recall(task.problem, (ROLE,), 0, ("rule",))
        if found.items:
            known = found.items[0].text
            yield ExperienceShown(sort=ROLE, items=(found.items[0].id,))
    sampling = Sampling(max_tokens=settings.output_cap)
    said = yield from SOLVER.put({"problem": task.stated, ROLE: known}, sampling=sampling)
    yield generated(said)
    return Conclusion(answer=said.answer, ended_by="answered")


# ── The offline phase ────────────────────────────────────────────────────────────────────────


def learn(batch: Batch, settings: EvoSettings) -> Steps[None]:
    """Score the population, breed and select for some generations, keep it, best first.

    A limit ends it with what was scored by then.
    """
    if batch.number > settings.offline_batches or not batch.members:
        return
    members = batch.members[: settings.sample]
    before = [item.text for item in batch.memory.of(ROLE, "rule")] or list(FIRST)
    first = [Instruction(f"I{at}", words) for at, words in enumerate(before, 1)]
    rivals = yield from _scored(first, members, 0)
    population = fittest(rivals, len(first))
    yield _kept(0, rivals, population)
    # Parents compete with their children: a generation that came out worse must not
    # lose what there was.
    for generation in range(1, settings.generations + 1):
        # As many children as there are places, each of two parents; none whose words are there
        # already, for scoring them again would only spend calls.
        first_draw = generation * len(population)
        draws = range(first_draw, first_draw + len(population))
        made = yield from All(_child(population, batch.seed, draw) for draw in draws)
        born = {each.text: each for each in made if isinstance(each, Instruction)}
        known = {each.text for each in population}
        children = [each for words, each in born.items() if words not in known]
        rated = yield from _scored(children, members, generation)
        rivals = [*population, *rated]
        population = fittest(rivals, len(population))
        yield _kept(generation, rivals, population)
        if len(rated) < len(children):
            break
    if population:
        yield KnowledgeConsolidated(
            role=ROLE,
            rules=tuple((f"I{at}", each.text) for at, each in enumerate(population, 1)),
            result="consolidated",
            new=sum(each.text not in before for each in population),
        )


def fittest(rivals: Sequence[Instruction], count: int) -> list[Instruction]:
    """The highest scores, ties first seen."""
    return sorted(rivals, key=lambda each: -each.score)[:count]


def parents(population: Sequence[Instruction], draw: float, again: float) -> tuple[int, int]:
    """Two different places by roulette wheel: each turns up in proportion to its score.

    Where no score is above 0 all are alike. Source: Algorithm 2 line 3 (roulette wheel selection).
    """
    first = _wheel([each.score for each in population], draw)
    # Drawn again from the others: one with itself would only be mutated.
    rest = [0.0 if at == first else each.score for at, each in enumerate(population)]
    second = _wheel(rest, again, but=first)
    return first, second


def _wheel(scores: Sequence[float], draw: float, but: int | None = None) -> int:
    open_places = [at for at in range(len(scores)) if at != but] or [0]
    total = sum(scores[at] for at in open_places)
    if total <= 0:
        return open_places[int(draw * len(open_places))]
    below = 0.0
    for at in open_places:
        below += scores[at] / total
        if draw < below:
            return at
    # Shares add up to a little less than 1 at times, and the draw may fall behind the last of them.
    return max(open_places, key=lambda at: scores[at])


def _child(population: Sequence[Instruction], seed: int, draw: int) -> Steps[Instruction | None]:
    one, other = parents(population, hash01(seed, draw, "one"), hash01(seed, draw, "other"))
    own = {
        "first_instruction": population[one].text,
        "second_instruction": population[other].text,
    }
    said = yield from BREEDER.put(own, draw=draw)
    words = (said.get("New_wording") or "").strip()
    return Instruction(said.source, words) if words else None


def _scored(
    population: Sequence[Instruction], members: Sequence[Member], generation: int
) -> Steps[list[Instruction]]:
    """Each instruction with its share of right answers on the sample; those that a limit cut are left out."""
    found = yield from All(_right(each, m, generation) for each in population for m in members)
    size = len(members)
    # An instruction that was cut short was tried on fewer problems: its share cannot be compared.
    rows = [found[at * size : (at + 1) * size] for at in range(len(population))]
    return [
        replace(each, score=sum(right is True for right in row) / size)
        for each, row in zip(population, rows, strict=True)
        if not any(isinstance(right, Stopped) for right in row)
    ]


def _right(each: Instruction, member: Member, generation: int) -> Steps[bool]:
    told = member.reflected
    said = yield from SOLVER.put({"problem": told.problem, ROLE: each.text}, draw=generation)
    if said.answer is None:
        return False
    subject = f"{told.domain}/{told.problem_id}"
    outcome = yield from Check(told.domain, told.problem, said.answer, subject, type_of(told))
    return outcome == "right"


def _kept(
    generation: int, rivals: Sequence[Instruction], kept: Sequence[Instruction]
) -> ThoughtsKept:
    return ThoughtsKept(
        depth=generation + 1,
        values=tuple((each.name, each.score) for each in rivals),
        kept=tuple(each.name for each in kept),
    )


EVO_PROMPT = Policy(
    name="evo_prompt",
    version="2",
    about="after EvoPrompt, simplified: instructions crossed and mutated on a first batch; the best solves",
    settings=EvoSettings,
    roles=("reasoner", "consolidator"),
    solve=solve,
    learns="labels",
    learn=learn,
    window=lambda settings, size: settings.batch_size,
)
