"""Recorded replies: found by prompt or problem and by draw; what is not there is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from msgspec import structs

from handlers.answers.extract import extract
from handlers.answers.grade import check_game24
from schemas.questions import DEFAULT_SAMPLING
from streams.answering.backbones.recorded import Recorded, key_of, line, problem_key, save
from streams.core.backbone import ModelReply, ModelRequest, NotRecorded
from tests.data import shared
from tests.streams.backbones.prompting import SOLVE, request


def asking(text: str, draw: int = 0) -> ModelRequest:
    return ModelRequest(messages=(("user", text),), sampling=DEFAULT_SAMPLING, seed=9, draw=draw)


def told(backbone: Recorded, asked: ModelRequest) -> ModelReply:
    return asyncio.run(backbone.complete(asked))


def test_what_was_saved_is_replied(tmp_path: Path) -> None:
    asked = [asking("one"), asking("one", 1), request(SOLVE, problem="\ud800 é\u2028")]
    replies = [
        ModelReply(text="first", finish="stop", model="m", prompt_tokens=3, seconds=0.5),
        ModelReply(text="second", finish="length", model="m", attempts=2, cost=0.1),
        ModelReply(text="th\ud800ird\n", finish="stop", model="m", logprob=-0.2),
    ]
    file = tmp_path / "said.jsonl"
    save(file, zip(asked, replies, strict=True))
    backbone = Recorded(file)
    assert [told(backbone, each) for each in asked] == replies
    assert (backbone.simulated, backbone.name) == (False, f"recorded:{file}")


def test_what_is_not_recorded_is_refused_with_prompt_and_draw(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"prompt": "one", "text": "first"}\n\n')
    backbone = Recorded(file)
    assert told(backbone, asking("one")).prompt_tokens is None
    for asked in (asking("two"), asking("one", 1)):
        with pytest.raises(NotRecorded, match=f"{key_of(asked.messages)}.*draw {asked.draw}, in"):
            told(backbone, asked)


def test_a_line_that_says_a_thing_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"prompt": "one", "text": "first", "text": "second"}\n')
    with pytest.raises(ValueError, match=r"said\.jsonl:1: text: stands twice"):
        Recorded(file)


def test_what_is_null_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text(
        '{"problem": "one", "prompt": null, "text": "first", "model": null, "cost": null, "draw": null}'
    )
    reply = told(Recorded(file), request(SOLVE, problem="one"))
    assert (reply.text, reply.finish, reply.model, reply.cost) == (
        "first",
        "stop",
        "recorded",
        None,
    )


def test_a_problem_is_found_whatever_the_prompt_around_it(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    lines = [{"problem": "How  many?", "draw": d, "text": f"sample {d}"} for d in range(3)]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    backbone = Recorded(file)
    asked = request(SOLVE, problem="How many?\n", guidance="- Count.")
    assert told(backbone, asked).text == "sample 0"
    assert problem_key("4 5 6 10") == problem_key("10, 6, 5, 4")
    assert problem_key("4 of 5, 6 of 10") != problem_key("6 of 5, 4 of 10")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"said.jsonl:1: .*"),
        ("[]", "said.jsonl:1: not an object"),
        ('{"prompt": "a"}', "said.jsonl:1: no text"),
        ('{"text": "a"}', "said.jsonl:1: name one of messages, prompt, problem"),
        ('{"text": "a", "prompt": "b", "problem": "c"}', "name one of"),
        ('{"text": "a", "prompt": "b", "surprise": 1}', "unknown field 'surprise'"),
        ('{"text": "a", "prompt": "b", "finish": 5}', "said.jsonl:1: finish must be a text"),
        ('{"text": "a", "prompt": "b", "prompt_tokens": "9"}', "prompt_tokens must be a number"),
        ('{"text": "a", "prompt": "b", "draw": true}', "draw must be a number"),
        ('{"text": "a", "prompt": "b", "draw": 0.5}', "draw must be a whole number"),
        ('{"text": "a", "prompt": "b", "draw": 1e999}', "draw must be a whole number"),
        ('{"text": "a", "prompt": null}', "name one of messages, prompt, problem"),
        ('{"text": "a", "messages": [1]}', "said.jsonl:1: "),
        (
            '{"text":"a","prompt":"b"}\n{"text":"c","prompt":"b"}',
            "said.jsonl:2: another reply than",
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        Recorded(file)


def test_files_that_are_no_recording_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 files like"):
        Recorded(tmp_path)
    (tmp_path / "said.txt").write_text("")
    with pytest.raises(ValueError, match=r"it ends in one of \.jsonl, \.json"):
        Recorded(tmp_path / "said.txt")


def test_a_line_holds_what_is_known() -> None:
    said = json.loads(line(asking("one"), ModelReply(text="t", finish="stop", model="m")))
    assert said == {
        "messages": [["user", "one"]],
        "draw": 0,
        "text": "t",
        "finish": "stop",
        "model": "m",
        "attempts": 1,
    }


def test_published_gpt4_samples_are_found_by_puzzle_and_draw() -> None:
    folder = shared() / "game24"
    for path in (folder, folder / "logs", next((folder / "logs").glob("*naive_cot*.json"))):
        backbone = Recorded(path)
        first = told(backbone, request(SOLVE, problem="4 5 6 10"))
        assert first.text.startswith("Steps:\n10 - 4 = 6 (left: 5 6 6)")
        assert (first.model, first.completion_tokens) == ("gpt-4", None)
    asked = [structs.replace(request(SOLVE, problem="5 6 4 10"), draw=draw) for draw in range(101)]
    texts = [told(backbone, each).text for each in asked[:100]]
    right = sum(check_game24("4 5 6 10", extract(text)).outcome == "right" for text in texts)
    assert 0 < right < 30
    with pytest.raises(NotRecorded, match=r"'5 6 4 10'\), draw 100"):
        told(backbone, asked[100])
