"""The call that is kept for an answer, and answers of a set that have types: seen on small policies of a test's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.chain import ChainSettings
from handlers.policies.last_call import Work, answering, answers, capped
from handlers.policies.typed import WRONG_FORM, held, held_together
from handlers.roles.role import Role, answer, choice
from schemas.answer_type import AnswerType
from schemas.asking import All, OutOfLimit, Steps
from schemas.events.episode import Forked
from schemas.events.reasoning import Generated, ReplyReparsed
from schemas.questions import Complete, Completion, Embed, Sampling, ToolResult
from schemas.settings import PolicySettings
from tests.scripted import Ran, run

ASKED = Role.of("reasoner", "Solve it.", sections=("Problem",), reply=[answer()])
STEP = Role.of("step", "Go on.", sections=("Problem",), reply=[choice("State", ("OPEN",), "how")])
JUDGE = Role.of("judge", "Judge it.", sections=("Problem",), reply=[choice("Is", ("A",), "which")])
TASK = Task("q", "What is it?", "default", 7)
SAID = "Final_answer: \\boxed{31}"
SAMPLING = Sampling(max_tokens=77)


def ask(*roles: Role) -> Steps[None]:
    for role in roles:
        yield role.question({"problem": "p"})


def ended(**said: Any) -> Conclusion:
    values: dict[str, Any] = {"answer": None, "ended_by": "spent", **said}
    return Conclusion(**values)


def kept(
    *roles: Role, end: Conclusion | None = None, before: Any = (), calls: int | None = None
) -> Ran[Conclusion]:
    """A policy that states these facts, asks these roles, and then ends so."""

    def solve(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
        yield from before
        yield from ask(*roles)
        return end or ended()

    policy = answering(solve, lambda settings: SAMPLING)

    def reply(question: Complete) -> str:
        return (
            SAID
            if "Final_answer" in question.template.system
            else f"State: OPEN by {question.role}"
        )

    return run(policy(TASK, PolicySettings()), reply, calls=calls)  # fmt: skip


# ── The kept call ────────────────────────────────────────────────────────────────────────────


def test_what_brings_no_answer_leaves_a_call_over_which_then_asks_for_one() -> None:
    ran = kept(JUDGE, JUDGE, calls=1)
    assert ran.roles == ["reasoner"]
    [question] = ran.requests
    assert dict(question.variables) == {"problem": TASK.stated}
    assert question.sampling.max_tokens == 77
    assert (ran.result.answer, ran.result.ended_by, ran.result.limit) == ("31", "limit", "calls")
    assert [(fact.role, fact.answer, fact.round) for fact in ran.of(Generated)] == [
        ("closing", "31", 0)
    ]


def test_the_kept_call_is_shown_the_work_of_those_who_work_and_of_nobody_else() -> None:
    ran = kept(STEP, JUDGE, STEP, STEP, calls=4)
    assert ran.roles == ["step", "judge", "step", "reasoner"]
    seen = dict(ran.requests[-1].variables)
    assert seen["trajectory"].count("State: OPEN by step") == 2
    assert "judge" not in seen["trajectory"]
    assert seen["problem"] == TASK.stated


@pytest.mark.parametrize(
    ("end", "before", "calls"),
    [
        (ended(answer="7"), (), 1),
        (ended(limit="tokens"), (), 1),
        (ended(limit=None), (), 1),
        (ended(limit="calls"), (Generated(answer="7", source="-"),), 1),
        (ended(limit="calls"), (), None),
        (ended(limit="calls"), (), 0),
    ],
    ids=["answered", "tokens", "of itself", "withheld", "no limit of calls", "nothing left"],
)
def test_who_answered_withholds_or_has_no_call_left_is_not_asked(
    end: Conclusion, before: Any, calls: int | None
) -> None:
    ran = kept(end=end, before=before, calls=calls)
    assert (ran.requests, ran.result) == ([], end)


def test_the_answer_of_the_kept_call_is_nobodys_confidence() -> None:
    end = ended(ended_by="unsure", limit="calls", confidence=0.4, confidence_source="own")
    ran = kept(end=end, before=(Generated(source="-"),), calls=1)
    assert (ran.result.answer, ran.result.ended_by, ran.result.limit) == ("31", "unsure", "calls")
    assert (ran.result.confidence, ran.result.confidence_source) == (None, None)


def test_another_limit_that_was_not_caught_ends_it_at_once() -> None:
    def solve(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
        yield from ()
        raise OutOfLimit("seconds")

    ran = run(answering(solve)(TASK, PolicySettings()), [], calls=3)
    assert ran.result == Conclusion(answer=None, ended_by="limit", limit="seconds")


def test_once_there_is_an_answer_every_call_may_be_spent() -> None:
    ran = kept(JUDGE, before=(Generated(answer="7", source="-"),), calls=1)
    assert ran.roles == ["judge"]
    blank = kept(JUDGE, before=(Generated(source="-"),), calls=1)
    assert blank.roles == ["reasoner"]


def test_lanes_leave_nothing_over_and_what_they_answered_counts_where_they_join() -> None:
    def lane(answered: str | None) -> Steps[None]:
        yield JUDGE.question({"problem": "p"})
        yield Generated(answer=answered, source="-")

    def solve(answered: str | None) -> Any:
        def work(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
            yield from All([lane(None), lane(answered)])
            yield from ask(JUDGE)
            return ended()

        return answering(work)

    for answered, roles in (("7", ["judge"] * 3), (None, ["judge", "judge", "reasoner"])):
        ran = run(solve(answered)(TASK, PolicySettings()), lambda question: SAID, calls=3)
        assert ran.roles == roles


def test_what_a_lane_knows_of_its_episode() -> None:
    work, other = Work(), Work(answered=True, done=["b"])
    said = Completion("0", " a\n", "stop", "m")
    for request, reply in (
        (STEP.question({"problem": "p"}), said),
        (JUDGE.question({"problem": "p"}), said),
        (STEP.question({"problem": "p"}), None),
        (None, said),
        (None, ToolResult("found it", "found")),
        (None, ToolResult("", "empty")),
        (Generated(source="-"), None),
    ):
        work.take(request, reply)
    assert (work.done, work.answered) == (["a", "found it"], False)
    work.join([Work(done=["x"]), other])
    assert (work.done, work.answered) == (["a", "found it", "x", "b"], True)


def test_which_replies_always_hold_an_answer() -> None:
    def holds(*reply: Any) -> bool:
        role = Role.of("reasoner", "Solve it.", sections=("Problem",), reply=list(reply))
        return answers(role.question({"problem": "p"}))

    assert holds(answer())
    assert holds(choice("Is", ("A",), "which"), answer())
    assert not holds(choice("Is", ("A",), "which"))


def test_a_policy_without_a_cap_of_its_own_asks_for_none() -> None:
    assert capped(PolicySettings()) == Sampling(max_tokens=None)
    assert capped(ChainSettings(output_cap=9)) == Sampling(max_tokens=9)


def test_what_a_fork_hands_out_to_its_lanes_stays_as_it_is() -> None:
    def work(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
        yield from All([ask(JUDGE), ask(JUDGE)], [2, 1], twins=True)
        yield from All([ask(JUDGE)])
        return ended()

    ran = run(answering(work)(TASK, PolicySettings()), lambda question: SAID, calls=9)
    assert [(fork.lanes, fork.allow, fork.twins) for fork in ran.of(Forked)] == [
        (2, (2, 1), True),
        (1, None, None),
    ]


# ── Answers that have a type ─────────────────────────────────────────────────────────────────

HOURS, MINUTES = AnswerType(type="number", unit="h"), AnswerType(type="number", unit="min")


def typed(said: AnswerType | None, name: str = "q") -> Task:
    return Task(name, "How long?", "default", 7, answer_type=said)


def is_typed(question: Complete) -> bool:
    return question.template.reply != ASKED.template.reply


def together(*said: AnswerType | None, given: str = "90 min") -> tuple[Ran[Any], Any]:
    """A set that asks once and answers each of its problems so."""

    def solve(tasks: Sequence[Any], settings: None) -> Steps[tuple[Conclusion, ...]]:
        yield ASKED.question({"problem": "p"})
        return tuple(ended(answer=given, ended_by="voted") for _ in tasks)

    steps = held_together(solve)([(typed(each), None) for each in said], None)
    return run(steps, [SAID]), steps


@pytest.mark.parametrize(
    ("said", "asked_for", "found"),
    [
        ((None, None), False, ["90 min", "90 min"]),
        ((HOURS,), True, ["1.5 h"]),
        ((HOURS, HOURS), True, ["1.5 h", "1.5 h"]),
        ((HOURS, MINUTES), False, ["1.5 h", "90 min"]),
        ((None, HOURS), False, ["90 min", "1.5 h"]),
        ((HOURS, None), False, ["1.5 h", "90 min"]),
    ],
    ids=["none", "a set of one", "one type", "two types", "only the second", "only the first"],
)
def test_a_set_is_asked_in_a_form_where_all_have_it_and_each_answer_is_held_to_its_own(
    said: tuple[AnswerType | None, ...], asked_for: bool, found: list[str]
) -> None:
    ran, _ = together(*said)
    assert [each.answer for each in ran.result] == found
    assert [is_typed(question) for question in ran.requests] == [asked_for]


def test_an_answer_of_a_set_that_has_another_form_is_withheld_alone() -> None:
    ran, _ = together(HOURS, None, given="blue")
    assert [(each.answer, each.ended_by) for each in ran.result] == [
        (None, WRONG_FORM),
        ("blue", "voted"),
    ]


@pytest.mark.parametrize(
    ("ended_by", "again", "expected"),
    [
        ("answered", True, WRONG_FORM),
        ("voted", True, WRONG_FORM),
        ("answered", False, "answered"),
        ("abstained", True, "abstained"),
    ],
)
def test_asking_again_in_vain_is_another_end_than_having_nothing_to_say(
    ended_by: str, again: bool, expected: str
) -> None:
    def solve(task: Task, settings: None) -> Steps[Conclusion]:
        yield ASKED.question({"problem": "p"})
        if again:
            yield ReplyReparsed(role="reasoner", reason="?", source="0")
        return ended(ended_by=ended_by)

    ran = run(held(solve)(typed(HOURS), None), [SAID])
    assert (ran.result.answer, ran.result.ended_by) == (None, expected)
    assert [is_typed(question) for question in ran.requests] == [True]


def test_where_nothing_is_typed_the_steps_are_the_policys_own() -> None:
    made: list[Any] = []

    def solve(task: Task, settings: None) -> Any:
        made.append(ask(ASKED))
        return made[-1]

    assert held(solve)(typed(None), None) is made[-1]
    assert held(solve)(typed(HOURS), None) is not made[-1]

    def nothing(task: Task, settings: None) -> Any:
        return "no steps"

    found: Any = held(nothing)(typed(HOURS), None)
    assert found == "no steps"


def test_questions_that_ask_for_no_answer_are_put_as_they_are() -> None:
    def solve(task: Task, settings: None) -> Steps[Conclusion]:
        yield Embed(("p",))
        yield JUDGE.question({"problem": "p"})
        return ended()

    ran = run(held(solve)(typed(HOURS), None), ["Is: A"])
    assert [question for _, question in ran.asked] == [
        Embed(("p",)),
        JUDGE.question({"problem": "p"}),
    ]
