"""What models, sources and messages said steers no terminal, be it piped or not: not as text, not as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from streams.interfaces.cli import messages
from streams.interfaces.cli.flags import FLAGS
from tests.endpoint import Answer, Asked, serving
from tests.live.thinking import IDLE, KEY, think
from tests.streams.cli.calling import Called, answer, call, log_of
from tests.streams.cli.learned import rows
from tests.streams.cli.test_show_words import steers

STEERS = "\x1b[2J\x07\x9b1m\u202e\x7f"
SOURCE = [
    {"id": "q1", "problem": f"4 4 {STEERS} 10 10", "policy": "cot"},
    {"id": "q2", "problem": "x", f"{STEERS}\nfield": 1},
    {"id": f"q3{STEERS}", "problem": "x"},
]


def hostile(asked: Asked) -> Answer:
    """The rehearsal model, in whose every text something steers."""
    said = think(asked)
    body = json.loads(said.raw)
    message = body["choices"][0]["message"]
    message["content"] = message["content"].replace(" the ", f" the {STEERS}{STEERS} ")
    return replace(said, raw=json.dumps(body).encode())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("steering") / "a.db"
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(path.parent)
        endpoint = stack.enter_context(serving(hostile))
        for name, value in (endpoint.env() | {"OPENAI_API_KEY": KEY}).items():
            patch.setenv(name, value)
        (path.parent / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in SOURCE))
        assert call("produce", "in.jsonl", "--log", path).code == 1
        words = ("--policy", "mc2", "--set", "max_rounds=2", "--set", "batch_size=6", "--log", path)
        assert call("produce", "game24:901-912", *words).code == 0
        assert call("worker", "--backbone", "openai", "--log", path, *IDLE).code == 0
        log_of(path, [answer(1, answer=STEERS, policy=f"{STEERS}\ncot", status=STEERS)])
        yield path


def episode(log: Path, like: str) -> str:
    query = (
        "select episode from records where kind = 'episode.opened' and episode like ? order by 1"
    )
    return str(rows(log, query, like)[0][0])


def lesson(log: Path) -> str:
    return str(call("lessons", "list", "--json", "--log", log).rows[0]["id"])


def unsteered(said: Called) -> None:
    for text in (said.out, said.err):
        assert not steers(text.replace("\n", "")), [
            each for each in text.split("\n") if steers(each)
        ]


def test_the_log_holds_what_steers(log: Path) -> None:
    """Or the other tests would show nothing."""
    query = "select count(*) from records where kind = ? and body like '%\\u001b%' escape '!'"
    for kind in ("problem.admitted", "completed", "lesson.distilled"):
        assert rows(log, query, kind)[0][0], kind


TEXTS: list[tuple[str, ...]] = [
    ("show", "MC2"),
    ("show", "q1"),
    ("show", "MC2", "--at", "1"),
    ("show", "q1", "--at", "1"),
    ("consume",),
    ("lessons", "list"),
    ("lessons", "show", "LESSON"),
    ("lessons", "diff", "0", "1"),
    ("knowledge", "show"),
    ("dlq", "list"),
    ("dlq", "show", "1"),
    ("dlq", "replay", "1"),
    ("doctor",),
    ("verify",),
    ("log", "stats"),
]


def words_of(log: Path, command: tuple[str, ...]) -> list[str]:
    named = {"MC2": episode(log, "p/game24/%"), "LESSON": lesson(log)}
    return [named.get(word, word) for word in command]


@pytest.mark.parametrize("command", TEXTS, ids=" ".join)
def test_no_text_for_people_steers(log: Path, command: tuple[str, ...]) -> None:
    said = call(*words_of(log, command), "--log", log)
    assert said.code in (0, 1, 3), said.err
    assert said.out
    unsteered(said)


@pytest.mark.parametrize(
    "command", [("log", "cat"), *(each for each in TEXTS if each[0] != "doctor")], ids=" ".join
)
def test_no_json_steers_and_it_says_the_same(log: Path, command: tuple[str, ...]) -> None:
    said = call(
        *words_of(log, command), *(("--json",) if command != ("log", "cat") else ()), "--log", log
    )
    for line in said.lines:
        assert not steers(line)
        json.loads(line)
    assert command != ("log", "cat") or STEERS in "".join(
        text for row in said.rows for text in texts_of(row)
    )


def texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner: list[object] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    return [text for each in inner for text in texts_of(each)]


def test_refusals_steer_nothing(folder: Path) -> None:
    (folder / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in SOURCE))
    said = call("produce", "in.jsonl", "--log", folder / "b.db")
    assert said.code == 1
    assert [line[:10] for line in said.err.splitlines() if line[0] != " "][:2] == [
        "in.jsonl:2",
        "in.jsonl:3",
    ]
    unsteered(said)


def test_an_answer_steers_nothing_and_keeps_to_its_lines(log: Path) -> None:
    lines = call("consume", "--log", log).lines
    assert len(lines) == len(call("consume", "--json", "--log", log).rows)


@pytest.mark.parametrize("form", ["text", "json"])
def test_messages_steer_nothing_and_forge_no_line(
    form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FLAGS, "log_format", form)
    monkeypatch.setattr(FLAGS, "log_level", "warning")
    messages.log_as_asked()
    logging.getLogger("here").warning(
        "it said %s", f"{STEERS}\n2026-01-01 00:00:00,000 ERROR streams: forged"
    )
    said = capsys.readouterr().err
    assert not steers(said.replace("\n", ""))
    assert [line for line in said.splitlines() if not line.startswith(" ")] == said.splitlines()[:1]
