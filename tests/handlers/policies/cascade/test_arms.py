"""What each arm of the cascade asks, of whom, what it states, and what a limit leaves of it."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.votes import chance
from handlers.policies.base import Task
from handlers.policies.cascade.arms import check
from handlers.policies.cascade.settings import CascadeSettings
from handlers.policies.cascade.working import Attempt, Opinion, Spending, Work
from schemas.events.episode import Forked
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import Generated, MonitorReported
from schemas.events.strategy import StrategyChosen
from schemas.memory import Memory, MemoryItem
from schemas.questions import Complete, Recall
from tests.handlers.policies.cascade.says import TASK, episode, found, says, settings, weighed
from tests.papers.mc2_says import item, knowing, near_to
from tests.scripted import Ran, hashed, run, shown


def chosen(ran: Ran[Any]) -> list[str | None]:
    return [each.arm for each in ran.of(StrategyChosen)]


def working(own: CascadeSettings | None = None, task: Task = TASK) -> Work:
    held = own or settings()
    return Work(task, held, {}, 0.5, Spending(held))


def taught(*cosines: float, subject: str = "words/other") -> Memory:
    """A memory of lessons that are so like the problem as it is put, the nearest first."""
    query = hashed(TASK.posed)
    return knowing(
        *(
            lesson(f"L1.R{at}", f"Lesson {at}.", near_to(query, cosine), subject)
            for at, cosine in enumerate(cosines, 1)
        )
    )


def lesson(name: str, text: str, vector: tuple[float, ...], subject: str) -> MemoryItem:
    return item(name, "reasoner", text, vector=vector, subject=subject)


# ── More chains ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("most", "drawn"), [(6, [3]), (7, [3, 7]), (10, [3, 7])])
def test_no_more_is_drawn_where_what_may_be_drawn_cannot_turn_the_vote(
    most: int, drawn: list[int]
) -> None:
    own = settings(arms=("more",), first=3, most_samples=most, worth=100_000)
    ran = episode([says(31)] * 20, own)
    assert [each.of for each in weighed(ran)] == drawn
    assert [question.draw for question in ran.requests] == list(range(drawn[-1]))
    assert (ran.result.answer, ran.result.ended_by) == ("31", "spent")


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_limit_within_a_draw_ends_the_episode_with_the_vote_of_what_was_drawn(calls: int) -> None:
    """The vote of those that came in is weighed, and the limit is named."""
    ran = episode([says(31)] * 9, settings(first=4), calls=calls)
    assert len(ran.requests) == calls
    assert (ran.result.answer, ran.result.ended_by, ran.result.limit) == ("31", "limit", "calls")
    assert ran.result.confidence == pytest.approx(chance(calls, 0, calls, 0.5), abs=1e-6)
    assert ran.of(StrategyChosen) == []


# ── A check ──────────────────────────────────────────────────────────────────────────────────


def test_an_arm_is_tried_where_the_limit_just_covers_it_and_not_where_it_does_not() -> None:
    """A check takes two calls: one for the report and one for a fresh attempt."""
    script = {"reasoner": [says(31), says(36), says(35)], "monitor": [found("YES", "Lost.")]}
    own = settings(arms=("check",))
    assert chosen(episode(script, own, calls=4)) == ["check"]
    short = episode(script, own, calls=3)
    assert chosen(short) == []
    assert (short.result.answer, short.result.ended_by, short.result.limit) == ("31", "spent", None)


def test_a_check_is_shown_what_leads_and_states_its_round_its_step_and_how_it_was_read() -> None:
    report = f"{found('YES', 'Five are lost.')}\nError_step: 3"
    script = {"reasoner": [says(36), says(35), says(31)], "monitor": [report]}
    ran = episode(script, settings(arms=("check",)))
    [asked] = ran.asks("monitor")
    seen = dict(asked.variables)
    assert (seen["problem"], seen["candidate"], seen["trajectory"]) == (
        TASK.posed,
        "36",
        says(36),
    )
    [fact] = ran.of(MonitorReported)
    assert (fact.round, fact.flag, fact.step, fact.parse) == (1, "YES", "3", "ok")
    anew = ran.of(Generated)[-1]
    assert (anew.round, anew.role, anew.answer) == (1, "reasoner", "31")
    assert dict(ran.asks("reasoner")[2].variables)["problem"] == TASK.stated


def test_a_report_that_was_asked_for_again_says_so() -> None:
    script = {"reasoner": [says(31), says(36)], "monitor": ["Hm.", found("NO")]}
    ran = episode(script, settings(arms=("check",)))
    [fact] = ran.of(MonitorReported)
    assert (fact.flag, fact.parse) == ("NO", "reparsed")
    assert weighed(ran)[-1].came == "31"


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ("Error_description: Five are lost.\nError_found: YES", "Five are lost."),
        ("Step two drops five.\nError_found: YES", "Step two drops five."),
        ("Error_found: YES", "it did not say which"),
    ],
    ids=["described", "explained", "neither"],
)
def test_the_fresh_attempt_is_told_the_fault_by_its_description_else_by_what_was_said_of_it(
    report: str, told: str
) -> None:
    script = {"reasoner": [says(36), says(35), says(31)], "monitor": [report]}
    again = episode(script, settings(arms=("check",))).asks("reasoner")[2]
    advice = dict(again.variables)["advice"]
    assert advice.startswith("Do not repeat this fault")
    assert advice.endswith(f": {told}")


def test_a_check_has_nothing_to_go_through_where_what_leads_left_no_trajectory() -> None:
    work = working()
    work.opinions.append(Opinion("strong", "31"))
    work.weigh()
    assert work.lead.answer == "31"
    ran = run(check(work), [])
    assert (ran.result, ran.requests) == (None, [])


def test_no_check_is_tried_of_chains_that_cannot_be_read() -> None:
    ran = episode(["Hm.", "Hm."], settings(arms=("check",), worth=1_000))
    assert chosen(ran) == []
    assert (ran.result.answer, ran.result.ended_by) == (None, "spent")


SILENT = {
    "reasoner": [says(31), says(36), "I cannot tell."],
    "monitor": ["Hm.", "Hm."],
    "strong": ["I cannot tell."],
}
"""Chains that disagree, and arms that say nothing of it: all of them are tried."""


def test_each_arm_but_more_chains_is_tried_once() -> None:
    own = settings(arms=("check", "guided"), strong=True, worth=10_000)
    ran = episode(SILENT, own, memory=taught(0.9))
    assert sorted(map(str, chosen(ran))) == ["check", "guided", "strong"]
    assert (ran.result.answer, ran.result.ended_by) == ("31", "spent")
    assert [each.round for each in ran.of(StrategyChosen)] == [1, 2, 3]
    assert [each.round for each in weighed(ran)] == [0, 1, 2, 3]
    assert {each.chance for each in weighed(ran)} == {round(chance(1, 1, 2, 0.5), 6)}


# ── Guidance ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("most", [1, 2])
def test_a_guided_chain_is_given_the_nearest_lessons_and_says_which(most: int) -> None:
    own = settings(arms=("guided",), lessons_shown=most)
    ran = episode([says(1), says(2), says(31)], own, memory=taught(0.9, 0.5))
    [fact] = ran.of(ExperienceShown)
    assert (fact.sort, fact.items) == ("reasoner", ("L1.R1", "L1.R2")[:most])
    assert fact.scores == pytest.approx((0.9, 0.5)[:most], abs=1e-3)
    said = dict(ran.requests[2].variables)
    shown_ones = ["[L1.R1]\nLesson 1.", "[L1.R2]\nLesson 2."][:most]
    assert said["guidance"] == "\n\n".join(shown_ones)
    assert said["problem"] == TASK.stated
    assert ran.of(Generated)[-1].role == "reasoner"
    assert weighed(ran)[-1].came == "31"


def test_lessons_are_recalled_by_the_problem_as_it_is_put_and_only_where_they_may_be_shown() -> (
    None
):
    game = Task("r1", "4 5 6 10", "game24", seed=7)
    for arms, roles, kinds in (
        (("guided",), ("reasoner",), ("lesson",)),
        (("more",), (), ()),
    ):
        ran = episode(
            [says(1), says(1)], settings(arms=arms, lessons_shown=2), memory=taught(0.9), task=game
        )
        [recall] = [question for _, question in ran.asked if isinstance(question, Recall)]
        assert (recall.query, recall.roles, recall.kinds) == (game.posed, roles, kinds)
        assert (recall.top, recall.exclude, recall.related) == (2, "game24/r1", True)
    cold = episode([says(1), says(1)], settings(arms=("guided",)))
    assert [question for _, question in cold.asked if isinstance(question, Recall)] == []


def test_a_problem_is_never_shown_its_own_lesson() -> None:
    own = settings(arms=("guided",), worth=1_000)
    ran = episode([says(1), says(2)], own, memory=taught(0.9, subject=TASK.subject))
    assert (chosen(ran), ran.result.ended_by) == ([], "spent")


# ── A search, and a stronger model ───────────────────────────────────────────────────────────


def test_a_search_is_granted_its_calls_and_what_it_answers_is_an_opinion() -> None:
    def reply(question: Complete) -> str:
        if question.role == "thinker":
            return "Thought: three times twelve is 36, less five is 31.\nState: ANSWERED\nFinal_answer: \\boxed{31}"
        return says(36) if question.role == "reasoner" else "Score: 0.9\nConfidence: 0.9"

    own = settings(arms=("search",), first=1, search_calls=4, worth=100)
    ran = episode(reply, own)
    assert chosen(ran) == ["search"]
    assert (4,) in [fork.allow for fork in ran.of(Forked)]
    last = weighed(ran)[-1]
    assert (last.arm, last.came) == ("search", "31")
    assert set(ran.roles) >= {"thinker", "oracle", "confidence"}


def test_a_stronger_model_is_asked_as_a_chain_is_and_its_answer_is_told_by_its_role() -> None:
    script = {"reasoner": [says(36), says(35)], "strong": [says(31)]}
    ran = episode(script, settings(arms=(), strong=True))
    [asked] = ran.asks("strong")
    assert dict(asked.variables)["problem"] == TASK.stated
    assert asked.template.system == ran.asks("reasoner")[0].template.system
    assert [(each.role, each.answer) for each in ran.of(Generated)] == [
        ("reasoner", "36"),
        ("reasoner", "35"),
        ("strong", "31"),
    ]


def test_what_gives_no_answer_is_no_opinion() -> None:
    script = {"reasoner": [says(36), says(35)], "strong": ["I cannot tell."]}
    ran = episode(script, settings(arms=(), strong=True))
    before, after = weighed(ran)
    assert after.came is None
    assert (after.answer, after.chance) == (before.answer, before.chance)


def test_every_role_answers_under_the_cap_that_is_set() -> None:
    script = {
        **SILENT,
        "reasoner": [says(36), says(35), says(34), "I cannot tell."],
        "monitor": [found("YES", "Lost.")],
    }
    own = settings(arms=("check", "guided"), strong=True, worth=10_000, output_cap=77)
    ran = episode(script, own, memory=taught(0.9))
    assert sorted(set(ran.roles)) == ["monitor", "reasoner", "strong"]
    assert len(ran.requests) == 6
    assert {question.sampling.max_tokens for question in ran.requests} == {77}
    assert "### Advice" in "".join(map(shown, ran.asks("reasoner")))


def test_what_leads_is_found_by_its_first_trajectory() -> None:
    work = working()
    work.chains += [Attempt("36", "a"), Attempt("31", "b"), Attempt("31.0", "c")]
    work.weigh()
    assert work.leading == Attempt("31", "b")
