"""Calibrators follow from grades, are pinned with the memory version, and are null until fitted."""

from __future__ import annotations

from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed, Graded, MemoryVersioned, Reflected
from schemas.identity import hash01
from schemas.outcome import Outcome
from schemas.problem import Limits
from schemas.usage import NOTHING
from state.folds.calibration import CalibrationFold

SCOPE = "d/p/main/0"


def opened(version: int) -> EpisodeOpened:
    return EpisodeOpened(
        policy="p",
        policy_version="1",
        settings="s",
        limits=Limits(),
        seed=1,
        memory_version=version,
        backbones="model",
    )


def reflected(at: int, version: int, confidence: float | None) -> Reflected:
    return Reflected(
        scope=SCOPE,
        policy="p@1",
        problem_id=str(at),
        domain="d",
        problem="x",
        problem_digest="x",
        profile="service",
        learning={},
        labelled=True,
        status="answered",
        answer="1",
        confidence=confidence,
        confidence_source=None if confidence is None else "stated",
        usage=NOTHING,
        memory_version=version,
        summary={},
    )


def graded(outcome: Outcome, by: str = "checker") -> Graded:
    return Graded(scope=SCOPE, outcome=outcome, grader="g@1", by=by)  # type: ignore[arg-type]


def batch(fold: CalibrationFold, number: int, size: int, version: int) -> list[str]:
    """A batch of episodes that are right with the square of what they say."""
    names: list[str] = []
    for at in range(size):
        name = f"p/d/{number}-{at}/0"
        confidence = round(hash01("c", number, at), 3)
        right = hash01("r", number, at) < confidence**2
        fold.feed(name, opened(version))
        fold.feed(name, reflected(at, version, confidence))
        fold.feed(name, graded("right" if right else "wrong"))
        names.append(name)
    close(fold, number, names)
    return names


def close(fold: CalibrationFold, number: int, names: list[str]) -> None:
    known: list[Outcome] = ["unknown"] * len(names)
    fold.feed(
        f"b/{SCOPE}/{number}",
        BatchClosed(
            scope=SCOPE,
            batch=number,
            members=tuple(names),
            outcomes=tuple(known),
            previous=number - 1,
            policy="p",
            policy_version="1",
            settings="s",
            seed=1,
        ),
    )
    version = MemoryVersioned(scope=SCOPE, number=number, live_from=1, state="x")
    fold.feed(f"b/{SCOPE}/{number}", version)


def test_null_until_thirty_labels_then_by_the_version_that_an_episode_pinned() -> None:
    fold = CalibrationFold()
    first = batch(fold, 1, 20, 0)
    second = batch(fold, 2, 20, 1)
    third = batch(fold, 3, 20, 2)
    assert {fold.calibrated(name) for name in (*first, *second)} == {None}
    values = [fold.calibrated(name) for name in third]
    assert None not in values
    fourth = batch(fold, 4, 5, 2)
    late = fold.calibrated(fourth[0])
    assert late is not None
    assert [fold.calibrated(name) for name in third] == values


def test_grades_that_come_later_count_in_the_next_version_only() -> None:
    fold = CalibrationFold()
    names = batch(fold, 1, 40, 0)
    before = dict(fold.fitted[SCOPE, 1])
    for name in names:
        fold.feed(name, graded("wrong", by="feedback"))
    assert fold.fitted[SCOPE, 1] == before
    close(fold, 2, [])
    [now] = fold.fitted[SCOPE, 2].values()
    assert now is not None
    assert now(0.9) < 0.1


def test_what_has_no_confidence_or_no_grade_is_no_label() -> None:
    fold = CalibrationFold()
    fold.feed("p/d/x/0", opened(0))
    fold.feed("p/d/x/0", reflected(1, 0, None))
    fold.feed("p/d/y/0", opened(0))
    fold.feed("p/d/y/0", reflected(1, 0, 0.5))
    close(fold, 1, ["p/d/x/0", "p/d/y/0"])
    assert fold.labels(SCOPE) == {}
    assert fold.calibrated("p/d/x/0") is None
