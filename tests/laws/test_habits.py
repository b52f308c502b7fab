"""Whatever a role's fields are, and in whatever habit a model writes them, the same values are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from handlers.roles.form import Unreadable, Values, parse, render_reply
from handlers.roles.objects import as_text, loads, objects_in
from handlers.roles.role import Role, answer, choice, listed, number, text
from handlers.roles.values import Value
from schemas.answer_type import AnswerType
from schemas.reply import REASONING, Field, Reply
from schemas.spoken import spoken
from tests.handlers.roles.every import roles

FIELDS = (
    text("Finding", "what was found"),
    Field("Error_step", "text", "a step, or NONE", required=False),
    listed("Key_checks", "checks", least=1, most=4),
    choice("Action", ("ACCEPT", "PATCH", "RESTART"), "what to do", {"1": "ACCEPT", "2": "PATCH"}),
    choice("Error_found", ("YES", "NO"), "is there one"),
    number("Confidence", "trust", unit=True),
    answer(),
)
"""Of each kind one, in any order and number; the forms of all roles come on top of these."""
ROLES = tuple({role.template.name: role for role in roles()}.values())
WORDS = (
    st.text("abcdefg XYZ,()", min_size=3, max_size=20)
    .map(str.strip)
    .filter(lambda s: len(s) > 2 and s.strip("() ,").casefold() not in ("na", "none"))
)
ANSWERS = (
    *("24", "-3.5", "1,234", "(10 - 4) * 4", r"\frac{1}{2}", "x = 2", "y'", "C#", "12:50 p.m."),
    *("New York", '"abc"', r"\{1, 2\}", "(B)", r"50 \text{ km/h}", "$9.50"),
    "\\begin{pmatrix}\n1 & 2\\\\\n3 & 4\n\\end{pmatrix}",
)
ABSENT = ("NONE", "none", "N/A", "None.", "n/a")
TEXTS = st.text('ab{}[]":,/\\ é', max_size=6)

Line = Callable[[str, str], str]
ARRAY = AnswerType.model_validate({"type": "json", "schema": {"type": "array"}})
LISTED = Reply((Field("Final_answer", "answer", "the list", form=ARRAY),))
"""A reply that is one JSON array."""
LINES: Mapping[str, Line] = {
    "plain": lambda label, said: f"{label}: {said}",
    "bold": lambda label, said: f"**{label}:** {said}",
    "bold label": lambda label, said: f"**{label}**: {said}",
    "bold line": lambda label, said: f"**{label}: {said}**",
    "bold, no colon": lambda label, said: f"**{label}** {said}",
    "headed": lambda label, said: f"### {label}\n{said}",
    "listed": lambda label, said: f"- **{label}**: {said}",
    "numbered": lambda label, said: f"1. {label}: {said}",
    "equals": lambda label, said: f"{label} = {said}",
    "spaced": lambda label, said: f"{label.replace('_', ' ')}: {said}",
    "row": lambda label, said: f"| {label} | {said} |",
    "bold row": lambda label, said: f"| **{label}** | {said} |",
    "dash": lambda label, said: f"{label} – {said}",
}
ONE_LINE = {"bold line", "row", "bold row"}
"""Habits that have no place for a value of several lines, which then stands behind a plain label."""
AROUND: Mapping[str, Callable[[str], str]] = {
    "nothing": lambda said: said,
    "preface": lambda said: f"Sure! Here is my reply.\n\n{said}",
    "reasoned": lambda said: f"1. Read the problem.\n2. It may be 7, or \\boxed{{9}}.\n\n{said}",
    "epilogue": lambda said: f"{said}\n\nI hope this helps! Let me know if you want more.",
    "rule": lambda said: f"---\n\n{said}\n\n---",
    "fence": lambda said: f"```\n{said}\n```",
    "named fence, between words": lambda said: (
        f"Here it is:\n\n```text\n{said}\n```\n\nLet me know."
    ),
    "thought": lambda said: (
        f"<think>\nConfidence: 0.01\nAction: RESTART\n\\boxed{{9}}\n</think>\n\n{said}"
    ),
    "thought, opened in the prompt": lambda said: f"Final_answer: 3\n</think>\n{said}",
}


def valued(field: Field, draw: st.DrawFn) -> Value:
    """Something that this field may hold."""
    match field.kind:
        case "number":
            whole = draw(st.integers(0, 100))
            return whole / 100 if field.unit else float(whole)
        case "choice":
            return draw(st.sampled_from(field.choices))
        case "answer":
            return draw(st.sampled_from((*ANSWERS, *(["NONE"] if field.none else []))))
        case "list" if field.ratings:
            rated = ", ".join(f"{name}=0.5" for name in field.ratings)
            return tuple(f"Step {step}: {rated}" for step in range(1, draw(st.integers(2, 4))))
        case "list":
            items = st.lists(WORDS, min_size=field.least, max_size=min(field.most or 4, 4))
            return tuple(draw(items))
        case "text":
            return draw(WORDS | st.just("NONE"))


def shown(field: Field, value: Value, draw: st.DrawFn) -> str:
    """A value as somebody may write it."""
    if isinstance(value, tuple):
        mark = draw(st.sampled_from(("- ", "* ", "• ", "– ")))
        items = "\n".join(f"{mark}{item}" for item in value)
        return f"\n{items}" if value else draw(st.sampled_from(ABSENT))
    if isinstance(value, float) and not field.unit:
        return draw(st.sampled_from((f"{value:g}", f"**{value:g}**", f"{value:g} (sure)")))
    if isinstance(value, float):
        hundredth = round(value * 100)
        shares = (
            f"{hundredth}%",
            f"{hundredth}/100",
            f"{hundredth} out of 100",
            f"{hundredth} percent",
        )
        return draw(st.sampled_from((f"{value}", f"{value} (sure)", *shares)))
    said = str(value)
    if field.kind == "choice":
        called = [alias for alias, means in field.aliases if means == value]
        ways = [said, said.lower(), f"{said} because it holds", f"`{said}`", f"{said}.", *called]
        both = [(one, other) for alias in called for one, other in ((alias, said), (said, alias))]
        return draw(st.sampled_from([*ways, *(f"{one} ({other})" for one, other in both)]))
    if said == "NONE":
        return draw(st.sampled_from(ABSENT))
    if field.kind == "answer":
        boxed = f"\\boxed{{{said}}}"
        lines = [f"\n\\[\n{boxed}\n\\]", f"\\boxed{{\n{said}\n}}", f"\n```\n{said}\n```"]
        return draw(st.sampled_from([boxed, f"${boxed}$", f"### {said} ###", *lines]))
    return said


@st.composite
def forms(draw: st.DrawFn) -> tuple[Role, Values]:
    """A role, of ours or of some fields, with values for a reply of it: what a choice leaves out is not in them."""
    role = draw(st.sampled_from((None, *ROLES)))
    if role is None:
        some = draw(st.lists(st.sampled_from(FIELDS), min_size=1, unique=True))
        role = Role.of("some", "Do.", sections=(), reply=some)
    values: dict[str, Value] = {}
    for field in role.reply.fields:
        asked = field.when is None or values.get(field.when[0]) in field.when[1]
        if asked and (field.required or draw(st.booleans())):
            values[field.label] = valued(field, draw)
    return role, values


@st.composite
def replies(draw: st.DrawFn) -> tuple[Role, Values, str]:
    """A role, values for its fields, and a reply that says them in some habit."""
    role, values = draw(forms())
    said = {
        field.label: shown(field, values[field.label], draw)
        for field in role.reply.fields
        if field.label in values
    }
    habit = draw(st.sampled_from((*sorted(LINES), "table", "columns")))
    # A box in the reasons is the answer of a reply that may have one and states none.
    open_ended = any(f.kind == "answer" and f.label not in values for f in role.reply.fields)
    ways = sorted(AROUND.keys() - ({"reasoned"} if open_ended else set()))
    around = AROUND[draw(st.sampled_from(ways))]
    if habit in LINES:
        lines = [_line(habit, label, value) for label, value in said.items()]
        return role, values, around(draw(st.sampled_from(("\n", "\n\n"))).join(lines))
    flat = {label: value for label, value in said.items() if "\n" not in value}
    rows = [list(each) for each in flat.items()] if habit == "table" else [list(flat.values())]
    heads = ["Field", "Value"] if habit == "table" else list(flat)
    table = [heads, ["---"] * len(heads), *rows] if len(heads) > 1 and flat else []
    lines = [f"| {' | '.join(cells)} |" for cells in table]
    rest = [
        _line("plain", label, value)
        for label, value in said.items()
        if not table or label not in flat
    ]
    return role, values, around("\n\n".join(filter(None, ("\n".join(lines), *rest))))


def _line(habit: str, label: str, said: str) -> str:
    return LINES["plain" if habit in ONE_LINE and "\n" in said else habit](label, said)


@given(replies())
def test_a_reply_in_any_habit_reads_back(case: tuple[Role, Values, str]) -> None:
    role, values, said = case
    assert role.read(spoken(said).text) == values


@st.composite
def running(draw: st.DrawFn) -> tuple[Role, Values, str]:
    """A role whose fields are short, and a reply that says them one after the other in a line."""
    role = draw(st.sampled_from([role for role in ROLES if role.reply.running]))
    values: dict[str, Value] = {}
    for field in role.reply.fields:
        if field.when is None or values.get(field.when[0]) in field.when[1]:
            text_said = field.kind == "text"
            values[field.label] = f"{draw(WORDS)}." if text_said else valued(field, draw)
    said = [
        f"{label}: \\boxed{{{value}}}" if label == "Final_answer" else f"{label}: {value}"
        for label, value in values.items()
    ]
    ended = [each if each.endswith((".", "}")) else f"{each}." for each in said]
    return role, values, draw(st.sampled_from((" ", "  ", "\n"))).join(ended)


@given(running())
def test_short_fields_read_back_from_one_line(case: tuple[Role, Values, str]) -> None:
    role, values, said = case
    assert role.read(said) == values


@given(replies())
def test_only_a_role_of_short_fields_reads_a_line_of_them(
    case: tuple[Role, Values, str],
) -> None:
    """What others make of a reply stays as it was, and what can be read at the starts of lines stays so everywhere."""
    role, _, said = case
    form = role.reply
    for other in (replace(form, running=True), replace(form, running=False)):
        assert parse(spoken(said).text, other) == parse(spoken(said).text, form)


@st.composite
def objects(draw: st.DrawFn) -> tuple[Role, Values, str]:
    """As ``replies``, as a JSON object with what models get wrong in it."""
    role, values = draw(forms())
    made: dict[str, object] = {REASONING: "It adds up."}
    for field in role.reply.fields:
        value = values.get(field.label)
        if value is not None or draw(st.booleans()):
            made[field.label] = list(value) if isinstance(value, tuple) else value
    said = json.dumps(made, indent=draw(st.sampled_from((None, 2))))
    if draw(st.booleans()):  # LaTeX that is not escaped
        said = said.replace("\\\\", "\\") if "\\\\\\\\" not in said else said
    if draw(st.booleans()):
        noted = draw(st.sampled_from(("", " // the end\n", " /* the * end */ ")))
        said = f"{said[:-1].rstrip()},{noted}}}"
    if draw(st.booleans()):
        said = said.replace(
            "{", draw(st.sampled_from(("{ // the reply\n", "{ /* the reply */\n"))), 1
        )
    wraps: list[Callable[[str], str]] = [
        str,
        "```json\n{}\n```".format,
        "Here it is:\n\n{}".format,
        "<think>{{}} no</think>\n{}".format,
        "It is {}, I am sure.".format,
    ]
    return role, values, draw(st.sampled_from(wraps))(said)


@given(objects())
def test_an_object_reads_back_whatever_a_model_got_wrong_in_it(
    case: tuple[Role, Values, str],
) -> None:
    role, values, said = case
    assert role.read(spoken(said).text) == values


SAID = st.text('ab"*/[]{},: é', max_size=8).filter(lambda said: "*/" not in f"{said}*")
NOTES = st.one_of(
    *(SAID.map(f"{opens} {{}}{closes}".format) for opens, closes in (("//", "\n"), ("/*", " */"))),
    *map(st.just, ("", " ")),
)
"""What a model writes between two values."""


@st.composite
def arrays(draw: st.DrawFn) -> tuple[list[object], str]:
    """Some values, and a reply that lists them as a JSON array with comments, and with a comma too many."""
    items = draw(st.lists(st.integers(-9, 9) | TEXTS | st.just({"a": [1, "//"]}), min_size=1))
    told = [f"{draw(NOTES)}{json.dumps(item, ensure_ascii=False)}{draw(NOTES)}" for item in items]
    comma = f",{draw(NOTES)}" if draw(st.booleans()) else ""
    said = f"[{','.join(told)}{comma}{draw(NOTES)}]"
    wraps: list[Callable[[str], str]] = [
        str,
        "```json\n{}\n```".format,
        "Final_answer: {}".format,
        "Here it is:\n\n{}".format,
        'Of https://a.b/c the 5" ones: {}'.format,
        "It is {}, I am sure.".format,
    ]
    return [*items], draw(st.sampled_from(wraps))(said)


@given(arrays())
def test_an_array_reads_back_whatever_a_model_noted_in_it(case: tuple[list[object], str]) -> None:
    items, said = case
    found = parse(said, LISTED)
    assert not isinstance(found, Unreadable), found
    assert json.loads(str(found["Final_answer"])) == items


@given(replies(), st.sampled_from(sorted(AROUND)))
def test_the_last_complete_statement_counts(case: tuple[Role, Values, str], before: str) -> None:
    """Drafts do not: the canonical reply that follows is read."""
    role, values, said = case
    settled = render_reply(role.reply, values)
    assert role.read(f"{spoken(said).text}\n\nOn second thought:\n\n{settled}") == values


@given(st.text("<think/>ab \n", max_size=60))
def test_thoughts_come_off_any_text(said: str) -> None:
    found = spoken(said)
    assert not found.cut or "<think>" in said
    assert spoken(f"<think>{said.replace('<', '')}</think>answer").text == "answer"
    assert spoken(f"answer<think>{said.replace('<', '')}") == ("answer", True)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXTS, one, max_size=3),
    max_leaves=8,
))  # fmt: skip
def test_whatever_is_json_is_read_as_json(value: object) -> None:
    """Mending leaves alone what is right, but for escapes that LaTeX and JSON share."""
    whole = {"a": value}
    said = json.dumps(whole, ensure_ascii=False)
    assert loads(said) == whole
    assert objects_in(f"So: {said}")[0] == whole
    assert isinstance(as_text(said), str)
