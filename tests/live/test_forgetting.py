"""`forget`, `lessons retire` and `lessons restore`: told first, then done, verifiable for ever."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from schemas.problem import Limits
from streams.replay.lineage import asked, command
from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import until
from tests.streams.cli.calling import Called, call, process
from tests.streams.cli.learned import made, rows

pytestmark = [pytest.mark.live, pytest.mark.slow]
MODEL = ("--backbone", "rehearsal:seed=7,malformed=0,truncated=0,empty=0")
"""Calls can be told beforehand only where none has to be asked again."""
IDLE = ("--until-idle", "--settle", "--no-tables", "--display", "none")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return copied(tmp_path / "a.db")


def copied(to: Path) -> Path:
    with closing(SqliteLog(made())) as learned:
        learned.db.execute("vacuum into ?", (str(to),))
    return to


def forget(log: Path, problem: str, *more: str) -> Called:
    return call("forget", "--problem", problem, "--log", log, *more)


def told(log: Path, problem: str, *more: str) -> dict[str, Any]:
    done = forget(log, problem, "--json", *more)
    assert done.code == 0, done.err
    return dict(done.rows[0])


def taught(log: Path) -> str:
    """A problem that lessons were drawn from."""
    found = rows(log, "select subject from lessons order by offset limit 1")
    return str(found[0][0]).rpartition("/")[2]


def texts_of(log: Path, problem: str) -> list[str]:
    query = "select text from lessons where subject = ?"
    return [str(text) for (text,) in rows(log, query, f"game24/{problem}")]


def state_hash(log: Path) -> str:
    return call("state", "hash", "--log", log).out.strip()


def verified(log: Path) -> str:
    done = call("verify", "--log", log)
    assert done.code == 0, done.err
    return done.lines[-1]


def completions(log: Path) -> int:
    return int(str(rows(log, "select count(*) from calls")[0][0]))


def worked(log: Path) -> None:
    done = call("worker", *MODEL, *IDLE, "--log", log)
    assert done.code == 0, done.err


def test_what_it_would_do_is_told_and_not_done(log: Path) -> None:
    problem, before = taught(log), call("log", "digest", "--log", log).out
    said = forget(log, problem)
    assert said.code == 0
    assert "add --yes" in said.err
    for part in ("withdrawn", "stale rules", "closed again", "model calls", "influenced"):
        assert part in said.out
    assert "A log is never rewritten" in said.out
    found = told(log, problem)
    assert not found["forgotten"]
    assert found["scopes"][0]["versions"] == ["1.1", "2.1"]
    assert found["stays"]["records"] > 0
    assert call("log", "digest", "--log", log).out == before
    assert rows(log, "select count(*) from records where kind = 'problem.forgotten'") == [(0,)]


def test_it_is_withdrawn_and_versions_are_closed_again_with_the_calls_that_were_told(
    log: Path,
) -> None:
    problem = taught(log)
    announced, before = told(log, problem), completions(log)
    done = told(log, problem, "--yes", *MODEL)
    scope = done["scopes"][0]["scope"]
    assert done["closed_again"] == [f"{scope}@1.1", f"{scope}@2.1"]
    assert completions(log) - before == announced["scopes"][0]["calls"]
    listed = call("lessons", "list", "--json", "--log", log).rows
    subjects = {row["subject"] for row in listed}
    assert subjects
    assert f"game24/{problem}" not in subjects
    gone = done["scopes"][0]["lessons"][0]
    refused = call("lessons", "show", gone, "--log", log)
    assert refused.code == 2
    assert "was forgotten" in refused.err
    assert verified(log).endswith("0 model calls")
    assert call("knowledge", "show", "--log", log).out.startswith(
        f"{scope}   18 rules, version 2.1"
    )


def test_tables_and_rebuilds_hold_nothing_of_it(log: Path) -> None:
    problem = taught(log)
    gone = texts_of(log, problem)
    assert call("rebuild", "--log", log).code == 0
    told(log, problem, "--yes", *MODEL)
    rebuilt = call("rebuild", "--snapshot", "--log", log)
    assert rebuilt.lines[-1] == state_hash(log) == call("rebuild", "--log", log).lines[-1]
    held = everything(Path(f"{log}.tables"))
    assert not [text for text in gone if text in held]
    asked = rows(log, "select json_extract(body, '$.problem.problem') from records "
                 "where kind = 'problem.admitted' and json_extract(body, '$.problem.id') = ?", problem)  # fmt: skip
    assert f"'{asked[0][0]}'" not in held


def everything(tables: Path) -> str:
    from state.tables.lance import connected
    from state.tables.registry import TABLES

    return str([connected(tables).open_table(name).to_arrow().to_pylist() for name in TABLES])


def in_bytes(texts: list[str], folder: Path) -> list[str]:
    """Which of these texts stand in some file of a folder, old versions of tables among them."""
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [text for text in texts if text.encode() in held]


def is_out_of(folder: Path, texts: list[str]) -> bool:
    """Whether none of these texts stands in it; not while its files come and go."""
    with suppress(FileNotFoundError):
        return not in_bytes(texts, folder)
    return False


def words_of(log: Path, problem: str) -> list[str]:
    """Its text, the answer of a fork of it, and lines that only its lessons have."""
    admitted = "select json_extract(body, '$.problem.problem'), episode from records where address = 'admitted'"
    ((text, episode),) = rows(
        log, f"{admitted} and json_extract(body, '$.problem.id') = ?", problem
    )
    words = ("--at", "1", "--set", "max_rounds=1", "--json", "--backbone", "rehearsal:seed=9")
    forked = call("fork", str(episode), *words, "--log", log)
    query = "select text from lessons where subject != ?"
    others = "\n".join(str(each) for (each,) in rows(log, query, f"game24/{problem}"))
    lines = "\n".join(texts_of(log, problem)).splitlines()
    own = [line for line in lines if line and line not in others]
    assert own
    return [str(text), forked.rows[0]["answer"], *own]


def test_the_bytes_of_the_tables_hold_nothing_of_it(log: Path) -> None:
    """At once, with nobody at work and nothing rebuilt; nor do old versions that readers could go back to."""
    problem, tables = taught(log), log.with_name("a.db.tables")
    words = words_of(log, problem)
    assert call("rebuild", "--log", log).code == 0
    assert in_bytes(words, tables) == words
    told(log, problem, "--yes", *MODEL)
    assert in_bytes(words, tables) == []
    assert call("rebuild", "--log", log).lines[-1] == state_hash(log)


def test_a_projector_at_work_takes_it_out_of_the_tables(log: Path) -> None:
    problem, tables = taught(log), log.with_name("a.db.tables")
    words = words_of(log, problem)
    with process("projector", "--log", log, cwd=log.parent) as projector:
        assert projector.stderr is not None
        while b"ready" not in projector.stderr.readline():
            pass
        assert in_bytes(words, tables) == words
        done = forget(log, problem, "--yes", *MODEL)
        assert f"{projector.pid}: it writes them without it" in done.err
        assert until(lambda: is_out_of(tables, words), projector)
        projector.terminate()
        assert projector.wait(90) == 0
    assert in_bytes(words, tables) == []


def test_new_episodes_pin_the_newest_revision(log: Path) -> None:
    told(log, taught(log), "--yes", *MODEL)
    made_more = call("produce", "game24:921-930", "--policy", "mc2", "--log", log)
    assert made_more.code == 0
    worked(log)
    pins = rows(log, "select distinct json_extract(body, '$.memory_version'), "
                "json_extract(body, '$.memory_revision') from records where kind = 'episode.opened' "
                "order by 1, 2")  # fmt: skip
    assert (2, 1) in pins
    assert verified(log).endswith("0 model calls")
    assert call("rebuild", "--tables", "none", "--log", log).lines[-1] == state_hash(log)


def test_a_worker_does_what_a_broken_off_forget_left(log: Path) -> None:
    """The command alone is on the log; whoever works next closes the versions again."""
    problem = taught(log)
    opened = SqliteLog(log)
    (domain, scopes), *_ = asked(opened, problem).items()
    opened.publish(commands=[command(s, domain, problem, Limits(), None, None) for s in scopes])
    opened.close()
    worked(log)
    other = copied(log.with_name("b.db"))
    told(other, problem, "--yes", *MODEL)
    assert state_hash(log) == state_hash(other)
    assert verified(log).endswith("0 model calls")


@pytest.mark.parametrize("when", ["member", "taught"])
def test_a_batch_that_closed_before_the_word_was_read_is_closed_again(log: Path, when: str) -> None:
    """The command stands on the log before a batch whose worker had not read it."""
    query = (
        "select offset, json_extract(body, '$.members[0]') from records where kind = 'batch.closed'"
    )
    at, member = rows(log, f"{query} order by offset desc limit 1")[0]
    problem = taught(log) if when == "taught" else str(member).split("/")[2]
    opened = SqliteLog(log)
    (domain, scopes), *_ = asked(opened, problem).items()
    opened.publish(commands=[command(s, domain, problem, Limits(), None, None) for s in scopes])
    moved(opened, int(str(at)))
    opened.close()
    worked(log)
    assert verified(log).endswith("0 model calls")
    other = copied(log.with_name("b.db"))
    told(other, problem, "--yes", *MODEL)
    assert state_hash(log) == state_hash(other)


def moved(log: SqliteLog, to: int) -> None:
    """Put the last record where another stands; that one and those behind it make room."""
    last = log.end()
    log.db.execute("update records set offset = -(offset + 1) where offset >= ?", (to,))
    log.db.execute("update records set offset = ? where offset = ?", (to, -(last + 1)))
    log.db.execute("update records set offset = -offset where offset < 0")


def test_a_limit_leaves_no_stale_rule_behind(log: Path) -> None:
    before = completions(log)
    done = told(log, taught(log), "--yes", "--call-limit", "1", *MODEL)
    assert done["cut_short"].keys() <= {*done["closed_again"]}
    assert all(done["cut_short"].values())
    assert completions(log) - before <= 2
    ended = rows(log, "select json_extract(body, '$.result') from records "
                 "where kind = 'knowledge.consolidated' and episode like '%.1'")  # fmt: skip
    assert ("fallback",) in ended
    assert verified(log).endswith("0 model calls")


def test_rules_that_a_limit_left_out_are_named(log: Path) -> None:
    done = forget(log, taught(log), "--yes", "--call-limit", "1", *MODEL)
    assert "the call limit was spent: rules of " in done.out
    assert "were not written again" in done.out


def test_an_id_with_quotes_is_found_in_what_stays(tmp_path: Path) -> None:
    log, name = tmp_path / "a.db", 'a"b\\c'
    lines = "\n".join(
        json.dumps({"id": f"{name}{n}", "problem": f"make 24 of {n}", "domain": "d", "answer": "1"})
        for n in range(5)
    )
    words = ("--policy", "mc2", "--set", "batch_size=5", "--log", log)
    assert call("produce", "-", *words, given=lines.encode()).code == 0
    worked(log)
    subject = str(rows(log, "select subject from lessons limit 1")[0][0])
    assert told(log, subject.removeprefix("d/"))["stays"]["learning"] > 0


def test_without_a_model_nothing_is_changed_where_one_is_needed(log: Path) -> None:
    refused = forget(log, taught(log), "--yes")
    assert refused.code == 2
    assert "no backbone" in refused.err
    assert rows(log, "select count(*) from records where kind = 'problem.forgotten'") == [(0,)]


def test_what_nobody_learned_from_needs_no_model(tmp_path: Path) -> None:
    """Where only flawless and hopeless episodes teach, some problem taught nothing."""
    log = tmp_path / "a.db"
    words = ("--policy", "mc2", "--set", "teaching=extremes", "--log", log)
    assert call("produce", "game24:901-920", *words).code == 0
    worked(log)
    subjects = {str(row[0]) for row in rows(log, "select subject from lessons")}
    ids = [str(row[0]) for row in rows(log, "select problem_id from answers order by offset")]
    quiet = next(each for each in ids if f"game24/{each}" not in subjects)
    found = told(log, quiet, "--yes")
    assert found["scopes"][0]["calls"] == 0
    assert found["closed_again"]
    assert verified(log).endswith("0 model calls")


def test_nobody_is_forgotten_twice_and_nobody_unknown(log: Path) -> None:
    problem = taught(log)
    told(log, problem, "--yes", *MODEL)
    again = forget(log, problem, "--yes")
    assert again.code == 0
    assert "forgotten before" in again.out
    assert forget(log, "n0").code == 2


@pytest.mark.parametrize("series", [True, False])
def test_what_is_queued_is_answered_and_nothing_learned_from_it(
    tmp_path: Path, series: bool
) -> None:
    """Also where no memory is there yet: a follower's problems open no series, and make none."""
    log = tmp_path / "a.db"
    problems = [f'{{"id": "n{n}", "problem": "{n}", "domain": "d"}}' for n in range(3)]
    words = ("--policy", "mgv_flavell") if series else ("--policy", "mgv_flavell", "--follow")
    lines = "\n".join(problems).encode()
    assert call("produce", "-", *words, "--log", log, given=lines).code == 0
    found = told(log, "n1", "--yes")
    assert [each["queued"] for each in found["scopes"]] == [1]
    assert call("produce", "-", "--policy", "cot", "--log", log, given=lines).code == 0
    again = told(log, "n1", "--yes")
    assert [(each["queued"], each["scope"].split("/")[1]) for each in again["scopes"]] == [
        (1, "cot")
    ]
    worked(log)
    assert len(rows(log, "select 1 from answers where problem_id = 'n1'")) == 2
    members = rows(log, "select body from records where kind = 'batch.closed'")
    assert members
    assert not [body for (body,) in members if "/n1/" in str(body)]
    assert verified(log).endswith("0 model calls")
    assert call("rebuild", "--tables", "none", "--log", log).lines[-1] == state_hash(log)


def test_a_memory_that_meets_the_problem_later_learns_from_it(log: Path) -> None:
    """A memory forgets what it was told to forget; one that was told nothing asks like any other."""
    problem = taught(log)
    told(log, problem, "--yes", *MODEL)
    again = ("produce", "game24:901-920", "--policy", "mgv_flavell", "--log", log)
    assert call(*again).code == 0
    worked(log)
    assert verified(log).endswith("0 model calls")
    assert call("rebuild", "--log", log).lines[-1] == state_hash(log)
    found = of_table(log, problem)
    assert [row["problem"] for row in found if row["withdrawn"]] == [None]
    assert ["/mgv_flavell/" in row["scope"] for row in found if not row["withdrawn"]] == [True]


def of_table(log: Path, problem: str) -> list[dict[str, Any]]:
    from state.tables.lance import connected

    found = connected(Path(f"{log}.tables")).open_table("episodes").to_arrow().to_pylist()
    return [row for row in found if f"/{problem}/" in row["key"]]


# -- a person's word ---------------------------------------------------------------------------


def prompted(log: Path, after: int) -> set[str]:
    """Items in prompts of episodes that pinned a version from this one on."""
    query = ("select distinct j.value from records r, json_each(r.body, '$.items') j "
             "where r.kind = 'reflected' and json_extract(r.body, '$.memory_version') >= ?")  # fmt: skip
    return {str(name) for (name,) in rows(log, query, after)}


def more(log: Path, first: int) -> None:
    series = f"game24:{first}-{first + 9}"
    assert call("produce", series, "--policy", "mc2", "--log", log).code == 0
    worked(log)


def test_a_retired_item_is_in_no_prompt_from_the_next_version_on_until_it_is_restored(
    log: Path,
) -> None:
    listed = call("lessons", "list", "--json", "--log", log).rows
    item = next(row["id"] for row in listed if row["batch"] == 2)
    done = call("lessons", "retire", item, "--reason", "misleads", "--by", "me", "--log", log)
    assert done.code == 0, done.err
    assert "from the version after 2 on" in done.out
    more(log, 921)
    shown = call("lessons", "show", item, "--json", "--log", log).rows[0]
    assert shown["retired"]
    assert item not in {r["id"] for r in call("lessons", "list", "--json", "--log", log).rows}
    assert call("lessons", "retire", item, "--log", log).code == 2
    assert call("lessons", "restore", item, "--log", log).code == 0
    more(log, 931)
    assert item not in prompted(log, 3)
    assert item in {r["id"] for r in call("lessons", "list", "--json", "--log", log).rows}
    assert not call("lessons", "show", item, "--json", "--log", log).rows[0]["retired"]
    assert verified(log).endswith("0 model calls")
    assert call("rebuild", "--tables", "none", "--log", log).lines[-1] == state_hash(log)


def test_what_nobody_knows_cannot_be_retired(log: Path) -> None:
    assert call("lessons", "retire", "L99.R1", "--log", log).code == 2
    assert call("lessons", "restore", "R1", "--log", log).code == 2


def test_the_log_is_sound_for_sqlite(log: Path) -> None:
    told(log, taught(log), "--yes", *MODEL)
    db = sqlite3.connect(log)
    assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    db.close()
