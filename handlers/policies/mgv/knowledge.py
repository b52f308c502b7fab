"""Metacognitive knowledge: the cases and beliefs of the memory version, and what of it is in mind.

Working memory (the paper's STM, MK_τ) only grows. A case that is near enough is reached by a draw.

Source: MGV Algorithm 1 lines 4 to 5, Algorithm 2 lines 1 and 6, Algorithm 3 lines 1 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from handlers.answers.alike import alike
from handlers.learning.beliefs import KNOWN
from handlers.learning.calibrate import Calibrator, fit
from handlers.learning.likeness import likeness_of
from handlers.learning.texts import content_words, features
from handlers.policies.base import Task
from handlers.policies.mgv.nearest import Vectors
from handlers.policies.mgv.settings import MgvSettings
from handlers.policies.mgv.signals import hardness
from handlers.policies.mgv.strategies import SOLVED_BY, Diagnosis
from schemas.asking import Steps
from schemas.events.monitoring import CasesReached
from schemas.identity import hash01
from schemas.questions import Embed, Recall

# A memory version does not change, and many episodes pin the same one: what is worked out of it
# (vectors, sorted features, calibrators) is worked out once, by ``knowledge_of``. What one episode
# reached of it is its own ``Mind``.

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Knowledge:
    """What one memory version knows; views of it are made once."""

    learned: Mapping[str, Any]
    fitted: dict[str, Calibrator | None] = field(
        default_factory=dict[str, Calibrator | None], repr=False, compare=False
    )
    """Calibrators by their signal: an attempt asks for one each time, and its fit takes a while."""
    diagnosed: dict[tuple[str, str], Diagnosis | None] = field(
        default_factory=dict[tuple[str, str], Diagnosis | None], repr=False, compare=False
    )
    """What cases turned out to be: later problems ask again, and comparing answers takes a while."""

    @property
    def cases(self) -> Sequence[Mapping[str, Any]]:
        """Past problems, oldest first."""
        found: Sequence[Mapping[str, Any]] = self.learned.get("cases", ())
        return found

    @property
    def beliefs(self) -> Mapping[str, Any]:
        """Learned rates by key."""
        found: Mapping[str, Any] = self.learned.get("beliefs", {})
        return found

    @cached_property
    def vectors(self) -> Vectors:
        """The cases' embeddings, to be searched."""
        return Vectors([(case["id"], case["vector"]) for case in self.cases])

    @cached_property
    def by_id(self) -> dict[str, Mapping[str, Any]]:
        """The cases by their episode."""
        return {case["id"]: case for case in self.cases}

    @cached_property
    def spread(self) -> list[list[float]]:
        """The sorted values of each feature of all cases."""
        return [sorted(values) for values in zip(*(c["features"] for c in self.cases), strict=True)]

    @cached_property
    def labelled(self) -> list[Mapping[str, Any]]:
        """Cases of which it is known whether they were right."""
        return [case for case in self.cases if case["outcome"] in KNOWN]

    def calibrator(self, signal: str) -> Calibrator | None:
        """From a raw confidence of this kind to the chance of being right, once that can be told."""
        if signal not in self.fitted:
            known = [
                (case["signals"].get(signal), KNOWN[case["outcome"]]) for case in self.labelled
            ]
            pairs = [(raw, right) for raw, right in known if raw is not None]
            self.fitted[signal] = fit(pairs)
        return self.fitted[signal]

    def turned_out(self, case: Mapping[str, Any], learn_from: str) -> Diagnosis | None:
        """What a case turned out to be; told once, for later problems ask again."""
        asked = str(case["id"]), learn_from
        if asked not in self.diagnosed:
            self.diagnosed[asked] = borne_out(case, learn_from)
        return self.diagnosed[asked]

    def hardness(self, problem: str, min_cases: int) -> float:
        """h of a problem."""
        return hardness(features(problem), self.spread, min_cases)

    def familiar(self, problem: str) -> float:
        """The share of a problem's content words that the domain knows."""
        words = content_words(problem)
        known: Mapping[str, int] = self.learned.get("words", {})
        return sum(word in known for word in words) / len(words) if words else 0.0


def borne_out(case: Mapping[str, Any], learn_from: str) -> Diagnosis | None:
    """What a case turned out to be, where its outcome tells: what the strategy that solved it is for.

    The diagnosis that it was given was a guess: a problem that was solved by splitting it up, after going
    straight for it had failed, was no plain one, whatever it was taken for.
    """
    for each in case["tuples"]:
        by_label = case["outcome"] == "right" and alike(each["answer"], case["answer"])
        if each["verdict"] == "PASS" if learn_from == "verdict" else by_label:
            return SOLVED_BY.get(each["strategy"], cast("Diagnosis", each["diagnosis"]))
    return None


_VIEWS: dict[int, Knowledge] = {}
_KEPT = 8


def knowledge_of(learned: Mapping[str, Any]) -> Knowledge:
    """The view of a memory version's state; kept while the same state is asked for again."""
    # By identity, since comparing states costs as much as making a view. An id is given again once
    # its state is gone, hence the second look; the view holds its state, so that this cannot happen
    # while it is kept.
    found = _VIEWS.get(id(learned))
    if found is None or found.learned is not learned:
        if len(_VIEWS) >= _KEPT:
            _VIEWS.clear()
        found = _VIEWS[id(learned)] = Knowledge(learned)
    return found


@dataclass(slots=True)
class Mind:
    """One problem's working memory: the cases reached so far, in the order reached."""

    task: Task
    settings: MgvSettings
    knowledge: Knowledge
    query: Vector = ()
    """The problem's own embedding."""
    embedder: str | None = None
    """What made it, and the cases' vectors."""
    held: dict[str, tuple[Mapping[str, Any], float]] = field(
        default_factory=dict[str, tuple[Mapping[str, Any], float]]
    )

    looked: dict[int, list[tuple[Mapping[str, Any], float]]] = field(
        default_factory=dict[int, list[tuple[Mapping[str, Any], float]]]
    )
    """What was looked at once: the problem and what is known of others stay as they are."""

    @property
    def floor(self) -> float:
        """The cosine from which on a case is near enough."""
        wanted = self.settings.relevance_floor
        if wanted is None:
            return -1.0
        return likeness_of(self.embedder).floor if wanted == "embedder" else wanted

    @property
    def cases(self) -> list[Mapping[str, Any]]:
        """The cases in mind."""
        return [case for case, _ in self.held.values()]

    @property
    def labelled(self) -> list[tuple[float, bool]]:
        """Similarity and outcome of the labelled cases in mind."""
        pairs = ((case, similarity) for case, similarity in self.held.values())
        return [(s, KNOWN[case["outcome"]]) for case, s in pairs if case["outcome"] in KNOWN]

    @property
    def h(self) -> float:
        """How hard the problem looks by its features."""
        return self.knowledge.hardness(self.task.problem, self.settings.min_cases)

    @property
    def compares(self) -> bool:
        """Whether there are cases enough to tell by how hard it looks beside them."""
        return len(self.knowledge.cases) >= self.settings.min_cases

    def near(self, top: int) -> list[tuple[Mapping[str, Any], float]]:
        """The cases most like the problem that are reached, with their similarity; more than are in mind.

        A figure that is taken from cases needs more of them than an attempt can be shown.
        """
        # Drawn as of round 0, whatever the round is: a figure must not jump because a
        # draw is made anew.
        if top not in self.looked:
            self.looked[top] = [
                (self.knowledge.by_id[name], similarity)
                for name, similarity in self._nearest(self.query, top)
                if self._reached(name, 0)
            ]
        return self.looked[top]

    def _nearest(self, query: Vector, top: int) -> list[tuple[str, float]]:
        """Of the cases most like this those that are near enough, with their similarity."""
        found = self.knowledge.vectors.nearest(query, top)
        return [(name, similarity) for name, similarity in found if similarity >= self.floor]

    def _reached(self, name: str, round: int) -> bool:
        return hash01(self.task.seed, f"reach.{round}", name) < self.settings.reach

    def reach(self, query: Vector, round: int, top: int) -> CasesReached:
        """retrieve_θ: the nearest cases, each reached if its draw falls below θ."""
        near = self._nearest(query, top)
        reached = [(name, similarity) for name, similarity in near if self._reached(name, round)]
        new = [(name, similarity) for name, similarity in reached if name not in self.held]
        self.held |= {name: (self.knowledge.by_id[name], similarity) for name, similarity in new}
        return CasesReached(
            round=round,
            subject=self.task.subject,
            items=tuple(new),
            near=len(near),
            held=len(self.held),
        )


def remember(task: Task, settings: MgvSettings) -> Steps[Mind]:
    """Working memory at the start: what the problem and its goal alone bring to mind."""
    query = (yield from Embed((task.problem,)))[0]
    learned: Mapping[str, Any] = {}
    embedder: str | None = None
    if task.memory_version > 0:
        recollection = yield from Recall(task.problem, roles=(), top=1, kinds=())
        learned, embedder = recollection.learned, recollection.embedder
    known = knowledge_of(learned) if learned else Knowledge({})
    mind = Mind(task, settings, known, query, embedder)
    yield mind.reach(query, 0, settings.recall_k)
    return mind


def remind(mind: Mind, round: int, experiences: str, top: int) -> Steps[None]:
    """What the last round's experiences bring to mind besides; asks nothing where there are no cases."""
    if not mind.knowledge.cases:
        return
    # Reached cases stay: a wider cue brings others to mind besides, and makes nothing be forgotten.
    query = (yield from Embed((f"{mind.task.problem}\n{experiences}",)))[0]
    yield mind.reach(query, round, top)


def kept_rounds(task: Task, rounds: Sequence[int], keep: float) -> tuple[int, ...]:
    """consolidate_ψ: the rounds whose tuple is kept, each by its own draw."""
    # By round and not one draw for all: an episode may leave some of its tuples and not the others.
    drawn = ((at, hash01(task.seed, "keep", task.subject, at)) for at in rounds)
    return tuple(at for at, draw in drawn if draw < keep)
