"""Whatever a role's fields are, and in whatever habit a model writes them, the same values are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from handlers.roles.form import Values, parse, render_reply
from handlers.roles.objects import as_text, loads, objects_in
from handlers.roles.role import answer, choice, listed, number, text
from handlers.roles.values import Value
from schemas.reply import REASONING, Field, Reply
from schemas.spoken import spoken

FIELDS: Mapping[str, Field] = {
    "Finding": text("Finding", "what was found"),
    "Error_step": Field("Error_step", "text", "a step, or NONE", required=False),
    "Key_checks": listed("Key_checks", "checks", least=1, most=4),
    "Action": choice(
        "Action", ("ACCEPT", "PATCH", "RESTART"), "what to do", {"1": "ACCEPT", "2": "PATCH"}
    ),
    "Error_found": choice("Error_found", ("YES", "NO"), "is there one"),
    "Confidence": number("Confidence", "trust", unit=True),
    "Final_answer": answer(),
}
WORDS = (
    st.text("abcdefg XYZ,()", min_size=3, max_size=20).map(str.strip).filter(lambda s: len(s) > 2)
)
ANSWERS = st.sampled_from(
    (
        *("24", "-3.5", "1,234", "(10 - 4) * 4", r"\frac{1}{2}", "x = 2", "y'", "C#", "12:50 p.m."),
        *("New York", '"abc"', r"\{1, 2\}", "(B)", r"50 \text{ km/h}", "$9.50"),
        "\\begin{pmatrix}\n1 & 2\\\\\n3 & 4\n\\end{pmatrix}",
    )
)
VALUES: Mapping[str, st.SearchStrategy[Value]] = {
    "Finding": WORDS.filter(lambda said: said.strip("() ,").casefold() not in ("na", "none")),
    "Error_step": st.sampled_from(("NONE", "3", "step 2")),
    "Key_checks": st.lists(WORDS, min_size=1, max_size=4).map(tuple),
    "Action": st.sampled_from(("ACCEPT", "PATCH", "RESTART")),
    "Error_found": st.sampled_from(("YES", "NO")),
    "Confidence": st.integers(0, 100).map(lambda n: n / 100),
    "Final_answer": ANSWERS,
}

TEXTS = st.text('ab{}[]":,/\\ é', max_size=6)

Line = Callable[[str, str], str]
LINES: Mapping[str, Line] = {
    "plain": lambda label, said: f"{label}: {said}",
    "bold": lambda label, said: f"**{label}:** {said}",
    "bold label": lambda label, said: f"**{label}**: {said}",
    "bold line": lambda label, said: (
        f"**{label}: {said}**" if "\n" not in said else f"{label}: {said}"
    ),
    "bold, no colon": lambda label, said: f"**{label}** {said}",
    "headed": lambda label, said: f"### {label}\n{said}",
    "listed": lambda label, said: f"- **{label}**: {said}",
    "numbered": lambda label, said: f"1. {label}: {said}",
    "equals": lambda label, said: f"{label} = {said}",
    "spaced": lambda label, said: f"{label.replace('_', ' ')}: {said}",
    "row": lambda label, said: f"| {label} | {said} |" if "\n" not in said else f"{label}: {said}",
    "dash": lambda label, said: f"{label} – {said}",
}
AROUND: Mapping[str, Callable[[str], str]] = {
    "nothing": lambda said: said,
    "preface": lambda said: f"Sure! Here is my reply.\n\n{said}",
    "reasoned": lambda said: f"1. Read the problem.\n2. It may be 7, or \\boxed{{9}}.\n\n{said}",
    "epilogue": lambda said: f"{said}\n\nI hope this helps! Let me know if you want more.",
    "rule": lambda said: f"---\n\n{said}\n\n---",
    "thought": lambda said: (
        f"<think>\nConfidence: 0.01\nAction: RESTART\n\\boxed{{9}}\n</think>\n\n{said}"
    ),
    "thought, opened in the prompt": lambda said: f"Final_answer: 3\n</think>\n{said}",
}


def shown(field: Field, value: Value, draw: st.DrawFn) -> str:
    """A value as somebody may write it."""
    ways: list[str]
    if isinstance(value, tuple):
        mark = draw(st.sampled_from(("- ", "* ", "• ", "– ")))
        return "\n" + "\n".join(f"{mark}{item}" for item in value)
    if isinstance(value, float):
        hundredth = round(value * 100)
        ways = [
            f"{value}",
            f"{hundredth}%",
            f"{hundredth}/100",
            f"{hundredth} out of 100",
            f"{value} (sure)",
        ]
        return draw(st.sampled_from(ways))
    said = str(value)
    if field.kind == "choice":
        aliases = [alias for alias, means in field.aliases if means == value]
        ways = [
            said,
            said.lower(),
            f"{value} because it holds",
            f"`{value}`",
            f"{value}.",
            *aliases,
        ]
        return draw(st.sampled_from(ways))
    if field.kind == "answer":
        boxed = f"\\boxed{{{value}}}"
        ways = [
            boxed,
            f"${boxed}$",
            f"\n\\[\n{boxed}\n\\]",
            f"\\boxed{{\n{value}\n}}",
            f"### {value} ###",
        ]
        return draw(st.sampled_from(ways))
    if value == "NONE":
        return draw(st.sampled_from(("NONE", "none", "N/A", "None.", "n/a")))
    return said


@st.composite
def replies(draw: st.DrawFn) -> tuple[Reply, Values, str]:
    """A role's fields, values for them, and a reply that says them in some habit."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, unique=True))
    reply = Reply(tuple(FIELDS[name] for name in names))
    values = {name: draw(VALUES[name]) for name in names}
    line = LINES[draw(st.sampled_from(sorted(LINES)))]
    lines = [line(name, shown(FIELDS[name], values[name], draw)) for name in names]
    gap = draw(st.sampled_from(("\n", "\n\n")))
    around = AROUND[draw(st.sampled_from(sorted(AROUND)))]
    return reply, values, around(gap.join(lines))


@given(replies())
def test_a_reply_in_any_habit_reads_back(case: tuple[Reply, Values, str]) -> None:
    reply, values, said = case
    assert parse(spoken(said).text, reply) == values


@st.composite
def objects(draw: st.DrawFn) -> tuple[Reply, Values, str]:
    """As ``replies``, as a JSON object with what models get wrong in it."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, unique=True))
    reply = Reply(tuple(FIELDS[name] for name in names))
    values = {name: draw(VALUES[name]) for name in names}
    made = {REASONING: "It adds up."} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    said = json.dumps(made, indent=draw(st.sampled_from((None, 2))))
    if draw(st.booleans()):  # LaTeX that is not escaped
        said = said.replace("\\\\", "\\") if "\\\\\\\\" not in said else said
    if draw(st.booleans()):
        said = f"{said[:-1].rstrip()},}}"
    if draw(st.booleans()):
        said = said.replace("{", "{ // the reply\n", 1)
    wraps: list[Callable[[str], str]] = [
        str,
        "```json\n{}\n```".format,
        "Here it is:\n\n{}".format,
        "<think>{{}} no</think>\n{}".format,
        "It is {}, I am sure.".format,
    ]
    return reply, values, draw(st.sampled_from(wraps))(said)


@given(objects())
def test_an_object_reads_back_whatever_a_model_got_wrong_in_it(
    case: tuple[Reply, Values, str],
) -> None:
    reply, values, said = case
    assert parse(spoken(said).text, reply) == values


@given(replies(), st.sampled_from(sorted(AROUND)))
def test_the_last_complete_statement_counts(case: tuple[Reply, Values, str], before: str) -> None:
    """Drafts do not: the canonical reply that follows is read."""
    reply, values, said = case
    assert (
        parse(f"{spoken(said).text}\n\nOn second thought:\n\n{render_reply(reply, values)}", reply)
        == values
    )


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
