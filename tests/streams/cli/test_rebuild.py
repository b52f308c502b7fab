"""`rebuild` refuses what it cannot do as it was asked, and says what is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.cli.calling import call, copied
from tests.streams.cli.learned import made


@pytest.fixture
def log(folder: Path) -> Path:
    return copied(made(), folder / "a.db")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tables", "none,lessons"), "none goes with no other table"),
        (("--scope", "nosuch"), "says whose version --to names"),
        (("--scope", "nosuch", "--to", "1"), "no memory version 1"),
    ],
)
def test_what_it_cannot_mean_is_refused(log: Path, words: tuple[str, ...], said: str) -> None:
    refused = call("rebuild", *words, "--log", log)
    assert refused.code == 2
    assert said in refused.err


def test_a_version_that_several_memories_have_is_asked_for(log: Path) -> None:
    words = ("--until-idle", "--settle", "--no-tables", "--display", "none")
    assert call("produce", "game24:901-903", "--policy", "cot", "--log", log).code == 0
    assert call("worker", "--backbone", "rehearsal:seed=7", *words, "--log", log).code == 0
    refused = call("rebuild", "--to", "1", "--tables", "none", "--log", log)
    assert refused.code == 2
    scopes = refused.err.partition("--scope ")[2].split()
    assert [scope.split("/")[1] for scope in scopes[::2]] == ["cot", "mc2"]
    named = ("--to", "1", "--scope", scopes[0], "--tables", "none")
    assert call("rebuild", *named, "--log", log).code == 0


@pytest.mark.parametrize("command", ["rebuild", "projector"])
@pytest.mark.parametrize("place", ["a.db.tables", "a.db.snapshot.db"])
def test_what_lies_in_the_way_is_named(log: Path, command: str, place: str) -> None:
    there = log.with_name(place)
    there.write_text("mine") if place.endswith("tables") else there.mkdir()
    refused = call(command, "--log", log)
    assert refused.code == 2
    assert refused.err.startswith(str(there))
    assert there.exists()


def test_an_empty_file_is_no_log_and_stays_empty(folder: Path) -> None:
    (folder / "b.db").touch()
    refused = call("rebuild", "--log", folder / "b.db")
    assert refused.code == 2
    assert "no log at" in refused.err
    assert (folder / "b.db").stat().st_size == 0
    assert call("produce", "game24:901-901", "--log", folder / "b.db").code == 0
