"""`metalogue regrade`: answers graded anew by a grader of one's own, what was learned follows, and nobody is asked."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from schemas.identity import canonical
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import LogRecords
from streams.runtime.embedded.writer import Writer
from tests.endpoint import Answer, Asked, serving, whole
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import Called, call

LOG = ("--log", "a.db")
ANSWERS = {"one": "7", "two": "17", "ten": "70", "six": "room 67"}
"""What the model answers; the reference is 7 each time."""
GRADERS = """
from handlers.answers.own import Given, Grader


def ends_alike(given: Given) -> bool:
    return given.answer[-1:] in [each[-1:] for each in given.references]


def begins_alike(given: Given) -> tuple[bool | None, str]:
    if not given.answer[:1].isdigit():
        return None, "it begins with no digit"
    return given.answer[:1] in [each[:1] for each in given.references], "by its first digit"


first = Grader(name="mine", version="1", grade=ends_alike)
second = Grader(name="mine", version="2", grade=begins_alike)
odd = Grader(name="odd", version="1", grade=lambda given: len(given.answer) == 2, unlabelled=True)


def breaks(given: Given) -> bool:
    raise ValueError("I cannot")


def sometimes(given: Given) -> bool:
    return {"7": True, "17": False}[given.answer]


broken = Grader(name="broken", version="1", grade=breaks)
leaky = Grader(name="leaky", version="1", grade=sometimes)
nonsense = Grader(name="nonsense", version="1", grade=lambda given: "right")
"""


def replies(asked: Asked) -> Answer:
    name = next(name for name in ANSWERS if f"Problem {name}." in str(asked.body["messages"]))
    return whole(f"Final_answer: \\boxed{{{ANSWERS[name]}}}")


@pytest.fixture(autouse=True)
def asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    Path("mine.py").write_text(GRADERS)
    with serving(replies) as endpoint:
        for name, value in endpoint.env().items():
            monkeypatch.setenv(name, value)
        yield endpoint.asked


def produced(*log: str) -> None:
    lines = [
        canonical({"id": name, "problem": f"Problem {name}.", "answer": "7"}) for name in ANSWERS
    ]
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    assert call("produce", "in.jsonl", "--policy", "io", *(log or LOG)).code == 0


def worked(*more: str) -> None:
    called = call("worker", "--backbone", "openai:m", "--until-idle", "--no-tables", *LOG, *more)
    assert called.code == 0, called.err


def regraded(grader: str, *more: str) -> Called:
    return call("regrade", *LOG, "--grader", f"mine.py:{grader}", *more)


def outcomes() -> dict[str, str]:
    with closing(sqlite3.connect("a.db")) as db:
        found = db.execute("select episode, outcome from outcomes").fetchall()
    return {episode.split("/")[2]: outcome for episode, outcome in found}


def grades() -> list[dict[str, Any]]:
    query = "select body from records where kind = 'graded' order by offset"
    with closing(sqlite3.connect("a.db")) as db:
        return [json.loads(body) for (body,) in db.execute(query)]


def counted() -> int:
    with closing(sqlite3.connect("a.db")) as db:
        return int(db.execute("select count(*) from records").fetchone()[0])


def accuracy() -> Any:
    called = call("analyse", "--json", *LOG)
    assert called.code == 0, called.err
    [run] = called.json["runs"].values()
    return run["graded"], run["undecided"], run["accuracy"]


def verified(*more: str) -> Called:
    called = call("verify", *LOG, *more)
    assert "0 model calls" in called.out, called.err
    return called


EXACT = {"one": "right", "two": "wrong", "ten": "wrong", "six": "wrong"}
ENDS = {"one": "right", "two": "right", "ten": "wrong", "six": "right"}
BEGINS = {"one": "right", "two": "wrong", "ten": "right", "six": "unknown"}


def test_a_worker_grades_by_a_grader_of_ones_own(asked: list[Asked]) -> None:
    produced()
    worked("--grader", "mine.py:first")
    assert outcomes() == ENDS
    [grader] = {each["grader"] for each in grades()}
    name, _, digest = grader.partition("+")
    assert name == "mine@1"
    assert len(digest) == 12
    assert "only mine@1+" in verified().out
    assert "only mine@1+" not in verified("--grader", "mine.py:first").out
    before = len(grades())
    worked("--grader", "mine.py:second")
    assert len(grades()) == before, "what is graded stays as it is recorded"


def test_a_log_is_graded_anew_by_a_later_version_with_no_call(asked: list[Asked]) -> None:
    produced()
    worked("--grader", "mine.py:first")
    assert accuracy() == (4, 0, pytest.approx(3 / 4))
    calls, before = len(asked), counted()
    done = regraded("second", "--json").json
    assert (done["new"], done["known"], done["reasoning_calls"]) == (4, 0, 0)
    assert done["outcomes"] == {"right": 2, "wrong": 1, "unknown": 1}
    assert {each["episode"].split("/")[2] for each in done["changed"]} == {"two", "ten", "six"}
    assert outcomes() == BEGINS
    assert accuracy() == (3, 1, pytest.approx(2 / 3))
    said = grades()[-4:]
    assert {each["by"] for each in said} == {"regrade"}
    assert {each["detail"] for each in said} == {"by its first digit", "it begins with no digit"}
    assert counted() == before + 5, "four grades under one claim"
    assert len(asked) == calls
    assert verified("--grader", "mine.py:second").code == 0


def test_twice_is_once_and_back_again_is_another_grade() -> None:
    produced()
    worked()
    assert outcomes() == EXACT
    assert regraded("first").code == 0
    before = counted(), call("log", "digest", *LOG).out
    again = regraded("first")
    assert (again.code, counted(), call("log", "digest", *LOG).out) == (0, *before)
    assert "0 new on the log, 4 known; 0 outcomes changed" in again.out
    regraded("second")
    assert outcomes() == BEGINS
    regraded("first")
    assert outcomes() == ENDS
    assert len(grades()) == 16
    assert call("regrade", "a.db").code == 0, "by the graders of this build"
    assert outcomes() == EXACT
    assert grades()[-1]["grader"] == "exact@5"
    assert verified().code == 0


def test_a_later_word_of_somebody_counts_as_it_does_after_any_grade() -> None:
    """A reference that comes later is compared anew, and a person's verdict stands whatever grades come."""
    produced()
    worked()
    regraded("first")
    episode = next(each for each in _episodes() if "/two/" in each)
    _feedback({"episode": episode, "verdict": False, "by": "ada"})
    _feedback({"domain": "default", "problem_id": "ten", "reference": "70", "by": "bob"})
    worked()
    assert outcomes() == {**ENDS, "two": "wrong", "ten": "right"}
    done = regraded("second", "--json").json
    assert (done["by_person"], done["new"]) == (1, 4)
    assert outcomes() == {**BEGINS, "two": "wrong", "ten": "right"}
    assert regraded("first", "--json").json["by_person"] == 1
    assert outcomes()["two"] == "wrong"
    _feedback({"episode": episode, "verdict": True, "by": "ada"})
    worked()
    assert outcomes()["two"] == "right"
    assert verified("--grader", "mine.py:first").code == 0


def _episodes() -> list[str]:
    query = "select distinct episode from records where episode like 'p/%'"
    with closing(sqlite3.connect("a.db")) as db:
        return [name for (name,) in db.execute(query)]


def _feedback(said: dict[str, Any]) -> None:
    assert call("feedback", "-", *LOG, given=json.dumps(said).encode()).code == 0


def test_a_grader_that_fails_leaves_the_log_as_it_was() -> None:
    produced()
    worked()
    before = counted()
    for name, why in (("broken", "raised ValueError: I cannot"), ("nonsense", "said 'right'")):
        called = regraded(name)
        assert called.code == 1
        assert f"{name}@1+" in called.err
        assert why in called.err
        assert "[grader.failed]" in called.err
    assert counted() == before
    done = regraded("leaky", "--json")
    assert done.code == 1
    assert (done.json["new"], len(done.json["failed"])) == (2, 2)
    assert outcomes() == EXACT
    assert verified().code == 0


def test_in_a_worker_a_grader_that_fails_leaves_the_answer_undecided() -> None:
    produced()
    worked("--grader", "mine.py:leaky")
    assert outcomes() == {"one": "right", "two": "wrong", "ten": "unknown", "six": "unknown"}
    details = {each["detail"] for each in grades() if each["outcome"] == "unknown"}
    assert all("raised KeyError" in each for each in details)
    assert verified().code == 0


def test_without_a_reference_only_a_grader_that_needs_none_is_asked() -> None:
    Path("in.jsonl").write_bytes(canonical({"id": "two", "problem": "Problem two."}))
    assert call("produce", "in.jsonl", "--policy", "io", *LOG).code == 0
    worked()
    first = regraded("first")
    assert "1 answer without a reference" in first.err
    assert outcomes() == {}
    assert regraded("odd").code == 0
    assert outcomes() == {"two": "right"}
    assert verified("--grader", "mine.py:odd").code == 0


def test_what_runs_is_what_the_command_line_gave() -> None:
    """A grade names its grader; nobody looks for the file that it came from."""
    produced()
    worked("--grader", "mine.py:first")
    Path("mine.py").unlink()
    assert verified().code == 0
    assert accuracy()[2] == pytest.approx(3 / 4)
    refused = regraded("first")
    assert refused.code == 2
    assert "mine.py: no such file" in refused.err
    unknown = call("regrade", *LOG, "--grader", "theirs")
    assert unknown.code == 2
    assert "no grader 'theirs'" in unknown.err
    assert outcomes() == ENDS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "mine.py:first: expected a Grader, found NoneType"),
        ("first = 1", "expected a Grader, found int"),
        ("import nowhere", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import os; os._exit(3)", "could not be loaded"),
        (GRADERS.replace('name="mine", version="1"', 'name="exact", version="1"'), "one of ours"),
        (GRADERS.replace('name="mine", version="1"', 'name="a@b", version="1"'), "name: expected"),
        (GRADERS.replace('version="1"', 'version="1+2"'), "version: expected a plain name"),
        (GRADERS.replace("grade=ends_alike", "grade=None"), "grade: expected a function"),
    ],
)
def test_what_is_no_grader_is_refused_by_name(text: str, why: str) -> None:
    produced()
    Path("mine.py").write_text(text)
    called = regraded("first")
    assert called.code == 2
    assert "--grader" in called.err
    assert why.replace("one of ours", "is a grader of ours") in called.err


def test_logs_that_cannot_be_graded_anew_say_why() -> None:
    produced()
    worked()
    kafka = call("regrade", "--log", "kafka://127.0.0.1:1", "--judge", "rehearsal")
    assert kafka.code == 2
    assert "--judge" in kafka.err
    assert "regrade.judge" in kafka.err
    Path("a.jsonl").write_bytes(call("log", "cat", *LOG, "--json").raw)
    assert "can only be read" in call("regrade", "--log", "jsonl:a.jsonl").err
    assert "no log at b.db" in call("regrade", "b.db").err
    assert "named twice" in call("regrade", "a.db", *LOG).err
    assert "no closed episode of 'x'" in regraded("first", "--run", "x").err


def test_a_log_that_a_worker_has_is_left_to_it() -> None:
    from streams.interfaces.cli.working import only_worker

    produced()
    worked()
    before = counted()
    with only_worker("a.db"):
        called = regraded("first")
    assert called.code == 6
    assert "[log.busy, exit 6]" in called.err
    assert counted() == before


def test_a_run_alone_is_graded_anew() -> None:
    produced()
    assert call("produce", "in.jsonl", "--policy", "cot", *LOG).code == 0
    worked()
    done = regraded("first", "--run", "io", "--json").json
    assert done["new"] == 4
    assert all(each["episode"].startswith("p/default/") for each in done["changed"])
    assert {"exact@5"} == {each["grader"] for each in grades() if each["by"] == "feedback"}


# ── What was learned follows ─────────────────────────────────────────────────────────────────────

LEARNS = ("--policy", "mgv_flavell", "--call-limit", "6")


def taught(log: str, *more: str) -> None:
    """A log with two batches of one policy that learns by outcomes, on the simulator."""
    where = ("--log", log)
    assert call("produce", "in.jsonl", *LEARNS, "--set", "batch_size=2", *where).code == 0
    words = ("--backbone", "rehearsal:seed=3", "--until-idle", "--settle", "--no-tables")
    called = call("worker", *words, *where, *more)
    assert called.code == 0, called.err


def learned(log: str) -> list[Any]:
    with closing(SqliteLog(log)) as opened:
        learner = Learner(find, LogRecords(opened))
        for record in opened.records("learning"):
            learner.feed(record.episode, record.address, record.event)
        [scope] = learner.scopes.values()
        assert not scope.memory.forgetting.owed
        return [[m.name, dict(m.learned)] for m in scope.memory.versions.values()]


@pytest.fixture
def two(folder: Path) -> None:
    lines = [
        canonical({"id": str(at), "problem": f"What is {at} + 4?", "answer": str(at + 4)})
        for at in range(2)
    ]
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    right = GRADERS.replace("given.answer[-1:] in [each[-1:] for each in given.references]", "True")
    Path("mine.py").write_text(right)


def test_learned_state_is_that_of_a_log_which_was_graded_so_at_first(two: None) -> None:
    taught("a.db")
    taught("b.db", "--grader", "mine.py:first")
    assert learned("a.db")[-1] != learned("b.db")[-1]
    done = regraded("first", "--json").json
    assert len(done["closed_again"]) == 1
    [_, mine], [_, theirs] = learned("a.db"), learned("b.db")
    assert mine == [f"{theirs[0]}.1", theirs[1]]
    assert (
        call("rebuild", *LOG, "--tables", "none").lines[-1]
        == call("state", "hash", *LOG).out.strip()
    )
    assert verified("--grader", "mine.py:first").code == 0
    again = regraded("first", "--json").json
    assert (again["new"], again["closed_again"]) == (0, [])


@pytest.mark.parametrize("commits", range(3))
@pytest.mark.parametrize("next_is", ["command", "worker"])
def test_whoever_is_killed_between_two_commits_is_gone_on_from(
    two: None, monkeypatch: pytest.MonkeyPatch, commits: int, next_is: str
) -> None:
    taught("a.db")
    left = [commits]
    commit = Writer.commit

    class Killed(BaseException):
        pass

    async def dies(writer: Writer) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        await commit(writer)

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(Writer, "commit", dies)
        regraded("first")
    assert verified().code == 0
    if next_is == "worker" and commits:
        words = ("--backbone", "rehearsal:seed=3", "--until-idle", "--settle", "--no-tables")
        assert call("worker", *words, *LOG).code == 0
    assert regraded("first").code == 0
    assert verified("--grader", "mine.py:first").code == 0
    with closing(sqlite3.connect("a.db")) as db:
        query = "select count(*) from records where kind = 'graded' and body like '%regrade%'"
        assert db.execute(query).fetchone() == (2,)
        query = "select max(json_extract(body, '$.revision')) from records where kind = 'memory.versioned'"
        assert db.execute(query).fetchone() == (1,)
    taught("b.db", "--grader", "mine.py:first")
    assert learned("a.db")[-1][1] == learned("b.db")[-1][1]


def test_what_was_changed_on_the_record_is_found(two: None) -> None:
    taught("a.db")
    regraded("first")
    changes = (
        "'$.outcome', 'wrong'",
        "'$.detail', 'because'",
        "'$.source', 'eve'",
        "'$.grader', 'mine@2+000000000000'",
        "'$.relearned_from', 7",
    )
    for change in changes:
        with closing(SqliteLog("a.db")) as log:
            log.db.execute("vacuum into 'tampered.db'")
        with closing(sqlite3.connect("tampered.db")) as db:
            anew = "kind = 'graded' and body like '%regrade%'"
            db.execute(f"update records set body = json_set(body, {change}) where {anew}")
            db.commit()
        called = call("verify", "--log", "tampered.db", "--grader", "mine.py:first")
        assert called.code == 3, change
        Path("tampered.db").unlink()


def test_evidence_of_an_answer_that_was_graded_anew_stands_alone(two: None) -> None:
    """It holds no batch, so that from which one on others were closed again is left out, and told."""
    taught("a.db")
    regraded("first")
    episode = next(each for each in _episodes() if "/1/" in each)
    assert call("export", "evidence", episode, "--out", "e.json", *LOG).code == 0
    called = call("verify", "e.json")
    assert called.code == 0, called.err
    assert "what was learned with others is in another part of the log" in called.out


# ── Reports ──────────────────────────────────────────────────────────────────────────────────────


def test_compare_grades_by_it_and_grades_anew_what_an_earlier_run_left() -> None:
    produced()
    words = ("compare", "in.jsonl", "--policies", "io,cot", "--backbone", "openai:m", "--json")

    def found(*more: str) -> dict[str, float]:
        called = call(*words, "--plots", "none", *more)
        assert called.code == 0, called.err
        return {
            each["run"]: each["metrics"]["accuracy"]["value"] for each in called.json["measured"]
        }

    assert found() == {"io": 25.0, "cot": 25.0}
    assert found("--grader", "mine.py:first") == {"io": 75.0, "cot": 75.0}
    called = call(*words, "--plots", "none", "--grader", "mine.py:first")
    assert "--grader mine.py:first" in called.json["provenance"]["command"]
    assert found("--grader", "mine.py:second", "--log", "other.db") == {
        "io": pytest.approx(200 / 3),
        "cot": pytest.approx(200 / 3),
    }


def test_on_kafka_the_workers_record_what_was_graded_anew(
    monkeypatch: pytest.MonkeyPatch, asked: list[Asked]
) -> None:
    monkeypatch.setenv("METALOGUE_HOME", str(Path.cwd() / "home"))
    with in_memory(partitions=2) as (place, _):
        log = ("--log", place.url)
        produced(*log)
        work = ("worker", "--backbone", "openai:m", "--until-idle", "-q", *log)
        assert call(*work).code == 0
        calls = len(asked)
        said = call("regrade", *log, "--grader", "mine.py:second")
        assert said.code == 0, said.err
        assert "4 new, for the workers to record, 0 known; 2 outcomes changed" in said.out
        assert _graded_on(log) == ["exact@5"] * 4, "nothing counts before its owner states it"
        assert call(*work).code == 0
        assert {each.partition("+")[0] for each in _graded_on(log)[4:]} == {"mine@2"}
        again = call("regrade", *log, "--grader", "mine.py:second", "--json").json
        assert (again["new"], again["proposed"], again["known"]) == (0, 0, 4)
        assert len(asked) == calls
        assert call("verify", *log, "--grader", "mine.py:second").code == 0


def _graded_on(log: tuple[str, str]) -> list[str]:
    rows = call("log", "cat", *log, "--json").rows
    return [row["event"]["grader"] for row in rows if row.get("kind") == "graded"]
