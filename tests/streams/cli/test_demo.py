from __future__ import annotations

import os
import re
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from streams.interfaces.cli.demo.file import begun, set_aside
from streams.interfaces.cli.demo.run import BACKBONE, LOG
from streams.interfaces.cli.demo.screen import screen
from streams.interfaces.cli.opening import open_log
from tests.architecture.pages import README, blocks
from tests.crash.processes import until
from tests.streams.cli.calling import Called, call, process
from tests.streams.cli.learned import change, rows
from tests.streams.dashboard.serving import serving

QUICK = "rehearsal:seed=7"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Called]:
    """A finished demo in a folder of its own, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return folder, call("demo", "--backbone", QUICK)
    finally:
        os.chdir(before)


@pytest.fixture
def done(finished: tuple[Path, Called], folder: Path) -> Called:
    """A finished demo in the working directory that a test may spoil."""
    shutil.copy(finished[0] / "demo.db", folder / "demo.db")
    return finished[1]


def drawn() -> str:
    log = open_log(LOG)
    try:
        return screen(log, LOG, 100).text()
    finally:
        log.close()


def test_the_last_screen(done: Called) -> None:
    assert done.code == 0, done.err
    stats = call("log", "stats", "--json", "--log", LOG).json
    text = done.out
    assert "The model is SIMULATED (rehearsal, seed 7): this accuracy says nothing of MC2." in text
    assert "closed 100/100" in text
    assert "repeated calls 0" in text
    counted = text.partition("calls ")[2].partition("learning")[0].replace(",", "").split(" + ")
    assert sum(map(int, counted)) == stats["completions"]
    assert "  all " in text
    assert "/100" in text.partition("  all ")[2].splitlines()[0]
    assert "18 rules. R" in text
    assert " └ 2 reasoner" in text
    assert "answers 100  failed 0" in text
    assert len(done.lines) <= 23
    remarks = ("another", "prove", "a real")
    assert all(len(line) <= 80 for line in done.lines if not line.startswith(remarks))


def test_the_readme_shows_what_it_ends_with(finished: tuple[Path, Called]) -> None:
    """All but the time that it took, and how its last three commands are called in a checkout."""
    [shown] = [each.text for each in blocks(README) if each.text.startswith("Metalogue demo:")]
    of_run, of_page = (
        [re.sub(r"━ \d+:\d\d ", "━ 0:00 ", line) for line in text.splitlines()[:-3]]
        for text in (finished[1].out.rstrip("\n"), shown)
    )
    assert of_page == of_run


def test_it_leaves_one_file_and_its_tables(finished: tuple[Path, Called]) -> None:
    left = {path.name.removeprefix("demo.db") for path in finished[0].glob("demo.db*")}
    assert not {"-wal", "-shm", ".snapshot.db-wal", ".snapshot.db-shm"} & left
    assert "" in left


def test_a_line_for_each_batch_where_there_is_no_terminal(finished: tuple[Path, Called]) -> None:
    batches = [line for line in finished[1].err.splitlines() if "  batch " in line]
    assert len(batches) == 10
    assert "right " in batches[-1]
    assert "lessons " in batches[-1]


def test_the_commands_that_it_prints_work(done: Called) -> None:
    offered = [line[16:].partition("   #")[0].split()[1:] for line in done.lines[-3:]]
    assert [words[0] for words in offered] == ["show", "verify", "demo"]
    assert call(*offered[0]).code == 0
    verified = call(*offered[1])
    assert verified.code == 0, verified.err
    assert verified.out.splitlines()[-1].startswith("verified 110 episodes")
    assert offered[2][1:] == ["--backbone", "openai:gpt-4o-mini"]


def test_figures_come_from_the_log_alone(done: Called) -> None:
    assert drawn() == done.out.rstrip("\n")


def test_with_a_real_model_nothing_is_called_simulated(done: Called, folder: Path) -> None:
    change(
        folder / "demo.db",
        "update records set body = json_set(body, '$.backbones', 'openai:gpt-x') "
        "where kind = 'episode.opened'",
    )
    text = drawn()
    assert "SIMULATED" not in text
    assert "The model is openai:gpt-x." in text
    assert "a real model" not in text


def test_a_finished_one_is_set_aside(done: Called, folder: Path) -> None:
    (folder / "demo.1.db").write_bytes(b"taken")
    again = call("demo", "--backbone", QUICK)
    assert "demo.db was finished: kept as demo.2.db" in again.err
    assert again.code == 0
    assert begun_of(folder / "demo.2.db") == begun_of(folder / "demo.db") == (100, 100, 10)
    digests = {
        call("log", "digest", "--log", folder / name).out for name in ("demo.db", "demo.2.db")
    }
    assert len(digests) == 1


def test_one_of_another_model_or_build_is_set_aside(done: Called, folder: Path) -> None:
    closed = "episode in (select max(episode) from records where kind = 'episode.opened')"
    change(folder / "demo.db", f"delete from records where address = 'closed' and {closed}")
    log = open_log(LOG)
    state = begun(log)
    log.close()
    assert not state.finished
    assert state.why_aside("rehearsal(seed=7) (SIMULATED)") is None
    assert state.why_aside("openai:m") == "begun with rehearsal(seed=7) (SIMULATED)"


def begun_of(path: Path) -> tuple[int, int, int]:
    log = open_log(str(path))
    state = begun(log)
    log.close()
    return state.problems, state.closed, state.versions


def test_what_lies_beside_a_log_goes_with_it(folder: Path) -> None:
    for name in ("demo.db", "demo.db-wal", "demo.db-shm"):
        (folder / name).write_text(name)
    (folder / "demo.db.tables").mkdir()
    assert set_aside(Path("demo.db")) == Path("demo.1.db")
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["demo.1.db", "demo.1.db-shm", "demo.1.db-wal", "demo.1.db.tables"]


def test_a_file_of_somebody_else_is_left_alone(folder: Path) -> None:
    with sqlite3.connect("demo.db") as db:
        db.execute("create table mine(x)")
    db.close()
    called = call("demo")
    assert called.code == 2
    assert "Move demo.db away" in called.err
    assert rows(folder / "demo.db", "select name from sqlite_master") == [("mine",)]


def test_a_wrong_backbone_touches_nothing(done: Called, folder: Path) -> None:
    before = (folder / "demo.db").read_bytes()
    assert call("demo", "--backbone", "nonsense").code == 2
    assert (folder / "demo.db").read_bytes() == before
    assert not (folder / "demo.1.db").exists()


def test_by_default_it_is_slow_enough_to_be_seen() -> None:
    assert "latency_ms" in BACKBONE


def has_closed(path: Path, episodes: int) -> bool:
    """Whether so many episodes are closed in a log that may not be there yet."""
    query = "select count(*) from records where kind = 'episode.closed' and topic = 'events'"
    try:
        return path.exists() and int(str(rows(path, query)[0][0])) >= episodes
    except sqlite3.OperationalError:  # it has no tables yet
        return False


@pytest.mark.slow
def test_killed_and_run_again_until_it_ends(finished: tuple[Path, Called], folder: Path) -> None:
    """Two kills at different moments; the log then means what an undisturbed one means."""
    for closed in (5, 35):
        run = process("demo", "--backbone", "rehearsal:seed=7,latency_ms=40", cwd=folder)
        assert until(partial(has_closed, folder / "demo.db", closed), run)
        run.kill()
        run.communicate()
    last = call("demo", "--backbone", "rehearsal:seed=7,latency_ms=5")
    assert last.code == 0, last.err
    assert "going on from there" in last.err
    assert "closed 100/100" in last.out
    assert "repeated calls 0" in last.out
    assert "resumed " in last.out
    digests = {
        call("log", "digest", "--log", each / "demo.db").out for each in (folder, finished[0])
    }
    assert len(digests) == 1


def test_a_model_without_its_key_touches_nothing(folder: Path) -> None:
    called = call("demo", "--backbone", "openai:m")
    assert called.code == 5
    assert "[model.auth, exit 5]" in called.err
    assert not list(folder.iterdir())


def test_every_screen_names_the_same_confidence(done: Called, folder: Path) -> None:
    """That of an answer that labels calibrate: the demo's own, `show`, `consume` and the dashboard."""
    said = re.search(
        r'^(\w+) "[^"]+" → .*  confidence (0\.\d\d) calibrated ', done.out, re.MULTILINE
    )
    assert said is not None, done.out
    name, value = said.groups()
    episode = call("show", name, "--log", LOG, "--json").json
    assert f"{episode['calibrated']:.2f}" == value
    claimed = f"claimed {episode['confidence']:.2f}, {episode['confidence_source']}"
    named = f"confidence {value} calibrated ({claimed})"
    assert named in call("show", name, "--log", LOG).out
    (line,) = (each for each in call("consume", "--log", LOG).lines if each.startswith(f"{name} "))
    assert named in line
    with serving(folder / "demo.db") as site:
        site.caught_up()
        page = site.get(f"/episode?id={name}").text
    assert f"<span>{value}</span>" in page
    assert f"calibrated, {claimed}" in page
