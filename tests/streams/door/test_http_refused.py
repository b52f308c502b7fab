"""What a door says of a body that it cannot take: what is wrong, once, and in which field."""

from __future__ import annotations

from typing import Any

import pytest

from streams.interfaces.door.errors import Error
from streams.interfaces.door.mailbox import Mailbox
from tests.streams.door.served import ASKED, JSON, Here


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"9" * 5000, "not JSON: Exceeds the limit (4300 digits) for integer string conversion"),
        (b"[" * 100_000 + b"]" * 100_000, "not JSON: nested too deep"),
    ],
)
@pytest.mark.parametrize("path", ["chat/completions", "problems", "feedback/x"])
def test_of_a_body_that_no_reader_takes_it_is_said_why(
    door: Here, path: str, value: bytes, told: str
) -> None:
    with door.http() as http:
        said = http.post(f"/v1/{path}", content=b'{"x": %s}' % value, headers=JSON)
    error = said.json()["error"]
    assert (said.status_code, error["code"]) == (400, "input.json")
    assert error["message"].startswith(told)
    assert "sys." not in error["message"]


@pytest.mark.parametrize(
    ("wrong", "begins", "param"),
    [
        ({"settings": {"foo": 1}}, "settings.foo: no such setting", "settings"),
        ({"settings": {"x": float(10**6)}}, "settings.x: no such setting", "settings"),
        ({"settings": {"x": 1}, "policy": "cot"}, "settings.x: no such setting", "settings"),
        ({"policy": "x"}, "policy: no policy 'x'", "policy"),
    ],
)
def test_a_field_is_named_once(door: Here, wrong: dict[str, Any], begins: str, param: str) -> None:
    with door.http() as http:
        said = http.post("/v1/problems", json={"id": "p", "problem": "x"} | wrong)
    error = said.json()["error"]
    assert error["message"].startswith(begins)
    assert error["param"] == param


def test_a_problem_of_which_nobody_says_whether_it_was_taken_is_named(
    door: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a chat as of any other: who asks for its answer later needs the name."""

    def unsure(*_: object, **__: object) -> None:
        hint = "Ask for its answer later"
        raise Error("no broker said", code="log.unsure", where="p/default/q/run", hint=hint)

    monkeypatch.setattr(Mailbox, "post", unsure)
    asked: list[tuple[str, dict[str, Any]]] = [("problems", {"id": "q", "problem": "x"})]
    asked += [
        ("chat/completions", {"model": "cot", "messages": ASKED, "stream": s}) for s in (0, 1)
    ]
    with door.http() as http:
        for path, body in asked:
            said = http.post(f"/v1/{path}", json=body)
            message = said.json()["error"]["message"]
            assert (said.status_code, said.headers["x-should-retry"]) == (503, "false")
            assert message.startswith("p/default/q/run: no broker said [log.unsure]"), path
            assert message.endswith("Ask for its answer later")


def test_headers_that_are_too_long_are_named_once(door: Here) -> None:
    with door.http() as http:
        put = {"id": "p", "problem": "x"}
        said = http.post("/v1/problems", json=put, headers={"x-request-id": "x" * 9000})
    assert said.json()["error"]["message"].startswith("headers: 1 of ")
