"""`forget --erase`: what was said of a subject is found in no byte any more, and all else verifies as before."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from schemas.subjects import MARK
from streams.runtime.embedded.keys import Keys
from streams.runtime.embedded.lines import lines_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.reading import reading
from tests.crash.processes import until
from tests.streams.cli.calling import Called, call, process
from tests.streams.cli.subjects import ANN, ANSWERS, BEN, SAYS, source_lines

REPLIES = "select episode, json_extract(body, '$.text') from records where kind = 'completed'"
LESSONS = "select learned_in, text from lessons"
MODEL = ("--backbone", "rehearsal:seed=7")
IDLE = (*MODEL, "--until-idle", "--settle", "--display", "none")


@pytest.fixture(autouse=True)
def _same_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rehearsal says hangs on ids, and a subject's begin with its mark: so it is not drawn here."""
    numbers = count(1)

    def drawn(size: int) -> str:
        return f"{next(numbers):0{2 * size}x}"

    monkeypatch.setattr("streams.runtime.embedded.keys.secrets.token_hex", drawn)


@pytest.fixture
def log(folder: Path) -> Path:
    for name in ("log", "keys"):
        (folder / name).mkdir()
    source = folder / "source" / "zoo.jsonl"
    source.parent.mkdir()
    source.write_text("".join(json.dumps(line) + "\n" for line in source_lines()))
    path = folder / "log" / "zoo.db"
    keyed = ("--keys", folder / "keys" / "zoo")
    way = ("--policy", "mc2", "--set", "batch_size=1", "--log", path, *keyed)
    produced = call("produce", source, *way)
    assert (produced.code, produced.err.count("refused")) == (0, 0), produced.err
    shutil.rmtree(source.parent)
    return path


def ok(*words: object, given: bytes = b"") -> Called:
    done = call(*words, given=given)
    assert done.code == 0, done.err
    return done


def solved(*words: object) -> None:
    """Solve a problem at once; the simulator may give no answer to it."""
    # Its name hangs on the subject's secret, and what is said on its name.
    done = call("solve", *words)
    assert done.code == 0 or done.err.startswith("abstained"), done.err


def erase(log: Path, name: str = ANN, *more: str) -> Called:
    return call("forget", "--subject", name, "--erase", "--log", log, *more)


def mark_of(log: Path, name: str = ANN) -> str:
    with closing(SqliteLog(log)) as opened:
        assert opened.sealing is not None
        found = opened.sealing.keys.known(name)
    assert found is not None
    return found


def scopes_of(log: SqliteLog) -> set[str]:
    found = log.db.execute(
        "select json_extract(body, '$.scope') from records where kind = 'reflected'"
    )
    return {scope for (scope,) in found}


def found_in(folder: Path, texts: set[str]) -> set[tuple[str, str]]:
    """Files below a folder that hold one of the texts, as UTF-8, as JSON writes it or as UTF-16."""
    hits = set[tuple[str, str]]()
    for file in folder.rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            for text in texts:
                ways = (text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le"))
                if any(way in held for way in ways):
                    hits.add((str(file.relative_to(folder)), text))
    return hits


def said_of(log: Path, mark: str) -> set[str]:
    """What a log says of a subject and of nobody who has no subject: replies and lessons."""
    with closing(SqliteLog(log)) as opened:
        replies, lessons = (
            {(episode, text) for episode, text in opened.db.execute(query)}
            for query in (REPLIES, LESSONS)
        )
    mine = {text for episode, text in replies | lessons if mark in episode}
    anybody = {text for episode, text in replies | lessons if "subject-" not in episode}
    found = {text for text in mine - anybody if len(text) >= 12}  # "12" is found anywhere
    assert len(found) > 4
    return found


# -- what must be gone -------------------------------------------------------------------------


def test_a_subjects_texts_are_found_in_no_byte_and_all_else_verifies(
    log: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / "home"
    monkeypatch.setenv("METALOGUE_HOME", str(home))
    ok("worker", *IDLE, "--log", log)
    solved("What does the dunnart weigh?", "--subject", ANN, *MODEL, "--log", log)
    mark = mark_of(log)
    with closing(SqliteLog(log)) as opened:
        (scope,) = (name for name in scopes_of(opened) if mark in name)
    ok("rebuild", "--to", "1", "--scope", scope, "--log", log)
    judged = {"domain": "zoo", "problem_id": f"{mark}.A0", "verdict": False, "by": "a zoologist"}
    call("feedback", "-", "--log", log, given=json.dumps(judged).encode())
    ok("worker", *IDLE, "--log", log)
    words = said_of(log, mark) | {*SAYS[ANN], ANN, ANSWERS[ANN], "dunnart", "zoologist"}
    others = said_of(log, mark_of(log, BEN))
    ok("fork", f"p/zoo/{mark}.A0", "--at", "1", *MODEL, "--log", log)
    (folder / "heads").write_text(ok("log", "heads", "--log", log).out)
    before = ok("verify", "--json", "--log", log).json
    held = found_in(folder, words)
    assert {place.partition("/")[0] for place, _ in held} == {"log", "keys"}
    assert not {place for place, _ in held if place == "log/zoo.db"}

    told = erase(log, ANN)
    assert (told.code, "nothing was changed" in told.err) == (0, True)
    assert found_in(folder, words) == held
    done = erase(log, ANN, "--yes", "--by", "the officer", "--reason", "Article 17")
    assert (done.code, done.lines[-1]) == (0, f"erased: the key of {mark} is destroyed")

    assert found_in(folder, words - others) == set()
    assert not found_in(folder / "keys", {ANN})
    after = ok("verify", "--heads", folder / "heads", "--json", "--log", log).json
    assert (before["erased"], after["diverged"]) == (0, [])
    assert before["episodes"] - after["episodes"] == after["erased"] > 4
    answered = [row["problem_id"] for row in ok("consume", "--json", "--log", log).rows]
    assert sorted(each.partition(".")[2] or each for each in answered) == ["B0", "B1", "a0", "a1"]
    assert found_in(folder / "log", {"Article 17"})


def test_while_a_worker_has_the_log_open_nothing_of_a_subject_is_in_its_files(
    log: Path, folder: Path
) -> None:
    words = {*SAYS[ANN], *SAYS[BEN], *ANSWERS.values(), ANN}
    with closing(SqliteLog(log)) as held:
        with held.reading():  # nobody may fold the newest commits into the file
            assert held.end()
            ok("worker", *IDLE, "--no-tables", "--log", log)
        mark = mark_of(log)
        assert (folder / "log" / "zoo.db-wal").stat().st_size > 0
        words |= said_of(log, mark)
        for name in ("zoo.db", "zoo.db-wal"):
            held_there = (folder / "log" / name).read_bytes()
            assert [text for text in words if text.encode() in held_there] == []


def test_a_memory_is_its_subjects_own(log: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    with closing(SqliteLog(log)) as opened:
        scopes = scopes_of(opened)
    memories = {scope.split("/")[2] for scope in scopes}
    assert memories == {"main", mark_of(log, ANN), mark_of(log, BEN)}


def test_a_worker_goes_on_after_an_erasure_without_waiting_for_it(log: Path) -> None:
    half = ("worker", *IDLE, "--no-tables", "--total-calls", "6", "--log", log)
    assert call(*half).code == 4
    assert erase(log, ANN, "--yes").code == 0
    ok("worker", *IDLE, "--no-tables", "--log", log)
    answered = {row["problem_id"] for row in ok("consume", "--json", "--log", log).rows}
    assert len(answered) == 4
    assert ok("verify", "--json", "--log", log).json["diverged"] == []
    assert call("solve", "anew", "--subject", ANN, *MODEL, "--log", log).code == 0
    assert mark_of(log)  # the same name later is another subject


def test_an_erasure_that_was_cut_off_is_done_by_the_same_command(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("worker", *IDLE, "--log", log)
    words = said_of(log, mark_of(log)) | set(SAYS[ANN])

    def dies(self: Keys, mark: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(Keys, "shred", dies)
        assert erase(log, ANN, "--yes").code == 130
        assert found_in(log.parent, words) == set()
    assert ok("verify", "--json", "--log", log).json["diverged"] == []
    assert erase(log, ANN, "--yes").code == 0
    assert ok("verify", "--json", "--log", log).json["erased"] > 0
    with closing(SqliteLog(log)) as opened:
        assert len([*opened.records(kinds=["subject.erased"])]) == 1


def test_a_page_that_has_the_log_open_reads_it_until_the_key_is_gone(log: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    with reading(log) as opened:
        problems = "select json_extract(value, '$.problem') from messages where topic = 'problems'"
        seen = {text for (text,) in opened.db.execute(problems)}
        assert seen == {text for texts in SAYS.values() for text in texts}
        assert "keyed" in next(lines_of(opened))
        assert erase(log, ANN, "--yes").code == 0
        left = {text for (text,) in opened.db.execute(problems)}
        assert seen - left == set(SAYS[ANN])


# -- what leaves the log -----------------------------------------------------------------------


def test_lines_and_segments_hold_it_sealed_and_lose_it_with_the_key(
    log: Path, folder: Path
) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    words = said_of(log, mark_of(log)) | {*SAYS[ANN], ANN}
    lines = folder / "lines.jsonl"
    lines.write_bytes(ok("log", "cat", "--log", log).raw)
    ok("log", "pack", folder / "pack", "--log", log)
    assert not {place for place, _ in found_in(folder, words)} - {
        "keys/zoo",
        "log/zoo.db.snapshot.db",
    }
    again = folder / "other" / "again.db"
    again.parent.mkdir()
    ok("log", "unpack", folder / "pack", "--log", again)
    digest = ok("log", "digest", "--log", log).out
    assert [ok("log", "digest", "--log", each).out for each in (f"jsonl:{lines}", again)] == [
        digest
    ] * 2
    assert erase(log, ANN, "--yes").code == 0
    left = {ok("log", "digest", "--log", each).out for each in (log, f"jsonl:{lines}", again)}
    assert len(left) == 1
    lost = call("verify", "--json", "--log", again)  # its own record of the erasure never came
    assert (lost.code, lost.json["diverged"][0]["part"]) == (3, "key")


def test_evidence_of_a_subject_is_refused_and_that_of_others_is_not(
    log: Path, folder: Path
) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    out = folder / "evidence.jsonl"
    refused = call("export", "evidence", f"p/zoo/{mark_of(log)}.A0", "--out", out, "--log", log)
    assert (refused.code, "beyond" not in refused.err, out.exists()) == (2, True, False)
    assert "evidence.subject" in refused.err
    ok("export", "evidence", "p/zoo/a0", "--out", out, "--log", log)
    ok("verify", out)


# -- what is kept of refused lines -------------------------------------------------------------


def test_a_refused_line_is_sealed_or_not_kept(folder: Path) -> None:
    (folder / "keys").mkdir()
    source = folder / "bad.jsonl"
    source.write_text(
        '{"id": "1", "problem": "the quokka", "subject": "Annabella", "bogus": 1}\n'
        '{"id": "2", "problem": "the numbat", "subject": "Annabella" oops\n'
        '{"id": "3", "problem": "anybody", "bogus": 1}\n'
    )
    log = folder / "a.db"
    done = call("produce", source, "--log", log, "--keys", folder / "keys" / "a")
    assert (done.code, done.lines[-1]) == (1, "produced 0 known 0 refused 3")
    assert "without its bytes: nobody knows whom they are about" in done.err
    held = log.read_bytes()
    assert [word for word in (b"quokka", b"numbat", b"Annabella") if word in held] == []
    assert b"anybody" in held
    assert "quokka" in ok("dlq", "show", "1", "--log", log).out
    assert erase(log, "Annabella", "--yes").code == 0
    assert len(ok("dlq", "list", "--json", "--log", log).rows) == 2


def test_judgements_are_kept_sealed_and_none_is_taken_of_who_was_erased(
    log: Path, folder: Path
) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    mark = mark_of(log)
    good = {
        "domain": "zoo",
        "problem_id": f"{mark}.A0",
        "reference": "a dunnart",
        "by": "Zoe the keeper",
    }
    bad = good | {"reference": "a potoroo", "bogus": 1}
    lines = "".join(json.dumps(each) + "\n" for each in (good, bad)).encode() + b"a potoroo?\n"
    told = call("feedback", "-", "--json", "--log", log, given=lines)
    assert told.json == {"published": 1, "known": 0, "refused": 2}
    assert call("feedback", "-", "--json", "--log", log, given=lines).json["known"] == 1
    ok("worker", *IDLE, "--no-tables", "--log", log)
    assert found_in(folder / "log", {"dunnart", "potoroo", "Zoe the keeper"}) == set()
    with closing(SqliteLog(log)) as opened:
        graded = opened.records(kinds=["graded"])
        assert "Zoe the keeper" in {record.event.source for record in graded}  # type: ignore[attr-defined]
    assert ok("verify", "--json", "--log", log).json["diverged"] == []
    assert erase(log, ANN, "--yes").code == 0
    late = call("feedback", "-", "--json", "--log", log, given=json.dumps(good).encode())
    assert (late.code, "it was erased" in late.err) == (1, True)
    assert found_in(folder / "log", {"dunnart"}) == set()


def test_the_name_of_a_fork_is_not_made_of_its_edit_alone(log: Path, folder: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    copy = folder / "log" / "copy.db"
    shutil.copy(log, copy)
    name = f"p/zoo/{mark_of(log)}.A0"
    with closing(SqliteLog(log)) as opened:
        asked = opened.db.execute(
            "select address from records where kind = 'completed' and episode glob ? limit 1",
            (f"{name}*",),
        ).fetchone()[0]
    way = ("--at", asked, "--edit", "the dunnart says 24", *MODEL)
    ok("fork", name, *way, "--log", log)
    ok("fork", name, *way, "--log", log)
    with closing(SqliteLog(log)) as opened:
        forks = opened.db.execute("select distinct episode from records where episode glob 'q/*'")
        assert len(forks.fetchall()) == 1
    assert found_in(folder / "log", {"dunnart"}) == set()
    assert ok("verify", "--json", "--log", log).json["diverged"] == []


# -- what is refused ---------------------------------------------------------------------------


def test_a_subject_needs_a_log_that_was_begun_with_keys(folder: Path) -> None:
    source = folder / "p.jsonl"
    source.write_text(
        '{"id": "1", "problem": "p", "subject": "Ann"}\n{"id": "2", "problem": "q"}\n'
    )
    log = folder / "a.db"
    refused = call("produce", source, "--log", log)
    assert (refused.code, refused.lines[-1]) == (1, "produced 1 known 0 refused 1")
    assert "subject: this log was not begun with keys" in refused.err
    solved = call("solve", "p", "--subject", "Ann", *MODEL, "--log", log)
    assert (solved.code, solved.err.startswith("--subject: this log was not begun")) == (2, True)
    later = call("produce", source, "--log", log, "--keys", folder / "k")
    assert (later.code, "was begun without keys" in later.err) == (2, True)
    erased = erase(log, "Ann", "--yes")
    assert (erased.code, "was begun without keys" in erased.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--problem", "1", "--erase"), "--erase: a problem is forgotten"),
        (("--problem", "1", "--subject", "Ann"), "--subject: a problem is forgotten"),
        (("--subject", "Ann"), "--subject: a subject is erased: add --erase"),
        (("--erase",), "--problem: what is to be forgotten?"),
        (("--subject", "Cid", "--erase"), "--subject: no subject 'Cid'"),
    ],
)
def test_what_is_to_be_forgotten_is_one_thing(words: tuple[str, ...], says: str, log: Path) -> None:
    done = call("forget", *words, "--log", log)
    assert (done.code, done.err.startswith(says)) == (2, True), done.err


def test_keys_lie_apart_from_their_log_and_are_of_one_alone(folder: Path, log: Path) -> None:
    beside = call("produce", "game24:901", "--log", folder / "b.db", "--keys", folder / "b.keys")
    assert (beside.code, "lies beside the log" in beside.err) == (2, True)
    taken = call(
        "produce", "game24:901", "--log", folder / "b.db", "--keys", folder / "keys" / "zoo"
    )
    assert (taken.code, "is there already" in taken.err) == (2, True)
    (folder / "moved").mkdir()
    (folder / "keys" / "zoo").rename(folder / "moved" / "zoo")
    gone = call("consume", "--log", log)
    assert (gone.code, "its keys are not at" in gone.err) == (2, True)


def test_keys_that_were_moved_are_named_once(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "moved").mkdir()
    (folder / "keys" / "zoo").rename(folder / "moved" / "zoo")
    with monkeypatch.context() as told:
        told.setenv("METALOGUE_KEYS", str(folder / "moved" / "zoo"))
        ok("worker", *IDLE, "--no-tables", "--log", log)
    ok("consume", "--log", log)
    ok("produce", "game24:901", "--log", folder / "log" / "b.db", "--keys", folder / "keys" / "b")
    other = call("worker", *IDLE, "--log", log, "--keys", folder / "keys" / "b")
    assert (other.code, "holds another log's keys" in other.err) == (2, True)


def test_a_series_is_not_named_by_what_subjects_say(folder: Path) -> None:
    (folder / "keys").mkdir()
    line = b'{"id": "1", "problem": "the quokka", "subject": "Ann"}\n'
    words = ("produce", "-", "--policy", "mc2", "--log", folder / "a.db")
    unnamed = call(*words, "--keys", folder / "keys" / "a", given=line)
    assert (unnamed.code, "subject: name the series (--series)" in unnamed.err) == (1, True)
    named = call(*words, "--series", "s", given=line)
    assert (named.code, named.out) == (0, "produced 1 known 0 refused 0\n")


def test_no_other_memory_is_begun_with_what_a_subject_taught(log: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    with closing(SqliteLog(log)) as opened:
        (scope,) = (name for name in scopes_of(opened) if mark_of(log) in name)
    line = b'{"id": "new", "problem": "1 2 3 4"}\n'
    way = ("--policy", "mc2", "--series", "s", "--set", f"warm_start={scope}", "--memory", "m")
    ok("produce", "-", *way, "--log", log, given=line)
    call("worker", *IDLE, "--no-tables", "--log", log)
    (letter,) = ok("dlq", "list", "--json", "--log", log).rows
    assert "what a subject's problems taught stays with it" in json.dumps(letter)


def test_a_dry_run_begins_no_key(folder: Path) -> None:
    (folder / "keys").mkdir()
    line = b'{"id": "1", "problem": "the quokka", "subject": "Ann"}\n'
    words = ("produce", "-", "--log", folder / "a.db", "--keys", folder / "keys" / "a")
    dry = call(*words, "--dry-run", given=line)
    assert (dry.code, dry.out, [*(folder / "keys").iterdir()]) == (
        0,
        "produced 1 known 0 refused 0\n",
        [],
    )


def test_erasing_waits_for_no_worker_and_says_who_is_at_work(log: Path, folder: Path) -> None:
    with process(
        "worker", "--backbone", "rehearsal:seed=7,latency_ms=200", "--log", log, cwd=folder
    ) as worker:
        try:
            with closing(SqliteLog(log)) as opened:
                until(lambda: bool(opened.claims()), worker)
            done = erase(log, ANN, "--yes")
        finally:
            worker.terminate()
    assert (done.code, "another worker has this log" in done.err) == (6, True)
    assert mark_of(log)


# -- what verification tells apart -------------------------------------------------------------


def diverged(log: Path) -> list[tuple[str, str]]:
    done = call("verify", "--json", "--log", log)
    return [(each["part"], each["now"]) for each in done.json["diverged"]]


def test_a_lost_key_is_no_erasure(log: Path, folder: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    mark = mark_of(log)
    with sqlite3.connect(folder / "keys" / "zoo") as keys:
        keys.execute("delete from subjects where mark = ?", (mark,))
    keys.close()
    assert ("key", "its key, or the record of its erasure") in diverged(log)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ('body = \'{"kind":"completed"}\'', "seal"),
        ('body = replace(body, \'"box":"\', \'"box":"AAAA\')', "body"),
        ("body = replace(body, 'subject-', 'subject-0')", "seal"),
    ],
)
def test_a_seal_that_was_changed_is_found(log: Path, change: str, part: str) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    assert diverged(log) == []
    with sqlite3.connect(log) as db:
        first = "select min(offset) from records where kind = 'completed' and episode like ?"
        db.execute(
            f"update records set {change} where offset = ({first})", (f"p/%{mark_of(log)}%",)
        )
    db.close()
    assert part in [each for each, _ in diverged(log)]


def test_marks_are_all_that_a_log_says_of_whom(log: Path) -> None:
    ok("worker", *IDLE, "--no-tables", "--log", log)
    with closing(sqlite3.connect(log)) as db:
        bodies = [
            body
            for (body,) in db.execute("select body from records where instr(episode, 'subject-')")
        ]
    assert bodies
    for body in bodies:
        said = json.loads(body)
        assert said.keys() == {"sealed", "box"}
        assert MARK.fullmatch(said["sealed"])
