"""Labels of confidences are kept with each memory version; calibrators follow, null until fitted."""

from __future__ import annotations

from typing import Literal

from handlers.learning.calibrate import LEAST, RULE, calibrated, calibrators
from schemas.events.learning import BatchClosed, Graded, MemoryVersioned
from schemas.identity import hash01, learning_id
from schemas.outcome import Outcome
from state.folds.grades import GradesFold
from state.folds.memory import MemoryFold
from tests import reflections

SCOPE = "d/p/main/0"
KEY = ("d", "p@1", "s", "model", "stated")


class Told:
    """A scope that is fed as its learner feeds it."""

    def __init__(self, calibration: str | None = RULE) -> None:
        self.grades, self.calibration = GradesFold(), calibration
        self.fold = MemoryFold(SCOPE, self.grades.outcome)

    def reflected(self, episode: str, confidence: float | None, settings: str | None = "s") -> None:
        event = reflections.reflected(
            scope=SCOPE,
            confidence=confidence,
            confidence_source=None if confidence is None else "stated",
            settings=settings,
            backbones="model",
        )
        self.fold.feed(episode, "reflected", event)

    def graded(
        self, episode: str, outcome: Outcome, by: Literal["feedback", "checker"] = "checker"
    ) -> None:
        event = Graded(scope=SCOPE, outcome=outcome, grader="g@1", by=by)
        self.grades.feed(episode, event)
        self.fold.feed(episode, f"graded.{by}", event)

    def closed(self, names: list[str]) -> None:
        """A batch of these closes, and its version."""
        number = self.fold.latest.number + 1
        closed = BatchClosed(
            scope=SCOPE,
            batch=number,
            members=tuple(names),
            outcomes=tuple(self.grades.outcome(name) for name in names),
            previous=number - 1,
            policy="p",
            policy_version="1",
            settings="s",
            calibration=self.calibration,
            seed=1,
        )
        episode = learning_id(SCOPE, number)
        self.fold.feed(episode, "batch", closed)
        memory = self.fold.following(self.fold.learned(closed), number, 1, closed)
        version = MemoryVersioned(scope=SCOPE, number=number, live_from=1, state=memory.state())
        self.fold.feed(episode, "version", version)

    def batch(self, size: int, settings: str | None = "s") -> list[str]:
        """A batch of members whose labels follow their confidence loosely."""
        number = self.fold.latest.number + 1
        names = [f"p/d/{number}-{at}/0" for at in range(size)]
        for at, name in enumerate(names):
            confidence = round(hash01("c", number, at), 3)
            self.reflected(name, confidence, settings)
            right = hash01("r", number, at) < confidence**2
            self.graded(name, "right" if right else "wrong")
        self.closed(names)
        return names

    def chance(self, version: int, confidence: float = 0.7) -> float | None:
        return calibrated(self.fold.versions[version].labels, KEY, confidence)


def test_null_until_thirty_labels_then_by_the_version_that_an_episode_pinned() -> None:
    told = Told()
    for _ in range(3):
        told.batch(20)
    assert [told.chance(version) for version in (0, 1)] == [None, None]
    second = told.chance(2)
    assert second is not None
    assert 0.0 < second < 0.7, "stated confidences are too high here"
    assert told.chance(3) != second
    told.batch(20)
    assert told.chance(2) == second


def test_another_model_or_source_has_its_own() -> None:
    told = Told()
    told.batch(40)
    labels = told.fold.latest.labels
    assert calibrated(labels, KEY, 0.7) is not None
    assert calibrated(labels, (*KEY[:3], "other", "stated"), 0.7) is None
    assert calibrated(labels, (*KEY[:4], "vote_share"), 0.7) is None


def test_grades_that_come_later_count_in_the_next_version_only() -> None:
    told = Told()
    names = told.batch(40)
    before = told.chance(1)
    for name in names:
        told.graded(name, "wrong", by="feedback")
    assert told.chance(1) == before
    told.closed([])
    after = told.chance(2)
    assert before is not None
    assert after is not None
    assert after < 0.05 < before


def test_an_outcome_that_became_unknown_is_no_label_any_more() -> None:
    told = Told()
    names = told.batch(LEAST)
    assert told.chance(1) is not None
    told.graded(names[0], "unknown", by="feedback")
    told.closed([])
    assert told.chance(2) is None


def test_what_says_not_whose_confidence_it_is_and_what_has_none_is_no_label() -> None:
    told = Told()
    told.batch(40, settings=None)
    told.reflected("p/d/x/0", None)
    told.closed(["p/d/x/0"])
    assert told.fold.latest.labels is None


def test_the_digest_of_a_version_knows_the_labels_unless_its_batch_pins_no_rule() -> None:
    """Logs of builds without calibrators fold to the digests that they were written with."""
    with_labels, without = Told(), Told(calibration=None)
    for told in (with_labels, without):
        told.batch(5)
    assert without.fold.latest.labels is None
    assert with_labels.fold.latest.state() != without.fold.latest.state()


def test_labels_of_many_versions_are_one_chain() -> None:
    told = Told()
    for _ in range(4):
        told.batch(10)
    labels = told.fold.latest.labels
    assert labels is not None
    assert len(list(labels)) == 40
    assert len(labels.new) == 10
    assert calibrators(labels)[KEY] is not None


def test_a_version_keeps_the_rule_that_its_batch_named() -> None:
    """Under the first rule the surest could be given least; logs that were written so stay as they were."""
    told = Told(calibration="platt-isotonic@1")
    names = [f"p/d/1-{at}/0" for at in range(40)]
    for at, name in enumerate(names):
        told.reflected(name, at / 40)
        told.graded(name, "right" if at < 20 else "wrong")
    told.closed(names)
    turned = told.chance(1, 0.9)
    assert turned is not None
    assert turned < 0.1
    told.calibration = RULE
    told.batch(1)
    level = told.chance(2, 0.9)
    assert level == told.chance(2, 0.1)
    assert told.chance(1, 0.9) == turned
