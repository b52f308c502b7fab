"""The reader of replies: tolerant of form, exact in values, never at a loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.roles.form import Unreadable, Values, parse, preamble, render_reply
from handlers.roles.role import answer, choice, listed, number, text
from handlers.roles.values import Value, items
from schemas.reply import Field, Reply

EVERY = Reply(
    (
        choice("Error_found", ("YES", "NO"), "is there one"),
        number("Score", "in percent"),
        text("Why_so", "a sentence"),
        listed("Key_checks", "checks", least=2, most=3),
        Field("Fix", "text", "the mend", when=("Error_found", ("YES",))),
        Field("Remark", "text", "if any", required=False),
        answer(),
    )
)
PLAIN = """Error_found: YES
Score: 0.5
Why_so: it is off
by one
Key_checks:
- first
- second
Fix: add one
Final_answer: ### 24 ###"""
LABELS = {field.label for field in EVERY.fields}
READ = {
    "Error_found": "YES",
    "Score": 0.5,
    "Why_so": "it is off\nby one",
    "Key_checks": ("first", "second"),
    "Fix": "add one",
    "Final_answer": "24",
}
LINES_OF_TWO = "- first\n- second"
VARIANTS = {
    "plain": PLAIN,
    "case": PLAIN.replace("Error_found", "ERROR FOUND").replace("Why_so", "why so"),
    "bold": PLAIN.replace("Error_found:", "**Error_found:**").replace("Score:", "**Score**:"),
    "bold line": PLAIN.replace("Error_found: YES", "**Error_found: YES**"),
    "bullets": "\n".join(
        f"- {line}" if ":" in line and "##" not in line else line for line in PLAIN.split("\n")
    ),
    "headings": PLAIN.replace("Fix: add one", "## Fix\nadd one").replace("Score:", "### Score:"),
    "escaped": PLAIN.replace("Error_found", r"Error\_found"),
    "windows": PLAIN.replace("Why_so: it is off\nby one", "Why_so: it is off\nby one").replace(
        "YES", "YES\r"
    ),
    "numbers": PLAIN.replace("- first\n- second", "1) first 2) second"),
    "remarks": PLAIN.replace("YES", "yes, I think so").replace("0.5", "about 0.5 (a guess)"),
    "drafted": "Error_found: NO\nScore: none\n\nOn second thought:\n" + PLAIN,
    "preamble": "I looked at all steps.\n\n" + PLAIN,
    "wide colon": PLAIN.replace("Score:", "Score："),
    "json": json.dumps({**READ, "Key_checks": ["first", "second"]}),
    "fenced": f"Here:\n```json\n{json.dumps({**READ, 'Key_checks': LINES_OF_TWO})}\n```",
    "boxed": PLAIN.replace("### 24 ###", r"\boxed{24}"),
    "box alone": PLAIN.replace("Final_answer: ### 24 ###", r"So it is $\boxed{24}$.").replace(
        "Fix: add one\n", "Fix: add one\nRemark: "
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_read_alike(name: str) -> None:
    values = parse(VARIANTS[name], EVERY)
    assert not isinstance(values, Unreadable), values
    assert {k: v for k, v in values.items() if k != "Remark"} == READ
    assert list(values) == [f.label for f in EVERY.fields if f.label in values]


ECHO = "repeats the form instead of filling it"
BROKEN = [
    ("", "Error_found", "missing"),
    (PLAIN.replace("YES", "YES or NO"), "Error_found", "must be one of YES, NO"),
    (PLAIN.replace("YES", "maybe"), "Error_found", "must be one of YES, NO"),
    (PLAIN.replace("YES", "YES | NO"), "Error_found", "must be one of YES, NO"),
    (PLAIN.replace("0.5", "high"), "Score", "holds no number"),
    (PLAIN.replace("- first\n- second\n", "- NONE\n"), "Key_checks", "0 items, at least 1 is needed"),
    (PLAIN.replace("Fix: add one\n", ""), "Fix", "missing"),
    (PLAIN.replace("it is off\nby one", "..."), "Why_so", ECHO),
    (PLAIN.replace("it is off\nby one", ""), "Why_so", "empty"),
    (PLAIN.replace("### 24 ###", "### ###"), "Final_answer", "holds no answer"),
    ('{"Error_found": "YES", "Score": 1e999}', "Error_found", "missing"),
    ('{"Error_found": "YES", "Score": {"a": 1}}', "Error_found", "missing"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "field", "reason"), BROKEN)
def test_what_is_wrong_is_named(said: str, field: str, reason: str) -> None:
    assert parse(said, EVERY) == Unreadable(field, reason)


def test_conditions() -> None:
    """A field is read only under its condition, and needed only then."""
    values = parse(PLAIN.replace("YES", "NO"), EVERY)
    assert not isinstance(values, Unreadable)
    assert "Fix" not in values


def test_an_empty_field_leaves_the_box_that_stands_elsewhere() -> None:
    said = PLAIN.replace("Final_answer: ### 24 ###", "So it is \\boxed{24}.\n\nFinal_answer:")
    assert parse(said, EVERY) == READ | {"Fix": "add one\nSo it is \\boxed{24}."}


CHOICES = Reply((choice("Action", ("1", "2", "3"), "1 keep, 2 mend, 3 anew"),))


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("1", "1"), ("**2**", "2"), ("Action 3", "3"), ("3 (RESTART)", "3"), ("1. Keep it", "1"),
        ("1, because step 2 is fine", "1"), ("[2]", "2"), ("`3`", "3"),
        ("1 or 2", None), ("1 | 2 | 3", None), ("1/2/3", None), ("12", None), ("2.5", None),
        ("since step 2 is wrong", None), ("restart", None), ("", None),
    ],
)  # fmt: skip
def test_choices(said: str, action: str | None) -> None:
    values = parse(f"Action: {said}", CHOICES)
    assert (None if isinstance(values, Unreadable) else values["Action"]) == action


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("- a\n- b", ["a", "b"]),
        ("1) a 2) b\n3) c", ["a", "b", "c"]),
        ("1. a\n2. b", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("one line", ["one line"]),
        ("- a\n  goes on\n- b", ["a goes on", "b"]),
        ("- a\n- b\n\nHope this helps!", ["a", "b"]),
        ("• a\n* b\n+ c", ["a", "b", "c"]),
        ("10 - 4 = 6\n6 * 4 = 24", ["10 - 4 = 6", "6 * 4 = 24"]),
    ],
)
def test_items(said: str, found: list[str]) -> None:
    assert items(said) == found


def test_preamble() -> None:
    assert preamble("I looked.\n\n**Action:** 1", CHOICES) == "I looked."
    assert preamble("no fields", CHOICES) == "no fields"


# ── Laws ─────────────────────────────────────────────────────────────────────────────────────

WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\n:#<`*_"), min_size=1, max_size=30
)
LINES = WORDS.map(str.strip).filter(lambda line: bool(line) and items(line) == [line])
TEXTS = st.lists(LINES, min_size=1, max_size=3).map("\n".join).map(str.strip).filter(bool)
ANSWERS = st.from_regex(r"[a-z0-9][a-z0-9+*/()=-]{0,12}[a-z0-9]", fullmatch=True)


@st.composite
def values_of(draw: st.DrawFn) -> Values:
    """Canonical values of every kind of field."""
    found = draw(st.sampled_from(("YES", "NO")))
    values: dict[str, Value] = {
        "Error_found": found,
        "Score": draw(st.floats(allow_nan=False, allow_infinity=False)),
        "Why_so": draw(TEXTS),
        "Key_checks": tuple(draw(st.lists(LINES, min_size=2, max_size=3))),
    }
    if found == "YES":
        values["Fix"] = draw(TEXTS)
    if draw(st.booleans()):
        values["Remark"] = draw(TEXTS)
    return {**values, "Final_answer": draw(ANSWERS)}


@given(values_of())
def test_what_is_rendered_is_read_back(values: Values) -> None:
    assert parse(render_reply(EVERY, values), EVERY) == values


def names(text: str) -> set[str]:
    """The fields that were read, or the one that could not be."""
    values = parse(text, EVERY)
    return {values.field} if isinstance(values, Unreadable) else set(values)


@given(
    st.text(st.characters(), max_size=400)
    | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1"))
)
def test_any_text_is_read_or_refused_by_name(said: str) -> None:
    for whole in (
        said,
        f"Error_found: {said}",
        f"{PLAIN}\n{said}",
        "{" + said,
        f"```json\n{{{said}```",
    ):
        assert names(whole) <= LABELS
        assert whole.strip().startswith(preamble(whole, EVERY))


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=9), one, max_size=3),
    max_leaves=8,
))  # fmt: skip
def test_any_json_value_is_read_or_refused(value: object) -> None:
    for label in LABELS:
        said = names(json.dumps({**READ, label: value}))
        assert said <= LABELS
        assert len(said) == 1 or said >= set(READ) - {label, "Fix"}


HOSTILE = {
    "labels": "Error_found: x\n" * 40_000,
    "stars": "*" * 400_000,
    "hashes": "#" * 400_000,
    "dashes": "- " * 200_000,
    "blanks": " \t" * 200_000,
    "braces": "Final_answer: \\boxed{" + "{" * 400_000,
    "fences": "```json\n{" * 60_000,
    "numbers": "Key_checks: " + "".join(f"{n % 99}) x " for n in range(80_000)),
    "digits": "Score: " + "9" * 400_000,
    "underscores": "Error" + "_" * 400_000,
    "nested": "{" + '"Why_so": [' * 100_000,
    "colons": "Why_so" + ":" * 400_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_read_in_passing(name: str) -> None:
    assert names(HOSTILE[name]) <= LABELS
    assert names(f"{PLAIN}\n{HOSTILE[name]}") <= LABELS


@pytest.mark.parametrize("said", ["a" * 65_537, "a " * 40_000, "- a\n" * 20_000])
def test_a_field_that_is_too_long_is_refused_by_name(said: str) -> None:
    """It is neither cut nor kept: whoever is asked again hears why."""
    found = parse(PLAIN.replace("it is off", said), EVERY)
    assert found == Unreadable("Why_so", "longer than 65,536 characters")
    found = parse(PLAIN.replace("first", said), EVERY)
    assert found == Unreadable("Key_checks", "longer than 65,536 characters")
    as_json = json.dumps({"Key_checks": ["first", said]})
    checks = Reply((listed("Key_checks", "checks", least=1),))
    assert isinstance(parse(as_json, checks), Unreadable)


def test_what_follows_a_short_field_may_be_long() -> None:
    """A choice, a number and an answer are read at the beginning of what stands there."""
    fields = Reply((choice("Error_found", ("YES", "NO"), "is there one"), number("Score", "of 1")))
    rest = "because " * 20_000
    found = parse(f"Error_found: YES {rest}\nScore: 0.5 {rest}", fields)
    assert found == {"Error_found": "YES", "Score": 0.5}


@pytest.mark.parametrize("times", [5, 500, 900])
def test_lists_in_lists_are_no_value(times: int) -> None:
    why = Reply((text("Why_so", "a sentence"),))
    assert parse(f'{{"Why_so": {"[" * times}"a"{"]" * times}}}', why) == Unreadable(
        "Why_so", "missing"
    )
    assert parse('{"Why_so": [["a"], "b"]}', why) == {"Why_so": "a\nb"}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("<think>7?</think>\n<answer>42</answer>", "42"),
        ("It may be \\boxed{7}, but no.\n<answer> 42 </answer>", "42"),
        ("<answer>Final_answer: 42</answer>", "42"),
        ("<answer>7</answer> is what I thought, but it is \\boxed{42}", "42"),
        ("<answer>42</answer> is the result.", "42"),
        ('{"answer": "42"}', "42"),
        ('{"answer": 42}', "42"),
        (
            '```json\n{"reasoning": "so the answer is 7.", "final_answer": "\\\\boxed{42}"}\n```',
            "42",
        ),
        ("</answer> <answer>", None),
        ('{"answer": null}', None),
        ('{"answer": {"a": 1}}', None),
    ],
)
def test_an_answer_is_read_without_a_form(said: str, found: str | None) -> None:
    values = parse(said, Reply((answer(),)))
    assert (None if isinstance(values, Unreadable) else values["Final_answer"]) == found


@pytest.mark.parametrize("said", ["None", "none.", "N/A", "**None**", "null"])
def test_no_answer_is_none(said: str) -> None:
    """As a model of 1.5 billion parameters fills in a form to its end; what is boxed is an answer."""
    reply = Reply((answer(),))
    assert isinstance(parse(f"I give up.\nFinal_answer: {said}", reply), Unreadable)
    assert parse(f"So it is \\boxed{{7}}.\nFinal_answer: {said}", reply) == {"Final_answer": "7"}
    assert parse("Final_answer: \\boxed{none}", reply) == {"Final_answer": "none"}
    may = Reply((Field("Final_answer", "answer", "it, or none", none=True),))
    assert parse(f"Final_answer: {said}", may) == {"Final_answer": "NONE"}


@pytest.mark.parametrize("said", ["none", "N/A", "\\text{none}", "\\textbf{None}", "\\text{ n/a }"])
def test_who_may_have_no_answer_may_say_so_in_a_box(said: str) -> None:
    """``\\boxed{\\text{none}}`` was graded as an answer, and wrong, where nothing was answered."""
    may = Reply((Field("Final_answer", "answer", "it, or none", none=True),))
    for whole in (f"Final_answer: \\boxed{{{said}}}", f"I find none: \\boxed{{{said}}}"):
        assert parse(whole, may) == {"Final_answer": "NONE"}
    assert parse("Final_answer: \\boxed{\\text{No one}}", may) == {"Final_answer": "\\text{No one}"}


def test_a_choice_that_was_left_open_is_told_by_what_was_filled_in() -> None:
    """The model of 1.5 billion parameters copies "State: OPEN | ANSWERED", and gives the answer below it."""
    state = choice("State", ("OPEN", "ANSWERED"), "x")
    reply = Reply((state, Field("Final_answer", "answer", "x", when=("State", ("ANSWERED",)))))
    said = parse("State: OPEN | ANSWERED\nFinal_answer: \\boxed{180}", reply)
    assert said == {"State": "ANSWERED", "Final_answer": "180"}
    for told in ("", "Final_answer:", "Final_answer: None", "I hold \\boxed{3} for likely."):
        assert isinstance(parse(f"State: OPEN | ANSWERED\n{told}", reply), Unreadable)
    work = "Thought: 60 * 3 * 3.\n\nThus it is \\(\\boxed{540}\\)."
    assert parse(work, reply) == {"State": "ANSWERED", "Final_answer": "540"}
    assert isinstance(parse("Thought: 540, I would say.", reply), Unreadable)
    total = "The total number of downloads is:\n\\[ 60 + 180 + 126 = 366 \\]"
    for told, answer_ in ((total, "60 + 180 + 126 = 366"), ("18 dollars", "18 dollars")):
        said = parse(f"Final_answer: {told}", reply)
        assert said == {"State": "ANSWERED", "Final_answer": answer_}
    for told in ("not yet", "There are 3 more steps to be made", "None", "..."):
        assert isinstance(parse(f"Final_answer: {told}", reply), Unreadable)
    wider = Field("Final_answer", "answer", "x", when=("State", ("OPEN", "ANSWERED")))
    both = Reply((state, wider))
    assert isinstance(parse("State: OPEN | ANSWERED\nFinal_answer: \\boxed{1}", both), Unreadable)


def test_our_own_description_is_no_value_and_does_not_open_one() -> None:
    advice = text("Suggestions", "what the next attempt is to do otherwise, in one sentence")
    trust = number("Trust", "trust in the whole of it, in [0, 1]", unit=True)
    copied = "What the next attempt is to do otherwise, in one sentence"
    for said in (copied, f"<{copied}>", f"{copied}.", f"{copied}; only if Action is RESTART"):
        assert isinstance(parse(f"Suggestions: {said}", Reply((advice,))), Unreadable)
    went_on = parse(f"Suggestions: {copied}. Count the eggs first.", Reply((advice,)))
    assert went_on == {"Suggestions": "Count the eggs first."}
    longer = f"{copied}s of a kind"
    assert parse(f"Suggestions: {longer}", Reply((advice,))) == {"Suggestions": longer}
    assert isinstance(
        parse("Trust: trust in the whole of it, in [0, 1]", Reply((trust,))), Unreadable
    )
    assert parse("Trust: trust in the whole of it, in [0, 1]: 0.8", Reply((trust,))) == {
        "Trust": 0.8
    }


SETTLED = Reply(
    (
        choice("Action", ("ACCEPT", "RESTART"), "what to do"),
        text("Why", "why"),
        Field("Final_answer", "answer", "the answer", required=False),
    )
)


@pytest.mark.parametrize(
    "said",
    [
        '{"Action": "ACCEPT", "Why": "it holds", "Final_answer": null}',
        'So: {"Action": "ACCEPT", "Why": "it holds", "Final_answer": null}. Done.',
        '{ /* my reply */ "Action": "ACCEPT", "Why": "it holds", "Final_answer": null}',
    ],
)
def test_null_is_no_answer(said: str) -> None:
    """A strict schema has null for what is left out; the answer was read from the object's signs, as ``null}``."""
    assert parse(said, SETTLED) == {"Action": "ACCEPT", "Why": "it holds"}


@pytest.mark.parametrize("opens", ["```", "```text", "  ```"])
def test_a_form_may_stand_in_a_fence_and_its_values_too(opens: str) -> None:
    """The fence that closes the form stood in its last value."""
    form = "Action: ACCEPT\nFinal_answer:\n```\nx = 1\n```\nWhy: it holds"
    want = {"Action": "ACCEPT", "Why": "it holds", "Final_answer": "x = 1"}
    assert parse(form, SETTLED) == want
    plain = form.replace("\n```", "").replace("answer:\nx", "answer: x")
    assert parse(f"Here it is:\n\n{opens}\n{plain}\n```", SETTLED) == want
    assert parse(f"{opens}\n{plain}", SETTLED) == want
