"""Flavell's regulation: feel the difficulty, choose a strategy, try it, look at it from one side, go on.

Source: MGV Algorithm 1, App. A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from handlers.learning.beliefs import Evidence, band_of, key_of, update
from handlers.learning.cosine import cosine
from handlers.learning.texts import answer_type
from handlers.policies.base import Conclusion, Task
from handlers.policies.mgv.abandon import Gone, criterion
from handlers.policies.mgv.attempt import (
    Attempt,
    Context,
    assure,
    end_of,
    equal,
    execute,
    known,
    surest,
)
from handlers.policies.mgv.feel import feel_difficulty, shown_cases, stated
from handlers.policies.mgv.knowledge import Mind, kept_rounds, remember, remind
from handlers.policies.mgv.settings import FlavellSettings, rule_constants
from handlers.policies.mgv.signals import EVALUATIONS, Result, evaluative, exclusive, recalled
from handlers.policies.mgv.strategies import Check, Cognitive, Diagnosis, Rates, check_for, ranked
from handlers.roles.examiner import EXAMINERS
from schemas.asking import OutOfLimit, Steps
from schemas.events.monitoring import EpisodeAbandoned, ExperienceKept, Origin, StrategyMatched
from schemas.events.reasoning import Flag, MonitorReported
from schemas.questions import Embed
from schemas.vectors import unpack

# ``regulate`` is Algorithm 1: MONITOR and GENERATE in ``generate``, VERIFY in ``verify``, and then
# the two tests that may end it. Beliefs of the scope are copied into the episode and go by the
# policy's own verdicts there; the scope learns from labels when the batch closes, so a check that
# errs misleads one episode and no other.

GOALS: Mapping[str, str] = {
    "accuracy": "An answer of the type asked for, that was checked and can be relied upon.",
    "speed": "An answer of the type asked for, soon.",
}
UNMONITORED: tuple[float, Diagnosis, Rates] = (0.5, "plain", (("direct", 0.5),))
IMPOSED = {"self": "", "external": "This goal was set from outside. "}


@dataclass(slots=True)
class Round:
    """Φ_τ: experiences, strategies and outcomes of one round."""

    level: float
    diagnosis: Diagnosis
    strategy: Cognitive
    made: Attempt
    scores: tuple[float, ...] = ()
    check: Check | None = None
    passed: bool | None = None
    finding: str = ""
    """What the check said."""

    @property
    def outcome(self) -> str:
        """The answer, and what the check said of it, in words."""
        return "\n".join(each for each in (self.made.answer or "no answer", self.finding) if each)

    @property
    def context(self) -> Context:
        """What the next attempt is to know of this one: the outcome of a check that it did not pass.

        Source: App. A, G and the last outcome as the context of the next cycle.
        """
        if self.passed is not False or not self.finding:
            return Context()
        return Context(answer=self.made.answer or "none", finding=self.finding)


@dataclass(slots=True)
class Regulation:
    """One problem being worked on, S_τ = ACTIVE."""

    task: Task
    settings: FlavellSettings
    mind: Mind
    rounds: list[Round] = field(default_factory=list[Round])
    gone: list[Gone] = field(default_factory=list[Gone])
    beliefs: dict[str, Any] = field(default_factory=dict[str, Any])
    """The episode's own copy, which goes by verdicts."""
    effort: int = 0
    """Calls of the meta level's checks."""

    @property
    def goal(self) -> str:
        """G in words."""
        return IMPOSED[self.settings.imposed] + GOALS[self.settings.goal]

    def wrong_type(self, answer: str | None) -> bool:
        """Whether an answer is of another type than those that were right in similar cases."""
        right = [c["answer"] for c in self.mind.cases if c["outcome"] == "right" and c["answer"]]
        return bool(right) and answer is not None and answer_type(answer) != answer_type(right[0])

    def criteria(self, made: Attempt) -> list[bool]:
        """Which criteria of the goal an attempt meets, before it is checked."""
        present, typed = made.answer is not None, not self.wrong_type(made.answer)
        if self.settings.goal == "speed":
            return [present, present and typed]
        if made.q is None:  # neither met nor missed
            return [present, present and typed]
        return [present, present and typed, made.q >= self.settings.confidence_threshold]

    def spares(self, made: Attempt) -> bool:
        """Whether nothing hangs on how an attempt would be judged."""
        if self.settings.check == "always" or self.settings.monitor == "off":
            return False
        fast = self.settings.goal == "speed" and all(self.criteria(made))
        return made.answer is None or fast

    def achieved(self, made: Attempt, passed: bool | None) -> bool:
        """goal_achieved(CO, G). A verdict counts where the goal is accuracy."""
        return all(self.criteria(made)) and (passed is True or self.settings.goal == "speed")


def solve(task: Task, settings: FlavellSettings) -> Steps[Conclusion]:
    """Rounds until the goal is achieved, the work is given up, or a limit ends it."""
    # A copy, for the view of a memory version is shared by all episodes that pinned it.
    run = Regulation(task, settings, (yield from remember(task, settings)))
    run.beliefs = dict(run.mind.knowledge.beliefs)
    limit: str | None = None
    try:
        ended = yield from regulate(run)
    except OutOfLimit as reached:
        ended, limit = "limit", reached.which
    if settings.consolidation == "end":
        yield kept(run)
    return concluded(run, ended, limit)


def regulate(run: Regulation) -> Steps[str]:
    """Lines 2 to 17; what ended them."""
    for at in range(run.settings.max_rounds):
        if at:
            yield from remind(run.mind, at, experiences(run.rounds[-1]), run.settings.recall_k)
        yield from generate(run, at)
        yield from verify(run, at)
        if run.settings.consolidation == "verify":
            yield kept(run)
        last = run.rounds[-1]
        if run.achieved(last.made, last.passed):
            return "goal"
        if run.settings.abandon == "on":
            given_up = yield from give_up(run, at)
            if given_up is not None:
                return given_up
    return "max_rounds"


def generate(run: Regulation, at: int) -> Steps[None]:
    """MONITOR difficulty, then GENERATE: select a strategy and execute it (lines 4 to 9)."""
    level, diagnosis, rates = UNMONITORED
    if run.settings.monitor == "on":
        confidences = known([each.made for each in run.rounds])
        last = run.rounds[-1].outcome if run.rounds else ""
        level, diagnosis = yield from feel_difficulty(run.mind, at, confidences, last)
        failed = {each.strategy for each in run.rounds if each.passed is False}
        rates = ranked(diagnosis, run.task.domain, run.beliefs, failed)
    strategy = rates[0][0]
    yield StrategyMatched(
        level="cognitive",
        strategy=strategy,
        diagnosis=diagnosis,
        rates=rates,
        round=at,
        subject=run.task.subject,
    )
    # An equal strategy may make an equal prompt: the draw says how often it was tried before.
    draw = sum(each.strategy == strategy for each in run.rounds)
    context = run.rounds[-1].context if run.rounds else Context()
    made = yield from execute(run.mind, strategy, context, round=at, draw=draw)
    # On record before the limit is raised: what was answered by then may be the best there is.
    run.rounds.append(Round(level, diagnosis, strategy, made))
    if made.limit is not None:
        raise OutOfLimit(made.limit)


def verify(run: Regulation, at: int) -> Steps[None]:
    """VERIFY: evaluate, choose the side to look from, look, update (lines 11 to 14)."""
    last = run.rounds[-1]
    if run.spares(last.made):
        # Without an answer it has failed whatever a check would say, and its strategy is
        # believed less for it.
        if last.made.answer is None:
            last.passed = False
            updated(run, last)
        else:  # how sure it is was not asked
            last.made.q = None
        return
    yield from assure(run.mind, last.made, at)
    last.scores, source = evaluated(run, last)
    named = dict(zip(EVALUATIONS, last.scores, strict=True))
    yield stated(run.mind, "evaluative", at, max(last.scores), source, **named)
    last.check = check_for(last.scores)
    yield StrategyMatched(
        level="metacognitive",
        strategy=last.check,
        diagnosis=EVALUATIONS[last.scores.index(max(last.scores))],
        round=at,
        subject=run.task.subject,
    )
    last.passed = yield from examine(run, last, at)
    updated(run, last)


def evaluated(run: Regulation, last: Round) -> tuple[tuple[float, ...], Origin]:
    """The four evaluative experiences of a round: feel(CO) ⊕ assess(CO, MK). Source: App. A.

    A feeling expects of the attempt what the problem looks like beside others; knowledge expects what similar
    cases came to, and answers of their type.
    """
    made, met = last.made, run.criteria(last.made)
    earlier = [each.made.answer for each in run.rounds[:-1]]
    result = Result(
        answer=made.answer,
        q=made.q,
        goals=made.goals,
        results=made.results,
        cut=made.cut,
        repeats=any(equal(answer, made.answer) for answer in earlier),
        unmet=met.count(False) / len(met),
    )
    labelled, mode = run.mind.labelled, run.settings.signal
    always = run.settings.expects == "always"
    feel = evaluative(result, run.mind.h if always or run.mind.compares else None)
    known = replace(result, other_type=run.wrong_type(made.answer))
    assess = evaluative(known, 1 - recalled(labelled).p if always or labelled else None)
    pairs = zip(feel, assess, strict=True)
    found = [exclusive(one, other, bool(labelled), mode) for one, other in pairs]
    return tuple(each.value for each in found), found[0].source


def examine(run: Regulation, last: Round, at: int) -> Steps[bool | None]:
    """MO: one call that looks at the work from the chosen side.

    What cannot be read achieves nothing, and is no failure either, but in profile ``paper``.
    """
    assert last.check is not None
    own = {
        "problem": run.task.posed,
        "goal": run.goal,
        "candidate": last.made.answer or "",
        "trajectory": last.made.text,
        "similar_cases": shown_cases(run.mind, run.settings.recall_k),
    }
    said = yield from EXAMINERS[last.check].put(own)
    run.effort += len(said.completions)
    verdict, last.finding = said.get("Verdict"), said.get("Finding") or ""
    passed = None if verdict is None else verdict == "PASS"
    flag: Flag | None = None if passed is None else "NO" if passed else "YES"
    yield MonitorReported(round=at, flag=flag, source=said.source, parse=said.parse)
    return False if passed is None and run.settings.unread == "zero" else passed


def updated(run: Regulation, last: Round) -> None:
    """The episode's own copy of beliefs learns from the verdict (eq. 2)."""
    q = last.made.q
    if last.passed is None:
        return
    # The scope's own rule of update, so that an episode believes as the fold would
    # after the same trials.
    key = key_of("strategy", run.task.domain, last.diagnosis, last.strategy, band_of(q))
    evidence = Evidence(key, last.passed, 1)
    run.beliefs = update(run.beliefs, evidence, rule_constants(run.settings))


def experiences(last: Round) -> str:
    """Both experiences and the last result, as words to be reminded by."""
    strongest = EVALUATIONS[last.scores.index(max(last.scores))] if last.scores else ""
    return f"{last.diagnosis}\n{strongest}\n{last.made.answer or 'no answer'}"


def give_up(run: Regulation, at: int) -> Steps[str | None]:
    """Whether one of the four criteria is met after this round."""
    last = run.rounds[-1]
    # Displacement costs an embedding, and is looked for only where there is a case
    # to be displaced to.
    met = [*run.criteria(last.made), *([] if last.passed is None else [last.passed])]
    to_goal, to_case = 0.0, None
    vectors = [unpack(case["vector"]) for case in run.mind.cases if case["vector"]]
    if vectors and last.made.text:
        work = (yield from Embed((last.made.text,)))[0]
        to_goal = cosine(work, run.mind.query)
        to_case = max(cosine(work, vector) for vector in vectors)
    unmet = met.count(False) / len(met)
    run.gone.append(Gone(last.passed, last.made.answer, unmet, to_goal, to_case))
    effort = run.effort + sum(each.made.calls for each in run.rounds)
    found = criterion(run.gone, effort, usual(run), run.settings)
    if found is not None:
        yield EpisodeAbandoned(round=at, criterion=found)
    return None if found is None else f"abandoned: {found}"


def usual(run: Regulation) -> float | None:
    """The agent's median effort for what it solved, once it solved enough."""
    efforts = [c["calls"] for c in run.mind.knowledge.labelled if c["outcome"] == "right"]
    return float(median(efforts)) if len(efforts) >= run.settings.min_labels else None


def kept(run: Regulation) -> ExperienceKept:
    """Which rounds' tuples outlast the episode."""
    rounds = range(len(run.rounds))
    return ExperienceKept(
        rounds=kept_rounds(run.task, rounds, run.settings.keep), of=len(run.rounds)
    )


def concluded(run: Regulation, ended: str, limit: str | None) -> Conclusion:
    """The achieved answer; else, as set, the one of highest confidence or none."""
    tried = [each.made for each in run.rounds]
    best = run.rounds[-1].made if ended == "goal" else surest(tried)
    if ended != "goal" and run.settings.on_stop == "withhold":
        best = None
    return end_of(best, ended, limit)
