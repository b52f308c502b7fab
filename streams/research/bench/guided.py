"""How well guidance fits its problem: the texts that a Composer wrote, embedded beside the questions.

The log keeps those texts and no vectors of them, so a report embeds them where a recipe asks for it: no model is
asked, and nothing is recorded. What a fallback kept is no guidance of its own round, and is left out.

Source: MC² App. E, figure 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from handlers.policies.mc2.measure import Guided, fits, without_question
from schemas.events.reasoning import KnowledgeReached
from streams.research.analysis.cases import Case
from streams.research.bench.compare import batch_of
from streams.research.bench.recipe import Recipe
from streams.research.bench.results import Episode, Results

if TYPE_CHECKING:
    from streams.answering.embedders.port import Embedder

GUIDED = "reasoner"
"""Whose guidance it is."""


def has_fits(recipe: Recipe) -> bool:
    """Whether a table of the recipe asks how well guidance fits."""
    places = (
        row.joined(column)
        for table in recipe.tables
        for row in table.rows.values()
        for column in table.columns.values()
    )
    return any((place.metric or "").startswith("guide_fit") for place in places)


def texts_of(case: Case) -> tuple[str, ...]:
    """What was composed for the Reasoner, round by round, without the question."""
    return tuple(
        without_question(case.trace.text(event.source), case.problem.problem)
        for _, event in case.trace.events
        if isinstance(event, KnowledgeReached)
        and event.role == GUIDED
        and event.result != "fallback"
    )


async def add_fits(results: Results, embedder: Embedder) -> None:
    """Put to each episode how well its guidance fits, beside that of another episode of its batch."""
    for at, group in results.groups.items():
        walks = {(one.cell.seed, one.cell.walk, batch_of(one)) for one in group}
        done: dict[str, Episode] = {}
        for seed, walk, batch in sorted(walks):
            mine = [
                one
                for one in group
                if (one.cell.seed, one.cell.walk, batch_of(one)) == (seed, walk, batch)
            ]
            done |= {one.case.episode: one for one in await _fitted(mine, batch, seed, embedder)}
        results.groups[at] = [done[one.case.episode] for one in group]


async def _fitted(
    batch: Sequence[Episode], number: int, seed: int, embedder: Embedder
) -> list[Episode]:
    texts = [texts_of(one.case) for one in batch]
    if number < 2 or not any(texts):
        return [*batch]
    wanted = [
        text
        for one, said in zip(batch, texts, strict=True)
        for text in (one.case.problem.problem, *said)
    ]
    vectors = iter(await embedder.embed(wanted))
    guided = [Guided(next(vectors), tuple(next(vectors) for _ in said)) for said in texts]
    return [
        replace(one, case=replace(one.case, fits=found))
        for one, found in zip(batch, fits(guided, number, seed), strict=True)
    ]
