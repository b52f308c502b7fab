"""Prompts in other words: the form stays the role's, an unedited file changes nothing, and files are read back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from handlers.limits import Ledger
from handlers.policies.base import Policy, Task
from handlers.policies.registry import POLICIES
from handlers.roles.monitor import MONITOR
from handlers.roles.role import Role
from handlers.roles.wording import changed, faults, lacking, texts_of, worded, words_of
from schemas.asking import OutOfLimit
from schemas.questions import Complete
from schemas.settings import PROMPTS, BadSetting, PromptWords
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelRequest
from streams.engine.policies import find
from streams.engine.prompts.catalogue import need_known, of_policy, ours, roles
from streams.engine.prompts.files import BadPrompt, prompt_in, text_of
from streams.runtime.kafka.admission import asked
from tests.scripted import Driver

NAMES = tuple(ours())
TEXTS = st.text(max_size=80).map(str.strip)


@st.composite
def wordings(draw: st.DrawFn) -> tuple[str, PromptWords]:
    """A prompt, and all of its words in others."""
    name = draw(st.sampled_from(NAMES))
    own = words_of(ours()[name].template)
    said: PromptWords = {
        "instructions": draw(TEXTS),
        "sections": {each: draw(TEXTS) for each in own.get("sections", {})},
        "closing": draw(TEXTS),
        "reply": {each: draw(TEXTS) for each in own.get("reply", {})},
    }
    return name, said


@pytest.mark.parametrize("name", NAMES)
def test_what_nobody_edited_asks_as_before_byte_for_byte(name: str) -> None:
    prompt = ours()[name]
    file = prompt_in(text_of(prompt))
    assert file.words == words_of(prompt.template)
    assert not file.changed
    assert not file.is_old
    again = worded(prompt.template, file.words)
    said = {each.variable: f"<{each.variable}>\n### x" for each in again.sections}
    assert again.render(said) == prompt.template.render(said)
    assert (again.text, again.digest, again.schema) == (
        prompt.template.text,
        prompt.template.digest,
        prompt.template.schema,
    )


@given(wordings())
def test_a_form_stays_its_role_s_whatever_is_said(found: tuple[str, PromptWords]) -> None:
    name, words = found
    template = ours()[name].template
    other = worded(template, words)
    assert [s.variable for s in other.sections] == [s.variable for s in template.sections]
    assert [s.heading for s in other.sections] == [s.heading for s in template.sections]
    kept = [(f.label, f.kind, f.choices, f.when, f.required) for f in template.reply.fields]
    assert [(f.label, f.kind, f.choices, f.when, f.required) for f in other.reply.fields] == kept
    assert worded(other, words) == other
    assert worded(template, changed(template, words)) == other, "what differs says it all"


@given(wordings())
def test_a_file_is_read_back_as_it_was_said_or_refused(found: tuple[str, PromptWords]) -> None:
    name, words = found
    prompt = ours()[name]
    text = text_of(prompt, words)
    wrong = list(faults(prompt.template, words))
    if wrong:
        with pytest.raises(BadPrompt, match=f"f.yaml: prompt {name} "):
            prompt_in(text, "f.yaml")
        return
    file = prompt_in(text, "f.yaml")
    assert file.words == words
    assert list(file.words.get("sections", {})) == list(words.get("sections", {}))


@given(st.text(max_size=300))
def test_whatever_a_file_holds_it_is_read_or_refused(text: str) -> None:
    with suppress(BadPrompt):
        prompt_in(text)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_left_out_is_named_with_file_role_and_place(name: str) -> None:
    prompt = ours()[name]
    whole = words_of(prompt.template)
    assert not [*lacking(prompt.template, whole), *faults(prompt.template, whole)]
    for where, _ in texts_of(whole):
        part, _, key = where.partition(".")
        if part == "closing":
            continue  # a role may be told nothing at the end
        less: Any = {**whole}
        if key:
            less[part] = {n: t for n, t in less[part].items() if n != key}
        else:
            del less[part]
        with pytest.raises(BadPrompt) as refused:
            prompt_in(text_of(prompt, less), "mine/p.yaml")
        assert f"mine/p.yaml: prompt {name} (role " in str(refused.value)
        assert f": {where}: missing" in str(refused.value)
        assert all(role in str(refused.value) for role in prompt.roles)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"sections": {"answr": ""}}, r"sections\.answr: no such variable"),
        ({"sections": {"problem": "### Problem"}}, r"sections\.problem: has a line"),
        ({"reply": {"Error_fond": "x"}}, r"reply\.Error_fond: no such field; .*'Error_found'"),
        ({"reply": {"Error_found": " "}}, r"reply\.Error_found: blank"),
        ({"reply": {"Error_found": "a\nb"}}, r"reply\.Error_found: has several lines"),
        ({"instructions": ""}, "instructions: blank"),
        ({"instructions": "Look at {trajectory}."}, r"\{trajectory\} is filled in its own"),
        ({"closing": "Now {trajectry}."}, r"closing: no such variable: \{trajectry\}; .*'traj"),
        ({"closing": "a\n### Advice\nb"}, "closing: has a line that reads like"),
    ],
)
def test_what_is_wrong_is_named(said: PromptWords, named: str) -> None:
    mc2 = POLICIES["mc2"]
    settings = mc2.resolve("service", {"prompts": {"monitor": said}})
    with pytest.raises(BadSetting, match=f"settings.prompts.monitor.{named}|{named}"):
        need_known(mc2, settings)


def test_a_part_that_no_prompt_has_is_refused_by_its_name() -> None:
    with pytest.raises(BadSetting, match=r"prompts\.monitor\.instruction\b"):
        POLICIES["mc2"].resolve("service", {"prompts": {"monitor": {"instruction": "Look."}}})


def test_mathematics_names_no_variable() -> None:
    said = r"Write \boxed{answer}, \frac{abc}{def}, x_{max}, x^{min}, {{answer}} and {a}."
    assert not list(faults(MONITOR.template, {"instructions": said}))


def test_a_prompt_that_a_policy_never_asks_with_is_no_setting_of_it() -> None:
    cot = POLICIES["cot"]
    with pytest.raises(BadSetting, match="cot asks with no such prompt"):
        need_known(cot, cot.resolve("service", {"prompts": {"monitor": {"closing": "Now."}}}))


@pytest.mark.parametrize("name", POLICIES)
def test_whatever_a_policy_asks_with_is_known_of_it(name: str) -> None:
    policy: Policy[Any] = POLICIES[name]
    known, model = of_policy(policy), Rehearsal(Options(seed=7))

    def reply(question: Complete) -> str:
        assert question.template.name in known
        assert question.role in known[question.template.name].roles
        request = ModelRequest(question.messages(), question.sampling, 7, question.draw)
        return model.reply(request).text

    for calls in (24, 4):
        steps = policy.solve(Task("n1", "4 5 6 10", "game24", 7), policy.resolve("service", {}))
        with suppress(OutOfLimit):
            Driver(reply).drive(steps, Ledger(calls=calls))


def test_every_role_is_in_the_catalogue() -> None:
    for role in roles():
        assert role.name in ours()[role.template.name].roles


def test_what_is_copied_from_other_words_says_nothing_either() -> None:
    """A small model writes down its instructions; they may be a user's."""
    said = "Weigh each of the steps with care before you say anything."
    role = Role.of("r", "Do.", sections=("Problem",), reply=MONITOR.reply.fields)
    asked = worded(role.template, {"instructions": said})
    settings = POLICIES["mc2"].resolve("service", {"prompts": {"r": {"instructions": said}}})
    from handlers.policies.parameters import in_words
    from schemas.questions import Completion

    question = in_words(settings)(role.question({"problem": "1"}))
    assert isinstance(question, Complete)
    assert question.template == asked
    text = f"Analysis: {said}\nError_found: NO"
    plain = Completion("0", text, "stop", "m")
    heard: Any = role.hear(plain)
    assert heard["Analysis"] == said
    other: Any = role.hear(structs.replace(plain, template=question.template))
    assert "Analysis" not in other


def test_on_kafka_too_words_of_a_worker_are_for_problems_that_leave_their_policy_to_it() -> None:
    words: dict[str, PromptWords] = {"chain": {"closing": "Now."}}
    lines: dict[bytes, dict[str, Any]] = {
        b'{"id":"a","problem":"1"}': {PROMPTS: words},
        b'{"id":"b","problem":"1","policy":"cot"}': {},
    }
    for line, settings in lines.items():
        found = asked([], line, find, "cot", lambda problem: {PROMPTS: words})
        assert found.problem.settings == settings
        plain = asked([], line, find, "cot")
        assert (found.episode == plain.episode, found.scope == plain.scope) == (
            not settings,
            not settings,
        )
