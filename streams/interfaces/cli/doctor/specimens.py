"""One question for each role, on one little problem: what an endpoint is tried with.

The prompts, forms and readers are those that policies use; only what fills the prompts is made up here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from handlers.answers.extract import extract
from handlers.policies.baselines.macm import EXECUTOR
from handlers.policies.baselines.meta_prompting import CONDUCTOR, EXPERT
from handlers.policies.baselines.reflexion import EVALUATOR, REFLECTOR
from handlers.policies.baselines.self_refine import CRITIC
from handlers.policies.baselines.self_verification import VERIFIER
from handlers.policies.cascade.arms import ASKED_STRONG
from handlers.policies.cot2_meta.conclude import FALLBACK
from handlers.roles.again import Heard, Meter
from handlers.roles.composer import COACHES, NOTHING, compose
from handlers.roles.confidence import trust
from handlers.roles.consolidator import CONSOLIDATORS
from handlers.roles.controller import CONTROLLER
from handlers.roles.distiller import DISTILLERS, POLARITY
from handlers.roles.grounder import GROUNDER
from handlers.roles.inducer import inducer
from handlers.roles.meta_reasoner import META_REASONER
from handlers.roles.monitor import MONITOR
from handlers.roles.oracle import Reading, score
from handlers.roles.progress_judge import JUDGES
from handlers.roles.reasoner import REASONER
from handlers.roles.repairer import REPAIRER
from handlers.roles.reporter import REPORTER
from handlers.roles.role import Check, Role
from handlers.roles.step import STEP
from handlers.roles.steps import shown
from handlers.roles.thinker import THINKERS
from schemas.asking import Steps
from schemas.questions import Sampling

# Only a role's own prompt, form and reader say whether a model can play it: a model that answers
# questions well may fail at every form. The problem is so small that a model which fails here fails
# for the form's sake. Nothing below is asked for its answer, and none of it is recorded.
How: TypeAlias = Literal["read", "asked again", "not read"]
"""Read at once; read at the second asking; not read at all."""

PROBLEM = "A baker fills 3 trays with 12 rolls each and sells 20 rolls. How many rolls are left?"
WORK = ("3 trays of 12 rolls make 36 rolls.", "36 - 20 = 16, so 16 rolls are left.")
CAP = 2_048
"""Tokens of a reply whose role has no cap of its own."""
ROOM = 4_000
"""Characters of guidance."""
MOST_PRINCIPLES = 50
EVERYTHING = Sampling(temperature=0.7, top_p=0.95, max_tokens=CAP, logprobs=True)
"""What some policy or other asks for."""

# Every section of every prompt has something in it. A prompt with holes
# would be another prompt, and its reply would say nothing of the one that
# policies send. A test holds that each of these stands in some prompt.
_REPORT = "Error_found: NO\nError_step: NONE\nError_description: NONE"
_LESSON = "When things are packed and then taken away: first the product, then the difference."
MATERIAL: Mapping[str, str] = {
    "problem": PROBLEM,
    "trajectory": shown(WORK),
    "candidate": "16",
    "report": _REPORT,
    "decision": "ACCEPT",
    "polarity": POLARITY["do"],
    "lessons": f"- L1: {_LESSON}",
    "transitions": "SA -> MA: the answer was checked\nMA -> SA: the check failed",
    "transcript": f"1. reasoner: {WORK[0]}\n2. reasoner: {WORK[1]}",
    "path_that_succeeded": "SA -> MA",
    "path_that_failed": "MA -> SA",
    "how_many_there_are": "0",
    "strategy": "Do the product first.",
    "steps_made": "2",
    "fault": "Step 2 does not say what the difference stands for.",
    "attempt": shown(WORK),
    "solution": shown(WORK),
    "task": PROBLEM,
}
"""What fills the sections of prompts, by their variables."""


@dataclass(frozen=True, slots=True)
class Read:
    """The result of a role's own reader on a reply."""

    how: How
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Specimen:
    """A role, how its prompt is called, and the exchange with it."""

    role: str
    template: str
    ask: Callable[[], Steps[Read]]


def specimens() -> Iterator[Specimen]:
    """One for each role that a policy of ours asks; the first asks with every parameter that any of them sets."""
    # The first is asked alone, with every parameter that any role sets: what the endpoint refuses
    # is met once and left out from then on, instead of by each role for itself.
    yield _filled(replace(REASONER, sampling=EVERYTHING))
    yield _filled(ASKED_STRONG)
    yield from map(_filled, (MONITOR, CONTROLLER, THINKERS["direct"], REPAIRER, FALLBACK, STEP))
    yield Specimen("oracle", "oracle", _scores)
    yield Specimen("confidence", "confidence.A", _trust)
    yield from map(_filled, (REPORTER, JUDGES["A"], META_REASONER))
    yield from map(_filled, (VERIFIER, CRITIC, EVALUATOR, REFLECTOR, CONDUCTOR, EXPERT, EXECUTOR))
    yield Specimen("composer", "composer.reasoner", _guidance)
    # Roles that work for several others have one form for all of them: the
    # reasoner's stands for the rest.
    yield _filled(DISTILLERS["reasoner"].role)
    yield _filled(CONSOLIDATORS["reasoner"].role, CONSOLIDATORS["reasoner"].check())
    yield from map(_filled, (inducer(MOST_PRINCIPLES), GROUNDER))


def variables_of(role: Role) -> dict[str, str]:
    """What fills a role's prompt: an optional section only where there is something to say in it."""
    wanted = (each.variable for each in role.template.sections)
    return {name: MATERIAL[name] for name in wanted if name in MATERIAL}


def _filled(role: Role, check: Check | None = None) -> Specimen:
    def ask() -> Steps[Read]:
        said = yield from role.put(variables_of(role), check=check)
        if said.readable:
            return Read("read" if said.parse == "ok" else "asked again", said.values)
        # Policies that need an answer alone would still find one in it, so that is worth saying; in
        # a reply that was cut, what looks like an answer is a step on the way.
        answer = None if said.completion.cut else extract(said.text)
        found = {} if answer is None else {"answer found in the text": answer}
        return Read("not read", found, str(said.problem))

    return Specimen(role.name, role.template.name, ask)


def _scores() -> Steps[Read]:
    heard: Heard[Reading] = yield from score(PROBLEM, WORK, Meter(spare=1))
    said = {
        f"Step {at}": tuple(None if each is None else float(each) for each in scores)
        for at, scores in enumerate(heard.value.steps, 1)
    }
    return _strict(heard, said)


def _trust() -> Steps[Read]:
    heard = yield from trust(PROBLEM, WORK, Meter(spare=1))
    return _strict(heard, {} if heard.value is None else {"Confidence": float(heard.value)})


# These two are not read by a form: their readers ask again by themselves,
# and say only what came of it.
def _strict(heard: Heard[Any], values: Mapping[str, Any]) -> Read:
    if heard.parse == "defaulted":
        return Read("not read", values, "not in the format asked")
    return Read("read" if heard.parse == "first" else "asked again", values)


def _guidance() -> Steps[Read]:
    coach = COACHES["reasoner"]
    made = yield from compose(coach, variables_of(coach.role), previous=NOTHING, room=ROOM)
    if made.result == "fallback":
        return Read("not read", {}, f"{coach.label} must hold at most {coach.most} bullets")
    values = {coach.label: made.bullets.lines}
    return Read("read" if made.result == "composed" else "asked again", values)
