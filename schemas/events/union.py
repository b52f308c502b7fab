"""All events by kind. The union exists only here, for the codec and the generated schemas."""

from __future__ import annotations

from collections.abc import Mapping

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
from schemas.events.base import AnswerEvent, Event

# The order is that of the generated schemas and of pages; kinds are found by name.
ANSWERS: tuple[type[AnswerEvent], ...] = (
    episode.Completed,
    episode.Recalled,
    episode.Embedded,
    episode.Checked,
    episode.Forked,
    episode.LimitReached,
    episode.QuestionAbandoned,
    episode.ReviewAnswered,
    graph.ToolCalled,
)
LIFE: tuple[type[Event], ...] = (
    episode.ProblemAdmitted,
    episode.EpisodeOpened,
    episode.ReviewAsked,
    episode.EpisodeParked,
    episode.EpisodeAdopted,
    episode.EpisodeClosed,
    episode.PartitionClaimed,
    episode.TextKept,
)
FACTS: tuple[type[Event], ...] = (
    reasoning.Generated,
    reasoning.ReplyReparsed,
    reasoning.MonitorReported,
    reasoning.ControllerActed,
    reasoning.KnowledgeReached,
    reasoning.KnowledgeOmitted,
    reasoning.Voted,
    search.FrontierScored,
    search.NodeExpanded,
    search.NodePruned,
    search.NodeRepaired,
    search.OracleScored,
    search.ConfidenceStated,
    search.ThoughtJudged,
    search.ThoughtsKept,
    search.ValueBackedUp,
    search.SearchDecided,
    monitoring.CasesReached,
    monitoring.ExperienceFelt,
    monitoring.StrategyMatched,
    monitoring.Allocated,
    monitoring.ThresholdsSet,
    monitoring.SearchSteered,
    monitoring.EpisodeAbandoned,
    monitoring.ExperienceKept,
    strategy.ProgressReported,
    strategy.RewardJudged,
    strategy.StrategyProposed,
    strategy.StrategyChosen,
    graph.ExperienceShown,
    graph.PathGrounded,
    graph.PrincipleInduced,
    graph.PairCompared,
    graph.PairSkipped,
    graph.NoteLinked,
    graph.InsightVoted,
    cascade.AnswerWeighed,
    cascade.CandidatesGraded,
    learning.LessonDistilled,
    learning.LessonDropped,
    learning.KnowledgeConsolidated,
)
LEARNING: tuple[type[Event], ...] = (
    learning.SeriesOpened,
    learning.PositionVoided,
    learning.TickPassed,
    learning.Reflected,
    learning.Graded,
    learning.GradeProposed,
    learning.BatchClosed,
    learning.MemoryVersioned,
    learning.KnowledgeRevised,
    learning.EmbedderChanged,
    learning.ProblemForgotten,
    traces.TraceTaken,
    learning.SubjectErased,
)


def kind_of(model: type[Event]) -> str:
    """The kind that a model's events carry."""
    return str(model.__struct_config__.tag)


KINDS: Mapping[str, type[Event]] = {
    kind_of(model): model for model in (*ANSWERS, *LIFE, *FACTS, *LEARNING)
}
ANSWER_KINDS = frozenset(kind_of(model) for model in ANSWERS)
FACT_KINDS = frozenset(kind_of(model) for model in FACTS)
