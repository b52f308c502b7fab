from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.streams.cli.calling import call, command, environment

HEAVY = {
    *("pydantic", "pydantic_settings", "numpy", "asyncio", "sqlite3", "yaml", "dotenv", "orjson"),
    *("faust", "aiokafka", "lancedb", "openai", "rich"),
}


def loaded(code: str, folder: Path) -> set[str]:
    """The modules that a process has loaded after some code."""
    ending = "\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + ending],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "import streams.interfaces.cli.commands.more",
        "from streams.interfaces.cli.main import main; main(['--help'])",
    ],
)
def test_help_loads_nothing_heavy(folder: Path, code: str) -> None:
    assert not HEAVY & loaded(code, folder)


@pytest.mark.parametrize("command", [["consume", "-h"], ["policies", "check", "-h"], ["dlq", "-h"]])
def test_a_command_s_help_loads_what_typer_needs_and_no_more(
    folder: Path, command: list[str]
) -> None:
    code = f"from streams.interfaces.cli.main import main; main({command!r})"
    assert loaded(code, folder) & HEAVY <= {"pydantic"}


def test_a_named_log_needs_no_configuration(folder: Path) -> None:
    code = "from streams.interfaces.cli.main import main; main(['consume', '--log', 'none.db'])"
    assert "pydantic_settings" not in loaded(code, folder)


def test_letters_that_a_locale_lacks_leave_as_json_spells_them(folder: Path) -> None:
    (folder / "in.jsonl").write_text('{"id": "é→😀", "problem": "1 + 1"}', encoding="utf-8")
    call("produce", "in.jsonl", "--log", "a.db")
    locales = {each: {"PYTHONIOENCODING": each} for each in ("ascii", "latin-1", "utf-8")}
    for coding, named in (*locales.items(), ("ascii", {"LC_ALL": "C", "PYTHONUTF8": "0"})):
        locale = environment(**named)
        words = command("log", "cat", "--topic", "problems", "--log", "a.db")
        done = subprocess.run(words, cwd=folder, env=locale, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        said = [json.loads(line) for line in done.stdout.decode(coding).splitlines()]
        assert [json.loads(each["value"])["id"] for each in said] == ["é→😀"]
