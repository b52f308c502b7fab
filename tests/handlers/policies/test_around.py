"""One policy around another: what is shown to whom, what of memory is left out, and what is seen of the work."""

from __future__ import annotations

from typing import Any

from handlers.policies.around import Watch, guided, through, unlearned, with_guidance
from handlers.roles.role import Role, answer
from schemas.asking import All, Ask, OutOfLimit, Steps
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.events.reasoning import Generated
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Complete, Embed, Recall, Recollection, UseTool
from tests.scripted import run

ASKED = Role.of("reasoner", "Solve it.", sections=("Problem", "Recent work?"), reply=[answer()])
GUIDED = Role.of("step", "Go on.", sections=("Problem", "Guidance?"), reply=[answer()])
JUDGE = Role.of("judge", "Judge it.", sections=("Problem",), reply=[answer()])
RULE = MemoryItem(
    id="R1", kind="rule", role="reasoner", text="Rest.", text_digest=text_digest("Rest."), batch=1
)


def asks(*questions: Ask[Any]) -> Steps[list[Any]]:
    """The replies to some questions."""
    said: list[Any] = []
    for question in questions:
        said += [(yield question)]
    return said


def variables(question: Complete) -> dict[str, str]:
    return dict(question.variables)


# ── Guidance ─────────────────────────────────────────────────────────────────────────────────


def test_who_reasons_is_shown_guidance_behind_the_problem_and_nobody_else() -> None:
    given = {"problem": "p", "recent_work": "w"}
    questions = (ASKED.question(given), JUDGE.question({"problem": "p"}), Embed(("p",)))
    ran = run(guided(asks(*questions), "Count twice."), ["x"] * 2)
    reasoner, judge = ran.requests
    assert list(variables(reasoner).items()) == [
        ("problem", "p"),
        ("guidance", "Count twice."),
        ("recent_work", "w"),
    ]
    headings = [section.heading for section in reasoner.template.sections]
    assert headings == ["Problem", "Guidance", "Recent work"]
    assert (judge, ran.asked[2][1]) == questions[1:]
    assert run(guided(asks(questions[0]), ""), ["x"]).requests == [questions[0]]


def test_guidance_of_one_s_own_comes_first() -> None:
    own = GUIDED.question({"problem": "p", "guidance": "Rest."})
    more = with_guidance(own, "Count twice.")
    assert isinstance(more, Complete)
    assert variables(more) == {"problem": "p", "guidance": "Rest.\n\nCount twice."}
    assert more.template is own.template
    alone = with_guidance(GUIDED.question({"problem": "p"}), "Count twice.")
    assert isinstance(alone, Complete)
    assert variables(alone)["guidance"] == "Count twice."


def test_without_what_was_learned_the_question_is_put_and_nothing_comes_of_it() -> None:
    memory = Memory("s", 3, (RULE,))
    recall = Recall("p", ("reasoner",), 1)
    learned = run(asks(recall), [], memory=memory)
    bare = run(unlearned(asks(recall)), [], memory=memory)
    assert [item.id for item in learned.result[0].items] == ["R1"]
    assert bare.result == [Recollection(3, ())]
    assert bare.asked == learned.asked


# ── What is seen ─────────────────────────────────────────────────────────────────────────────


def looks() -> Steps[str]:
    """A question, a fact, a tool and two lanes, of which one forks again."""
    first = yield ASKED.question({"problem": "p"})
    yield Generated(answer=first.text, source=first.address)
    yield UseTool("search", (("query", "q"),))
    yield Embed(("p",))
    yield from All([asks(ASKED.question({"problem": "a"})), inner()])
    return str(first.text)


def inner() -> Steps[None]:
    yield from All([asks(ASKED.question({"problem": "b"}))])


def test_a_watch_sees_facts_tools_and_replies_by_the_addresses_of_the_work() -> None:
    watch = Watch()
    run(through(looks(), watch=watch, at="in."), ["one", "two", "three"])
    used = UseTool("search", (("query", "q"),)).fingerprint()
    assert watch.events == [
        ("in.0", Completed(asked="-", text="one", finish="stop", model="scripted")),
        ("in.1", Generated(answer="one", source="0")),
        ("in.2", ToolCalled(asked=used, tool="search", result="refused", text="")),
        ("in.4.0.0", Completed(asked="-", text="two", finish="stop", model="scripted")),
        ("in.4.1.0.0.0", Completed(asked="-", text="three", finish="stop", model="scripted")),
    ]


def test_a_limit_is_raised_where_the_work_asked_and_may_be_caught_there() -> None:
    def careful() -> Steps[str]:
        try:
            yield ASKED.question({"problem": "p"})
            yield ASKED.question({"problem": "q"})
        except OutOfLimit as limit:
            yield Generated(answer=limit.which, source="-")
        return "done"

    watch = Watch()
    ran = run(through(careful(), watch=watch), ["one"], calls=1)
    assert ran.result == "done"
    assert [at for at, _ in watch.events] == ["0", "2"]
    assert watch.events[1][1] == Generated(answer="calls", source="-")


def test_each_reply_is_read_and_each_question_changed_in_lanes_as_well() -> None:
    asked: list[Ask[Any]] = []

    def change(question: Ask[Any]) -> Ask[Any]:
        asked.append(question)
        return (
            JUDGE.question({"problem": "changed"}) if isinstance(question, Complete) else question
        )

    lanes = All([asks(ASKED.question({"problem": "a"}))], [2])

    def forked() -> Steps[Any]:
        return (yield from lanes)

    ran = run(through(forked(), change, read=lambda reply: "read"), ["x"])
    assert ran.result == "read"
    assert [question.role for question in ran.requests] == ["judge"]
    assert asked == [ASKED.question({"problem": "a"})]
