"""What the meta level feels about one problem, stated as it is felt: ease, knowing, difficulty.

Source: MGV Algorithm 1 line 6, Algorithm 2 line 8, Algorithm 3 line 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from handlers.learning.texts import features
from handlers.policies.mgv.knowledge import Mind
from handlers.policies.mgv.signals import (
    Felt,
    Knowing,
    ease,
    feeling_of_knowing,
    level_after,
)
from handlers.policies.mgv.strategies import Diagnosis
from handlers.roles.examiner import APPRAISER
from schemas.asking import Steps
from schemas.events.monitoring import Experience, ExperienceFelt, Origin


def stated(
    mind: Mind,
    experience: Experience,
    round: int,
    value: float,
    source: Origin,
    **inputs: float,
) -> ExperienceFelt:
    """An experience as a fact."""
    return ExperienceFelt(
        experience=experience,
        source=source,
        value=value,
        inputs=tuple(inputs.items()),
        round=round,
        subject=mind.task.subject,
    )


def feel_ease(mind: Mind, round: int = 0) -> Steps[Felt]:
    """EOL, from the text and memory alone."""
    settings = mind.settings
    felt = ease(mind.labelled, mind.h, settings.eol_floor, settings.signal)
    yield stated(mind, "EOL", round, felt.value, felt.source, h=mind.h, cases=len(mind.labelled))
    return felt


def feel_knowing(mind: Mind, round: int, confidences: Sequence[float]) -> Steps[Knowing]:
    """FOK, from memory and from the attempts that have been run."""
    familiar = mind.knowledge.familiar(mind.task.problem)
    known, source = feeling_of_knowing(mind.labelled, familiar, confidences, mind.settings.signal)
    yield stated(mind, "FOK", round, known.p, source, known=known.known, unknown=known.unknown)
    return known


def feel_difficulty(
    mind: Mind, round: int, confidences: Sequence[float]
) -> Steps[tuple[float, Diagnosis]]:
    """Level and diagnosis of difficulty; from the second round on outcomes take part."""
    if mind.settings.assess == "verbal":
        appraised = yield from _appraise(mind, round)
        if appraised is not None:  # what cannot be read leaves the feeling
            return appraised
    settings, labelled = mind.settings, mind.labelled
    if confidences:
        felt = level_after(labelled, mind.h, confidences, settings.signal)
    else:
        eol = ease(labelled, mind.h, settings.eol_floor, settings.signal)
        felt = Felt(1 - eol.value, eol.source)
    diagnosis = diagnose(mind, felt)
    yield stated(mind, "difficulty", round, felt.value, felt.source, h=mind.h, cases=len(labelled))
    return felt.value, diagnosis


def diagnose(mind: Mind, felt: Felt) -> Diagnosis:
    """Where difficulty lies: by feeling only how much of it, by knowledge what most cases had."""
    if felt.source != "feel":
        named = [case["diagnosis"] for case in mind.cases if case.get("diagnosis")]
        if named:
            return cast("Diagnosis", Counter(named).most_common(1)[0][0])
    return "complex" if felt.value > mind.settings.complex_above else "plain"


def _appraise(mind: Mind, round: int) -> Steps[tuple[float, Diagnosis] | None]:
    """One counted call about features, or about the whole problem; none where it cannot be read."""
    problem = mind.task.problem
    length, quantities, clauses = features(problem)
    seen = {"similar_cases": shown_cases(mind, len(mind.cases))} | (
        {"problem": mind.task.posed}
        if mind.settings.monitor_view == "full"
        else {"features": f"{length} words, {quantities} quantities, {clauses} clauses"}
    )
    said = yield from APPRAISER.put(seen)
    level = said.number("Difficulty")
    if level is None:
        return None
    level = min(1.0, max(0.0, level))
    yield stated(mind, "difficulty", round, level, "assess")
    return level, cast("Diagnosis", said.get("Source") or "plain")


def shown_cases(mind: Mind, most: int) -> str:
    """The nearest cases in mind as prompts show them: problem, answer given, how it went."""
    nearest = sorted(mind.held.values(), key=lambda pair: (-pair[1], pair[0]["id"]))[:most]
    return "\n\n".join(
        f"{case['problem']}\nAnswer given: {case['answer'] or 'none'} ({case['outcome']})"
        for case, _ in nearest
    )
