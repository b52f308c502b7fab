"""Induction: from paths that succeeded and failed to one principle, matched with those that are there.

Source: trainable graph memory, Algorithm 1 lines 19 to 34, eq. (7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from handlers.learning import graph
from handlers.learning.cosine import cosine, rounded
from handlers.policies.graph_memory.settings import GraphSettings
from handlers.roles.inducer import Analysis, Made, checked, inducer, made_of, shown, strength
from handlers.roles.role import RoleReply
from schemas.asking import Steps
from schemas.events.graph import PrincipleInduced
from schemas.questions import Embed
from schemas.vectors import pack, unpack

if TYPE_CHECKING:
    from handlers.policies.graph_memory.build import Growing


# The Inducer is shown paths, excerpts and the principles that there are; never a reference or a
# label, only which side succeeded. Whatever it says is stated, a skip with its reason too:
# otherwise a call would be on the record of which nobody could say what became of it.


@dataclass(frozen=True, slots=True)
class Induced:
    """What is to be induced, from which paths of the case, and its neighbours, nearest first."""

    what: graph.Induce
    subject: str
    succeeded: Sequence[str]
    failed: Sequence[str]
    near: tuple[str, ...] = ()
    said: Mapping[tuple[str, bool], str] = field(default_factory=dict[tuple[str, bool], str])
    """What was said on a path of the case, by whether that run was right."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What one call compares: paths that succeeded and failed, whose they are, and the fact's own part."""

    case: Analysis
    succeeded: tuple[str, ...]
    failed: tuple[str, ...]
    subject: str
    near: tuple[str, ...] | None = None
    excerpts: Mapping[tuple[str, bool], str] = field(default_factory=dict[tuple[str, bool], str])

    @property
    def sections(self) -> dict[str, str]:
        """The paths as the Inducer of this analysis is shown them, with what was said on its problem's own."""
        failed = {
            "path_that_failed": "\n".join(self.failed),
            "work_that_failed": self._work(self.failed, right=False),
        }
        if self.case == "speculative":
            return {**failed, "path_that_succeeded_on_a_similar_problem": "\n".join(self.succeeded)}
        succeeded = {
            "path_that_succeeded": "\n".join(self.succeeded),
            "work_that_succeeded": self._work(self.succeeded, right=True),
        }
        return {**succeeded, **failed} if self.case == "contrast" else succeeded

    def _work(self, paths: Sequence[str], *, right: bool) -> str:
        return "\n\n".join(self.excerpts.get((path, right), "") for path in paths).strip()

    def said(self, **more: Any) -> PrincipleInduced:
        """What is stated of it."""
        return PrincipleInduced(case=self.case, subject=self.subject, near=self.near, **more)


def induce(given: Induced, growing: Growing, settings: GraphSettings) -> Steps[None]:
    """By what the case has: a contrast, its neighbours' principles, speculation, a success, nothing."""
    if given.what == "neighbours":
        yield from borrow(given, growing)
        return
    grounds = grounds_of(given, growing)
    if grounds is None:
        return
    held = growing.graph["principles"]
    asked = inducer(settings.principle_limit, grounds.case, first=not held)
    said = yield from asked.put(
        {"transitions": settings.states.described(), **grounds.sections, **present(growing.graph)},
        check=checked(frozenset(held)),
    )
    refused = _refusal(said, len(held), settings)
    if refused is not None:
        yield grounds.said(decision="skip", reason=refused, source=said.source)
        return
    yield from _keep(grounds, made_of(said), said, growing, settings)


def grounds_of(given: Induced, growing: Growing) -> Grounds | None:
    """The paths that a call compares; none where there is nothing to compare."""
    if given.what == "positive":
        first = (min(given.succeeded),)
        return Grounds("positive", first, (), given.subject, excerpts=given.said)
    if given.what == "contrast":
        pair = select_one(given.succeeded, given.failed)
        if pair is None:
            return None
        return Grounds("contrast", pair[:1], pair[1:], given.subject, excerpts=given.said)
    # A failure against a neighbour's success (appendix); where nothing failed there is no pair.
    pair = select_one(sorted(graph.successes(growing.graph, given.near)), given.failed)
    if pair is None:
        return None
    # Only neighbours who went this path: the principle falls with them, should
    # they be forgotten.
    near = (case for case in given.near if pair[0] in graph.successes(growing.graph, (case,)))
    return Grounds("speculative", pair[:1], pair[1:], given.subject, tuple(near), given.said)


def select_one(succeeded: Iterable[str], failed: Iterable[str]) -> tuple[str, str] | None:
    """A success and a failure that part as late as they can; ties by id; never a path against itself."""
    # The later two paths part, the fewer decisions can have made the difference
    # (design/graph_memory.md D5).
    pairs = [
        (-shared(right, wrong), right, wrong)
        for right in succeeded
        for wrong in failed
        if right != wrong
    ]
    return min(pairs)[1:] if pairs else None


def shared(left: str, right: str) -> int:
    """How many states two paths have in common before they part."""
    pairs = zip(left.split(), right.split(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def borrow(given: Induced, growing: Growing) -> Steps[None]:
    """Link the failed paths to what stands on similar cases' successes; nobody is asked. Source: eq. (7)."""
    for name in graph.borrowed(growing.graph, given.near):
        yield from growing.state(
            PrincipleInduced(
                case="neighbours",
                decision="update",
                principle=name,
                paths=tuple(given.failed),
                reason="similar cases succeed by it",
                subject=given.subject,
                near=given.near,
            )
        )


def _refusal(said: RoleReply, count: int, settings: GraphSettings) -> str | None:
    """Why nothing is made: unreadable after one re-prompt, skipped, or too many already."""
    if not said.readable:
        return f"unreadable: {said.problem}"
    decision = said.get("Decision")
    if decision == "skip":
        return said.get("Reasoning") or "skipped"
    if decision == "create" and settings.cap == "hard" and count >= settings.principle_limit:
        return f"{count} principles, at most {settings.principle_limit} are kept"
    return None


def _keep(
    given: Grounds, made: Made, said: RoleReply, growing: Growing, settings: GraphSettings
) -> Steps[None]:
    """Rewrite the target, bear out a principle that says the same, or create a new one."""
    vector = (yield from Embed((made.summary,)))[0]
    told = {
        "paths": (*given.succeeded, *given.failed),
        "reason": said.get("Reasoning") or "",
        "source": said.source,
        "claimed": made.claimed,
    }
    target = said.get("Target_meta_id") if said.get("Decision") == "update" else None
    same = None if target else standing(growing.graph, made, vector, settings)
    # What says again what is there makes that stronger, and keeps its words: two principles in the
    # same words would share their relevance, and neither would come out on top.
    if same is not None:
        score = graph.borne_out(growing.graph["principles"][same]["score"], given.case)
        now = {"principle": same, "score": score, "confidence": strength(score)}
        yield from growing.state(given.said(decision="update", **told, **now))
        return
    content = {
        "decision": "update" if target else "create",
        "principle": target or growing.name(),
        "summary": made.summary,
        "strategies": made.strategies,
        "confidence": made.confidence,
        "uncertainty": made.uncertainty,
        "score": made.score,
        "vector": pack(vector),
    }
    yield from growing.state(given.said(**told, **content))


def standing(
    state: graph.Graph, made: Made, vector: Sequence[float], settings: GraphSettings
) -> str | None:
    """The principle that says the same already: word for word, or as near as is set."""
    held: Mapping[str, Mapping[str, str]] = state["principles"]
    same = (name for name in sorted(held) if plain(held[name]["summary"]) == plain(made.summary))
    found = next(same, None)
    # To an embedder a principle and its negation are nearly one text: only where it was set on
    # purpose does similarity decide (design/graph_memory.md D9).
    if found is not None or settings.match_above is None:
        return found
    return matched(state, vector, settings.match_above)


def plain(text: str) -> str:
    """A text by its words alone."""
    return " ".join(text.split()).casefold()


def matched(state: graph.Graph, vector: Sequence[float], above: float) -> str | None:
    """The principle whose summary is nearest, if it is near enough; ties by id."""
    scored = [
        (-rounded(cosine(vector, unpack(each["vector"]))), name)
        for name, each in state["principles"].items()
        if each.get("vector")
    ]
    found = min(scored, default=None)
    return found[1] if found is not None and -found[0] >= above else None


def present(state: graph.Graph) -> dict[str, str]:
    """The sections on the principles that there are; none where there are none."""
    held = listed(state)
    return (
        {"principles_so_far": "\n\n".join(held), "how_many_there_are": str(len(held))}
        if held
        else {}
    )


def listed(state: graph.Graph) -> list[str]:
    """The present principles as the Inducer sees them, each with its id and strength."""
    return [
        f"[{name}] ({strength(each['score'])}, {each['score']:g}) "
        + shown(each["summary"], [principle for principle, _, _ in each["strategies"]])
        for name, each in sorted(state["principles"].items())
    ]
