"""Two answers of like and unlike kinds: what makes them right, what makes one wrong, and what nobody can tell."""

from __future__ import annotations

import pytest

from handlers.answers.equal import MATCHED, compare, equal, key_of
from handlers.answers.value import Value, read
from schemas.outcome import Outcome


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("5 m", "5", "right"),
        ("5 m", "6", "wrong"), ("90", "1.5 h", "unknown"), ("7", "1.5 h", "wrong"),
        ("5 m", "500", "unknown"),
        ("5 m", "0.005", "unknown"),
        ("1 mile", "1.609 km", "unknown"),
        ("1 mile", "1.6 km", "unknown"),
        ("1 mile", "1.5 km", "wrong"),
        ("5 m", "5%", "unknown"),
        ("5 m", "500 cm", "right"),
        ("5 km", "5.04 km", "wrong"),
        ("50%", "50%", "right"),
        ("50%", "51%", "wrong"),
        ("50%", "5000", "wrong"),
        ("5000%", "50", "right"),
        ("odd", "even", "wrong"),
        ("odd", "left", "unknown"),
        ("a", "b", "wrong"),
        ("a", "a", "right"),
        ("e", "b", "unknown"),
        ("i", "x", "unknown"),
        ("ab", "ac", "unknown"),
        ("red", "blue", "wrong"),
        ("nothing", "0", "unknown"),
        ("none", "0.0", "unknown"),
        ("none", "5", "wrong"),
        ("unchanged", "0%", "unknown"),
        ("never", "1", "wrong"),
        ("half", "1/2", "unknown"),
        ("sixteen", "16", "right"),
        ("pi", "3", "unknown"),
        ("banana", "3", "wrong"),
        ("cat", "3", "unknown"),
        ("cats", "3", "wrong"),
        ("true", "3", "wrong"),
        ("true", "1", "wrong"),
        ("3:30 pm", "4:30 pm", "wrong"),
        ("3:30 pm", "15", "unknown"),
        ("5", "{5}", "right"),
        ("5", "(5,6)", "wrong"),
        ("5", "(x,6)", "unknown"),
        ("5", "5,6", "wrong"),
        ("x", "5,6", "unknown"),
        ("{5}", "5", "right"),
        ("{6}", "5", "wrong"),
        ("(1,2)", "1,2", "right"),
        ("(2,1)", "1,2", "unknown"),
        ("{1,2}", "1,2", "right"),
        ("{2,1}", "1,2", "right"),
        ("[1,2]", "(1,2]", "wrong"),
        ("(1,\\infty)", "[1,\\infty)", "wrong"),
        ("(1,2,3)", "(1,2)", "wrong"),
        ("(1,x)", "(1,y)", "wrong"),
        ("(1,x)", "(2,y)", "wrong"),
        ("{1,1,2}", "{1,2}", "right"),
        ("1,1,2", "1,2", "wrong"),
        ("x,2", "2,x", "right"),
        ("x,2", "2,y", "unknown"),
        ("x+1,2", "2,1+x", "unknown"),
        ("1,2", "3,4", "wrong"),
        ("\\begin{matrix}1\\end{matrix}", "1,2", "unknown"),
        ("\\begin{matrix}1&2\\end{matrix}", "(1,2)", "unknown"),
        ("(1,2)\\cup(3,4)", "(3,4)\\cup(1,2)", "right"),
        ("(1,2)\\cup(3,4)", "(1,2)\\cup(3,5)", "unknown"),
        ("(1,2)\\cup(3,4)", "1,2", "unknown"),
        ("paris,rome", "rome,paris", "right"),
        ("paris,rome", "paris,lyon", "unknown"),
        ("0.5", "1/2", "right"),
        ("1/2 h", "30 min", "right"),
        ("x", "x", "right"),
        ("", "", "unknown"),
        ("", "x", "unknown"),
    ],
)  # fmt: skip
def test_pairs(answer: str, reference: str, outcome: Outcome) -> None:
    assert equal(answer, reference) == outcome
    assert equal(reference, answer) == outcome


def test_whoever_knows_algebra_is_asked_about_formulas_alone() -> None:
    asked: list[tuple[str, str]] = []

    def decide(one: Value, other: Value) -> Outcome:
        asked.append((one.text, other.text))
        return "right" if {one.text, other.text} == {"x+1", "1+x"} else "wrong"

    def compared(one: str, other: str) -> Outcome:
        return compare(read(one), read(other), decide)

    assert compared("x+1", "1+x") == "right"
    assert compared("x+1", "x+2") == "wrong"
    assert compared("(x+1,2)", "(1+x,2)") == "right"
    assert compared("x+1,2", "2,1+x") == "right"
    assert compared("x+1,2", "2,x+3") == "unknown", "no partner is no proof"
    begun = len(asked)
    for one, other in (("x+1", "x+1"), ("5", "6"), ("cat", "dog"), ("cat", "6 banana")):
        compared(one, other)
    assert len(asked) <= begun + 1


def test_members_are_matched_in_any_order_up_to_so_many() -> None:
    some = ",".join(f"x+{at}" for at in range(MATCHED))
    turned = ",".join(f"x+{at}" for at in reversed(range(MATCHED)))
    never: list[Outcome] = []

    def decide(one: Value, other: Value) -> Outcome:
        never.append("unknown")
        return "right" if one.text[2:].strip("+") == other.text[:-2].strip("+") else "unknown"

    spelt = ",".join(f"{at}+x" for at in range(MATCHED))
    assert compare(read(some), read(turned), decide) == "right"
    assert not never, "members that are spelled alike need nobody"
    assert compare(read(some), read(spelt), decide) == "right"
    asked = len(never)
    assert asked > 0
    more = compare(read(f"{some},y+1"), read(f"{spelt},1+y"), decide)
    assert (more, len(never)) == ("unknown", asked)
    assert compare(read("x+1,x+1,x+2"), read("1+x,2+x,2+x"), decide) == "unknown", (
        "one partner each"
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("0.50", "number:1/2"), ("50%", "percent:50"), ("Paris", "paris"), ("x+1", "x+1"),
        ("90 min", "(('time', 1),):5400"), ("(2,1)", "group():number:2|number:1"),
        ("{2,1,1}", "group{}:number:1|number:2"), ("2,1,1", "list:number:1|number:1|number:2"),
        (r"\begin{matrix}2&1\end{matrix}", "matrix:group[]:number:2|number:1"),
    ],
)  # fmt: skip
def test_what_values_that_say_the_same_have_in_common(text: str, key: str) -> None:
    assert key_of(read(text)) == key
