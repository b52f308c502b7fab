from __future__ import annotations

import json
from pathlib import Path

from handlers.learning.retire import alike
from schemas.identity import learning_id
from streams.interfaces.cli.show.library import Library
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import Called, call
from tests.streams.cli.learned import copy_of, made, rows

CLOSED = "select episode, body from records where kind = 'episode.closed' and topic = 'events'"


def lessons(*arguments: object, log: Path | None = None) -> Called:
    return call("lessons", *arguments, "--log", log or made())


def library() -> Library:
    log = SqliteLog(made())
    found = Library.read(log)
    log.close()
    return found


def test_a_list_of_lessons_with_their_use() -> None:
    listed = lessons("list", "--json").rows
    (shelf,) = library().shelves.values()
    assert [one["id"] for one in listed] == [
        item.id for item in shelf.memory.latest.items if item.kind == "lesson"
    ]
    closed = {str(name): json.loads(str(body)) for name, body in rows(made(), CLOSED)}
    for one in listed:
        assert one["used"] == sum(one["id"] in body["items"] for body in closed.values())
        assert sum(one["outcomes"].values()) == one["used"]
        assert set(one["evidence"]) <= set(closed)
    text = lessons("list").out
    assert f"{len(listed)} live of {len(listed)} lessons, version 2" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "metalogue" not in line)


def test_lessons_of_a_role_and_of_a_version() -> None:
    assert {one["role"] for one in lessons("list", "--role", "monitor", "--json").rows} == {
        "monitor"
    }
    assert {one["batch"] for one in lessons("list", "--at", 1, "--json").rows} == {1}
    assert lessons("list", "--at", 0, "--json").rows == []
    wrong = lessons("list", "--at", 9)
    assert wrong.code == 2
    assert "Its versions are 0 to 2" in wrong.err


def test_scopes() -> None:
    assert lessons("list", "--scope", "mc2/main", "--json").rows
    wrong = lessons("list", "--scope", "nobody")
    assert wrong.code == 2
    assert "game24/mc2/main/" in wrong.err


def test_one_lesson() -> None:
    one = lessons("list", "--json").rows[0]
    value = lessons("show", one["id"], "--json").json
    assert value["text"] == one["text"]
    assert len(value["uses"]) == value["used"]
    text = lessons("show", one["id"]).out
    assert one["evidence"][0] in text
    for line in one["text"].splitlines():
        assert line.split()[0] in text
    assert lessons("show", "L99.R1").code == 2


def test_a_lesson_names_where_it_was_learned_and_what_says_the_same() -> None:
    (shelf,) = library().shelves.values()
    for one in lessons("list", "--json").rows[:3]:
        text = lessons("show", one["id"]).out
        [learned] = [line for line in text.splitlines() if line.startswith("learned in")]
        episode = learned.partition(" show ")[2].split()[0]
        assert episode == learning_id(shelf.scope, one["batch"])
        assert call("show", episode, "--log", made()).out.startswith(f"batch {one['batch']}")
        again = alike(shelf.memory.latest.standing, one["id"])
        assert ("says the same as" in text) == bool(again)
        assert all(other in text for other in again)


def test_one_rule() -> None:
    value = lessons("show", "R1", "--json").json
    assert (value["kind"], value["role"]) == ("rule", "reasoner")
    assert "rule for the reasoner" in lessons("show", "R1").out


def test_versions_compared() -> None:
    value = lessons("diff", 0, 2, "--json").json
    (shelf,) = library().shelves.values()
    assert {one["id"] for one in value["added"]} == {i.id for i in shelf.memory.latest.items}
    assert value["gone"] == []
    back = lessons("diff", 2, 0, "--json").json
    assert len(back["gone"]) == len(value["added"])
    assert lessons("diff", 1, 1).out.endswith("no difference\n")
    assert lessons("diff", 1, 2).code == 0


def test_rules_and_since_when() -> None:
    value = call("knowledge", "show", "--json", "--log", made()).json
    (scope,) = value["scopes"]
    assert scope["version"] == 2
    assert len(scope["rules"]) == 18
    assert {rule["since"] for rule in scope["rules"]} <= {1, 2}
    first = call("knowledge", "show", "--at", 1, "--json", "--log", made()).json["scopes"][0]
    kept = {rule["text"] for rule in first["rules"]}
    for rule in scope["rules"]:
        assert (rule["since"] == 1) == (rule["text"] in kept)
        assert rule["lessons"]
    text = call("knowledge", "show", "--log", made()).out
    assert "18 rules, version 2" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "metalogue" not in line)


def test_a_log_that_taught_nothing(tmp_path: Path) -> None:
    SqliteLog(tmp_path / "empty.db", create=True).close()
    assert lessons("list", log=tmp_path / "empty.db").out == "no lessons yet\n"
    assert lessons("show", "R1", log=tmp_path / "empty.db").code == 1
    assert copy_of(made(), tmp_path / "b.db").exists()


def test_who_produces_several_scopes_is_told_that_they_learn_apart(folder: Path) -> None:
    """Seven of eight problems saw no lesson, each in a domain of its own: nothing had said so."""
    source, log = folder / "p.jsonl", f"sqlite:{folder / 'a.db'}"
    lines = [{"id": f"p{at}", "problem": "1 + 1", "domain": f"d{at % 2}"} for at in range(3)]
    source.write_text("".join(json.dumps(each) + "\n" for each in lines))
    told = call("produce", source, "--policy", "mc2", "--log", log)
    assert "2 scopes, each of which learns from its own problems alone: d0/mc2/main/" in told.err
    cot = call("produce", source, "--policy", "cot", "--log", log)
    assert "scopes" not in cot.err
