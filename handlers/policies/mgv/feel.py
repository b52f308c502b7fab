"""What the meta level feels about one problem, stated as it is felt: ease, knowing, difficulty.

Source: MGV Algorithm 1 line 6, Algorithm 2 line 8, Algorithm 3 line 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from handlers.learning.texts import features
from handlers.policies.mgv.knowledge import Mind
from handlers.policies.mgv.signals import (
    Felt,
    Knowing,
    ease,
    exclusive,
    feeling_of_knowing,
    level_after,
)
from handlers.policies.mgv.strategies import PRESCRIBED, Diagnosis
from handlers.roles.examiner import APPRAISER
from schemas.asking import Steps
from schemas.events.monitoring import Experience, ExperienceFelt, Origin

# Every number that a decision hangs on is stated with what it was made of and where it came
# from, feeling or knowledge: whether feelings were right can then be measured on the log,
# long after the decisions.


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
    mind: Mind, round: int, confidences: Sequence[float], last: str = ""
) -> Steps[tuple[float, Diagnosis]]:
    """Level and diagnosis of difficulty; from the second round on outcomes take part.

    ``last`` is the last round's outcome in words.
    """
    settings, labelled = mind.settings, mind.labelled
    if confidences:
        felt = level_after(labelled, mind.h, confidences, settings.signal)
    else:
        eol = ease(labelled, mind.h, settings.eol_floor, settings.signal)
        felt = Felt(1 - eol.value, eol.source)
    diagnosis = diagnose(mind, felt)
    if settings.assess == "verbal" and settings.signal != "feel":
        appraised = yield from _appraise(mind, last)
        if appraised is not None:  # what cannot be read leaves the feeling
            level, diagnosis = appraised
            # A model that was shown the problem counts as knowledge of it, with cases or without.
            felt = exclusive(felt.value, level, True, settings.signal)
    yield stated(mind, "difficulty", round, felt.value, felt.source, h=mind.h, cases=len(labelled))
    return felt.value, diagnosis


def diagnose(mind: Mind, felt: Felt) -> Diagnosis:
    """Where difficulty lies: by feeling how much of it, by knowledge what the like of it turned out to be.

    Cases that were plain say nothing of a problem that feels hard.
    """
    level: Diagnosis = "complex" if felt.value > mind.settings.complex_above else "plain"
    if felt.source == "feel":
        return level
    # More cases than are shown take part: three neighbours are too few for a vote
    # among six diagnoses.
    known = dict.fromkeys(PRESCRIBED, 0.0)
    for case, similarity in mind.near(mind.settings.calibrate_k):
        diagnosis = mind.knowledge.turned_out(case, mind.settings.learn_from)
        if diagnosis is not None:
            known[diagnosis] += max(0.0, similarity)
    most = max(known, key=lambda name: round(known[name], 9))
    return level if most == "plain" or not known[most] else most


def _appraise(mind: Mind, last: str) -> Steps[tuple[float, Diagnosis] | None]:
    """One counted call about the whole problem, or its features; none where it cannot be read."""
    problem = mind.task.problem
    length, quantities, clauses = features(problem)
    seen = {"similar_cases": shown_cases(mind, len(mind.cases))} | (
        {"problem": mind.task.posed}
        if mind.settings.monitor_view == "full"
        else {"features": f"{length} words, {quantities} quantities, {clauses} clauses"}
    )
    said = yield from APPRAISER.put({**seen, "last_result": last})
    level = said.number("Difficulty")
    if level is None:
        return None
    return min(1.0, max(0.0, level)), cast("Diagnosis", said.get("Source") or "plain")


def shown_cases(mind: Mind, most: int, *, right: bool = False) -> str:
    """The nearest cases in mind as prompts show them: problem, answer given, how it went; or those that went right."""
    held = (pair for pair in mind.held.values() if not right or pair[0]["outcome"] == "right")
    nearest = sorted(held, key=lambda pair: (-pair[1], pair[0]["id"]))[:most]
    return "\n\n".join(
        f"{case['problem']}\nAnswer given: {case['answer'] or 'none'} ({case['outcome']})"
        for case, _ in nearest
    )
