"""From an episode's events to the actions of the machine: pure, and blind to how it turned out.

Source: trainable graph memory, Algorithm 1 (grounding trajectories as canonical paths); table ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from handlers.policies.graph_memory.machine import MACHINE, Machine, collapsed
from schemas.events import (
    cascade,
    episode,
    graph,
    learning,
    monitoring,
    reasoning,
    search,
    strategy,
    traces,
)
from schemas.events.base import Act, Event
from schemas.events.union import KINDS

# Every type of event stands in exactly one of the tables, and a test fails for a type that stands
# in none: what a new event means for paths has to be decided, for else paths of one policy would
# change silently with a new fact. Paths are facts on logs, so a changed table makes new paths of
# old behaviour: the policy gets a new version then.

BY_ACT: Mapping[Act, str | None] = {
    "generated": "reason",
    "assessed": "check",
    "decided": "plan",
    "recalled": None,
    "learned": None,
    "kept": None,
}
"""What an event of a type that no table lists leads to."""

NO_ACTION: frozenset[type[Event]] = frozenset(
    {
        *(episode.ProblemAdmitted, episode.EpisodeOpened, episode.EpisodeParked),
        *(episode.EpisodeAdopted, episode.PartitionClaimed, episode.TextKept, episode.Completed),
        *(episode.Recalled, episode.Embedded, episode.Forked, episode.LimitReached),
        *(episode.QuestionAbandoned, episode.ReviewAsked),
        *(reasoning.ReplyReparsed, reasoning.KnowledgeReached, reasoning.KnowledgeOmitted),
        search.FrontierScored,
        *(search.NodeExpanded, search.ThoughtsKept, search.ValueBackedUp),
        *(monitoring.CasesReached, monitoring.Allocated, monitoring.ThresholdsSet),
        *(monitoring.ExperienceKept, graph.ExperienceShown, graph.PrincipleInduced),
        *(graph.PathGrounded, graph.PairSkipped),
        *(graph.PairCompared, graph.NoteLinked, graph.InsightVoted, learning.SeriesOpened),
        *(learning.PositionVoided, learning.TickPassed, learning.Reflected, learning.Graded),
        learning.GradeProposed,
        *(learning.BatchClosed, learning.LessonDistilled, learning.LessonDropped),
        *(learning.KnowledgeConsolidated, learning.MemoryVersioned, strategy.RewardJudged),
        *(learning.KnowledgeRevised, learning.ProblemForgotten),
        *(learning.EmbedderChanged, learning.SubjectErased, cascade.CandidatesGraded),
        traces.TraceTaken,
    }
)
ALWAYS: Mapping[type[Event], str] = {
    strategy.StrategyProposed: "plan",
    strategy.StrategyChosen: "plan",
    strategy.ProgressReported: "check",
    monitoring.EpisodeAbandoned: "fault",
    search.NodePruned: "fault",
    search.NodeRepaired: "fault",
    reasoning.Voted: "combine",
    search.SearchDecided: "combine",
    search.ThoughtJudged: "check",
    cascade.AnswerWeighed: "check",
    reasoning.Generated: "reason",
    episode.Checked: "check",
    episode.ReviewAnswered: "check",
}
DECIDED: frozenset[type[Event]] = frozenset(
    {
        *(episode.EpisodeClosed, reasoning.MonitorReported, reasoning.ControllerActed),
        *(search.OracleScored, search.ConfidenceStated, monitoring.ExperienceFelt),
        *(monitoring.StrategyMatched, monitoring.SearchSteered),
        graph.ToolCalled,
    }
)
"""Types whose action hangs on what they say."""
LOW = 0.5
"""Scores below this are faults."""


def listed(kind: str) -> bool:
    """Whether a type of event stands in one of the tables."""
    model = KINDS[kind]
    return model in NO_ACTION or model in ALWAYS or model in DECIDED


def actions(events: Sequence[Event]) -> Iterator[str]:
    """The actions that events lead to, in order. A tool run is one in which a tool was called."""
    if not any(isinstance(event, graph.ToolCalled) for event in events):
        for event in events:
            yield from action_of(event)
        return
    hunt = Hunt()
    for event in events:
        if isinstance(event, reasoning.Generated):
            yield from hunt.turn(event)
        elif isinstance(event, graph.ToolCalled):
            yield from hunt.call(event)
        else:
            yield from action_of(event)


@dataclass(slots=True)
class Hunt:
    """A tool run so far: what was asked, what came back, and whether the agent has planned.

    What it does is told apart, so that runs whose searches find something do not all look alike: a new
    query after a result is a plan of its own, an equal one is a fault; an answer on several results puts
    them together, one without any is given although knowledge is missing.
    """

    asked: set[str] = field(default_factory=set[str])
    found: set[str] = field(default_factory=set[str])
    began: bool = False
    read: bool = False
    """Whether the last call brought something new."""

    def turn(self, event: reasoning.Generated) -> Iterator[str]:
        """A turn of the agent: the first is its plan; an answer hangs on what was found."""
        if not self.began:
            self.began = True
            yield "plan"
        if event.answer is None:
            return
        if self.asked and not self.found:
            yield "reason"
        else:
            yield "combine" if len(self.found) > 1 else "suffice"

    def call(self, event: graph.ToolCalled) -> Iterator[str]:
        """A gap, or a plan where the last call brought something; the search, and what came of it."""
        again = event.asked in self.asked
        new = event.result == "found" and event.text not in self.found
        yield "plan" if self.read and not again else "gap"
        yield "search"
        if again or event.result == "error":
            yield "fault"
        else:
            yield "observe" if event.result == "found" else "gap"
        self.asked.add(event.asked)
        self.found |= {event.text} if new else set()
        self.read = new and not again


def action_of(event: Event) -> tuple[str, ...]:
    """What one event leads to by itself."""
    kind = type(event)
    if kind in NO_ACTION or kind in ALWAYS:
        return (ALWAYS[kind],) if kind in ALWAYS else ()
    match event:
        case episode.EpisodeClosed():
            return ("answer" if event.status == "answered" else "stop",)
        case reasoning.MonitorReported():
            return ("fault" if event.flag == "YES" else "check",)
        case reasoning.ControllerActed():
            return ({"restart": "plan", "patch": "combine", "accept": "check"}[event.action],)
        case monitoring.ExperienceFelt() if event.experience != "JOL":
            return ()
        case search.OracleScored() | search.ConfidenceStated() | monitoring.ExperienceFelt():
            # An unknown score is a look at the work that found no fault.
            return ("fault" if event.value is not None and event.value < LOW else "check",)
        case monitoring.StrategyMatched():
            return ("plan",) if event.level == "cognitive" else ()
        case monitoring.SearchSteered():
            return ("suffice" if event.intensity == "standard" else "gap",)
        case graph.ToolCalled():
            return tuple(Hunt().call(event))
        case _:
            action = BY_ACT[kind.act]
            return () if action is None else (action,)


def leading(events: Sequence[tuple[str, Event]], answer: str | None) -> list[Event]:
    """Of a fork only the lanes that lead to the answer; all of them where none or each one does."""
    # Samples of a vote, or branches of a tree, are several ways to work and no single one: laid end
    # to end they would make a path that nobody went.
    lanes: dict[str, set[str]] = {}
    for address, event in events:
        if getattr(event, "answer", None) == answer and answer is not None:
            for fork, lane in _lanes(address):
                lanes.setdefault(fork, set()).add(lane)
    return [
        event
        for address, event in events
        if all(lane in lanes.get(fork, {lane}) for fork, lane in _lanes(address))
    ]


def _lanes(address: str) -> list[tuple[str, str]]:
    """The forks above an address, each with the lane that it stands in."""
    parts = address.split(".")
    return [(".".join(parts[:at]), parts[at]) for at in range(1, len(parts), 2)]


def path_of(
    events: Sequence[Event], machine: Machine = MACHINE, *, cycles: bool = False
) -> tuple[str, ...]:
    """The canonical path of an episode; repeated cycles are kept with ``cycles``."""
    path = machine.path(actions(events))
    # A run that was broken off has no closing event, but a path must have an end to be one.
    if path[-1] not in ("AN", "NA"):
        path = (*path, "NA")
    return path if cycles else collapsed(path)
