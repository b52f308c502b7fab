"""Settings of the graph memory: what the paper leaves open, each by a spelled name.

Source: trainable graph memory; design/graph_memory.md#decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic import Field as Bounded

from handlers.learning.graph import Weighing
from handlers.learning.likeness import likeness_of
from handlers.policies.base import Policy
from handlers.policies.bases import BASES
from handlers.policies.graph_memory.machine import LANDS, MACHINE, Machine
from schemas.settings import Lanes, PolicySettings

# What changes the graph separates scopes (``learning``); what only changes how it is read does not,
# so that one graph can be built, weighed, and used under several settings of use.


def _known(name: str) -> str:
    """The name of a policy that can be guided: none that waits for a person, for pairs are run while the
    scope learns, and it would stand still. Raises ``ValueError``."""
    if name not in BASES:
        raise ValueError("must be a policy that works by itself, such as tool_reasoning or mc2")
    return name


def _whole(may_go: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A table that can be a machine. Raises ``ValueError``."""
    Machine(may_go, LANDS)
    return may_go


class GraphSettings(PolicySettings):
    """Settings of the graph memory. All but how it is used separate scopes."""

    paper: ClassVar[Mapping[str, Any]] = {
        "path_cycles": "keep",
        "grounding": "model",
        "lone": "run",
        "relevance_floor": None,
        "excerpt_chars": 0,
        "base_profile": "paper",
        "output_cap": None,
    }
    learning: ClassVar[frozenset[str]]

    phase: Literal["build", "weigh", "use"] = "use"
    """``build`` grows the graph, ``weigh`` trains its weights, ``use`` only reads."""
    base: Annotated[str, AfterValidator(_known)] = "tool_reasoning"
    """The policy that is guided."""
    base_profile: Literal["service", "paper"] = "service"
    """Whose constants that policy works by."""
    tool_calls: PositiveInt = 6
    """Calls of a tool that it may make, where it calls any."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""
    batch_size: PositiveInt = 1
    """Problems that are learned from together; with ``phase: use`` a whole series, for it teaches nothing."""
    path_cycles: Literal["collapse", "keep"] = "collapse"
    """Whether a cycle of states that repeats at once makes another path."""
    grounding: Literal["events", "model"] = "events"
    """Paths by the table of events, or by a model that reads the transcript."""
    machine: Annotated[dict[str, tuple[str, ...]], AfterValidator(_whole)] | None = None
    """Which states may follow which; none: the table ``MAY_GO`` of this build."""
    transcript_chars: PositiveInt = 8_000
    """How much of a run the Grounder reads, head and tail."""
    excerpt_chars: NonNegativeInt = 1_200
    """How much of each run the Inducer is shown beside its path; 0: the states alone."""
    rollouts: Lanes = 4
    """N: runs of a problem before anything is induced; those logged first, the rest are probes."""
    neighbours: PositiveInt = 5
    """K: cases whose successes a failure borrows from."""
    speculate: bool = False
    """Only failures: a call that contrasts one with a neighbour's success (appendix)."""
    distil_success: bool = False
    """Only successes: a call that distils one (appendix)."""
    match_above: Annotated[float, Bounded(ge=-1, le=1)] | None = None
    """Cosine of summaries from which a new principle is one that is there. None: only what the model
    updates, or says word for word, is: to an embedder a principle and its negation are much alike."""
    principle_limit: PositiveInt = 30
    """Principles from which on weak ones are rather updated than new ones made."""
    cap: Literal["prompt", "hard"] = "prompt"
    """Above the limit creates are discouraged by the prompt, or refused."""
    active_cases: PositiveInt = 5
    """k: similar cases that activate their part of the graph."""
    relevance_floor: Literal["embedder"] | Annotated[float, Bounded(ge=-1, le=1)] | None = (
        "embedder"
    )
    """Cosine that a case must have at least to be active; ``embedder``: from where on its cosines mean something;
    none: the nearest, however far."""
    lone: Literal["skip", "run"] = "skip"
    """One active principle has gradient 0: no pair, or a pair that moves nothing."""
    pairs: Literal["own", "twins"] = "own"
    """The side without a principle: the episode's own run, or one more under the luck of the other side."""
    initial_weight: PositiveFloat = 1.0
    """What a new edge of the graph weighs."""
    reward: Literal["exact_match", "f1"] = "exact_match"
    """R of a side of a pair: exact match, or token F1 where the data set is of questions."""
    step_size: PositiveFloat = 0.05
    """α."""
    principles_shown: NonNegativeInt = 3
    """k of stage 3; 0 is the base policy byte for byte."""
    weights: Weighing = "learned"
    """Edges as learned, all 1 (frozen), or all 1 with every case alike (structural)."""

    @property
    def states(self) -> Machine:
        """The machine that paths go through."""
        return MACHINE if self.machine is None else Machine(self.machine, LANDS)

    def floor(self, embedder: str | None) -> float:
        """The cosine from which on a case is like a problem, by who made the vectors."""
        wanted = self.relevance_floor
        if wanted is None:
            return -1.0
        return likeness_of(embedder).floor if wanted == "embedder" else wanted

    @property
    def constants(self) -> dict[str, Any]:
        """What the learning rule hangs on."""
        return {"initial_weight": self.initial_weight, "step_size": self.step_size}


GraphSettings.learning = frozenset(GraphSettings.model_fields) - {
    *("phase", "principles_shown", "weights", "output_cap", "tool_calls", "base_profile", "lone"),
    "parameters",
}


def base_of(settings: GraphSettings) -> tuple[Policy[Any], PolicySettings]:
    """The policy that is guided, and its settings."""
    # Not every base calls tools: of these settings it is given those that it has.
    base = BASES[settings.base]
    own = {"tool_calls": settings.tool_calls, "output_cap": settings.output_cap}
    known = {name: value for name, value in own.items() if name in base.settings.model_fields}
    return base, base.settings.resolve(settings.base_profile, known)


ONE_PATH = frozenset(
    {
        *("cot", "greedy", "io", "self_consistency", "mcr", "tot", "rest_mcts", "ttpi", "hiar_icl"),
        *("meta_prompting", "buffer_of_thought", "evo_prompt"),
    }
)
"""Policies of which all runs that answer leave the same events: their paths cannot be told apart."""


def unlearnable(settings: GraphSettings) -> str | None:
    """Why these settings can teach a graph nothing; none where they may."""
    if settings.phase == "build" and settings.grounding == "events" and settings.base in ONE_PATH:
        return (
            f"every run of {settings.base} that answers has the same path, so none tells right from "
            "wrong; set grounding=model, or another base"
        )
    if settings.phase == "weigh" and settings.weights != "learned":
        return f"weights={settings.weights} uses no weight that weighing learns"
    return None
