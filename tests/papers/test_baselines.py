"""Baselines: one call, one call at temperature 0, and five that vote."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.alike import kinds, vote
from handlers.policies.base import Conclusion, Task
from handlers.policies.registry import POLICIES, find
from schemas.events.reasoning import Generated, Voted
from tests.papers.mc2_says import solved
from tests.scripted import Ran, Script, run, shown

TASK = Task("q1", "What is six times four?", "arithmetic", seed=1)


def solve(name: str, script: Script, calls: int | None = None, **values: object) -> Ran[Conclusion]:
    policy = find(name)
    settings = policy.settings.resolve("paper", values)
    return run(policy.solve(TASK, settings), script, calls=calls)


@pytest.mark.claim("bl-cot")
def test_chain_of_thought_is_one_call() -> None:
    ran = solve("cot", [solved("24")])
    [question] = ran.requests
    assert TASK.problem in shown(question)
    assert question.sampling.temperature is None
    assert (ran.result.answer, ran.result.ended_by) == ("24", "answered")
    assert ran.facts == ["generated"]


@pytest.mark.claim("bl-cot")
def test_chain_of_thought_reads_the_final_answer_field_only() -> None:
    """No second call for an unreadable reply, and no guess at its last number."""
    ran = solve("cot", ["First 20, then 24."])
    assert len(ran.requests) == 1
    assert ran.result.answer is None
    assert [fact.parse for fact in ran.of(Generated)] == ["unreadable"]
    assert solve("cot", ["So: 1\nFinal Answer: 24"]).result.answer == "24"


@pytest.mark.claim("bl-greedy")
def test_greedy_is_one_call_at_temperature_zero() -> None:
    ran = solve("greedy", [solved("24")])
    [question] = ran.requests
    assert question.sampling.temperature == 0.0
    assert question.messages() == solve("cot", [solved("24")]).requests[0].messages()
    assert ran.result.answer == "24"


VOTES: list[tuple[list[str | None], str | None, int]] = [
    (["24", "24", "25", "24", "26"], "24", 3),
    (["24.", "$24$", "25", "25", "24"], "24.", 3),
    (["1", "2", "2", "1", "3"], "1", 2),
    (["3", "2", "1", "1", "2"], "2", 2),
    ([None, None, "7", None, None], "7", 1),
    ([None, "8", "7", None, "7"], "7", 2),
    (["5", None, "6", None, None], "5", 1),
    ([None] * 5, None, 0),
    (["\\frac12", "\\dfrac{1}{2}", "2", "2", "\\frac{1}{2}"], "\\frac12", 3),
]


@pytest.mark.claim("bl-sc-vote")
@pytest.mark.parametrize(("answers", "winner", "votes"), VOTES)
def test_vote(answers: list[str | None], winner: str | None, votes: int) -> None:
    """Majority; ties to the first seen; unparseable answers do not vote."""
    assert vote(answers) == (winner, votes)


@pytest.mark.claim("bl-sc-vote")
def test_five_draws_of_one_prompt() -> None:
    said = [solved("24"), solved("25"), "no idea", solved("24"), solved("26")]
    ran = solve("self_consistency", said)
    assert [question.draw for question in ran.requests] == [0, 1, 2, 3, 4]
    assert len({question.messages() for question in ran.requests}) == 1
    assert ran.of(Voted) == [Voted(answer="24", votes=2, of=5, unreadable=1)]
    assert (ran.result.answer, ran.result.confidence) == ("24", 0.4)


@pytest.mark.claim("bl-sc-vote")
def test_a_spent_limit_leaves_fewer_voters() -> None:
    ran = solve("self_consistency", [solved("24"), solved("25")], calls=2)
    assert (ran.result.answer, ran.result.limit) == ("24", "calls")
    assert ran.of(Voted)[0].unreadable == 3


def test_chains_are_drawn_until_enough_of_them_agree() -> None:
    said = [solved("24"), "no idea", solved("25"), solved("24"), solved("26")]
    ran = solve("self_consistency", said, samples=16, agree=2)
    assert [question.draw for question in ran.requests] == [0, 1, 2, 3]
    assert ran.of(Voted) == [Voted(answer="24", votes=2, of=4, unreadable=1)]
    assert (ran.result.answer, ran.result.confidence) == ("24", 0.5)


@given(
    st.lists(st.none() | st.sampled_from(("1", "2", "3", " 1 ")), min_size=9, max_size=9),
    st.integers(1, 9),
    st.integers(1, 10),
)
def test_agreement_spares_what_one_chain_after_another_would_have_spared(
    answers: list[str | None], samples: int, agree: int
) -> None:
    said = ["no idea" if each is None else solved(each) for each in answers]
    ran = solve("self_consistency", said, samples=samples, agree=agree)
    alone = next((n for n in range(1, samples) if vote(answers[:n])[1] >= agree), samples)
    assert len(ran.requests) == alone
    assert (ran.result.answer, ran.of(Voted)[0].votes) == vote(
        [each and each.strip() for each in answers[:alone]]
    )


@pytest.mark.claim("bl-sc-vote")
@given(st.lists(st.none() | st.sampled_from(("1", "2", "3", " 1 ", "02")), min_size=1, max_size=9))
def test_no_other_answer_has_more_votes(answers: list[str | None]) -> None:
    winner, votes = vote(answers)
    support = Counter(kinds([answer for answer in answers if answer is not None]))
    assert votes == max(support.values(), default=0)
    assert winner is None or (winner in answers and support[kinds([winner])[0]] == votes)
    assert vote(answers) == (winner, votes)


def test_registry() -> None:
    assert {"mc2", "cot", "greedy", "self_consistency"} <= set(POLICIES)
    assert all(name == policy.name for name, policy in POLICIES.items())
    with pytest.raises(LookupError, match="mc2"):
        find("mc3")
