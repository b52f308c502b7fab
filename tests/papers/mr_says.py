"""What the Meta-Reasoner's roles say in the tests, and episodes and batches of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from handlers.policies.base import Conclusion, Task
from handlers.policies.meta_reasoner import META_REASONER
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from schemas.memory import Memory
from schemas.questions import Complete
from tests.papers.told import served, wrapped
from tests.scripted import NO_MEMORY, Ran, Script, run

TASK = Task("q1", "Make 24 of 2 3 4 1.", "game24", seed=7)
SERVED = Task("q1", TASK.problem, "arithmetic", seed=7)

reason = partial(served, "meta_reasoner", task=SERVED, feature_dims=8)
"""An episode as a service runs it."""


def paper(**values: Any) -> MetaReasonerSettings:
    return MetaReasonerSettings.resolve("paper", {"feature_dims": 8, **values})


def stepped(text: str = "2 * 3 = 6", answer: str | None = None) -> str:
    end = "State: OPEN" if answer is None else f"State: SOLVED\nFinal_answer: \\boxed{{{answer}}}"
    return f"Reasoning: the advice says so\nNext_step: {text}\n{end}"


def reported(text: str = "2 and 3 were multiplied") -> str:
    return f"Current_attempts:\n- {text}\nObservations:\n- it goes well"


STRATEGY = "Keep one of the factors for the end."


def noted(strategy: str = STRATEGY, action: str = "Use the factor 4 last.") -> str:
    """A note on the problem, and what it says for every problem."""
    general = f"When: much is left\nGeneral_strategy: {strategy}"
    return f"{advised(action)}\n{general}"


def advised(action: str = "Use the factor 4 last.") -> str:
    """What a step is shown of a note whose own arm was chosen."""
    return f"Reflection: r\nFact_check: f\nThought: t\nAction: {action}"


def judged(correct: float = 0.8, adherent: float = 0.6, **more: Any) -> str:
    return json.dumps({"C_c": correct, "C_a": adherent, "brief_rationale": "so", **more})


def model(
    rounds: int | None,
    *,
    judge: Callable[[int], str] = lambda at: judged(),
    note: Callable[[int], str] = lambda at: noted(),
    report: Callable[[int], str] = lambda at: reported(f"attempt {at}"),
) -> Callable[[Complete], str]:
    """Says that it is solved in this round; each role's replies by their number, from 1."""
    asked: dict[str, int] = {}

    def reply(question: Complete) -> str:
        at = asked[question.role] = asked.get(question.role, 0) + 1
        match question.role:
            case "step":
                return stepped(f"step {at} is 2 * {at}", "2*3*4*1" if at == rounds else None)
            case "reporter":
                return report(at)
            case "judge":
                return judge(at)
            case "reasoner":
                return r"So it is \boxed{2*3*4*1}."
            case _:
                picks = any(field.kind == "choice" for field in question.template.reply.fields)
                return "Reflection: r\nStrategy: a3" if picks else note(at)

    return reply


def episode(
    script: Script,
    settings: MetaReasonerSettings | None = None,
    *,
    memory: Memory = NO_MEMORY,
    task: Task = TASK,
    calls: int | None = None,
) -> Ran[Conclusion]:
    task = Task(task.id, task.problem, task.domain, task.seed, memory.number)
    steps = META_REASONER.solve(task, settings or paper())
    return run(steps, script, memory=memory, calls=calls)


def summary(ran: Ran[Conclusion], settings: MetaReasonerSettings | None = None) -> dict[str, Any]:
    return META_REASONER.reflect(ran.trace, ran.result, settings or paper())


def after(
    before: Mapping[str, Any],
    summaries: Sequence[Mapping[str, Any]],
    settings: MetaReasonerSettings | None = None,
) -> Mapping[str, Any]:
    """The learned state after a batch, by the policy's own rule."""
    members = [Measured(f"p/{at}", "unknown", each) for at, each in enumerate(summaries)]
    rule = META_REASONER.rule
    return learned_after(rule, before, members, constants(settings or paper()))


JUDGED = """\
1 step step temperature=0.7 top_p=1 max_tokens=8192
    problem: Make 24 of 2 3 4 1.
2 generated round=0 role=step source=1 parse=ok
3 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
    trajectory: [Step 1] / step 1 is 2 * 1
    steps_made: 1
    weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8
4 reward.judged round=0 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.54 self_judged=True steps=1 source=3
        parse=ok
"""
"""How it is told that an episode makes its first step, which is judged."""

REFLECTED = f"""\
{JUDGED}\
5 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
6 progress.reported round=0 source=5 parse=ok
7 embed: Current_attempts: / - attempt 1 / Observations: / - it goes well
8 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
    report: Current_attempts: / - attempt 1 / Observations: / - it goes well
    judgement: so
"""
"""How it is told that its progress is reported next, and that the meta-reasoner thinks about it."""


def solved_by_second(at: int, arm: str, *, first_judgement: bool = False) -> str:
    """How it is told that the second step solves the problem, from its judgement on."""
    known, weights = "problem, weights", ""
    if first_judgement:
        known, weights = "problem", "\n    weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8"
    judged = "parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.52 self_judged=True"
    return wrapped(f"""
{at} judge judge.A temperature=0.7 top_p=1 max_tokens=8192 ({known} as before)
    trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 / Final answer: 2*3*4*1
    steps_made: 2{weights}
{at + 1} reward.judged round=1 arm={arm} {judged} steps=2 source={at} parse=ok
= (answer=2*3*4*1 ended_by=solved confidence=0.7 confidence_source=value)""")


def service(**values: Any) -> MetaReasonerSettings:
    """A service's settings, with some changed."""
    return MetaReasonerSettings.resolve("service", {"feature_dims": 8, **values})


def earned(first: Ran[Conclusion]) -> Memory:
    """What a service remembers of one episode."""
    return remembering(after({}, [summary(first, service())], service()))


def remembering(state: Mapping[str, Any], number: int = 1) -> Memory:
    return Memory("s", number, (), state)
