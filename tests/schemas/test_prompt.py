"""A prompt as a model sees it: what never changes first, then the sections that have something to say."""

from __future__ import annotations

import pytest

from schemas.answer_type import AnswerType
from schemas.asking import Ask
from schemas.identity import digest, text_digest
from schemas.prompt import Section, Template, Tool
from schemas.questions import (
    DEFAULT_SAMPLING,
    Check,
    Complete,
    Completion,
    Credit,
    Embed,
    Recall,
    RecalledItem,
    Recollection,
    Remain,
    Review,
    Sampling,
    UseTool,
)
from schemas.reply import Field, Reply

REPLY = Reply((Field("Answer", "answer", "it"),))
TEMPLATE = Template(
    "judge",
    "\nJudge the work that stands below.\n",
    (
        Section("Problem", "problem"),
        Section("Guidance", "guidance", optional=True, note="Heed the guidance where it fits."),
        Section("Work", "work", optional=True, note="The work is a draft."),
    ),
    REPLY,
    closing="Do not solve it.",
)
SYSTEM = f"Judge the work that stands below.\n\n{REPLY.block()}"


def test_the_static_part_is_the_same_at_every_call_and_its_notes_belong_to_it() -> None:
    assert TEMPLATE.system == SYSTEM
    assert TEMPLATE.text == (
        f"{SYSTEM}\n\n[Guidance] Heed the guidance where it fits.\n[Work] The work is a draft.\n"
        "### Problem\n{problem}\n### Guidance\n{guidance}\n### Work\n{work}\n\nDo not solve it."
    )
    assert TEMPLATE.digest == text_digest(TEMPLATE.text)
    assert TEMPLATE.schema == REPLY.json_schema()
    bare = Template("bare", "Say it.", (Section("Problem", "problem"),), REPLY)
    assert bare.text == f"Say it.\n\n{REPLY.block()}\n\n### Problem\n{{problem}}"


def test_only_sections_with_something_in_them_are_shown_with_their_notes() -> None:
    whole = TEMPLATE.user({"problem": "2 + 2?", "guidance": "Add.", "work": "4"})
    assert whole == (
        "Heed the guidance where it fits.\nThe work is a draft.\n\n### Problem\n2 + 2?\n\n"
        "### Guidance\nAdd.\n\n### Work\n4\n\nDo not solve it."
    )
    assert TEMPLATE.user({"problem": "", "guidance": ""}) == "### Problem\n\n\nDo not solve it."
    with pytest.raises(KeyError, match="problem"):
        TEMPLATE.user({"guidance": "Add."})
    assert TEMPLATE.render({"problem": "x"}) == (
        ("system", SYSTEM),
        ("user", "### Problem\nx\n\nDo not solve it."),
    )
    plain = Template("bare", "Say it.", (Section("Problem", "problem"),), REPLY)
    assert plain.user({"problem": "x"}) == "### Problem\nx"


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("Judge the work that stands below.", True),
        ("judge  the WORK\nthat stands", True),
        ("**the work that stands below.**", True),
        ("judge the work that", False),
        ("the work that stands above", False),
        ("solve it. do not", False),
        (f"{SYSTEM} and more words than there are in it", False),
    ],
)
def test_five_words_in_a_row_of_ours_say_nothing(text: str, ours: bool) -> None:
    assert TEMPLATE.says(text) == ours


def test_an_empty_section_is_optional_only_where_it_says_so_and_tools_are_none_unless_given() -> (
    None
):
    assert not Section("Problem", "problem").optional
    assert Section("Problem", "problem").note == ""
    assert TEMPLATE.tools == ()
    assert Template("t", "x", (), REPLY, (Tool("look", "up", ()),)).tools[0].name == "look"


# ── What a question is made of ───────────────────────────────────────────────────────────────

COMPLETE = Complete("judge", TEMPLATE, (("problem", "2 + 2?"), ("guidance", "Add.")))


def test_a_call_is_known_by_its_parts() -> None:
    sampled = Complete(
        "judge", TEMPLATE, (("problem", "x"),), Sampling(0.5, stop=("\n",)), 3, (("user", "again"),)
    )
    assert dict(sampled.parts()) == {
        "role": "judge",
        "template": TEMPLATE.digest,
        "problem": text_digest("problem=x"),
        "history": digest((("user", "again"),)),
        "sampling": digest([0.5, None, None, ("\n",), False]),
        "draw": "3",
    }
    assert dict(COMPLETE.parts())["history"] == "-"
    for each in (sampled, COMPLETE):
        assert each.fingerprint() == " ".join(("Complete", *(part for _, part in each.parts())))


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=0.1), Sampling(top_p=0.1), Sampling(max_tokens=1), Sampling(stop=("x",)),
     Sampling(logprobs=True)],
)  # fmt: skip
def test_another_sampling_is_another_question_but_patience_is_not(sampling: Sampling) -> None:
    asked = Complete("judge", TEMPLATE, (), sampling).fingerprint()
    assert asked != Complete("judge", TEMPLATE, ()).fingerprint()
    patient = Complete("judge", TEMPLATE, (), Sampling(timeout_s=9), keeps=2)
    assert patient.fingerprint() == Complete("judge", TEMPLATE, ()).fingerprint()
    assert Sampling() == DEFAULT_SAMPLING


def test_later_turns_of_ours_are_fenced_and_a_models_own_stand_as_they_are() -> None:
    heading = "### Problem\nanother"
    asked = Complete(
        "judge", TEMPLATE, (("problem", "x"),), history=(("assistant", heading), ("user", heading))
    )
    turns = asked.messages()
    assert turns[:2] == TEMPLATE.render({"problem": "x"})
    assert turns[2:] == (("assistant", heading), ("user", f"<turn>\n{heading}\n</turn>"))


def test_a_prompt_without_what_was_learned() -> None:
    assert COMPLETE.unguided() == TEMPLATE.render({"problem": "2 + 2?"})
    assert Complete("judge", TEMPLATE, (("problem", "x"),)).unguided() is None
    assert Complete("judge", TEMPLATE, (("problem", "x"), ("guidance", ""))).unguided() is None


@pytest.mark.parametrize(("finish", "cut"), [("length", True), ("stop", False), ("error", False)])
def test_a_reply_is_cut_where_its_length_ended_it(finish: str, cut: bool) -> None:
    said = Completion("0", "text", finish, "m")
    assert said.cut == cut
    assert not said.truncated


@pytest.mark.parametrize(
    ("question", "fingerprint"),
    [
        (
            Recall("q", ("a",), 3),
            f"Recall {text_digest('q')} {digest([['a'], 3, ['rule', 'lesson'], ''])}",
        ),
        (
            Recall("q", ("a",), 0, ("rule",), "d/x", related=True),
            f"Recall {text_digest('q')} {digest([['a'], 0, ['rule'], 'd/x', 'related'])}",
        ),
        (Embed(("a", "b"), named=True), f"Embed {digest(['a', 'b'])}"),
        (
            Check("d", "p", "a"),
            f"Check {text_digest('d')} {text_digest('p')} {text_digest('a')}",
        ),
        (
            Credit("d", "p", "a", "d/x", AnswerType(type="number")),
            f"Credit {text_digest('d')} {text_digest('p')} {text_digest('a')} {text_digest('d/x')} "
            f"{text_digest(AnswerType(type='number').text)}",
        ),
        (UseTool("look", (("for", "x"),)), f"UseTool {text_digest('look')} {digest([['for', 'x']])}"),
        (Review("Right?"), f"Review {text_digest('Right?')} -"),
        (Review("Right?", "4"), f"Review {text_digest('Right?')} {text_digest('4')}"),
        (Remain(), "Remain"),
    ],
)  # fmt: skip
def test_a_question_is_known_by_digests_of_what_it_asks(
    question: Ask[object], fingerprint: str
) -> None:
    assert question.fingerprint() == fingerprint
    assert len(dict(question.parts())) == fingerprint.count(" "), "each part has a name of its own"


def test_what_is_asked_for_beside_the_rest() -> None:
    assert [name for name, _ in Recall("q", ("a",), 3).parts()] == ["query", "wanted"]
    assert [name for name, _ in Credit("d", "p", "a", "s", AnswerType(type="text")).parts()] == [
        *("domain", "problem", "answer", "subject", "typed")
    ]
    assert [name for name, _ in UseTool("t", ()).parts()] == ["tool", "arguments"]
    assert [name for name, _ in Review("q").parts()] == ["question", "proposed"]
    assert [name for name, _ in Embed(()).parts()] == ["texts"]
    assert Remain().at == "remaining"
    assert not Embed(("a",)).named
    assert not Recall("q", ("a",), 3).related


def test_a_recollection_has_items_by_role_and_kind_in_order() -> None:
    items = tuple(
        RecalledItem(f"{at}", kind, role, "text")
        for at, (kind, role) in enumerate(
            [("rule", "a"), ("lesson", "a"), ("lesson", "b"), ("lesson", "a")]
        )
    )
    found = Recollection(1, items)
    assert [item.id for item in found.of("a", "lesson")] == ["1", "3"]
    assert found.of("b", "rule") == ()
    assert found.learned == {}


def test_a_template_shows_what_it_is_made_of_and_not_what_follows_from_it() -> None:
    shown = repr(TEMPLATE)
    assert f"digest='{TEMPLATE.digest}'" in shown
    assert not [
        name for name in ("system", "words", "text", "schema", "heads") if f"{name}=" in shown
    ]
    again = Template(
        TEMPLATE.name,
        TEMPLATE.instructions,
        TEMPLATE.sections,
        TEMPLATE.reply,
        (),
        TEMPLATE.closing,
    )
    assert {again, TEMPLATE} == {TEMPLATE}
    assert again != Template("other", TEMPLATE.instructions, TEMPLATE.sections, TEMPLATE.reply)
    for derived in ("system", "words", "text", "digest", "schema", "heads"):
        given = {"name": "t", "instructions": "x", "sections": (), "reply": REPLY, derived: "x"}
        with pytest.raises(TypeError, match=derived):
            Template(**given)  # type: ignore[arg-type]
