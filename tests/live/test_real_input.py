"""Real problems and real texts through the whole pipeline."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.data import shared
from tests.live.thinking import IDLE, QUICK, reading
from tests.streams.cli.calling import call
from tests.surroundings import Serve


def grades(log: Path) -> dict[str, str]:
    """Each episode's outcome."""
    query = "select episode, json_extract(body, '$.outcome') from records where kind = 'graded'"
    return dict(reading(log, lambda it: it.db.execute(query).fetchall()))


@pytest.mark.parametrize(
    ("policy", "more"),
    [("cot", ()), ("mc2", ("--set", "max_rounds=1")), ("self_consistency", ("--set", "samples=3"))],
)
def test_a_hundred_gsm8k_problems_are_answered_and_graded(
    folder: Path, policy: str, more: tuple[str, ...]
) -> None:
    log, data = folder / "a.db", shared() / "gsm8k" / "test_dev.jsonl"
    words = ("produce", "gsm8k:1-100", "--data", data, "--policy", policy, *more)
    done = call(*words, "--log", log)
    assert (done.code, done.lines) == (0, ["produced 100 known 0 refused 0"])
    assert call("worker", "--log", log, "--backbone", "rehearsal:seed=7", *IDLE).code == 0
    answers = call("consume", "--json", "--log", log).rows
    assert len({answer["problem_id"] for answer in answers}) == len(answers) == 100
    assert {answer["domain"] for answer in answers} == {"gsm8k"}
    assert Counter(answer["status"] for answer in answers).keys() <= {"answered", "abstained"}
    outcomes = grades(log)
    assert outcomes.keys() == {answer["episode"] for answer in answers}
    assert set(outcomes.values()) <= {"right", "wrong", "withheld"}
    assert sum(outcome != "withheld" for outcome in outcomes.values()) > 80
    assert call("verify", "--log", log).code == 0
    assert call(*words, "--log", log).lines == ["produced 0 known 100 refused 0"]


def test_no_reference_answer_is_ever_in_a_prompt(serve: Serve, folder: Path) -> None:
    """A label goes to feedback; the endpoint sees the question only."""
    lines = [
        {"id": f"q{at}", "problem": f"Name number {at}.", "answer": f"SECRET-{at}"}
        for at in range(12)
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    endpoint = serve()
    words = ("produce", "in.jsonl", "--policy", "mc2", "--set", "batch_size=4")
    assert call(*words, "--set", "outcome_tag=on", "--log", folder / "a.db").code == 0
    assert call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE).code == 0
    assert len(endpoint.asked) > 12
    assert "SECRET" not in json.dumps([asked.body for asked in endpoint.asked])
    assert len(grades(folder / "a.db")) == 12


def test_recorded_gpt4_texts_through_the_pipeline(folder: Path) -> None:
    """Five samples a puzzle, as they were drawn; no text is invented and none is asked for twice."""
    log, data = folder / "a.db", shared() / "game24"
    words = ("produce", "game24:901-912", "--data", data / "24.csv", "--policy", "self_consistency")
    assert call(*words, "--log", log).lines == ["produced 12 known 0 refused 0"]
    done = call("worker", "--log", log, "--backbone", f"recorded:{data}", *IDLE)
    assert done.code == 0, done.err
    answers = call("consume", "--json", "--log", log).rows
    assert len(answers) == 12
    assert {answer["usage"]["calls"] for answer in answers} == {5}
    assert {answer["usage"]["completion_tokens"] for answer in answers} == {None}, (
        "unknown is not zero"
    )
    (source,) = (data / "logs").glob("*naive_cot_sample*.json")
    said = {text for puzzle in json.loads(source.read_text())[:12] for text in puzzle["ys"][:5]}
    query = "select json_extract(body, '$.text') from records where kind = 'completed'"
    assert {text for (text,) in reading(log, lambda it: it.db.execute(query).fetchall())} == said
    assert set(grades(log).values()) <= {"right", "wrong", "withheld"}
    assert call("verify", "--log", log).lines[-1].endswith("0 model calls")


def test_a_recording_that_lacks_a_reply_fails_closed(folder: Path) -> None:
    """No problem is closed for it; with the reply recorded the same command goes on."""
    log = folder / "a.db"
    (folder / "in.jsonl").write_text(
        '{"id":"a","problem":"Add 2 and 2"}\n{"id":"b","problem":"Add 3"}\n'
    )
    assert call("produce", "in.jsonl", "--policy", "cot", "--log", log).code == 0
    first, second = ({"problem": text, "text": "\\boxed{4}"} for text in ("Add 2 and 2", "Add 3"))
    recording = folder / "said.jsonl"
    recording.write_text(json.dumps(first))
    words = ("worker", "--log", log, "--backbone", f"recorded:{recording}", *IDLE)
    done = call(*words)
    assert done.code == 5
    assert "[model.not_recorded, exit 5]" in done.err
    assert len(call("consume", "--log", log).lines) == 1
    recording.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    assert call(*words).code == 0
    assert len(call("consume", "--log", log).lines) == 2
