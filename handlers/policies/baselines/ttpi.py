"""Test-time prompt intervention: each stage is continued in several manners; the least perplexing one stays.

After TTPI, simplified: perplexity alone selects, over the whole reply; no layer of the model is looked
into, so there is no reasoning depth score.

Source: Yang et al. 2025; MC² App. B.2 (``TTPI``); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.learning.elementary import exp
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.facts import generated
from handlers.policies.last_call import close
from handlers.roles.role import Role, choice, text
from handlers.roles.steps import shown
from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.events.strategy import StrategyChosen
from schemas.questions import Remain, Sampling
from schemas.reply import Field
from schemas.settings import PolicySettings

# The intervention is in the opening of a stage: the same model continues in four manners, and the
# manner that it finds least surprising is kept. So the method needs log-probabilities, which not
# every endpoint sends, and costs a call for each manner and stage.

TRIGGERS: Mapping[str, str] = {
    "progress": "Next,",
    "summarise": "In short, what stands so far:",
    "verify": "Wait, is that right? Checking it:",
    "conclude": "So, to close, the answer is:",
}
"""How a continuation begins that moves on, sums up, checks, or ends."""
LAST = "conclude"
REFUSED = "refused: ttpi needs log-probabilities, and this endpoint sends none"

CONTINUER = Role.of(
    "reasoner",
    """\
You work on the problem below in stages. Write only the next stage, a short one, and let it begin with the words of \
the section "Opening", in their spirit: to move on, to sum up, to check, or to close. Once the \
problem is settled, say so and give the final answer in the form that the problem asks for.""",
    sections=("Problem", "Trajectory?", "Opening"),
    notes={"Trajectory": 'Section "Trajectory" holds the stages so far: go on from there.'},
    reply=(
        text("Next_step", "the next stage"),
        choice("State", ("OPEN", "SOLVED"), "whether the problem remains open after it"),
        Field("Final_answer", "answer", "the answer", when=("State", ("SOLVED",))),
    ),
    template="ttpi.continue",
    mends=False,
)


class TtpiSettings(PolicySettings):
    """Settings of test-time prompt intervention."""

    paper: ClassVar[Mapping[str, Any]] = {}

    max_stages: PositiveInt = 8
    """Stages at most; the last one is only concluded."""
    stage_cap: PositiveInt = 512
    """Tokens of one continuation."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A continuation under one trigger, and the mean log-probability of its tokens, if it is known."""

    trigger: str
    text: str
    answer: str | None
    logprob: float | None
    source: str


def least_perplexing(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate of the lowest perplexity, ties in the order of the triggers; none if it is unknown."""
    known = [each for each in candidates if each.logprob is not None]
    return min(known, key=perplexity, default=None)


def perplexity(candidate: Candidate) -> float:
    """exp of the negative mean log-probability, as decisions compare it."""
    return round(exp(-(candidate.logprob or 0.0)), 9)


def solve(task: Task, settings: TtpiSettings) -> Steps[Conclusion]:
    """Stage by stage until a chosen continuation settles the problem."""
    stages: list[str] = []
    for stage in range(settings.max_stages):
        triggers = yield from _affordable(stage == settings.max_stages - 1)
        if not triggers:
            return (yield from _closed(task, stages, settings))
        lanes = yield from All(_continue(task, stages, t, stage, settings) for t in triggers)
        candidates = [lane for lane in lanes if isinstance(lane, Candidate)]
        limit = next((lane.which for lane in lanes if isinstance(lane, Stopped)), None)
        # Of a stage that a limit cut short whatever was written can still be chosen,
        # and ends the work.
        if limit is not None and not candidates:
            return Conclusion(answer=None, ended_by="limit", limit=limit)
        chosen = least_perplexing(candidates)
        # Without log-probabilities it would be another method: refused, and not chosen at random.
        if chosen is None:
            return Conclusion(answer=None, ended_by=REFUSED)
        known = [each for each in candidates if each.logprob is not None]
        yield StrategyChosen(
            round=stage,
            arm=chosen.trigger,
            how="perplexity",
            scores=tuple((each.trigger, perplexity(each)) for each in known),
            source=chosen.source,
        )
        stages.append(chosen.text)
        if chosen.answer is not None or limit is not None:
            given = chosen.answer is not None
            return Conclusion(
                answer=chosen.answer,
                ended_by="concluded" if limit is None else "limit",
                confidence=min(1.0, exp(chosen.logprob or 0.0)) if given else None,
                confidence_source="logprob" if given else None,
                limit=limit,
            )
    return Conclusion(answer=None, ended_by="max_stages")


def _affordable(last: bool) -> Steps[list[str]]:
    """The triggers of a stage: all, or the conclusion alone where the calls left are for that only.

    None where one call is left, which is kept for an answer.
    """
    remaining = yield from Remain()
    if remaining.calls == 1:
        return []
    # A whole stage would leave no call behind it, and its winner need not be the
    # one that concludes.
    scarce = remaining.calls is not None and remaining.calls <= len(TRIGGERS)
    return [LAST] if last or scarce else list(TRIGGERS)


def _closed(task: Task, stages: Sequence[str], settings: TtpiSettings) -> Steps[Conclusion]:
    """The last call asks for the answer plainly, from the stages so far."""
    try:
        said = yield from close(task, stages, Sampling(max_tokens=settings.stage_cap), len(stages))
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    return Conclusion(answer=said.answer, ended_by="limit", limit="calls")


def _continue(
    task: Task, stages: Sequence[str], trigger: str, stage: int, settings: TtpiSettings
) -> Steps[Candidate]:
    own = {"problem": task.stated, "trajectory": shown(stages), "opening": TRIGGERS[trigger]}
    sampling = Sampling(max_tokens=settings.stage_cap, logprobs=True)
    said = yield from CONTINUER.put(own, sampling=sampling, draw=stage)
    yield generated(said, stage)
    written = said.get("Next_step") or said.text.strip()
    return Candidate(trigger, written, said.answer, said.completion.logprob, said.source)


TTPI = Policy(
    name="ttpi",
    version="2",
    about="after TTPI, simplified: stages in four manners, the least perplexing one stays; "
    "needs log-probabilities",
    settings=TtpiSettings,
    roles=("reasoner",),
    solve=solve,
    confidence_source="logprob",
)
