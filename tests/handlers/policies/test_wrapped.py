"""What every policy is wrapped in, once: parameters by role and the form of answers, wherever it asks."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Conclusion, Policy, Task, Together, learn_nothing
from handlers.roles.role import Role, answer
from schemas.answer_type import AnswerType
from schemas.asking import Steps
from schemas.settings import PolicySettings
from tests.scripted import run

ASKED = Role.of("reasoner", "Solve it.", sections=("Problem",), reply=[answer()])
HOURS = AnswerType(type="number", unit="h")
TASK = Task("q", "How long?", "default", 7, answer_type=HOURS)
SAID = "Final_answer: \\boxed{1}"


def solve(task: Any, settings: PolicySettings) -> Steps[Conclusion]:
    """One question, and an answer whatever is said."""
    yield ASKED.question({"problem": "p"})
    return Conclusion(answer="90 min", ended_by="answered")


def learn(batch: Any, settings: PolicySettings) -> Steps[None]:
    yield ASKED.question({"problem": "p"})


def together(tasks: Any, settings: PolicySettings) -> Steps[tuple[Conclusion, ...]]:
    one = yield from solve(tasks, settings)
    return tuple(one for _ in tasks)


WHOLE = Policy(
    name="whole",
    version="1",
    about="a test",
    settings=PolicySettings,
    roles=("reasoner",),
    solve=solve,
    learn=learn,
    relearn=learn,
    together=Together(together, lambda trace, subject: trace, lambda settings: 2),
)
BARE = Policy(name="bare", version="1", about="a test", settings=PolicySettings, solve=solve)


@pytest.mark.parametrize("part", ["solve", "learn", "relearn", "together"])
def test_what_is_set_for_a_role_reaches_it_wherever_it_is_asked(part: str) -> None:
    warm = WHOLE.resolve("service", {"parameters": {"reasoner": {"temperature": 0.25}}})
    assert WHOLE.together is not None
    work: Any = WHOLE.together.solve if part == "together" else getattr(WHOLE, part)
    given: Any = [(TASK, None)] if part == "together" else TASK
    for settings, temperature in ((warm, 0.25), (WHOLE.resolve("service", {}), None)):
        [question] = run(work(given, settings), [SAID]).requests
        assert question.sampling.temperature == temperature


def test_answers_are_held_to_their_form_alone_and_in_a_set() -> None:
    settings = PolicySettings()
    assert run(WHOLE.solve(TASK, settings), [SAID]).result.answer == "1.5 h"
    assert WHOLE.together is not None
    pair = [(TASK, None), (Task("r", "How long?", "default", 7), 3)]
    found = run(WHOLE.together.solve(pair, settings), [SAID]).result
    assert [each.answer for each in found] == ["1.5 h", "90 min"]


def test_who_learns_nothing_is_told_by_it() -> None:
    assert (BARE.learn, BARE.relearn, BARE.together) == (learn_nothing, learn_nothing, None)
    assert WHOLE.learn is not learn_nothing
