"""How well guidance fits its problem: the texts that a Composer wrote, embedded beside the questions.

The log keeps those texts and no vectors of them, so a report embeds them where a recipe asks for it: no model is
asked, and nothing is recorded. What a fallback kept is no guidance of its own round, and is left out.

Source: MC² App. E, figure 6.
"""

from __future__ import annotations

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
    # Asked before anything is embedded: that takes its time, and most recipes print none of it.
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
        batches: dict[tuple[int, int, int], list[Episode]] = {}
        for one in group:
            key = (one.cell.seed, one.cell.walk, batch_of(one))
            batches.setdefault(key, []).append(one)
        done: dict[str, Episode] = {}
        for (seed, _, number), batch in sorted(batches.items(), key=lambda each: each[0]):
            said = [texts_of(one.case) for one in batch]
            # The first batch had nothing to be guided by; without texts nobody needs to be asked.
            if number < 2 or not any(said):
                done |= {one.case.episode: one for one in batch}
                continue
            # All texts of a batch at once: questions and
            # guidance in turn, to be taken apart as they come.
            wanted = [
                text
                for one, texts in zip(batch, said, strict=True)
                for text in (one.case.problem.problem, *texts)
            ]
            vectors = iter(await embedder.embed(wanted))
            guided = [Guided(next(vectors), tuple(next(vectors) for _ in each)) for each in said]
            for one, found in zip(batch, fits(guided, number, seed), strict=True):
                done[one.case.episode] = replace(one, case=replace(one.case, fits=found))
        results.groups[at] = [done[one.case.episode] for one in group]
