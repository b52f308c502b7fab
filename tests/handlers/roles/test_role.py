"""Roles: how they are asked, and a whole policy of a user's own."""

from __future__ import annotations

import pytest

from handlers.policies.base import Conclusion, Policy, Task
from handlers.roles.excerpt import excerpt
from handlers.roles.form import Unreadable
from handlers.roles.role import Role, answer, choice, listed, number, text
from handlers.roles.values import ECHO
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import ReplyReparsed
from schemas.reply import Field
from schemas.settings import PolicySettings
from tests.scripted import run, shown

SOLVER = Role.of(
    "solver",
    "Solve the problem. Check it twice.",
    sections=("Problem", "Recent feedback?"),
    reply=[answer("Final_answer"), number("Sure", "in percent")],
)
GOOD = "Final_answer: ### 24 ###\nSure: 80"


def solve(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
    said = yield from SOLVER.ask(problem=task.problem)
    return Conclusion(answer=said.answer, ended_by="answered")


MINE = Policy(name="mine", version="1", about="solves", settings=PolicySettings, solve=solve)
TASK = Task("one", "6 * 4?", "default", seed=1)


def test_a_policy_of_ones_own() -> None:
    ran = run(MINE.solve(TASK, PolicySettings()), [GOOD])
    assert ran.result == Conclusion(answer="24", ended_by="answered")
    [question] = ran.requests
    assert shown(question).startswith("Solve the problem. Check it twice.\n\nWhat goes where:\n- ")
    assert shown(question).endswith("### Problem\n6 * 4?")


def test_values_by_kind() -> None:
    role = Role.of(
        "r",
        "Do.",
        sections=(),
        reply=[
            choice("Pick", ("A", "B"), "x"),
            listed("All", "x"),
            text("Why", "x"),
            number("N", "x"),
        ],
    )
    said = run(role.ask(), ["Pick: b\nAll:\n- x\n- y\nWhy: so\nN: 3"]).result
    assert (said.get("Pick"), said.items("All"), said.get("Why")) == ("B", ("x", "y"), "so")
    assert (said.number("N"), said.answer) == (3.0, None)
    assert (said.get("Other"), said.number("Other"), said.items("Other")) == (None, None, ())
    for wrong, right in (("get", "number"), ("items", "number")):
        with pytest.raises(TypeError, match=rf"N is not of this kind: read it with {right}\('N'\)"):
            getattr(said, wrong)("N")
    with pytest.raises(TypeError, match=r"read it with items\('All'\)"):
        said.get("All")
    with pytest.raises(TypeError, match=r"read it with get\('Why'\)"):
        said.number("Why")


def test_an_unreadable_reply_is_mended() -> None:
    ran = run(SOLVER.ask(problem="p"), ["I am sure.", GOOD])
    assert (ran.result.parse, ran.result.answer, ran.result.source) == ("reparsed", "24", "2")
    [fact] = ran.of(ReplyReparsed)
    assert (fact.role, fact.source, fact.reason) == ("solver", "0", "Final_answer: missing")
    first, second = ran.requests
    assert second.messages()[:2] == first.messages()
    assert second.messages()[2] == ("assistant", "I am sure.")
    assert "Final_answer: missing" in second.messages()[3][1]
    assert first.fingerprint() != second.fingerprint()


def test_twice_unreadable_is_a_fallback() -> None:
    said = run(SOLVER.ask(problem="p"), ["", "Final_answer: 24"]).result
    assert (said.parse, said.answer, said.readable) == ("fallback", None, False)
    assert said.problem == Unreadable("Sure", "missing")
    assert [completion.address for completion in said.completions] == ["0", "2"]


def test_once_means_once() -> None:
    once = Role.of("once", "Solve.", sections=("Problem",), reply=[answer()], mends=False)
    ran = run(once.ask(problem="p", draw=3), ["no idea"])
    assert (ran.result.parse, len(ran.requests), ran.requests[0].draw) == ("unreadable", 1, 3)
    assert ran.facts == []


def test_sections_are_checked_by_name() -> None:
    with pytest.raises(TypeError, match="solver needs problem"):
        SOLVER.question({})
    with pytest.raises(TypeError, match="solver has no section for advice"):
        SOLVER.question({"problem": "p", "advice": "a"})


def test_a_limit_is_raised_where_it_bites() -> None:
    with pytest.raises(OutOfLimit):
        run(SOLVER.ask(problem="p"), ["unreadable"], calls=1)


@pytest.mark.parametrize(
    ("chars", "length"), [(0, 0), (5, 5), (50, 50), (99, 99), (100, 100), (200, 100)]
)
def test_excerpts(chars: int, length: int) -> None:
    whole = "".join(map(str, range(10))) * 10
    cut = excerpt(whole, chars)
    assert len(cut) == length
    if chars >= 50:
        assert cut[:10] == cut[-10:] == "0123456789"


def test_what_is_copied_from_the_instructions_was_not_said() -> None:
    """A model of 1.5 billion parameters gave "Abstract, about what to do, …" for an advice, word for word of ours."""
    prompt = "Look at it. Tell whoever begins anew\nin one sentence what to do otherwise."
    role = Role.of(
        "r",
        prompt,
        sections=(),
        reply=[text("Advice", "it"), Field("Remark", "text", "if any", required=False)],
    )
    copied = "Tell whoever begins anew in one sentence what to do otherwise."
    assert str(role.read(f"Advice: {copied}")) == "Advice: repeats the form instead of filling it"
    assert role.read(f"Advice: Count.\nRemark: {copied}") == {"Advice": "Count."}
    own = "Tell whoever begins anew what to do."
    assert role.read(f"Advice: {own}\nRemark: Look at it.") == {
        "Advice": own,
        "Remark": "Look at it.",
    }


def test_items_copied_from_the_instructions_are_no_items() -> None:
    prompt = "Advise. End with the last bullet and solve nothing."
    role = Role.of(
        "r", prompt, sections=(), reply=[listed("Notes", "it"), listed("More", "it", least=0)]
    )
    copied = "- End with the last bullet and solve nothing."
    assert role.read(f"Notes:\n- Count.\n{copied}\nMore: none") == {
        "Notes": ("Count.",),
        "More": (),
    }
    assert role.read(f"Notes:\n- Count.\nMore:\n{copied}") == Unreadable("More", ECHO)
    assert role.read(f"Notes:\n{copied}\nMore: none") == Unreadable("Notes", ECHO)
