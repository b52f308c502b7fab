"""What models say to the MGV policies in scripts, memories to begin from, and short runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handlers.learning.beliefs import key_of
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.mgv import MGV_ACQUISITION, MGV_FLAVELL, MGV_RETRIEVAL
from handlers.policies.mgv.settings import (
    AcquisitionSettings,
    FlavellSettings,
    MgvSettings,
    RetrievalSettings,
)
from schemas.events.monitoring import ExperienceFelt
from schemas.memory import Memory
from schemas.questions import Complete
from schemas.vectors import pack
from tests.papers.mc2_says import solved
from tests.scripted import NO_MEMORY, Ran, Script, hashed, run

PROBLEM = "A baker fills 12 trays with 8 rolls each. How many rolls are there?"
TASK = Task("r1", PROBLEM, "stories", seed=7)
SHORT = Task("r1", "12 trays of 8 rolls?", "stories", seed=7)
LATER = Task("r1", PROBLEM, "stories", seed=7, memory_version=1)


def flavell(**values: Any) -> FlavellSettings:
    """The paper's profile with some settings changed."""
    return FlavellSettings.resolve("paper", values)


def acquisition(**values: Any) -> AcquisitionSettings:
    return AcquisitionSettings.resolve("paper", values)


def retrieval(**values: Any) -> RetrievalSettings:
    return RetrievalSettings.resolve("paper", values)


def case(
    name: str,
    outcome: str = "right",
    *,
    problem: str = PROBLEM,
    confidence: float | None = 0.8,
    knowing: Sequence[float] = (1.0, 0.5),
    diagnosis: str = "plain",
    calls: int = 3,
    answer: str | None = "96",
    **signals: float,
) -> dict[str, Any]:
    """A past problem as the fold makes it; by default the same as the present one."""
    return {
        "id": name,
        "problem": problem,
        "outcome": outcome,
        "features": [14, 2, 2],
        "answer": answer,
        "calls": calls,
        "class": "stories",
        "vector": pack(hashed(problem)),
        "diagnosis": diagnosis,
        "confidence": confidence,
        "signals": signals,
        "knowing": list(knowing),
        "tuples": [],
    }


def past(name: str, outcome: str = "right", **more: Any) -> dict[str, Any]:
    """A case much like the short problem."""
    return case(name, outcome, problem=f"12 trays of {name} rolls?", **more)


def remembering(*cases: dict[str, Any], beliefs: dict[str, Any] | None = None) -> Memory:
    """A memory version with these cases."""
    return Memory("s", 1, (), {"cases": list(cases), "beliefs": beliefs or {}, "words": {}})


def belief(diagnosis: str, strategy: str, solved: int, trials: int) -> dict[str, Any]:
    """A belief about a strategy, by key."""
    held = {"solved": solved, "trials": trials, "effort": trials, "error": 0.0, "errors": 0}
    key = key_of("strategy", "stories", diagnosis, strategy, "middle")
    return {key: {**held, "retired": False}}


def checked(verdict: str = "PASS") -> str:
    return f"Verdict: {verdict}\nFinding: as it looks from here."


def sure(q: float) -> str:
    return f"Confidence={q}"


class Model:
    """Answers, confidences and verdicts in turn; each list repeats its last entry."""

    def __init__(
        self,
        answers: Sequence[str | None] = ("96",),
        sure_of: Sequence[float] = (0.9,),
        verdicts: Sequence[str] = ("PASS",),
    ) -> None:
        self.said: dict[str, Sequence[Any]] = {
            "reasoner": answers,
            "confidence": sure_of,
            "monitor": verdicts,
        }
        self.asked = dict.fromkeys(self.said, 0)

    def __call__(self, question: Complete) -> str:
        said = self.said[question.role]
        at = min(self.asked[question.role], len(said) - 1)
        self.asked[question.role] += 1
        match question.role:
            case "reasoner":
                return "I do not know." if said[at] is None else solved(str(said[at]))
            case "confidence":
                return sure(said[at])
            case _:
                return checked(said[at])


def answered(
    at: str, answer: str, sure_of: float, *, in_round: int, cap: int = 8192, known: bool = False
) -> str:
    """How it is told, from this address on, that a round finds an answer, is asked how sure it is and feels that.

    The answer's text may be ``known`` from the round before.
    """
    lane, _, last = at.rpartition(".")
    source, asked, stated, felt = (f"{lane}.{int(last) + on}".lstrip(".") for on in (-1, 2, 3, 4))
    shown = "" if known else f"\n    trajectory: {solved(answer)}".replace("\nFinal", " / Final")
    same = "problem, trajectory" if known else "problem"
    return f"""
{at} generated round={in_round} role=reasoner answer={answer} source={source} parse=ok
{asked} confidence confidence.A temperature=0 max_tokens={cap} ({same} as before){shown}
{stated} confidence.stated node={source} value={sure_of} source={asked} wording=A parse=first
{felt} experience.felt experience=confidence source=feel value={sure_of} inputs=[[verbal {sure_of}]] round={in_round}
"""


POLICIES: dict[type[MgvSettings], Policy[Any]] = {
    FlavellSettings: MGV_FLAVELL,
    AcquisitionSettings: MGV_ACQUISITION,
    RetrievalSettings: MGV_RETRIEVAL,
}


def episode(
    settings: MgvSettings,
    script: Script,
    *,
    memory: Memory = NO_MEMORY,
    calls: int | None = None,
    task: Task = TASK,
) -> Ran[Conclusion]:
    """One episode of the policy whose settings these are."""
    version = memory.number
    pinned = Task(task.id, task.problem, task.domain, task.seed, version)
    policy = POLICIES[type(settings)]
    return run(policy.solve(pinned, settings), script, memory=memory, calls=calls)


def felt(ran: Ran[Any], experience: str) -> list[ExperienceFelt]:
    """The experiences of one kind, in order."""
    return [each for each in ran.of(ExperienceFelt) if each.experience == experience]


def reflected(ran: Ran[Conclusion], settings: MgvSettings) -> dict[str, Any]:
    """What a run leaves to be folded."""
    return POLICIES[type(settings)].reflect(ran.trace, ran.result, settings)
