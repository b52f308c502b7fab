"""Paths that cannot be written, and standard output that leads nowhere: a user's to mend, and named."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.streams.cli.calling import Called, call, command, environment
from tests.streams.cli.learned import made


def refused(called: Called, field: str) -> None:
    assert called.code == 2, called.err
    assert called.err.startswith(f"{field}: ")
    assert "[path, exit 2]" in called.err
    assert "defect" not in called.err


@pytest.mark.parametrize("place", ["taken", "taken/below", "/proc/none"])
def test_a_folder_that_cannot_be_is_named(folder: Path, place: str) -> None:
    (folder / "taken").write_text("")
    refused(call("export", place, "--log", made()), "FOLDER")
    refused(call("analyse", "--out", place, "--log", made()), "--out")
    refused(call("schema", "export", place), "DIR")
    refused(call("bench", "bandit", "--out", f"{place}/regret.html"), "--out")


@pytest.mark.parametrize("place", ["day:1", "~nobody"])
def test_an_export_goes_to_the_folder_that_was_named(folder: Path, place: str) -> None:
    """Arrow took the one for the address of a file elsewhere, and the other for somebody's home."""
    called = call("export", place, "--log", made())
    assert called.code == 0, called.err
    assert (folder / place / "events.parquet").is_file()


def test_a_bench_finds_out_before_it_runs(folder: Path) -> None:
    called = call(
        *("bench", "run", "mc2-tab-01", "--reduced", "--backbone", "rehearsal"),
        *("--out", "/proc/none", "--log", "a.db"),
    )
    refused(called, "--out")
    assert not (folder / "a.db").exists()


def test_a_folder_of_recordings_that_is_not_there(folder: Path) -> None:
    called = call("bench", "game24-recorded", "--data", "nope")
    assert (called.code, called.err) == (2, "--data: no 24.csv in nope [usage, exit 2]\n")


@pytest.mark.parametrize("words", [("policies", "list"), ("policies", "list", "--json")])
def test_results_that_cannot_be_written_are_a_failure(folder: Path, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*words), cwd=folder, env=environment(), stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert b"standard output" in done.stderr
    assert b"No space left" in done.stderr
    assert b"defect" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_nobody_s_fault(folder: Path, closed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"$@" {closed}', "bash", *command("topics", "create", "--log", "a.db")],
        cwd=folder,
        env=environment(),
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert call("topics", "check", "--log", "a.db").code == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("consume", "--group", "a\udcff"), "--group: not UTF-8"),
        (("consume", "--group=a\udcff"), "--group: not UTF-8"),
        (("budgets", "--days", "1" * 400), "--days: a number of more than 64 bits"),
        (("forget", "--yes", "--problem", "\udcff"), "--problem: not UTF-8"),
        (("rebuild", "--to", "1" * 400), "--to: a number of more than 64 bits"),
    ],
)
def test_what_no_record_can_say_is_named_by_its_option(
    folder: Path, words: tuple[str, ...], named: str
) -> None:
    called = call(*words, "--log", made())
    assert (called.code, "defect" in called.err) == (2, False), called.err
    assert called.err.startswith(named)


def test_a_limit_that_no_record_can_say_is_refused(folder: Path) -> None:
    """It was recorded, and whatever showed the episode as JSON ended in a defect."""
    called = call("produce", "game24:901", "--call-limit", "1" * 400, "--log", "a.db")
    assert (called.code, "--call-limit: a number of more than 64 bits" in called.err) == (2, True)
    assert not (folder / "a.db").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("out", "--sign", "key.pem"), "--sign"),
        (("out", "n901"), "FILE"),
        (("out", "--reward", "f1"), "--reward"),
        (("grpo", "groups.jsonl", "--episode", "n901"), "--episode"),
        (("grpo", "--out", "groups.jsonl"), "--out"),
    ],
)
def test_an_export_takes_no_option_of_another_kind_of_export(
    folder: Path, words: tuple[str, ...], named: str
) -> None:
    """It was passed over: what was to be signed was not, and what was to be of one episode was of all."""
    called = call("export", *words, "--log", made())
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"{named}: export {words[0]} takes none [usage, exit 2]")
    assert list(folder.iterdir()) == []


def test_a_file_that_would_not_be_read_is_refused(folder: Path) -> None:
    """`--data` beside a file of one's own was passed over, and the other file produced."""
    (folder / "in.jsonl").write_text('{"id": "q", "problem": "1 + 1"}\n')
    called = call("produce", "in.jsonl", "--data", "other.jsonl", "--log", "a.db")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("--data: in.jsonl is no built-in set [usage, exit 2]")
    asked = call("produce", "gsm8k:1-2", "--log", "a.db")
    assert (asked.code, "--data PATH" in asked.err) == (2, True)


def test_a_log_of_lines_that_is_there_and_cannot_be_read_is_not_called_missing(
    folder: Path,
) -> None:
    called = call("log", "stats", "--log", f"jsonl:{folder}")
    assert called.err.startswith(f"{folder}: Is a directory [path, exit 2]")
    assert "[log.missing, exit 2]" in call("log", "stats", "--log", "jsonl:none").err


def test_a_list_of_policies_that_is_not_named_is_asked_for(folder: Path) -> None:
    called = call("config", "show", "--allow-policies")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("--allow-policies: ")


def test_commands_to_paste_name_the_log_as_a_shell_reads_it(folder: Path) -> None:
    """`solve` named none, and its line found no log; a name with a blank fell into two words."""
    log = ("--log", "my log.db")
    solved = call("solve", "1 + 1", "--backbone", "rehearsal", *log)
    words = shlex.split(solved.err.splitlines()[-1])
    assert words[:2] == ["metalogue", "show"]
    assert call(*words[1:]).code == 0
    (folder / "in.jsonl").write_text("{\n")
    call("produce", "in.jsonl", *log)
    assert "dlq show 1 --raw --log 'my log.db'" in call("dlq", "show", 1, *log).out
