"""Replies that OpenVINO holds to a grammar: only those that cannot be read, and only their forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from handlers.roles import oracle
from handlers.roles.agent import AGENT
from handlers.roles.confidence import CONFIDENCES
from handlers.roles.form import Unreadable, parse, render_reply
from handlers.roles.oracle import ORACLE, read_scores
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role, choice, number
from schemas.questions import Sampling
from schemas.reply import Field, Reply
from streams.answering.backbones.openvino import OpenVino, Options, grammar
from streams.answering.backbones.openvino import backbone as module
from streams.answering.backbones.openvino.grammar import form_of, is_short
from streams.answering.backbones.openvino.held import form_in, standing
from streams.answering.backbones.openvino.messages import Answered, Asked
from streams.core.backbone import ModelReply, ModelRequest
from tests.llama import POLICY_ROLES

SHORT = [role for role in POLICY_ROLES if is_short(role.reply)]
TRUST = CONFIDENCES["A"]
VERDICT = Reply(
    (
        choice("Move", ("STOP", "GO"), "what to do"),
        number("Steps", "how many"),
        Field("Final_answer", "answer", "the answer", when=("Move", ("STOP",))),
    )
)
FORMS = [*(role.reply for role in SHORT), VERDICT]


class Model:
    """What OpenVINO's process would say, one after the other, and what it was asked."""

    def __init__(self, said: Iterable[Answered]) -> None:
        self.said, self.asked = iter(said), list[Asked]()

    async def ask(self, asked: Asked) -> Answered:
        self.asked.append(asked)
        return next(self.said)


def saying(text: str, finish: str = "stop", tokens: int = 10) -> Answered:
    return Answered(
        number=1, text=text, finish=finish, prompt_tokens=50, completion_tokens=tokens, logprob=-0.5
    )


def of(role: Role, **more: Any) -> ModelRequest:
    given: dict[str, Any] = {"sampling": Sampling(max_tokens=64), "seed": 1, "reply": role.reply}
    return ModelRequest(messages=(("user", "Judge."),), **(given | more))


def replied(
    monkeypatch: pytest.MonkeyPatch, request: ModelRequest, *said: Answered, **options: Any
) -> tuple[ModelReply, list[Asked]]:
    """The reply to a call by a model that says this, and each call that it took."""
    monkeypatch.setattr(module, "need_library", lambda: None)
    model = Model(said)

    async def loaded(_: OpenVino) -> Model:
        return model

    monkeypatch.setattr(OpenVino, "model", loaded)
    return asyncio.run(OpenVino(options=Options(**options)).complete(request)), model.asked


def test_a_reply_that_ends_without_its_form_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model judged a trajectory and stopped without a number, as it did at two of forty-seven askings."""
    said = "The trajectory is correct and free of defects."
    reply, [free, held] = replied(
        monkeypatch, of(TRUST), saying(said), saying("Confidence: 0.9", tokens=7)
    )
    assert reply.text == f"{said}\n\nConfidence: 0.9"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.finish) == (50, 17, "stop")
    assert (free.grammar, free.begun, free.max_tokens) == (None, "", 64)
    assert (held.grammar, held.begun) == (form_of(TRUST.reply), f"{said}\n\n")
    assert held.max_tokens == 54, "a reply takes no more than it may"


def test_what_stands_before_an_unreadable_form_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "<think>Hm.\nConfidence: 2</think>All holds.\nConfidence: very high"
    reply, asked = replied(monkeypatch, of(TRUST), saying(said), saying("Confidence: 0.8"))
    assert asked[1].begun == "<think>Hm.\nConfidence: 2</think>All holds.\n\n"
    assert reply.text == f"{asked[1].begun}Confidence: 0.8"


@pytest.mark.parametrize(
    "said",
    [
        saying("The steps hold. I trust this trajectory with 0.9, for ", finish="length"),
        saying("<think>Is it right?"),
        saying("Half of it holds.\n**Confidence:** 50%"),
        saying("My confidence in this trajectory is 0.7, since it holds."),
        saying("All holds.", tokens=64),
        Answered(number=1, fault="no room for it"),
    ],
    ids=["cut", "cut in its thoughts", "read", "read by its role", "no tokens left", "none"],
)
def test_other_replies_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, said: Answered) -> None:
    reply, asked = replied(monkeypatch, of(TRUST), said)
    assert len(asked) == 1
    assert reply.text == said.text


def test_a_form_that_comes_to_no_end_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for second in (
        saying("Final_answer: \\boxed{4 4 4", "length"),
        Answered(number=2, fault="gone"),
    ):
        reply, _ = replied(monkeypatch, of(REASONER), saying("The agent should ask."), second)
        assert (reply.text, reply.finish) == ("The agent should ask.", "stop")


def test_a_grammar_holds_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call of a tool, no text up to a stop, no form with texts in it, no second asking, nothing if told so."""
    again = structs.replace(
        of(TRUST), messages=(*of(TRUST).messages, ("assistant", "Hm."), ("user", "?"))
    )
    stop = of(TRUST, sampling=Sampling(stop=("\n",)))
    for request in (of(AGENT, tools=AGENT.template.tools), of(AGENT), stop, again):
        assert form_in(request) is None
    assert form_in(of(TRUST)) == TRUST.reply
    free, asked = replied(monkeypatch, of(TRUST), saying("All holds."), constrained=False)
    assert (free.text, len(asked)) == ("All holds.", 1)


def test_a_free_model_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "need_library", lambda: None)
    assert OpenVino(options=Options(constrained=False)).shape == "constrained=False"
    assert OpenVino().shape == ""


def test_scores_whose_lines_were_left_as_questions_are_given_anew() -> None:
    """As the model said it at three of thirty-five askings; scores without their label its role reads."""
    left = "Semantic: 0.5\nLogical: 0.5\nFix: 0.5\n\nStep 1: Semantic=?, Logical=?, Fix=?"
    assert standing(left, "stop", ORACLE.reply) == f"{left}\n\n"
    for said in (
        "Step 1: Semantic=0.5, Logical=1, Fix=0",
        "**Semantic**: 0.5\n**Logical**: 1\n**Fix**: 0",
    ):
        assert read_scores(said, 1, 1).whole
        assert standing(said, "stop", ORACLE.reply) is None


# ── What a grammar lets pass ─────────────────────────────────────────────────────────────────


def pattern(rules_of: str) -> str:
    """A grammar whose rules name only later ones, as a regular expression."""
    rules = dict(line.split(" ::= ", 1) for line in rules_of.split("\n"))
    tokens = re.compile(r'"((?:[^"\\]|\\.)*)"|(\[(?:[^\]\\]|\\.)*\])|([a-z]\w*)|(\{[\d,]+\})|(\S)')

    def spelled(rule: str) -> str:
        parts = list[str]()
        for literal, kind, name, times, sign in tokens.findall(rules[rule]):
            known = literal.encode().decode("unicode_escape") if literal else ""
            parts.append(f"(?:{re.escape(known)})" if literal else "")
            parts.append(f"(?:{spelled(name)})" if name else kind + times + sign)
        return "".join(parts)

    return spelled("root")


@st.composite
def let_pass(draw: st.DrawFn) -> tuple[Reply, str]:
    """A form and what its grammar lets pass; a box of nothing but signs holds no answer for anybody."""
    reply = draw(st.sampled_from([form for form in FORMS if form != ORACLE.reply]))
    said = draw(st.from_regex(re.compile(pattern(form_of(reply)), re.ASCII), fullmatch=True))
    assume("boxed" not in said or re.search(r"boxed\{\w", said, re.ASCII))
    return reply, said


def test_the_steps_that_a_question_names_are_scored_each_of_them_and_no_other() -> None:
    """Asked for the second step of two, the model scored three."""
    question = oracle.question("What is 3 + 4?", ["3 + 4 = 7", "So 7.", "7 it is."], 2)
    reply = question.template.reply.asked(dict(question.variables))
    [field] = reply.fields
    assert field.steps == (2, 3)
    held = re.compile(pattern(form_of(reply)))
    line = "\n- Step {}: Semantic=0.5, Logical=1.00, Fix=0"
    for steps in ((2,), (3,), (1, 2, 3), (2, 3, 4), (2, 2, 3), (2, 3)):
        said = "Scores:" + "".join(map(line.format, steps))
        assert (held.fullmatch(said) is not None) == (steps == (2, 3))
    assert read_scores(said, 2, 3).whole
    assert TRUST.reply.asked({}) is TRUST.reply


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(let_pass(), st.sampled_from(["", "It holds so far.\n\n", "Move on.\n\n"]))
def test_whatever_it_lets_pass_is_read_and_then_left_alone(
    passed: tuple[Reply, str], before: str
) -> None:
    reply, said = passed
    values = parse(before + said, reply)
    assert not isinstance(values, Unreadable)
    assert standing(before + said, "stop", reply) is None
    assert standing(before + render_reply(reply, values), "stop", reply) is None


def test_scores_are_let_pass_once_a_step_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "STEPS", 3)
    held = re.compile(pattern(form_of.__wrapped__(ORACLE.reply)))
    line = "\n- Step {}: Semantic=0.5, Logical=1.00, Fix=0"
    for steps in ((1,), (2,), (1, 2, 3), (1, 3)):
        said = "Scores:" + "".join(map(line.format, steps))
        assert held.fullmatch(said)
        assert read_scores(said, steps[0], steps[0]).steps[0] != (None, None, None)
    for wrong in ((), (1, 1), (2, 1), (4,)):
        assert not held.fullmatch("Scores:" + "".join(map(line.format, wrong)))
