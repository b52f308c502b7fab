"""An answer on its topic carries its plain text beside the LaTeX, and `verify` holds it to that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from schemas.identity import canonical
from tests.endpoint import serving, whole
from tests.streams.cli.calling import call
from tests.streams.cli.conftest import folder as folder

HALF = r"\frac{1}{2}"


def solved(answer: str) -> dict[str, Any]:
    """The answer's message."""
    with serving(lambda _: whole(rf"Final_answer: \boxed{{{answer}}}")) as endpoint:
        words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "a.db")
        assert call("solve", "1 - 1/2", *words).code == 0
    with closing(sqlite3.connect("a.db")) as db:
        (value,) = db.execute("select value from messages where topic = 'answers'").fetchone()
    return dict(orjson.loads(value))


def changed(message: dict[str, Any]) -> int:
    """What `verify` says of the log with this message in place of the answer's."""
    with closing(sqlite3.connect("a.db")) as db:
        value = canonical(message)
        db.execute("update messages set value = ? where topic = 'answers'", (value,))
        db.commit()
    return call("verify", "--log", "a.db").code


def test_latex_has_its_plain_text_beside_it(folder: Path) -> None:
    message = solved(HALF)
    assert (message["answer"], message["plain"]) == (HALF, "1/2")
    assert call("verify", "--log", "a.db").code == 0
    assert call("consume", "--json", "--log", "a.db").json["plain"] == "1/2"
    assert changed({**message, "plain": "2"}) == 3, "nobody said so"
    del message["plain"]
    assert changed(message) == 0, "earlier builds did not say it"


def test_what_is_plain_is_said_once(folder: Path) -> None:
    message = solved("0.5")
    assert message["answer"] == "0.5"
    assert "plain" not in message
