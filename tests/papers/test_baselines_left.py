"""What an episode of a baseline leaves to learn from, whole; and how many learn together."""

from __future__ import annotations

from typing import Any

from handlers.policies.base import Conclusion
from handlers.policies.registry import find
from tests.papers.mc2_says import solved
from tests.papers.told import served
from tests.scripted import Ran

SEARCH = '<tool_call>{"name": "search", "arguments": {"query": "six"}}</tool_call>'
DISTILLED = "Descriptor: a product\nKey_facts:\n- six\nGoal: the product"


def left(name: str, ran: Ran[Conclusion], **values: Any) -> dict[str, Any]:
    policy = find(name)
    settings = policy.settings.resolve("service", values)
    return dict(policy.reflect(ran.trace, ran.result, settings))


def test_a_search_leaves_its_turns_head_and_tail() -> None:
    ran = served("expel", [f"I look. {SEARCH}", "<answer>24</answer>"])
    whole = f"I look. {SEARCH}\n\n<answer>24</answer>"
    told = {"ended_by": "answered", "answer": "24", "trajectory": whole}
    for name in ("expel", "a_mem", "direct_trajectory"):
        assert left(name, ran) == told
        assert left(name, ran, frozen=True) == {**told, "frozen": True}
        cut = left(name, ran, excerpt_chars=17)["trajectory"]
        assert cut == "I loo\n[...]\nswer>"
        assert len(cut) == 17


def test_a_search_without_an_answer_leaves_none() -> None:
    ran = served("a_mem", [SEARCH, SEARCH], tool_calls=1)
    assert left("a_mem", ran) == {
        "ended_by": "tool_calls",
        "answer": None,
        "trajectory": f"{SEARCH}\n\n{SEARCH}",
    }


def test_a_distilled_problem_leaves_its_solution_and_not_what_it_was_distilled_to() -> None:
    said = {"distiller": [DISTILLED], "reasoner": [solved("24")]}
    ran = served("buffer_of_thought", said)
    assert left("buffer_of_thought", ran) == {
        "ended_by": "answered",
        "answer": "24",
        "solution": solved("24"),
    }
    cut = served("buffer_of_thought", {"distiller": ["Hm.", "Hm."], "reasoner": ["Hm."]}, calls=2)
    assert left("buffer_of_thought", cut)["answer"] is None


def test_a_whole_series_learns_together_only_where_nothing_is_learned() -> None:
    for name in ("expel", "a_mem", "direct_trajectory"):
        policy = find(name)
        for values, size, together in (
            ({}, 40, 10),
            ({"batch_size": 4}, 40, 4),
            ({"frozen": True}, 40, 40),
            ({"frozen": True}, None, 10),
        ):
            settings = policy.settings.resolve("service", values)
            assert policy.window(settings, size) == together
