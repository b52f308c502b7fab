"""CoT2-Meta's replies: what a score is, what is asked once more, and what prompts say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.extract import extract
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.perturb import rescore
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.roles import confidence, oracle
from handlers.roles.again import Meter
from handlers.roles.confidence import AGAIN, PROMPTS, read_confidence
from handlers.roles.judge import read_value
from handlers.roles.oracle import JUDGEMENT, read_scores
from handlers.roles.thinker import GENERATION
from schemas.events.reasoning import ReplyReparsed
from schemas.events.search import ConfidenceStated, NodePruned, SearchDecided
from schemas.questions import Complete
from tests.data import shared
from tests.papers.cot2_says import GOOD, PROBLEM, TASK, always, ran, scores, sure
from tests.scripted import run, shown

STEPS = ("six times five is thirty", "thirty less six is 24")
WELL = scores((0.9, 0.8, 0.1), (0.5, 0.4, 0))
BAD: list[tuple[str, str]] = [
    ("missing", "Step 1: Semantic=0.9, Logical=0.8\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("word", "Step 1: Semantic=high, Logical=0.8, Fix=0\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("above", "Step 1: Semantic=1.2, Logical=0.8, Fix=0\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("below", "Step 1: Semantic=-.1, Logical=0.8, Fix=0\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("nan", "Step 1: Semantic=NaN, Logical=0.8, Fix=0\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("extra step", WELL + "\nStep 3: Semantic=1, Logical=1, Fix=1"),
    ("missing step", "Step 1: Semantic=0.9, Logical=0.8, Fix=0.1"),
    ("double step", WELL + "\nStep 2: Semantic=1, Logical=1, Fix=1"),
    ("nothing", "The steps look fine to me."),
]


def heard(replies: list[str], spare: int = 1) -> tuple[oracle.Reading, str, int]:
    meter = Meter(spare=spare)
    done = run(oracle.score(PROBLEM, STEPS, meter), replies)
    return done.result.value, done.result.parse, meter.calls


@pytest.mark.claim("cot2-parse")
def test_scores_in_the_format_asked_are_read_at_once() -> None:
    reading, parse, calls = heard([WELL])
    assert reading.steps == (
        (Fraction("0.9"), Fraction("0.8"), Fraction("0.1")),
        (Fraction("0.5"), Fraction("0.4"), Fraction(0)),
    )
    assert (parse, calls) == ("first", 1)


@pytest.mark.claim("cot2-parse")
@pytest.mark.parametrize(("what", "text"), BAD)
def test_anything_else_is_asked_for_once_more(what: str, text: str) -> None:
    assert not read_scores(text, 1, 2).whole
    assert heard([text, WELL])[1:] == ("recovered", 2)
    reading, parse, calls = heard([text, text])
    assert (parse, calls) == ("defaulted", 2)
    assert any(None in step for step in reading.steps) or what == "extra step"
    assert heard([text], spare=0)[1:] == ("defaulted", 1)


@pytest.mark.claim("cot2-parse")
def test_values_out_of_range_are_never_clipped() -> None:
    for text in ("1.2", "-.1", "NaN", "inf", "1e-1", "0.9.1", "", "٠.٥"):
        assert oracle.bounded(text) is None
    assert [oracle.bounded(text) for text in ("0", "1", "1.0", ".5", "0.")] == [
        0,
        1,
        1,
        Fraction(1, 2),
        0,
    ]


@pytest.mark.claim("cot2-parse")
def test_a_field_that_stays_invalid_counts_zero_and_one_that_was_valid_stays() -> None:
    first = "Step 1: Semantic=0.9, Logical=word, Fix=0.1\nStep 2: Semantic=1, Logical=1, Fix=1"
    second = "Step 1: Semantic=1.4, Logical=worse, Fix=0.2\nStep 2: Semantic=1, Logical=1, Fix=1"
    reading, parse, _ = heard([first, second])
    assert reading.steps[0] == (Fraction("0.9"), None, Fraction("0.2"))
    assert parse == "defaulted"


@pytest.mark.claim("cot2-parse")
@given(st.text(max_size=200))
def test_whatever_a_model_writes_is_read(text: str) -> None:
    reading = read_scores(text, 1, 2)
    assert len(reading.steps) == 2
    for step in reading.steps:
        assert all(value is None or 0 <= value <= 1 for value in step)
    value = read_confidence(text)
    assert value is None or 0 <= value <= 1


CONFIDENCES: list[tuple[str, str | None]] = [
    ("Confidence=0.85", "0.85"),
    ("**Confidence:** 0.7", "0.7"),
    ("0.42", "0.42"),
    ("1.2, well, 0.9", None),
    ("Confidence: 0.2 at first. Then it checks out.\nConfidence: 0.9", "0.9"),
    ("My confidence: Step 1 checks out, but step 2 does not, so Confidence=0.15", "0.15"),
    ("We need 1/2 of it.", None),
    ("Step 1 is fine.", None),
    ("My confidence is 0.6.", "0.6"),
    ("Confidence: 17/20", "0.85"),
    ("Step 1 is fine. Confidence=0.3", "0.3"),
    ("85%", "0.85"),
    ("Confidence: =95%", "0.95"),
    ("-0.1", None),
    ("NaN", None),
    ("quite sure", None),
    ("", None),
]


@pytest.mark.claim("cot2-parse")
@pytest.mark.parametrize(("text", "value"), CONFIDENCES)
def test_confidence_is_what_stands_behind_its_last_label(text: str, value: str | None) -> None:
    assert read_confidence(text) == (None if value is None else Fraction(value))


@pytest.mark.claim("cot2-parse")
def test_confidence_is_asked_for_once_more_too() -> None:
    def ask(*replies: str) -> tuple[Fraction | None, str]:
        done = run(confidence.trust(PROBLEM, STEPS, Meter(spare=1)), replies)
        return done.result.value, done.result.parse

    assert ask("no idea", sure(0.5)) == (Fraction(1, 2), "recovered")
    assert ask("no idea", "none") == (None, "defaulted")
    done = run(confidence.trust(PROBLEM, STEPS, Meter(spare=1)), ["no idea", sure(0.5)])
    assert done.requests[1].history[-1] == ("user", AGAIN["A"])
    assert len(done.of(ReplyReparsed)) == 1


# ── Prompts ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("cot2-tab-22")
def test_the_oracle_prompt_has_slots_meanings_format_and_scores_a_line_each() -> None:
    [question] = run(oracle.score(PROBLEM, STEPS, Meter()), [WELL]).requests
    said = shown(question)
    assert PROBLEM in said
    assert all(step in said for step in STEPS)
    for meaning in (
        "fits the problem and the goal",
        "coherent and valid",
        "corrects a wrong claim",
    ):
        assert meaning in said
    names = ", ".join(f"Step {number + 1}" for number in range(len(STEPS)))
    assert [head for head, _ in question.variables] == ["problem", "trajectory", "steps_to_score"]
    assert dict(question.variables)["steps_to_score"] == names
    assert said.endswith("with a number behind each name."), "what a small model reads last it does"


@pytest.mark.claim("cot2-tab-23")
def test_the_reprompt_asks_for_the_exact_format_and_nothing_else() -> None:
    second = run(oracle.score(PROBLEM, STEPS, Meter(spare=1)), ["?", WELL]).requests[1]
    assert second.messages()[:2] == oracle.question(PROBLEM, STEPS, 1).messages()
    assert second.history[0] == ("assistant", "?")
    assert "Step i: Semantic=?, Logical=?, Fix=?" in second.history[1][1]
    assert "nothing else" in second.history[1][1]


@pytest.mark.claim("cot2-tab-06")
def test_generation_and_scoring_are_sampled_as_table_6_says() -> None:
    done = ran(always(trust=0.2, answer="24"), calls=16, abstain_threshold=0.8, primary_calls=6)
    for question in done.requests:
        wanted = JUDGEMENT if question.role in ("oracle", "confidence") else GENERATION
        assert question.sampling == wanted, question.role
    assert {"thinker", "oracle", "confidence", "fallback"} <= set(done.roles)
    assert (GENERATION.temperature, GENERATION.top_p, GENERATION.max_tokens) == (0.4, 0.95, 2048)
    assert (JUDGEMENT.temperature, JUDGEMENT.max_tokens) == (0.0, 512)


@pytest.mark.claim("cot2-wordings")
def test_three_wordings_rescore_stored_trajectories_and_generate_nothing() -> None:
    stored = {"2.0.0": STEPS, "2.1.0": STEPS[:1]}

    def values() -> Iterator[str]:
        yield from (sure(0.9), "0.8", "0.7") * 2

    done = run(rescore(PROBLEM, stored, ("A", "B", "C")), {"confidence": values()})
    assert done.result == {at: {"A": 0.9, "B": 0.8, "C": 0.7} for at in stored}
    assert set(done.roles) == {"confidence"}
    assert [fact.wording for fact in done.of(ConfidenceStated)] == ["A", "B", "C"] * 2
    assert len({PROMPTS[wording] for wording in PROMPTS}) == 3
    assert "single number" in PROMPTS["C"]


@pytest.mark.parametrize("mute", ["oracle", "confidence"])
def test_a_search_does_not_stop_on_a_score_that_nobody_could_read(mute: str) -> None:
    """In a service what is left would be v alone; in ``paper`` it counts as 0 and cannot stop it either."""
    model = always(step=GOOD, trust=1.0, answer="24")

    def reply(question: Complete) -> str:
        return "Hard to say." if question.role == mute else str(model(question))

    for profile in ("service", "paper"):
        done = run(solve(TASK, Cot2Settings.resolve(profile, {"primary_calls": 12})), reply)
        assert done.of(SearchDecided)[-1].action == "return"
        assert done.result.answer == "24"
    assert run(solve(TASK, Cot2Settings.resolve("service", {})), model).result.ended_by == "stopped"


def test_nothing_is_pruned_or_withheld_on_what_nobody_could_read() -> None:
    model = always(answer="24")

    def reply(question: Complete) -> str:
        return "?" if question.role in ("oracle", "confidence") else str(model(question))

    strict = {"abstain_threshold": 0.8, "fallback_samples": 0, "primary_calls": 9}
    done = run(solve(TASK, Cot2Settings.resolve("service", strict)), reply)
    assert (done.of(NodePruned), done.result.answer, done.result.confidence) == ([], "24", None)
    paper = run(solve(TASK, Cot2Settings.resolve("paper", strict)), reply)
    assert paper.of(NodePruned)
    assert paper.result.answer is None


@pytest.mark.slow
def test_every_reader_takes_the_recorded_texts_of_a_real_model() -> None:
    [file] = sorted((shared() / "game24" / "logs").glob("*naive_cot_sample*.json"))
    texts = [text for entry in json.loads(file.read_text(encoding="utf-8")) for text in entry["ys"]]
    for text in texts[::10]:
        assert len(read_scores(text, 1, 3).steps) == 3
        assert read_value(text) is None or 0 <= (read_value(text) or 0) <= 1
        assert read_confidence(text) is None or 0 <= (read_confidence(text) or 0) <= 1
        assert extract(text) is None or extract(text) in text
