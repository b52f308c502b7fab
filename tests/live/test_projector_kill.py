"""A projector that is killed at any moment, its files spoiled, ends with the tables of an undisturbed one."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.projector import Projector, tables_path
from streams.runtime.embedded.rebuild import snapshot_path
from tests.streams.cli.calling import command, environment
from tests.streams.cli.learned import made

INSERT = "insert into records values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
PARTS = 40


def copied(path: Path, rows: list[tuple[object, ...]]) -> None:
    with closing(SqliteLog(path)) as log, log.transaction():
        log.db.executemany(INSERT, rows)


def sums(path: Path) -> tuple[dict[str, str], dict[str, int], str]:
    """What the tables hold once the log is at its end, every row checked."""
    tables_path(path).with_name(f"{tables_path(path).name}.clean").unlink(missing_ok=True)
    told: list[str] = []
    with closing(SqliteLog(path)) as log:
        projector = Projector(log, told=told.append)
        projector.open()
        found = projector.tables.hashes()
        marks = {name: len(t.hashes) for name, t in projector.tables.open_tables.items()}
        return found, marks, projector.state.hash()


def spoil(path: Path, draw: random.Random) -> None:
    """Overwrite a stretch of a table's file, or the snapshot, as a bad disk would."""
    files = sorted(f for f in tables_path(path).rglob("*") if f.is_file() and f.stat().st_size)
    files += [f for f in (snapshot_path(path),) if f.exists()]
    if not files:
        return
    victim = draw.choice(files)
    content = bytearray(victim.read_bytes())
    for at in range(draw.randrange(len(content)), len(content)):
        content[at] = draw.randrange(256)
    victim.write_bytes(bytes(content))


def killed(folder: Path, kills: int, spoiled: int, seed: int) -> int:
    """Grow a log by parts while its projector is killed again and again; how many hits were live."""
    draw = random.Random(seed)
    source, path = made(), folder / "killed.db"
    with closing(SqliteLog(source)) as log:
        rows = log.db.execute("select * from records order by offset").fetchall()
    SqliteLog(path, create=True).close()
    parts = [rows[len(rows) * n // PARTS : len(rows) * (n + 1) // PARTS] for n in range(PARTS)]
    bad = set(draw.sample(range(kills), spoiled))
    hits = 0
    for number in range(kills):
        words = command("projector", "--log", f"sqlite:{path}", "-q")
        child = subprocess.Popen(words, env=environment(), stderr=subprocess.DEVNULL)
        end = time.monotonic() + draw.uniform(0.2, 2.5)
        while time.monotonic() < end:
            if parts and draw.random() < 2 * PARTS / kills / 10:
                copied(path, parts.pop(0))
            time.sleep(0.05)
        hits += child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        if number in bad:
            spoil(path, draw)
    for part in parts:
        copied(path, part)
    assert sums(path) == undisturbed(folder, path)
    return hits


def undisturbed(folder: Path, path: Path) -> tuple[dict[str, str], dict[str, int], str]:
    calm = folder / "calm.db"
    with closing(SqliteLog(path)) as log:
        log.db.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(path, calm)
    return sums(calm)


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.timeout(240)
def test_twenty_kills(tmp_path: Path) -> None:
    assert killed(tmp_path, kills=20, spoiled=3, seed=5) >= 10


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_hundred_kills(tmp_path: Path) -> None:
    assert killed(tmp_path, kills=100, spoiled=10, seed=6) >= 50
