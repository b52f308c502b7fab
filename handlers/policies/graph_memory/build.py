"""Building the graph: a problem's runs become paths, and what tells them apart becomes a principle.

Source: trainable graph memory, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from handlers.learning import graph
from handlers.learning.graph import CASE, PRINCIPLE
from handlers.policies.base import Batch, Member
from handlers.policies.graph_memory.activate import near
from handlers.policies.graph_memory.induce import Induced, induce
from handlers.policies.graph_memory.runs import Ran, read, rolled_out
from handlers.policies.graph_memory.settings import GraphSettings
from handlers.roles.excerpt import excerpt
from handlers.roles.inducer import shown
from schemas.asking import All, Steps, Stopped
from schemas.events.base import Event
from schemas.events.graph import PathGrounded, PrincipleInduced
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.identity import is_taken, seed_of, text_digest
from schemas.outcome import Outcome
from schemas.questions import Embed, Recall

# Every fact is stated and then applied to ``Growing`` by the fold's own rule. What a later
# member of the batch is matched with is therefore the graph that the fold will come to,
# principles of earlier members included.


@dataclass(slots=True)
class Growing:
    """The graph as it grows in one learning episode, by the rule that the fold applies."""

    graph: graph.Graph
    constants: Mapping[str, Any]
    batch: int
    made: int = 0
    changed: bool = False
    vectors: dict[str, str] = field(default_factory=dict[str, str])

    def state(self, fact: Event) -> Steps[None]:
        """State a fact and see what it changes."""
        yield fact
        self.take(fact)

    def take(self, fact: Event) -> None:
        """What a fact changes."""
        if isinstance(fact, PrincipleInduced) and fact.principle is not None:
            self.changed |= graph.stands(self.graph, fact)
        self.graph = graph.told(self.graph, fact, self.constants)

    def name(self) -> str:
        """A new principle's id."""
        self.made += 1
        return f"M{self.batch}.{self.made}"


def keep_cases(batch: Batch, members: Sequence[Member]) -> Steps[None]:
    """Every problem that is met for the first time becomes a case, found again by its embedding."""
    known = {item.id for item in (*batch.memory.of(CASE, "lesson"), *batch.kept)}
    new: dict[str, Member] = {}
    for member in members:
        case = text_digest(member.reflected.problem)
        if case not in known:
            new.setdefault(case, member)
    for case, member in new.items():
        yield LessonDistilled(
            id=case,
            role=CASE,
            polarity="do",
            text=member.reflected.problem,
            subject=member.subject,
            evidence=(member.episode,),
            source="-",
        )
    if new:
        yield from Embed(tuple(member.reflected.problem for member in new.values()))


def build(batch: Batch, member: Member, growing: Growing, settings: GraphSettings) -> Steps[None]:
    """Ground N runs of a problem, then induce. Source: Algorithm 1 lines 3 to 34.

    Another tool's trace is one run: it asks for no roll-outs of ours.
    """
    case = text_digest(member.reflected.problem)
    logged = graph.runs_of(growing.graph, case)[2]
    # The own run was made anyway and counts as one of N; what is on record from
    # earlier passes does too.
    runs = [(yield from own_run(member, settings))]
    yield from ground(member, case, runs[0], growing)
    more = 0 if is_taken(member.episode) else settings.rollouts - logged - 1
    for ran in (yield from probed(batch, member, more, settings)):
        yield from ground(member, case, ran, growing)
        runs.append(ran)
    succeeded, failed, _ = graph.runs_of(growing.graph, case)
    what, _ = graph.induction(
        succeeded, failed, speculate=settings.speculate, distil=settings.distil_success
    )
    # Neighbours are looked for only by whoever needs them: the recall is a question on the record.
    similar = {}
    if what in ("neighbours", "speculative"):
        similar = yield from neighbours(member, case, settings)
    given = Induced(what, member.subject, succeeded, failed, tuple(similar), excerpts(runs))
    yield from induce(given, growing, settings)


def own_run(member: Member, settings: GraphSettings) -> Steps[Ran]:
    """The member's own episode as a run; a model reads its path from what it left."""
    left = member.reflected.summary
    path, whole = left.get("path"), str(left.get("transcript") or "")
    if path is None:
        path = yield from read(member, whole, settings.states)
    said = str(left.get("excerpt") or excerpt(whole, settings.excerpt_chars))
    return Ran(path, cast("Outcome", member.outcome), member.episode, said)


def excerpts(runs: Sequence[Ran]) -> dict[tuple[str, bool], str]:
    """What was said on a path, by the path and whether it led to a right answer; of the first such run."""
    found: dict[tuple[str, bool], str] = {}
    for ran in runs:
        if ran.path is not None and ran.said and ran.outcome != "unknown":
            found.setdefault((ran.path, ran.outcome == "right"), ran.said)
    return found


def probed(batch: Batch, member: Member, count: int, settings: GraphSettings) -> Steps[list[Ran]]:
    """So many roll-outs more, side by side, each with a seed of its own."""
    if count < 1:
        return []
    # With one seed for all, an endpoint that honours it would give the same run over and over.
    seeds = (seed_of(batch.seed, member.episode, at) for at in range(count))
    lanes = yield from All([rolled_out(member, seed, settings) for seed in seeds])
    return [ran for ran in lanes if not isinstance(ran, Stopped)]


def ground(member: Member, case: str, ran: Ran, growing: Growing) -> Steps[None]:
    """A run joins the graph; one whose path could not be read leaves nothing."""
    if ran.path is not None:
        yield from growing.state(
            PathGrounded(
                case=case,
                subject=member.subject,
                path=ran.path,
                outcome=ran.outcome,
                source=ran.source,
            )
        )


def neighbours(member: Member, case: str, settings: GraphSettings) -> Steps[dict[str, float]]:
    """The top-K similar cases, nearest first; the case itself is none of them. Source: eq. (7)."""
    asked = settings.neighbours + 1, ("lesson",), member.subject
    known = yield from Recall(member.reflected.problem, (CASE,), *asked)
    wide = settings.model_copy(update={"active_cases": settings.neighbours})
    return near(known, case, wide)


def consolidated(growing: Growing) -> KnowledgeConsolidated:
    """All principles as they now stand: what later episodes are shown."""
    held = growing.graph["principles"]
    rules = tuple(
        (name, shown(each["summary"], [principle for principle, _, _ in each["strategies"]]))
        for name, each in sorted(held.items())
    )
    return KnowledgeConsolidated(
        role=PRINCIPLE, rules=rules, result="consolidated", new=growing.made
    )
