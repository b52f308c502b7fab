"""What scores, trust, values and ratings are read as, and what rewards follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.roles.confidence import read_confidence
from handlers.roles.form import Unreadable
from handlers.roles.judge import read_value
from handlers.roles.oracle import NAMES, Reading, bounded, merged, question, read_scores
from handlers.roles.progress_judge import (
    JUDGES,
    Form,
    Reward,
    Weights,
    differing,
    reward_of,
)

# ── Scores of steps ──────────────────────────────────────────────────────────────────────────

FIRST, SECOND = ("0.5", "0.4", "0"), ("1", "0.9", "0")
NONE = (None, None, None)


def line(step: int, scores: Sequence[str | None]) -> str:
    semantic, logical, fix = scores
    return f"Step {step}: Semantic={semantic}, Logical={logical}, Fix={fix}"


BOTH = f"{line(1, FIRST)}\n{line(2, SECOND)}"
BELOW = """\
Step 1:
Semantic: 0.5
Logical: 0.4
Fix: 0
Step 2
- Semantic: 1.
- Logical: **90%**
- Fix: n/a"""
TABLE = """\
| Step | Semantic | Logical | Fix |
|---|---|---|---|
| 1 | 0.5 | 0.4 | 0 |
| Step 2 | **1** | 0.9 | 0 |"""
KEYED = '{"Scores": {"Step 1": {"Semantic": 0.5, "Logical": 0.4, "Fix": 0}, "2": [1, 0.9, 0]}}'
DECORATED = """\
✅ **Step 1**: Semantic: 0,5; Logical: 4/10; Fix: 0
⚠️ Steps 2： Semantic：1，Logical：90 %，Fix：0."""
NUMBERED = """\
Scores
1. Semantic=0.5, Logical=0.4, Fix=0
2. **Semantic** 1.0, **Logical** 0.9, **Fix** 0"""
BARE = "Scores\nStep 1: 0.5, 0.4, 0\nStep 2: 1 / **0.9** / 0"
SCALED = """\
| Step | Semantic (0–1) | Logical (0–1) | Fix (0–1) |
|---|---|---|---|
| 1 | 0.5 | 0.4 | 0 |
| 2 | 1 | 0.9 | 0 |"""
PYTHON = (
    "{'Scores': {'Step 1': {'Semantic': 0.5, 'Logical': 0.4, 'Fix': 0}, 'Step 2': [1, 0.9, 0]}}"
)
UNNAMED = "Semantic: 0.5, Logical: 0.4, Fix: 0\n\nSemantic: 1.0, Logical: 90%, Fix: none"
ALIKE = "Semantic: 0.5, Logical: 0.4, Fix: 0"
BARE_LIST = """[
  {"step": 1, "semantic": 0.5, "logical": 0.4, "fix": 0},
  {"step": 2, "semantic": 1, "logical": 0.9, "fix": 0}
]"""
LISTED = '{"why": "well", "Scores": [[0.5, 0.4, 0], [1, 0.9, 0]]}'


@pytest.mark.parametrize(
    ("reply", "reasons"),
    [
        (f"All is well.\nScores:\n{BOTH}", "All is well."),
        (f"Step 1 is sound.\nScores: {line(1, FIRST)}\n- {line(2, SECOND)}", "Step 1 is sound."),
        (f"{BOTH}\n{line(1, FIRST)}", ""),
        (BELOW, ""),
        (TABLE, ""),
        (KEYED, ""),
        (DECORATED, ""),
        (NUMBERED, ""),
        (BARE, ""),
        (SCALED, ""),
        (PYTHON, ""),
        (UNNAMED, ""),
        (f"Both are sound.\nScores:\n{UNNAMED}", "Both are sound."),
        (f"```json\n{BARE_LIST}\n```", ""),
        (LISTED, "well"),
    ],
)
def test_two_steps_are_scored_in_many_ways(reply: str, reasons: str) -> None:
    expected = tuple(
        tuple(Fraction(score) for score in each)  # exact: thresholds are met or not
        for each in (FIRST, SECOND)
    )
    found = read_scores(reply, 1, 2)
    assert (found.steps, found.whole, found.reasons) == (expected, True, reasons)


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3), min_size=2, max_size=9), st.integers(1, 5))
def test_lines_that_name_no_step_are_of_the_steps_in_their_order(
    scores: list[tuple[int, int, int]], first: int
) -> None:
    """More than half of a small model's unread scores were as many lines as steps, and named none."""
    wanted = tuple(tuple(Fraction(each, 20) for each in step) for step in scores)
    lines = [
        ", ".join(f"{name}: {each / 20}" for name, each in zip(NAMES, step, strict=True))
        for step in scores
    ]
    last = first + len(scores) - 1
    found = read_scores("\n\n".join(lines), first, last)
    assert (found.steps, found.whole) == (wanted, True)
    assert not read_scores("\n".join(lines), first, last + 1).whole
    if len(lines) > 2:
        alike = len(set(lines)) == 1
        assert read_scores("\n".join(lines), first, last - 1).whole is alike


def read(reply: str, first: int, last: int) -> tuple[list[tuple[str | None, ...]], bool]:
    found = read_scores(reply, first, last)
    told = [
        tuple(None if score is None else f"{float(score):g}" for score in each)
        for each in found.steps
    ]
    return told, found.whole


@pytest.mark.parametrize(
    ("reply", "first", "last", "steps", "whole"),
    [
        (BOTH, 2, 2, [SECOND], True),
        (LISTED, 2, 3, [FIRST, SECOND], True),
        (BOTH, 1, 1, [FIRST], False),
        (BOTH, 1, 3, [FIRST, SECOND, NONE], False),
        (f"{BOTH}\n{line(1, SECOND)}", 1, 2, [NONE, SECOND], False),
        (line(1, ("1.5", "?", "none")), 1, 1, [(None, None, "0")], False),
        ("Semantic: 0.5\nLogical: 0.4\nFix: 0", 1, 1, [FIRST], True),
        ("Semantic: 0.5\nLogical: 0.4\nFix: 0", 1, 2, [NONE, NONE], False),
        (f"{line(1, FIRST)} (Semantic=1)", 1, 1, [(None, "0.4", "0")], False),
        ('{"Step 1": [0.5, 0.4]}', 1, 1, [NONE], False),
        (UNNAMED, 2, 3, [FIRST, SECOND], True),
        (UNNAMED, 1, 3, [NONE, NONE, NONE], False),
        (UNNAMED, 1, 1, [NONE], False),
        (f"{UNNAMED}\n{UNNAMED}", 1, 2, [NONE, NONE], False),
        (f"{ALIKE}\n{ALIKE}\n{ALIKE}", 1, 2, [FIRST, FIRST], True),
        (ALIKE, 1, 2, [NONE, NONE], False),
        (f"Semantic: 0.5, Logical: 0.4, Fix: 0\n{line(2, SECOND)}", 1, 2, [FIRST, SECOND], True),
        ("Fine.", 1, 1, [NONE], False),
        ("1. Semantic: 0.9\n2. Logical: 0.4\n3. Fix: 0", 1, 2, [NONE, NONE], False),
        ("1. Semantic=1, Logical=0.9, Fix=0", 2, 2, [NONE], False),
        ("Step 1: 0.5, 0.4", 1, 1, [NONE], False),
        ("Step 1: Semantic=7/5, Logical=9/10, Fix=0/1", 1, 1, [(None, "0.9", "0")], False),
        (f"Step 9 is not there yet.\n{line(1, FIRST)}", 1, 1, [FIRST], True),
        (f"{line(1, FIRST)}\nStep 2 is better: all is well.", 1, 1, [FIRST], True),
    ],
)
def test_what_is_missing_doubled_or_out_of_range_is_unknown(
    reply: str, first: int, last: int, steps: list[tuple[str | None, ...]], whole: bool
) -> None:
    assert read(reply, first, last) == (steps, whole)


def test_a_second_reading_fills_in_what_it_has_and_keeps_the_first_one_s_reasons() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    was = Reading(((half, None, half), (None, None, None)), False, "why")
    now = Reading(((None, one, one), (None, half, None)), True, "because")
    both = merged(was, now)
    assert both.steps == ((half, one, one), (None, half, None))
    assert (both.whole, both.reasons) == (True, "why")


def test_the_oracle_is_asked_for_the_steps_from_the_first_one_on() -> None:
    asked = dict(question("p", ("a", "b", "c"), 2).variables)
    assert asked["steps_to_score"] == "Step 2, Step 3"
    assert asked["trajectory"] == "[Step 1]\na\n\n[Step 2]\nb\n\n[Step 3]\nc"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("1", 1), ("1.", 1), ("+1", 1), (".5", Fraction(1, 2)), ("0.50", Fraction(1, 2)),
        ("95%", Fraction(19, 20)), ("100%", 1), ("101%", None), ("1.01", None), ("-0.1", None),
        ("1e-1", None), ("", None), ("%", None), ("0.5 ", None),
    ],
)  # fmt: skip
def test_a_plain_number_within_bounds(text: str, value: Fraction | None) -> None:
    assert bounded(text) == value


# ── One number ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "trust"),
    [
        ("Confidence: 0.8", "4/5"),
        ("Confidence=80%", "4/5"),
        ("Confidence: 17/20", "17/20"),
        ("Trust: 0.7", "7/10"),
        ("0.6", "3/5"),
        ("I think so.\nMy confidence level is 0.9", "9/10"),
        ("my confidence in this answer: 0.55, for step 2 has 0.1", "11/20"),
        ("I trust the result with 0.4", "2/5"),
        ("A confidence of 0.3 first; in the end my confidence is 0.2", "1/5"),
        ("In the end my confidence is 0.2, though the confidence of others is high", "1/5"),
        ("I would put my confidence at 0.8.", "4/5"),
        ("Confidence in [0, 1]: 0.8", "4/5"),
        ("\\(\\boxed{0.8}\\)", "4/5"),
        ("{'confidence': 0.8}", "4/5"),
        ("Half of it: \\boxed{0.5}", None),
        ("The trust is 0.5", None),
        ("Confidence: high", None),
        ("Confidence: 1.2", None),
        (f"my confidence is {'x' * 80} 0.5", None),
        ("my confidence is\n0.5", None),
        ("Step 2 comes to 0.5.", None),
    ],
)
def test_how_far_a_trajectory_is_trusted(reply: str, trust: str | None) -> None:
    assert read_confidence(reply) == (None if trust is None else Fraction(trust))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("So far so good.\nValue: 0.8", "4/5"),
        ("Value: 0.1\nValue: 90%", "9/10"),
        ("0.4", "2/5"),
        ("Value: 2", None),
        ("It looks well.", None),
    ],
)
def test_what_a_partial_solution_is_worth(reply: str, value: str | None) -> None:
    assert read_value(reply) == (None if value is None else Fraction(value))


# ── Ratings and rewards ──────────────────────────────────────────────────────────────────────

RATED = {"C_c": 0.8, "C_a": 0.6}
FOUR = {"Completion": 1.0, "Quality": 0.5, "Efficiency": 0.2, "Alignment": 0.0}


@pytest.mark.parametrize(
    ("form", "reply", "ratings"),
    [
        (
            "A",
            "Brief_rationale: so\nC_c: 0.8\nC_a: 0.6\nS_p: 0.7",
            {"Brief_rationale": "so", **RATED, "S_p": 0.7},
        ),
        ("A", '{"C_c": 0.8, "C_a": 0.6, "brief_rat', RATED),
        ("A", "first C_c = 0.5 and C_a = 0.6; then C_c: 0.8 | done", RATED),
        ("A", '{"C_c": 0.8, "brief_rat', Unreadable("C_c", "missing")),
        ("A", "$C_c$: 0.8\nAdherence (C_a): 0.6", RATED),
        ("A", "C_c: 1.8\nC_a: 0.5", Unreadable("C_c", "must be a number in [0, 1]")),
        ("B", "Completion: 1\nQuality: 0.5\nEfficiency: 0.2\nAlignment: 0", FOUR),
        ("scalar", "Value: 0.4", {"Value": 0.4}),
    ],
)
def test_a_judge_s_ratings(form: Form, reply: str, ratings: object) -> None:
    assert JUDGES[form].read(reply) == ratings


def test_the_reward_of_ratings() -> None:
    weights = Weights(0.7, 0.3, 0.2, 0.9)
    assert reward_of("A", RATED, 3, weights) == Reward(0.74, -0.6, 0.606)
    assert reward_of("A", {"C_c": 0.0, "C_a": 0.0}, 9, Weights()).reward == -0.18
    assert reward_of("A", {"C_c": 0.0, "C_a": 0.0}, 9, Weights(clip=True)) == Reward(0.0, -0.9, 0.0)
    assert reward_of("A", {"C_c": 1.0, "C_a": 1.0}, 0, Weights(1.5, clip=True)).reward == 1.0
    assert reward_of("B", FOUR, 3, weights) == Reward(0.58, 0.0, 0.58)
    assert reward_of("scalar", {"Value": 0.4}, 3, weights) == Reward(0.4, 0.0, 0.4)
    assert weights.shown() == "w1 = 0.7, w2 = 0.3, alpha = 0.2, beta = 0.9"


def test_what_a_judge_reckoned_otherwise_is_named() -> None:
    made = Reward(0.5, -0.1, 0.4)
    assert differing({"S_p": 0.5, "R_u": -0.1, "R": 0.4}, made) == ()
    assert differing({"S_p": 0.5000009, "R": 0.4000011}, made) == ("R",)
    assert differing({"S_p": 0.6, "R_u": 0.1, "R": 0.3}, made) == ("S_p", "R_u", "R")


# ── Scores of one thought ────────────────────────────────────────────────────────────────────

SCORED = "Semantic=0.5, Logical=0.5, Fix=0.0"
HALF = (Fraction(1, 2), Fraction(1, 2), Fraction(0))


def test_lines_of_one_thought_that_are_scored_alike_score_it() -> None:
    """Asked of one thought the small model scored each line that the thought numbers, mostly with the same figures."""
    lines = [f"- Step {number}: {SCORED}" for number in range(1, 5)]
    alike = "Each is right.\n\n### Scores:\n" + "\n".join(lines)
    assert read_scores(alike, 1, 1) == Reading((HALF,), True)
    assert read_scores(alike, 2, 2) == Reading((HALF,), True), "lines before it agree as well"
    assert not read_scores(alike, 5, 5).whole, "of the step that is asked for nothing is said"
    assert not read_scores(alike, 1, 2).whole, "nobody knows which lines belong to which of two"
    for other in ("Semantic=0.6", "Semantic=high", "Semantic=1.5"):
        differing = alike.replace("Step 3: Semantic=0.5", f"Step 3: {other}")
        assert not read_scores(differing, 1, 1).whole, other
    assert read_scores(
        alike.replace("Step 4: Semantic=0.5", "Step 1: Semantic=0.6"), 1, 1
    ).steps == ((None, None, None),)


def test_a_reason_behind_a_name_is_no_second_score_and_none_is_nothing_to_correct() -> None:
    once = "Semantic: 0.5, Logical: 0.5, Fix: 0.00"
    for below in ("Fix: None.", "Fix: The step is incomplete.", "Fix: n/a"):
        assert read_scores(f"{once}\n\n{below}", 1, 1) == Reading((HALF,), True), below
    for below in ("Fix: 0.5", "Fix: 0.50", "Logical: None"):
        assert not read_scores(f"{once}\n\n{below}", 1, 1).whole, below


def test_scores_before_those_of_the_second_step_are_the_first_ones() -> None:
    """96 of 230 replies that were not read at once began so: the first heading is missing, and no other."""
    one = "Semantic: 0.5, Logical: 0.8, Fix: 0.7"
    said = f"{one}\n\nStep 2\n\nSemantic: 0.6, Logical: 0.9, Fix: 0.5"
    found = read_scores(said, 1, 2)
    assert found.whole
    assert [tuple(map(str, scores)) for scores in found.steps] == [
        ("1/2", "4/5", "7/10"),
        ("3/5", "9/10", "1/2"),
    ]
    for other in (
        said.replace("Step 2", "Step 3"),  # of which of two steps is the first line?
        said.replace(one, f"{one}\n\nStep 1\n\nSemantic: 0.1, Logical: 0.1, Fix: 0"),
    ):
        reading = read_scores(other, 1, 3 if "Step 3" in other else 2)
        assert not reading.whole or reading.steps[0] != found.steps[0], other
    assert not read_scores(said, 3, 4).whole
