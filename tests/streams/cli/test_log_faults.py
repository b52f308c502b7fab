"""A log's file that is full, read-only, damaged or held: named, with what to do, and never called our defect."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from schemas.events.base import Event
from state.journal import Fenced
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.log_faults import fault_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.tables import PRAGMAS
from tests.streams.cli.calling import Called, call, command, environment
from tests.streams.cli.every import READS, REFUSED, WRITES, given_to, used, words_of
from tests.streams.cli.namespaces import needs_mounts, run
from tests.streams.dashboard.serving import serving

PAGE = 4096
OPEN_NONE = ("config show", "log path")
NEED_NOTHING = "topics create"
"""It looks whether the log is there."""
EVERY = [name for name in (*READS, *WRITES) if name not in OPEN_NONE]


def tried(name: str, path: Path) -> Called:
    return call(*words_of(name), "--log", path, given=given_to(name))


def is_named(done: Called, error: str, code: int) -> bool:
    """Whether it ended with this error, which says what to do and calls it nothing of ours."""
    *_, last, hint = ["", "", *done.err.splitlines()]
    return done.code == code and last.endswith(f"[{error}, exit {code}]") and hint.startswith("  ")


def spoilt(path: Path, seed: int, share: int) -> Path:
    """A log of which every ``share``-th page, or so, holds something else; its first page stays."""
    rng, data = random.Random(seed), bytearray(used().read_bytes())
    for page in range(1, len(data) // PAGE):
        if rng.randrange(share) == 0:
            data[page * PAGE : (page + 1) * PAGE] = rng.randbytes(PAGE)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", EVERY)
def test_a_damaged_file_is_named(folder: Path, name: str) -> None:
    done = tried(name, spoilt(folder / "a.db", 7, 1))
    assert is_named(done, "log.damaged", 5) or name == NEED_NOTHING, done.err


def test_what_cannot_be_read_is_no_divergence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a page within the file alone an episode knows: nothing was changed, and there is no edit to undo."""

    def damaged(log: SqliteLog, episode: str) -> dict[str, Event]:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    path = Path(shutil.copy(used(), folder / "a.db"))
    monkeypatch.setattr(SqliteLog, "journal", damaged)
    assert is_named(call("verify", "--log", path), "log.damaged", 5)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", EVERY)
def test_a_few_damaged_pages_are_named_by_whoever_meets_them(
    folder: Path, name: str, seed: int
) -> None:
    done = tried(name, spoilt(folder / "a.db", seed, 8))
    assert "defect" not in done.err
    assert is_named(done, "log.damaged", 5) or done.code in (0, 1, REFUSED.get(name, 0)), done.err


@pytest.mark.parametrize("name", ["show", "log cat", "state hash", "doctor", "rebuild", "worker"])
def test_a_record_that_cannot_be_read_is_named_with_its_place(folder: Path, name: str) -> None:
    path = Path(shutil.copy(used(), folder / "a.db"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("update records set body = replace(body, ':', ';') where kind != 'text.kept'")
        db.commit()
    done = tried(name, path)
    assert is_named(done, "log.damaged", 5), done.err
    assert "defect" not in done.err


def test_a_file_cut_short_is_damaged(folder: Path) -> None:
    path = folder / "a.db"
    path.write_bytes(used().read_bytes()[: 20 * PAGE])
    for name in ("log cat", "verify", "worker"):
        assert is_named(tried(name, path), "log.damaged", 5)


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """No file may grow beyond so many bytes: what a quota does, or a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", [name for name in WRITES if name not in REFUSED])
def test_a_log_that_cannot_grow_is_named(folder: Path, name: str) -> None:
    path = Path(shutil.copy(used(), folder / "a.db"))
    before, words = path.read_bytes(), words_of(name)
    with files_of_at_most(5_000):
        done = call(*words, "--log", path, given=given_to(name))
    assert is_named(done, "log.full", 6), done.err
    assert path.read_bytes() == before
    assert tried(name, path).code in (0, 1), "with room again"


@pytest.mark.parametrize("name", READS)
def test_a_log_that_cannot_grow_is_read(folder: Path, name: str) -> None:
    path = Path(shutil.copy(used(), folder / "a.db"))
    words = words_of(name)
    if name in ("export", "analyse", "log pack"):
        return  # they write files of their own
    with files_of_at_most(5_000):
        done = call(*words, "--log", path)
    assert done.code == tried(name, path).code
    assert "log.full" not in done.err


WORKED = ("--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--no-tables")


@needs_mounts
def test_a_worker_whose_disk_gets_full_goes_on_once_there_is_room(tmp_path: Path) -> None:
    calm = tmp_path / "calm.db"
    assert call("produce", "game24:901-912", "--policy", "mc2", "--log", calm).code == 0
    Path(tmp_path, "full").mkdir()
    shutil.copy(calm, tmp_path / "start.db")
    assert call("worker", *WORKED, "--log", calm).code == 0
    script = f"""
        mount -t tmpfs -o size=300k none full && cp start.db full/a.db
        metalogue worker {" ".join(WORKED)} --log full/a.db && exit 9 || echo "first $?"
        metalogue log stats --json --log full/a.db
        mount -o remount,size=30m full
        metalogue worker {" ".join(WORKED)} --log full/a.db; echo "then $?"
        metalogue log stats --json --log full/a.db
        metalogue log digest --log full/a.db
    """
    done = run(script, tmp_path)
    first, some, then, all_, digest = done.stdout.splitlines()
    assert (first, then) == ("first 6", "then 0"), done.stderr
    assert "[log.full, exit 6]" in done.stderr
    assert "defect" not in done.stderr
    assert 0 < json.loads(some)["completions"] < json.loads(all_)["completions"]
    assert json.loads(all_)["repeated_completions"] == 0
    assert digest == call("log", "digest", "--log", calm).out.strip()


ALL = """
import json, sys
from pathlib import Path
from tests.streams.cli.every import READS, WRITES, given_to, words_of
from tests.streams.cli.calling import call
for name in (*READS, *WRITES):
    done = call(*words_of(name), "--log", sys.argv[1], given=given_to(name))
    print(json.dumps([name, done.code, done.err]))
"""


def tells_of_every(said: str) -> dict[str, Called]:
    rows = [json.loads(line) for line in said.splitlines()]
    return {name: Called(code, b"", err) for name, code, err in rows}


@needs_mounts
def test_a_read_only_mount_is_read_and_what_would_write_says_so(tmp_path: Path) -> None:
    for name in ("there", "ro"):
        (tmp_path / name).mkdir()
    shutil.copy(used(), tmp_path / "there" / "a.db")
    (tmp_path / "all.py").write_text(ALL)
    script = """
        mount --bind there ro && mount -o remount,bind,ro ro
        "$PYTHON" all.py ro/a.db
    """
    done = run(script, tmp_path)
    found = tells_of_every(done.stdout)
    assert set(found) == {*READS, *WRITES}, done.stderr
    for name, each in found.items():
        if name in READS:
            assert each.code in (0, 1), each.err
        else:
            assert is_named(each, "log.readonly", 5), f"{name}: {each.err}"
        assert "defect" not in each.err


@needs_mounts
def test_a_dashboard_shows_a_log_on_a_read_only_mount(tmp_path: Path) -> None:
    shutil.copy(used(), tmp_path / "a.db")
    (tmp_path / "look.py").write_text(
        "import sys\nfrom tests.streams.dashboard.serving import serving\n"
        "with serving(sys.argv[1]) as site: print(site.get('/answers').text)\n"
    )
    script = """
        mount --bind . . && cd "$PWD" && mount -o remount,bind,ro .
        "$PYTHON" look.py "$PWD/a.db"
    """
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "n901" in done.stdout


@needs_mounts
def test_newest_records_that_stand_beside_the_file_are_not_left_out_in_silence(
    tmp_path: Path,
) -> None:
    """On a read-only mount SQLite cannot read what a killed worker left in PATH-wal."""
    for name in ("there", "ro"):
        (tmp_path / name).mkdir()
    with closing(SqliteLog(tmp_path / "b.db", create=True)) as log:
        log.publish([("problems", "a", {}, b"{}")])
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"b.db{end}", tmp_path / "there" / f"a.db{end}")
    script = """
        mount --bind there ro && mount -o remount,bind,ro ro
        metalogue log stats --log ro/a.db || echo $?
    """
    done = run(script, tmp_path)
    assert done.stdout == "5\n"
    assert "[log.readonly, exit 5]" in done.stderr
    assert "ro/a.db-wal holds the newest records: copy both" in done.stderr


RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
"""Without the rights over all files that the machine's owner has."""


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which(RIGHTS[0]), reason="may write all")
def test_a_file_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(used(), tmp_path / "a.db"))
    for words, code in ((("log", "stats"), 0), (("feedback", "-"), 5)):
        for file, folder in ((0o444, 0o755), (0o644, 0o555), (0o444, 0o555)):
            path.chmod(file)
            tmp_path.chmod(folder)
            done = subprocess.run(
                [*(RIGHTS if os.geteuid() == 0 else []), *command(*words, "--log", path)],
                input=given_to("feedback"),
                env=environment(),
                capture_output=True,
                check=False,
            )
            tmp_path.chmod(0o755)
            assert done.returncode == code, (file, folder, done.stderr)
            assert (b"[log.readonly, exit 5]" in done.stderr) == bool(code)


def test_a_log_that_another_process_holds_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(used(), folder / "a.db"))
    impatient = PRAGMAS.replace("30000", "50")
    monkeypatch.setattr("streams.runtime.embedded.files.PRAGMAS", impatient)
    with closing(SqliteLog(path)) as other:
        other.db.execute("begin immediate")
        for name in ("produce", "feedback", "solve"):
            assert is_named(tried(name, path), "log.busy", 6)


def test_a_claim_that_was_lost_is_named() -> None:
    FLAGS.log = "a.db"
    found = fault_of(ExceptionGroup("lanes", [Fenced("partition 1 was claimed by another worker")]))
    assert found is not None
    assert (found.error, found.exit, found.where) == ("log.claimed", 6, "sqlite:a.db")


def test_a_dashboard_says_that_its_file_is_damaged_while_it_is_up(folder: Path) -> None:
    path = Path(shutil.copy(used(), folder / "a.db"))
    with serving(path) as site:
        with path.open("r+b") as file:
            file.seek(PAGE)
            file.write(random.Random(7).randbytes(path.stat().st_size - PAGE))
        answered = site.get("/answers")
        assert answered.status == 503
        assert "the file is damaged" in answered.text
        assert site.get("/livez").status == 200


@pytest.mark.parametrize("deep", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000])
def test_a_configuration_nested_without_end_is_named(folder: Path, deep: str) -> None:
    (folder / "metalogue.yaml").write_text(deep)
    done = call("config", "show")
    assert (done.code, done.err.count("\n")) == (5, 2), done.err[:300]
    assert "metalogue.yaml" in done.err
    assert "nested deeper than 32 [config.size, exit 5]" in done.err
    (folder / "metalogue.yaml").unlink()
    (folder / "mine.yaml").write_text(deep)
    recipe = call("bench", "run", "mine.yaml", "--backbone", "rehearsal")
    assert (recipe.code, "defect" in recipe.err) == (2, False), recipe.err[:300]
