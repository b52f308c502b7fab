"""Logs and names that are not there: where, and what was probably meant."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call, log_of
from tests.streams.cli.learned import made


@pytest.mark.parametrize(
    "words", [("produce", "game24:901"), ("worker", "--backbone", "rehearsal", "--until-idle")]
)
def test_a_log_in_no_folder(folder: Path, words: tuple[str, ...]) -> None:
    done = call(*words, "--log", "none/a.db")
    assert done.code == 2
    assert done.err == "--log: no folder none [log.missing, exit 2]\n  Make it: mkdir -p none\n"


@pytest.mark.parametrize(
    ("log", "hint"),
    [
        ("my log.db", "Make one: metalogue produce SOURCE --log 'my log.db'"),
        ("no folder/a.db", "Make it: mkdir -p 'no folder'"),
        ("sqlite:///my folder/a.db", "Write 'sqlite:/my folder/a.db'"),
        ("sqlite:////folder/a.db", "Write sqlite:/folder/a.db"),
    ],
)
def test_what_to_do_can_be_pasted_as_it_stands(folder: Path, log: str, hint: str) -> None:
    words = ("produce", "game24:901") if "/" in log else ("show",)
    done = call(*words, "--log", log)
    assert (done.code, done.err.splitlines()[1]) == (2, f"  {hint}")


def test_a_log_of_another_build_says_how_to_read_it(folder: Path) -> None:
    path = log_of(folder / "a.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma user_version=2")
    done = call("log", "stats", "--log", path)
    assert done.code == 2
    assert "log format 2, this build reads 1 [log.format, exit 2]\n  Name another" in done.err


def test_a_home_that_cannot_be_is_no_broker_s_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "taken").write_text("")
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "taken"))
    with in_memory() as (place, _):
        done = call("log", "stats", "--log", place.url)
    assert done.code == 5
    assert done.err.startswith("METALOGUE_HOME: ")
    assert "broker" not in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("produce", "game24:901", "--policy", "COT", "--log", "a.db"), "did you mean 'cot'"),
        (("bench", "run", "mc2-tab-8", "--backbone", "rehearsal"), "did you mean 'mc2-tab-08'"),
        (("log", "cat", "--topic", "event", "--log", made), "Did you mean 'events'?"),
        (("lessons", "list", "--role", "zzz", "--log", made), "There are "),
        (("lessons", "list", "--role", "monitr", "--json", "--log", made), "'monitor'"),
    ],
)
def test_a_misspelt_name_is_met_by_the_nearest(
    folder: Path, words: tuple[object, ...], meant: str
) -> None:
    done = call(*(each() if callable(each) else each for each in words))
    assert (done.code, done.out) == (2, "")
    assert meant in done.err


def test_words_that_are_no_text_are_refused(folder: Path) -> None:
    item = call("lessons", "list", "--json", "--log", made()).rows[0]["id"]
    bad = b"bad\xff".decode("utf-8", "surrogateescape")
    retired = call("lessons", "retire", item, "--reason", bad, "--log", made())
    forgot = call("forget", "--problem", "n901", "--by", bad, "--log", made())
    assert (retired.code, retired.err) == (2, "--reason: not UTF-8 [usage, exit 2]\n")
    assert (forgot.code, forgot.err) == (2, "--by: not UTF-8 [usage, exit 2]\n")
    long = call("lessons", "retire", item, "--reason", r"\frac{" * 2_000, "--log", made())
    assert (long.code, long.err) == (2, "--reason: longer than 10,000 characters [usage, exit 2]\n")
    embed = call("lessons", "embed", "hash@1", "--reason", "x" * 10_001, "--log", made())
    assert (embed.code, embed.err) == (long.code, long.err)
