"""The simulator as a backbone: pure, digs its fields out of the prompt, errs at the rates set."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from handlers.answers.game24 import check, puzzles
from schemas.identity import text_digest
from schemas.prompt import Template
from schemas.questions import Sampling
from schemas.reply import Field, Reply
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelRequest
from tests.streams.backbones.prompting import AUDIT, FAULTLESS, SOLVE, boxed, fields, reply, request

PUZZLES = [" ".join(map(str, puzzle)) for puzzle in puzzles()[::4]]

SHOW = """
from handlers.answers.game24 import puzzles
from schemas.identity import digest
from tests.streams.backbones.prompting import AUDIT, SOLVE, reply, request
texts = []
for numbers in puzzles()[::40]:
    problem = " ".join(map(str, numbers))
    note = "With any problem, start from the target."
    attempt = reply(request(SOLVE, problem=problem, guidance=note)).text
    texts += [attempt, reply(request(AUDIT, problem=problem, trajectory=attempt)).text]
found = digest(texts)
"""


def test_a_reply_is_a_function_of_the_call() -> None:
    asked = request(SOLVE, problem="4 5 6 10")
    assert reply(asked) == reply(asked)
    for other in (
        structs.replace(asked, draw=1),
        structs.replace(asked, seed=1),
        structs.replace(asked, sampling=Sampling(temperature=0.7)),
        structs.replace(asked, messages=(*asked.messages, ("user", "Again."))),
    ):
        assert _differ(asked, other)
    eight = replace(FAULTLESS, seed=8)
    each = [request(SOLVE, problem=problem) for problem in PUZZLES[:20]]
    assert [reply(one) for one in each] != [reply(one, eight) for one in each]


def _differ(asked: ModelRequest, other: ModelRequest) -> bool:
    """Whether two calls get different replies on some problem."""

    def on(problem: str, each: ModelRequest) -> ModelRequest:
        head, (speaker, text), *tail = each.messages
        swapped = (speaker, text.replace("4 5 6 10", problem))
        return structs.replace(each, messages=(head, swapped, *tail))

    return any(reply(on(p, asked)).text != reply(on(p, other)).text for p in PUZZLES[:40])


def test_at_temperature_zero_neither_draw_nor_seed_matter() -> None:
    cold = Sampling(temperature=0)
    for problem in PUZZLES[:20]:
        asked = structs.replace(request(SOLVE, problem=problem), sampling=cold)
        assert reply(asked) == reply(structs.replace(asked, draw=3, seed=5))


@pytest.mark.parametrize("seed", ["0", "1", "99"])
def test_every_process_replies_the_same(seed: str) -> None:
    root = str(Path(__file__).resolve().parents[3])
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root}
    said = subprocess.run(
        [sys.executable, "-c", f"{SHOW}print(found)"],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    here: dict[str, object] = {}
    exec(SHOW, here)
    assert said.stdout.strip() == here["found"]


def test_a_field_that_the_prompt_forgets_is_not_replied() -> None:
    solved = reply(request(SOLVE, problem="4 5 6 10")).text
    whole = reply(request(AUDIT, problem="4 5 6 10", trajectory=solved)).text
    assert {"Error_found", "Error_step", "Confidence"} <= fields(whole).keys()
    short = Template("short", AUDIT.instructions, AUDIT.sections, Reply(AUDIT.reply.fields[:1]))
    less = reply(request(short, problem="4 5 6 10", trajectory=solved)).text
    assert "Error_found" in fields(less)
    assert not {"Error_step", "Confidence"} & fields(less).keys()


def test_a_field_for_one_choice_is_left_out_for_others() -> None:
    about = "1 accept: nothing is wrong, 2 patch: minor faults, 3 restart: major faults"
    fields_ = (
        Field("Action", "choice", about, ("1", "2", "3")),
        Field("Suggestions", "text", "one sentence of advice", when=("Action", ("3",))),
        Field("Final_answer", "answer", "the answer", when=("Action", ("1", "2"))),
    )
    template = Template("route", "Decide.", AUDIT.sections, Reply(fields_))
    seen: set[str] = set()
    for problem in PUZZLES[:150]:
        solved = reply(request(SOLVE, problem=problem)).text
        said = fields(reply(request(template, problem=problem, trajectory=solved)).text)
        seen.add(said["Action"])
        assert ("Suggestions" in said) == (said["Action"] == "3")
        assert ("Final_answer" in said) == (said["Action"] != "3")
        if said["Action"] == "1":
            assert said["Final_answer"] == f"\\boxed{{{boxed(solved)}}}"
    assert seen == {"1", "2", "3"}


def test_right_answers_are_exactly_right_and_wrong_ones_use_the_numbers() -> None:
    outcomes = [check(p, boxed(reply(request(SOLVE, problem=p)).text)) for p in PUZZLES]
    right = sum(outcome == "right" for outcome, _ in outcomes)
    assert 0.2 < right / len(PUZZLES) < 0.42
    assert all(why.startswith("makes") for _, why in outcomes)


def test_troubles_come_at_the_rates_set() -> None:
    options = Options(malformed=0.2, truncated=0.1, empty=0.05)
    asked = [structs.replace(request(SOLVE, problem=p), seed=s) for p in PUZZLES for s in range(18)]
    replies = [reply(each, options) for each in asked]
    count = len(replies)
    empty = sum(not said.text and said.finish == "stop" for said in replies)
    cut = sum(said.finish == "length" for said in replies)
    broken = sum("\\boxed" not in said.text for said in replies) - empty
    assert empty / count == pytest.approx(0.05, abs=0.02)
    assert cut / count == pytest.approx(0.1, abs=0.03)
    assert 0.2 < broken / count < 0.3


def test_caps_and_stops_are_kept() -> None:
    asked = request(SOLVE, problem="4 5 6 10")
    whole = reply(asked)
    capped = reply(structs.replace(asked, sampling=Sampling(max_tokens=5)))
    assert (capped.finish, capped.completion_tokens) == ("length", 5)
    stopped = reply(structs.replace(asked, sampling=Sampling(stop=("Step 2",))))
    assert "Step 2" in whole.text
    assert "Step 2" not in stopped.text
    assert stopped.finish == "stop"


def test_log_probabilities_come_if_asked_for_and_confidence_is_too_sure() -> None:
    assert reply(request(SOLVE, problem="4 5 6 10")).logprob is None
    sure: dict[str, list[float]] = {"right": [], "wrong": []}
    for problem in PUZZLES:
        asked = request(SOLVE, problem=problem)
        said = reply(structs.replace(asked, sampling=Sampling(logprobs=True)))
        assert said.logprob is not None
        assert said.logprob < 0
        stated = reply(request(AUDIT, problem=problem, trajectory=said.text))
        confidence = float(fields(stated.text)["Confidence"])
        sure[check(problem, boxed(said.text))[0]].append(confidence)
    right, wrong = (sum(sure[key]) / len(sure[key]) for key in ("right", "wrong"))
    assert right > wrong + 0.2
    assert (right * len(sure["right"]) + wrong * len(sure["wrong"])) / len(PUZZLES) > 0.5


def test_latency_is_simulated_and_told() -> None:
    assert reply(request(SOLVE, problem="4 5 6 10")).seconds == 0.0
    slow = Rehearsal(Options(latency_ms=20))
    asked = [request(SOLVE, problem=p) for p in PUZZLES[:30]]
    told = [slow.reply(each).seconds or 0.0 for each in asked]
    assert 0.01 <= min(told) < max(told) <= 0.03
    start = time.monotonic()
    assert asyncio.run(slow.complete(asked[0])) == slow.reply(asked[0])
    assert time.monotonic() - start >= told[0]


def test_tokens_are_counted() -> None:
    asked = request(SOLVE, problem="4 5 6 10")
    said = reply(asked)
    assert said.prompt_tokens == -(-sum(len(text) for _, text in asked.messages) // 4)
    assert said.completion_tokens == -(-len(said.text) // 4)
    assert (said.model, Rehearsal().name, Rehearsal.simulated) == (
        "rehearsal",
        "rehearsal(seed=7)",
        True,
    )


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=100))
def test_nothing_that_a_prompt_says_raises(problem: str, trajectory: str, guidance: str) -> None:
    reply(request(AUDIT, problem=problem, trajectory=trajectory, guidance=guidance))
    solved = reply(request(SOLVE, problem=problem, guidance=guidance, advice=trajectory))
    assert "\\boxed{" in solved.text
    reply(ModelRequest(messages=(("user", problem),), sampling=Sampling(), seed=0))
    reply(ModelRequest(messages=(), sampling=Sampling(), seed=0))


def test_replies_are_pinned() -> None:
    texts = [reply(request(SOLVE, problem=p)).text for p in PUZZLES[:50]]
    assert text_digest("\n".join(texts)) == "6be335ee838f"
