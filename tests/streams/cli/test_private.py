"""Files that we make are their owner's alone, whatever the shell lets others read; an existing mode stays."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call, command, environment

SMALL = """
recipe: small
claims: [none]
paper: none
about: One policy on two problems
differs: Everything.
seeds: [0]
data: {game24: {source: game24:901-902}}
runs: {one: {policy: cot}}
tables:
  - title: One
    columns: {right: {data: game24, metric: accuracy}}
    rows: {one: {run: one, paper: [50]}}
"""
WORK = ("--backbone", "rehearsal:seed=7", "--until-idle")


def run(folder: Path, *arguments: object) -> None:
    """A command in a shell that lets everybody read what it makes."""
    words, home = command(*arguments), environment(METALOGUE_HOME=str(folder / "home"))
    done = subprocess.run(
        words, cwd=folder, env=home, umask=0o022, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_symlink())


@pytest.mark.slow
def test_whatever_a_command_makes_is_private(tmp_path: Path) -> None:
    run(tmp_path, "produce", "game24:901-904", "--policy", "mc2", "--log", "a.db")
    run(tmp_path, "worker", *WORK, "--log", "a.db")
    run(tmp_path, "rebuild", "--log", "a.db")
    run(tmp_path, "export", "made/parquet", "--log", "a.db")
    run(tmp_path, "export", "grpo", "made.jsonl", "--log", "a.db")
    run(tmp_path, "analyse", "--out", "made/analysis", "--log", "a.db")
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "small.yaml").chmod(0o600)
    run(tmp_path, "bench", "run", "small.yaml", "--backbone", "rehearsal", "--out", "made/bench")
    found = {str(path.relative_to(tmp_path)): path for path in everything(tmp_path)}
    for name in ("a.db", "a.db.lock", "a.db.tables", "made/parquet/README.md", "made.jsonl"):
        assert name in found
    assert {"made/analysis", "made/bench"} < set(found)
    assert any("lance" in name for name in found)
    shared = {name: oct(mode(path)) for name, path in found.items() if mode(path) & 0o077}
    assert shared == {}


def test_the_files_of_a_log_in_use_are_private_without_a_command_too(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with closing(SqliteLog(tmp_path / "a.db", create=True)) as log:
            log.publish([("problems", "x", {}, b"{}")])
            found = {path.name: mode(path) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert found == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}


def test_a_mode_that_is_there_stays(tmp_path: Path) -> None:
    log, lines = tmp_path / "a.db", tmp_path / "grpo.jsonl"
    run(tmp_path, "produce", "game24:901-903", "--log", "a.db")
    lines.touch()
    log.chmod(0o640)
    lines.chmod(0o644)
    run(tmp_path, "worker", *WORK, "--no-tables", "--log", "a.db")
    run(tmp_path, "export", "grpo", "grpo.jsonl", "--log", "a.db")
    assert (mode(log), mode(lines)) == (0o640, 0o644)
    with closing(SqliteLog(log)) as opened:
        opened.publish([("problems", "x", {}, b"{}")])
        assert mode(tmp_path / "a.db-wal") == 0o640, "who may read a log may read what it holds"


def test_a_command_called_in_a_process_leaves_its_mask_alone(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert call("policies", "list").code == 0
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
