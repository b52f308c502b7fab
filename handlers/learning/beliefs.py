"""Cases and beliefs: what a scope's memory version knows of past problems, strategies and itself.

A case is a past problem with its outcome; a belief is a learned rate with its count. Both fold what
episodes measured; the same episode is taken once. Everything is JSON values.

Source: MGV Algorithm 1 line 14 (update), Algorithm 2 line 24 and 3 line 30 (consolidate); eq. (1), (2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from handlers.answers.alike import alike
from handlers.learning.measured import Measured, VectorOf
from handlers.learning.texts import content_words, features
from schemas.events.base import Event

# Policies rank with ``rate`` what the fold has updated. While an episode lasts it believes by a
# copy of its own, which goes by its verdicts and is thrown away: what counts for later problems are
# labels, where there are any. The cascade has cases without beliefs; it shares ``anew`` with this
# rule, for its cases keep their vectors in the same place.

# One success and one failure are assumed in advance, so that a single trial makes nothing certain.
PRIOR_SOLVED, PRIOR_TRIALS = 1, 2
"""rate = (s + 1) / (n + 2)."""
BANDS: Final = ((0.5, "low"), (0.8, "middle"), (float("inf"), "high"))
KNOWN: Final = {"right": True, "wrong": False}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One trial of what a belief is about: did it go well, at which effort, how far off was the signal."""

    key: str
    solved: bool
    effort: int
    error: float | None = None


def key_of(kind: str, task_class: str, diagnosis: str, strategy: str, band: str) -> str:
    """The key of a belief. ``kind`` is agent, task or strategy."""
    return f"{kind}|{task_class}|{diagnosis}|{strategy}|{band}"


def band_of(confidence: float | None) -> str:
    """Confidence in three bands; unknown is the lowest."""
    return next(name for end, name in BANDS if (confidence or 0.0) < end)


def rate(solved: int, trials: int) -> float:
    """The believed chance of success."""
    return (solved + PRIOR_SOLVED) / (trials + PRIOR_TRIALS)


def update(
    beliefs: Mapping[str, Any], evidence: Evidence, constants: Mapping[str, Any]
) -> dict[str, Any]:
    """A new key is added, a known one revised, one that keeps failing retired. Source: MGV eq. (2)."""
    was = beliefs.get(
        evidence.key, {"solved": 0, "trials": 0, "effort": 0, "error": 0.0, "errors": 0}
    )
    solved, trials = was["solved"] + evidence.solved, was["trials"] + 1
    retired = (
        trials >= constants["retire_trials"] and rate(solved, trials) < constants["retire_below"]
    )
    now = {
        "solved": solved,
        "trials": trials,
        "effort": was["effort"] + evidence.effort,
        "error": was["error"] + (evidence.error or 0.0),
        "errors": was["errors"] + (evidence.error is not None),
        "retired": retired,
    }
    return {**beliefs, evidence.key: now}


def after(
    before: Mapping[str, Any],
    members: Sequence[Measured],
    constants: Mapping[str, Any],
    said: Sequence[Event] = (),
) -> dict[str, Any]:
    """Cases, beliefs and known words after a batch; an episode that is known already adds nothing.

    It takes from members alone: nothing is ``said`` while this is learned.
    """
    cases = list(before.get("cases", ()))
    beliefs: dict[str, Any] = dict(before.get("beliefs", {}))
    words: dict[str, int] = dict(before.get("words", {}))
    # A memory version is closed again when a problem of it was forgotten; members that count
    # already must not count twice then.
    known = {case["id"] for case in cases}
    for member in members:
        if member.episode in known or not member.summary:
            continue
        known.add(member.episode)
        cases.append(case_of(member))
        for word in content_words(member.problem):
            words[word] = words.get(word, 0) + 1
        for evidence in evidence_of(member, constants):
            beliefs = update(beliefs, evidence, constants)
    return {"cases": cases, "beliefs": beliefs, "words": words}


def case_of(member: Measured) -> dict[str, Any]:
    """The member as a case."""
    return {
        "id": member.episode,
        "problem": member.problem,
        "outcome": member.outcome,
        "features": list(features(member.problem)),
        "answer": member.answer,
        "calls": member.calls,
        **{name: member.summary.get(name) for name in CARRIED},
    }


def measured_anew(member: Measured, vector_of: VectorOf) -> Measured:
    """A member with its problem's vector by another embedder."""
    if not member.summary.get("vector"):
        return member
    return replace(member, summary={**member.summary, "vector": vector_of(member.problem)})


def anew(state: Mapping[str, Any], vector_of: VectorOf) -> dict[str, Any]:
    """The cases with vectors by another embedder; a belief hangs on none."""
    cases = [
        {**case, "vector": vector_of(case["problem"])} if case["vector"] else case
        for case in state.get("cases", ())
    ]
    return {**state, "cases": cases} if cases else dict(state)


CARRIED: Final = ("class", "vector", "diagnosis", "confidence", "signals", "knowing", "tuples")
"""What a case takes over from an episode's summary."""


def evidence_of(member: Measured, constants: Mapping[str, Any]) -> Iterator[Evidence]:
    """What a member says of strategies, of the diagnosis, and of the agent itself."""
    summary = member.summary
    # All attempts count under what the problem turned out to be, not under what it was taken for: a
    # first guess that is copied on would never be corrected (design/mgv.md D2).
    was = borne_out(member, constants)
    for each in summary.get("tuples", ()):
        named = each if was is None else {**each, "diagnosis": was}
        yield from tuple_evidence(summary["class"], named, solved_by(member, each, constants))
    solved = KNOWN.get(member.outcome)
    if constants["learn_from"] == "verdict":
        solved = summary.get("passed")
    if solved is not None:
        q = summary.get("confidence")
        error = None if q is None else abs(q - solved)
        agent = key_of("agent", summary["class"], "", "", band_of(q))
        yield Evidence(agent, solved, member.calls, error)
        task = key_of("task", summary["class"], was or summary.get("diagnosis") or "", "", "")
        yield Evidence(task, solved, member.calls)


def borne_out(member: Measured, constants: Mapping[str, Any]) -> str | None:
    """What the problem turned out to be: what the strategy that solved it is for, if one did.

    A strategy that failed before it speaks of such problems too, not of those that it was taken for.
    ``solved_by`` names the diagnosis of each strategy; batches of earlier builds do not hold it.
    """
    known: Mapping[str, str] = constants.get("solved_by", {})
    for each in member.summary.get("tuples", ()):
        if each["strategy"] in known and solved_by(member, each, constants):
            return known[each["strategy"]]
    return None


def solved_by(
    member: Measured, each: Mapping[str, Any], constants: Mapping[str, Any]
) -> bool | None:
    """Whether an attempt succeeded: by its check's verdict, or by the label as far as that tells.

    A label tells of attempts with the answer that was given; beside a right one others were wrong.
    """
    if constants["learn_from"] == "verdict":
        verdict = each.get("verdict")
        return None if verdict is None else verdict == "PASS"
    right = KNOWN.get(member.outcome)
    if right is None or member.answer is None:
        return None
    answer = each.get("answer")
    same = alike(answer, member.answer)
    # Where the given answer was wrong, another one that was not given may have been right: unknown.
    return right if same else False if right or answer is None else None


def tuple_evidence(
    task_class: str, each: Mapping[str, Any], solved: bool | None
) -> Iterator[Evidence]:
    """What one kept tuple says of its strategies, if it is known how it went."""
    if solved is None:
        return
    q, effort = each.get("confidence"), each.get("effort", 1)
    key = key_of("strategy", task_class, each["diagnosis"], each["strategy"], band_of(q))
    yield Evidence(key, solved, effort, None if q is None else abs(q - solved))
    if each.get("check") and each.get("verdict"):
        told = (each["verdict"] == "PASS") == solved
        yield Evidence(key_of("strategy", task_class, "", each["check"], ""), told, 1)
