from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import convert

from schemas.answer import Answer
from schemas.events.union import KINDS
from streams.research.export.schemas import compare, export, schemas
from tests.streams.cli.calling import ROOT, call


def test_the_committed_schemas_are_up_to_date() -> None:
    assert compare(ROOT / "deploy" / "schemas") == []


def test_every_event_has_one() -> None:
    made = schemas()
    assert {f"events/{kind}.v1.json" for kind in KINDS} <= made.keys()
    assert {"problem-record.v1.json", "feedback.v1.json", "answer.v1.json"} <= made.keys()
    for path, schema in made.items():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"] == "metalogue:" + Path(path).name.removesuffix(".json")


def test_what_a_worker_answers_is_an_answer(folder: Path) -> None:
    (folder / "in.jsonl").write_text('{"id":"a","problem":"4 5 6 10","domain":"game24"}\n')
    call("produce", "in.jsonl", "--log", "a.db")
    assert (
        call("worker", "--backbone", "rehearsal", "--until-idle", "-q", "--log", "a.db").code == 0
    )
    (row,) = call("consume", "--json", "--log", "a.db").rows
    plain = row.pop("plain")  # made where answers are handed out, so that logs of any age have it
    answer = convert(row, Answer)
    assert answer.status in ("answered", "abstained")
    assert (plain is None) == (answer.answer is None)


def test_export_and_check(folder: Path) -> None:
    called = call("schema", "export", "out", "--json")
    assert len(called.json["written"]) == called.json["schemas"] == len(schemas())
    assert call("schema", "export", "out", "--json").json["written"] == []
    assert call("schema", "check", "out").out == f"{len(schemas())} schemas, 0 differences\n"


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value, indent=2) + "\n")


def test_differences_say_whether_they_break_readers(folder: Path) -> None:
    out = folder / "out"
    export(out)
    (out / "events" / "voted.v1.json").unlink()
    (out / "events" / "old.v1.json").write_text("{}")
    (out / "feedback.v1.json").write_text("{")
    change(out / "answer.v1.json", lambda s: s["properties"].pop("domain"))
    change(out / "problem.v1.json", lambda s: s["properties"]["id"].update(maxLength=3))
    assert compare(out) == [
        ("answer.v1.json", "properties.domain is new", False),
        ("events/old.v1.json", "is of no model of this build", True),
        ("events/voted.v1.json", "is not there", False),
        (
            "feedback.v1.json",
            "line 1: not JSON: Expecting property name enclosed in double quotes",
            True,
        ),
        ("problem.v1.json", "properties.id.maxLength changed", True),
    ]
    called = call("schema", "check", "out")
    assert called.code == 1
    assert "out/answer.v1.json: properties.domain is new [schema.differs]" in called.err
    assert "out/problem.v1.json: properties.id.maxLength changed [schema.breaks]" in called.err
    assert call("schema", "check", "absent").code == 2
