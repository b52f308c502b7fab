"""What is said on the command line and in settings is bounded, and nothing of it is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.cli.calling import call
from tests.streams.cli.learned import made


@pytest.mark.parametrize("name", ["MAX_CONCURRENCY", "MAX_CONNECTIONS", "KAFKA__MAX_READY"])
def test_a_number_of_hundreds_of_digits_is_refused_by_its_setting(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"METALOGUE_{name}", "9" * 400)
    done = call("config", "show", "--json")
    assert (done.code, "defect" in done.err, f"METALOGUE_{name}" in done.err) == (5, False, True)


def test_a_path_that_is_no_utf8_is_shown_as_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALOGUE_LOG", "sqlite:\udcff.db")
    done = call("config", "show", "--json")
    assert (done.code, done.json["log"]["value"]) == (0, "sqlite:?.db")


def test_config_show_refuses_what_names_no_log(folder: Path) -> None:
    done = call("config", "show", "--log", "bogus")
    assert (done.code, "'bogus' names no log" in done.err) == (2, True)
    for url in ("none.db", "jsonl:none", "kafka://127.0.0.1:1"):
        assert call("config", "show", "--log", url).code == 0


def test_so_many_samples_are_no_typing_error(folder: Path) -> None:
    done = call("fork", "x", "--at", "1", "--samples", "100000", "--log", made())
    assert (done.code, "--samples" in done.err) == (2, True)


def test_an_address_that_is_not_there_says_how_to_see_them_all(folder: Path) -> None:
    done = call("show", "--at", "9999", "--log", made())
    assert (done.code, done.err.rstrip().endswith(f"--log {made()}")) == (2, True)


def test_what_is_at_fault_with_a_fork_is_named(folder: Path) -> None:
    """It was always said of the episode."""
    assert call("solve", "4 5 6 10", "--backbone", "rehearsal", "--log", "a.db").code == 0
    for words, field in ((("--at", "99"), "--at"), (("--at", "opened"), "--at")):
        said = call("fork", "solve-", *words, "--backbone", "rehearsal", "--log", "a.db")
        assert (said.code, said.err.partition(":")[0]) == (2, field), said.err


@pytest.mark.parametrize("command", [("produce", "game24:901-902"), ("solve", "1"), ("worker",)])
def test_a_policy_of_no_name_is_refused(folder: Path, command: tuple[str, ...]) -> None:
    """`produce` put a series of no policy, and the others took the default."""
    models = () if command[0] == "produce" else ("--backbone", "rehearsal")
    done = call(*command, "--policy", "", *models, "--log", "a.db")
    assert (done.code, done.err.startswith("--policy: no policy ''")) == (2, True), done.err
    assert not (folder / "a.db").exists()


def test_a_backbone_that_analyse_would_not_ask_is_refused(folder: Path) -> None:
    done = call("analyse", "--backbone", "rehearsal", "--log", made())
    assert (done.code, "--backbone: only --audit asks a model" in done.err) == (2, True)
    assert not (folder / "analysis").exists()
