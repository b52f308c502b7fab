"""After ExpeL, simplified: insights with votes, renewed by one call a batch; no retrieval of examples.

An insight begins with two votes; at none it is dropped. Its votes stand before its text.

Source: Zhao et al. 2024 (ExpeL), § 4.2; design/baselines.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.policies.base import Batch, Conclusion, Policy, Task
from handlers.policies.baselines.remembered import MemorySettings, fresh, guided, reflect
from handlers.policies.last_call import answering
from handlers.roles.insighter import INSIGHTER, Vote, votes_of
from schemas.asking import Steps
from schemas.events.graph import InsightVoted
from schemas.events.learning import KnowledgeConsolidated

# Votes stand in the text itself, ``(2) ...``: rules of memory are texts, and so the list survives
# in any memory, and a person who reads it sees how well an insight is supported.

ROLE = "insight"
FIRST = 2
MOST = 20
_HELD = re.compile(r"\((\d+)\) (.*)", re.DOTALL)

Insights = dict[int, tuple[int, str]]
"""Votes and text by number."""


def solve(task: Task, settings: MemorySettings) -> Steps[Conclusion]:
    """All insights as guidance, then tool-integrated reasoning."""
    return (yield from guided(task, settings, ROLE, ("rule",)))


def learn(batch: Batch, settings: MemorySettings) -> Steps[None]:
    """One look at the batch's trajectories, and what it changes in the list."""
    members = fresh(batch).members
    if not members:
        return
    before = insights_of([item.text for item in batch.memory.of(ROLE, "rule")])
    shown = [
        f"[{member.outcome}]\n{member.reflected.problem}\n{member.reflected.summary['trajectory']}"
        for member in members
    ]
    listed = "\n".join(f"{number}. {text}" for number, (_, text) in before.items())
    said = yield from INSIGHTER.ask(insights=listed, trajectories="\n\n".join(shown))
    votes = votes_of(said.items("Insight_operations"))
    after = voted(before, votes)
    for vote in votes:
        number = vote.insight or max(before, default=0) + 1
        yield InsightVoted(
            operation=vote.operation, insight=max(1, number), text=vote.text, source=said.source
        )
    yield KnowledgeConsolidated(
        role=ROLE,
        rules=tuple((f"E{number}", f"({n}) {text}") for number, (n, text) in after.items()),
        result="consolidated" if said.readable else "kept",
        new=len(after.keys() - before.keys()),
        source=said.source,
    )


def insights_of(texts: Sequence[str]) -> Insights:
    """The list as it was kept."""
    found = [_HELD.fullmatch(text) for text in texts]
    return {at: (int(m[1]), m[2]) for at, m in enumerate(found, 1) if m is not None}


def voted(before: Insights, votes: Sequence[Vote]) -> Insights:
    """The list after these operations, numbered anew: most votes first, ties by age."""
    held = dict(before)
    for vote in votes:
        number = vote.insight or 0
        if vote.operation == "ADD":
            held[max(held, default=0) + 1] = (FIRST, vote.text)
        elif number in held:
            # An edit is support as well: nobody improves what he does not believe in.
            count, text = held[number]
            change = {"UPVOTE": 1, "DOWNVOTE": -1, "EDIT": 1}[vote.operation]
            held[number] = (count + change, vote.text if vote.operation == "EDIT" else text)
    # The list is shown whole in every prompt: bounded, it loses what has least support.
    alive = [(-count, number, text) for number, (count, text) in held.items() if count > 0]
    return {at: (-n, text) for at, (n, _, text) in enumerate(sorted(alive)[:MOST], 1)}


EXPEL = Policy(
    name="expel",
    version="4",
    about="insights with up and down votes, renewed after each batch, guide search and answer",
    settings=MemorySettings,
    roles=("reasoner", "consolidator"),
    solve=answering(solve),
    learns="labels",
    reflect=reflect,
    learn=learn,
    relearn=learn,
    window=MemorySettings.batch_of,
)
