"""What an episode leaves to be known: its features, signals and kept tuples. Pure, without its outcome.

Source: MGV eq. (1): Φ_τ; Algorithm 2 line 20, Algorithm 3 line 25.
"""

from __future__ import annotations

from typing import Any

from handlers.policies.base import Conclusion, Trace
from handlers.policies.mgv.settings import MgvSettings
from schemas.events.base import Event
from schemas.events.episode import Completed, Embedded
from schemas.events.monitoring import (
    ExperienceFelt,
    ExperienceKept,
    SearchSteered,
    StrategyMatched,
)
from schemas.events.reasoning import Generated, MonitorReported, Voted


def reflect(trace: Trace, conclusion: Conclusion, settings: MgvSettings) -> dict[str, Any]:
    """The summary that cases and beliefs are folded from."""
    rounds: list[dict[str, Any]] = []
    found: dict[str, Any] = {"subject": "", "vector": None, "knowing": None, "kept": set[int]()}
    for _, event in trace.events:
        _note(event, rounds, found)
    signals = [each.pop("signals") for each in rounds]
    kept = [each for each in rounds if each["round"] in found["kept"]]
    return {
        "class": found["subject"].partition("/")[0],
        "vector": found["vector"],
        "diagnosis": rounds[0]["diagnosis"] if rounds else None,
        "confidence": conclusion.confidence,
        "signals": _given(conclusion, rounds, signals),
        "knowing": found["knowing"],
        "passed": rounds[-1]["verdict"] == "PASS" if rounds and rounds[-1]["verdict"] else None,
        "ended_by": conclusion.ended_by,
        "tuples": kept,
    }


def _given(
    conclusion: Conclusion, rounds: list[dict[str, Any]], signals: list[dict[str, float]]
) -> dict[str, float]:
    """How sure the attempt was whose answer was given: the outcome says nothing of the others."""
    if conclusion.answer is None:
        return {}
    both = zip(reversed(rounds), reversed(signals), strict=True)
    found = [own for each, own in both if each["answer"] == conclusion.answer and own]
    return found[0] if found else {}


def _note(event: Event, rounds: list[dict[str, Any]], found: dict[str, Any]) -> None:
    """Take what is about the episode as a whole; the rest is about the round that is open."""
    match event:
        case Embedded() if found["vector"] is None:
            # The first is the problem's own; later ones hold experiences or an attempt as well.
            found["vector"] = event.vectors[0]
        case ExperienceKept():
            found["kept"] |= set(event.rounds)
        case ExperienceFelt():
            inputs = dict(event.inputs)
            found["subject"] = found["subject"] or event.subject
            # FOK_0 is what thresholds are learned from: later ones know of attempts.
            if event.experience == "FOK" and found["knowing"] is None:
                found["knowing"] = [inputs["known"], inputs["unknown"]]
            elif event.experience == "confidence" and rounds:
                rounds[-1] |= {"signals": inputs, "confidence": event.value}
        case StrategyMatched(level="cognitive"):
            rounds.append(_opened(event.round, event.diagnosis, event.strategy))
        case SearchSteered():
            # Retrieval diagnoses nothing: how wide its cue is stands for its strategy.
            rounds.append(_opened(event.round, "plain", event.intensity))
        case _ if rounds:
            _fill(rounds[-1], event)
        case _:
            pass


def _opened(round: int, diagnosis: str | None, strategy: str) -> dict[str, Any]:
    return {
        "round": round,
        "diagnosis": diagnosis,
        "strategy": strategy,
        "check": None,
        "verdict": None,
        "answer": None,
        "confidence": None,
        "effort": 0,
        "signals": {},
    }


def _fill(last: dict[str, Any], event: Event) -> None:
    match event:
        case Completed():
            last["effort"] += 1
        case Generated() | Voted():
            last["answer"] = event.answer
        case StrategyMatched():
            last["check"] = event.strategy
        case MonitorReported(flag=flag):
            last["verdict"] = None if flag is None else "PASS" if flag == "NO" else "FAIL"
        case _:
            pass
