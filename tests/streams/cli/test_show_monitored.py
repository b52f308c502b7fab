"""Facts of monitoring in words: no field names, no Python."""

from __future__ import annotations

import pytest

from schemas.events.base import Event
from schemas.events.cascade import AnswerWeighed, CandidatesGraded
from schemas.events.monitoring import (
    Allocated,
    CasesReached,
    EpisodeAbandoned,
    ExperienceFelt,
    ExperienceKept,
    SearchSteered,
    StrategyMatched,
    ThresholdsSet,
)
from streams.views.facts import says

SAID: list[tuple[Event, str, str]] = [
    (CasesReached(round=0, items=(("p/a/b/c", 0.8),), near=3, held=1), "recall",
     "1 case reached, 3 near, 1 held"),
    (ExperienceFelt(experience="FOK", source="blend", value=0.4375, inputs=(("known", 0.75),), round=1),
     "feels", "feeling of knowing 0.44, from known 0.75"),
    (ExperienceFelt(experience="confidence", source="feel", round=1), "feels", "confidence unknown"),
    (StrategyMatched(level="cognitive", strategy="direct", diagnosis="plain",
                     rates=(("direct", 0.5), ("plan", 0.25)), round=0),
     "strategy", "direct for plain; direct 0.50, plan 0.25"),
    (Allocated(round=0, total=24, shares=tuple((f"game24/n90{n}", 3) for n in range(1, 9))), "limit",
     "24 calls shared out: n901 3, n902 3, n903 3, n904 3, n905 3, n906 3 and 2 more"),
    (ThresholdsSet(round=0, confidence=0.99, history=("default",)), "norm",
     "enough at 0.99, by default"),
    (ThresholdsSet(round=0, confidence=0.9, knowing=0.5), "norm", "enough at 0.90, knowing 0.50"),
    (SearchSteered(round=0, intensity="stop", known=0.1, unknown=0.8, threshold=0.5), "search",
     "stop: known 0.10, unknown 0.80 at 0.50"),
    (EpisodeAbandoned(round=0, criterion="effort"), "given up", "by effort"),
    (ExperienceKept(rounds=(1, 2), of=3), "keeps", "2 of 3 rounds"),
    (AnswerWeighed(round=0, answer="31", chance=0.75, votes=2, runner_up=0, of=2, spent=2.0), "weighed",
     "31   chance 0.75, 2 of 2 chains, 2.0 calls' worth"),
    (AnswerWeighed(round=1, arm="check", came="36", answer="36", chance=0.6, votes=2, runner_up=1, of=3,
                   spent=1.5),
     "weighed", "36   chance 0.60, 2 against 1 of 3 chains; check says 36, 1.5 calls' worth"),
    (AnswerWeighed(round=0, chance=0.0, votes=0, runner_up=0, of=2, spent=2.0), "weighed",
     "no answer yet, of 2 chains"),
    (CandidatesGraded(episode="p/d/a/r", subject="d/a", by="label", outcomes=("wrong", "right")), "graded",
     "1 of 2 answers right, by label"),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "who", "what"), SAID)
def test_a_fact_of_monitoring_in_words(fact: Event, who: str, what: str) -> None:
    assert says(fact, None)[:2] == (who, what)
