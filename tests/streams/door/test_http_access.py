"""Who may come in through the HTTP door, how much he may ask for, and who is kept out."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import metalogue
import openai
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Send

from schemas.identity import scope_id
from streams.interfaces.cli.working import only_worker
from streams.interfaces.door.access import access_of
from streams.interfaces.door.http.app import MOST_BYTES
from streams.interfaces.door.http.door import Stream
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, whole
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.streams.door.served import ASKED, JSON, LOG, Here, ask, served
from tests.streams.door.test_engine import Gate
from tests.surroundings import Serve

# ── who may come in ──────────────────────────────────────────────────────────────────────────────


def test_only_holders_of_tokens_come_in_and_see_only_their_own(serve: Serve, tokens: str) -> None:
    serve()
    with served(tokens=tokens) as here:
        for wrong in ("none", "x", "a-toke"):
            with here.http(wrong) as http:
                said = http.get("/v1/models")
                assert (said.status_code, said.headers["www-authenticate"]) == (401, "Bearer")
        put = {"id": "q", "problem": "What is 1 + 1?", "policy": "cot"}
        with here.http("a-token") as alice, here.http("b-token") as bob:
            hers = alice.post("/v1/problems", json=put).headers["metalogue-episode"]
            assert alice.get(f"/v1/answers/{hers}", params={"wait_s": 60}).json()["answer"] == "2"
            for path in ("answers", "events", "explanations"):
                assert bob.get(f"/v1/{path}/{hers}").status_code == 404
            assert bob.post(f"/v1/feedback/{hers}", json={"verdict": False}).status_code == 404
            assert bob.post(f"/v1/cancellations/{hers}").status_code == 404
            his = bob.post("/v1/problems", json=put | {"problem": "What is 2 + 2?"})
            assert his.status_code in (200, 202), "an id is each holder's own"
    with metalogue.open_log(LOG) as log:
        assert {each.problem.memory for each in log.episodes()} == {"alice", "bob"}


def test_limits_of_a_holder_hold_whatever_is_asked_for(serve: Serve, tokens: str) -> None:
    endpoint = serve()
    with served(tokens=tokens) as here, here.http("b-token") as bob:
        put = {"id": "q", "problem": "What is 1 + 1?", "policy": "mc2", "call_limit": 24}
        episode = bob.post("/v1/problems", json=put).headers["metalogue-episode"]
        answer = bob.get(f"/v1/answers/{episode}", params={"wait_s": 60}).json()
    assert answer["usage"]["calls"] == len(endpoint.asked) == 1


def test_who_hangs_up_leaves_his_place(serve: Serve, tokens: str) -> None:
    gate = Gate()
    serve(gate)
    with served(tokens=tokens) as here, here.http("a-token") as http:
        put = http.post(
            "/v1/problems", json={"id": "a", "problem": "What is 1 + 1?", "policy": "cot"}
        )
        where = f"/v1/answers/{put.headers['metalogue-episode']}"
        gate.asked.wait(60)
        for _ in range(3):
            with pytest.raises(httpx.ReadTimeout):
                http.get(where, params={"wait_s": 60}, timeout=0.2)
        found = http.get(where, params={"wait_s": 0})
        assert found.status_code == 202, "and not 429: nobody waits there any more"
        gate.open.set()


def test_more_at_once_than_a_holder_may_is_put_off(serve: Serve, tokens: str) -> None:
    gate = Gate()
    serve(gate)
    with served(tokens=tokens) as here, ThreadPoolExecutor(1) as one:
        first = one.submit(ask, here.client("a-token"))
        gate.asked.wait(60)
        with pytest.raises(openai.RateLimitError) as caught:
            ask(here.client("a-token"))
        assert caught.value.response.headers["retry-after"].isdecimal()
        gate.open.set()
        assert first.result().choices[0].message.content == "42"
        assert ask(here.client("a-token")).choices[0].message.content == "42", (
            "the place is free again"
        )


def test_more_than_may_be_awaited_is_put_off_and_nothing_hangs(serve: Serve) -> None:
    gate = Gate()
    serve(gate)
    with served(max_pending=1) as here, here.http() as http:
        first = http.post("/v1/problems", json={"id": "a", "problem": "What is 1 + 1?"})
        second = http.post("/v1/problems", json={"id": "b", "problem": "What is 2 + 2?"})
        assert (first.status_code, second.status_code) == (202, 429)
        assert second.headers["retry-after"].isdecimal()
        gate.open.set()
        episode = first.headers["metalogue-episode"]
        assert http.get(f"/v1/answers/{episode}", params={"wait_s": 60}).status_code == 200
    with metalogue.open_log(LOG) as log:
        assert [each.problem.id for each in log.episodes()] == ["a"]


def test_a_holder_that_only_puts_leaves_room_for_the_others(serve: Serve, tokens: str) -> None:
    gate = Gate()
    serve(gate)
    problem = {"problem": "What is 1 + 1?", "policy": "cot"}
    with (
        served(tokens=tokens, max_pending=8) as here,
        here.http("a-token") as alice,
        here.http("b-token") as bob,
    ):
        put = [alice.post("/v1/problems", json=problem | {"id": f"a{n}"}) for n in range(9)]
        assert [each.status_code for each in put] == [202] * 4 + [429] * 5
        assert put[-1].headers["retry-after"] == "2"
        late = [bob.post("/v1/problems", json=problem | {"id": f"b{n}"}) for n in range(4)]
        assert [each.status_code for each in late] == [202] * 4
        gate.open.set()
        episode = put[3].headers["metalogue-episode"]
        assert alice.get(f"/v1/answers/{episode}", params={"wait_s": 60}).status_code == 200
        # What is answered is open no more, and a refusal never was.
        assert alice.post("/v1/problems", json=problem | {"id": "a", "seed": -1}).status_code == 400
        for n in range(9):
            asked = alice.post("/v1/problems", json=problem | {"id": f"c{n}"})
            found = asked.headers["metalogue-episode"]
            assert alice.get(f"/v1/answers/{found}", params={"wait_s": 60}).status_code == 200


def test_a_problem_that_is_put_again_is_open_once(serve: Serve, tokens: str) -> None:
    """Who asked for it time and again was told that four of his problems were open."""
    gate = Gate()
    serve(gate)
    problem = {"problem": "What is 1 + 1?", "policy": "cot", "id": "a"}
    with served(tokens=tokens, max_pending=8) as here, here.http("a-token") as alice:
        put = [alice.post("/v1/problems", json=problem).status_code for _ in range(9)]
        gate.open.set()
    assert put == [202] * 9


def test_whatever_a_holder_asks_has_a_place_but_what_frees_one(serve: Serve, tokens: str) -> None:
    gate = Gate()
    serve(gate)
    with served(tokens=tokens) as here, here.http("a-token") as alice:
        problem = {"problem": "What is 1 + 1?", "policy": "cot", "id": "a"}
        episode = alice.post("/v1/problems", json=problem).headers["metalogue-episode"]
        with alice.stream("GET", f"/v1/events/{episode}"):
            asked = [
                alice.get(f"/v1/explanations/{episode}"),
                alice.post(f"/v1/feedback/{episode}", json={"verdict": True}),
                alice.post(f"/v1/cancellations/{episode}"),
            ]
        gate.open.set()
    assert [each.status_code for each in asked] == [429, 429, 202]


def test_no_holder_begins_with_what_another_s_problems_taught(serve: Serve, tokens: str) -> None:
    """Not even whether there is such a memory is told: its name can be worked out."""
    serve()
    settings = {"batch_size": 8}
    hers, his = (scope_id("default", "mc2", name, settings) for name in ("alice", "bob"))
    with served(tokens=tokens) as here, here.http("b-token") as bob:
        for source in (hers, scope_id("default", "mc2", "main", settings), "nothing of it"):
            put = {"id": "q", "problem": "What is 1 + 1?", "policy": "mc2"}
            asked = bob.post(
                "/v1/problems", json=put | {"settings": settings | {"warm_start": source}}
            )
            assert (asked.status_code, asked.json()["error"]["param"]) == (
                400,
                "settings.warm_start",
            )
            assert "memory of somebody else" in asked.json()["error"]["message"]
        own = {**put, "settings": settings | {"warm_start": his}}
        assert bob.post("/v1/problems", json=own).status_code in (200, 202)


def test_of_a_burst_as_many_are_put_off_as_may_not_be_awaited(serve: Serve) -> None:
    gate = Gate()
    serve(gate)
    with served(max_pending=2) as here, here.http() as http, ThreadPoolExecutor(12) as crowd:
        said = [{"id": f"q{n}", "problem": f"What is {n} + 1?"} for n in range(12)]

        def put(each: dict[str, str]) -> int:
            return http.post("/v1/problems", json=each).status_code

        codes = list(crowd.map(put, said))
        assert Counter(codes) == {202: 2, 429: 10}
        gate.open.set()


def test_a_stream_that_is_left_frees_its_place(serve: Serve, tokens: str) -> None:
    gate = Gate()
    serve(gate)
    with served(tokens=tokens) as here:
        stream = ask(here.client("a-token"), stream=True)
        next(iter(stream))
        stream.close()
        gate.open.set()
        deadline = time.monotonic() + soon(30.0)
        while True:
            try:
                assert ask(here.client("a-token")).choices[0].message.content == "42"
                break
            except openai.RateLimitError:
                assert time.monotonic() < deadline
                time.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "patience_s", "last"),
    [
        ("chat/completions", 60.0, b'"content":"2"'),
        ("chat/completions", 0.0, b'"code":"patience"'),
        ("events", 60.0, b"event: answer"),
        ("events", 0.0, b'"code":"patience"'),
    ],
)
def test_who_has_the_end_of_a_stream_has_his_place_again(
    serve: Serve,
    tokens: str,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    patience_s: float,
    last: bytes,
) -> None:
    """Who streams and then judges what he got was told 429 now and then."""
    usual = Stream.stream_response

    async def late(self: Stream, send: Send) -> None:
        async def and_wait(message: Message) -> None:
            await send(message)
            await asyncio.sleep(1.0 if last in message.get("body", b"") else 0.0)

        await usual(self, and_wait)

    monkeypatch.setattr(Stream, "stream_response", late)
    gate = Gate()
    serve(gate)
    with served(tokens=tokens, patience_s=patience_s) as here, here.http("a-token") as alice:
        said = {"model": "cot", "messages": [{"role": "user", "content": "What is 1 + 1?"}]}
        asked: dict[str, Any] = {"json": said | {"stream": True}}
        method, where = "POST", f"/v1/{path}"
        if path == "events":
            problem = {"problem": "What is 1 + 1?", "policy": "cot", "id": "a"}
            put = alice.post("/v1/problems", json=problem)
            method, where, asked = "GET", f"{where}/{put.headers['metalogue-episode']}", {}
        if patience_s:
            gate.open.set()
        with alice.stream(method, where, **asked) as stream:
            for line in stream.iter_lines():
                if last in line.encode():
                    assert alice.get("/v1/reviews").status_code == 200
                    break
            else:
                pytest.fail("the stream did not end so")
        gate.open.set()


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_a_stream_whose_client_goes_before_its_first_byte_frees_its_place(version: str) -> None:
    """As servers of either version of the protocol tell it."""
    place, freed = ExitStack(), list[str]()
    place.callback(freed.append, "free")

    async def never() -> AsyncIterator[bytes]:
        yield b"data: 1"

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise OSError("gone")

    scope = {"type": "http", "asgi": {"spec_version": version}}
    with pytest.raises((OSError, ClientDisconnect)):
        asyncio.run(Stream(never(), place)(scope, receive, send))
    assert freed == ["free"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**JSON, "host": "evil.example"}, 421),
        ({**JSON, "origin": "http://evil.example"}, 403),
        ({**JSON, "origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({}, 415),
    ],
)
def test_strangers_of_a_browser_are_kept_out(
    door: Here, headers: dict[str, str], status: int
) -> None:
    body = json.dumps({"model": "cot", "messages": ASKED}).encode()
    with door.http() as http:
        assert (
            http.post("/v1/chat/completions", content=body, headers=headers).status_code == status
        )


def test_listed_origins_and_our_own_may_ask(serve: Serve) -> None:
    serve()
    listed = "https://app.example"
    with served(origins=(listed,)) as here, here.http() as http:
        said = http.get("/v1/models", headers={"origin": listed})
        assert said.headers["access-control-allow-origin"] == listed
        asked = {"origin": listed, "access-control-request-method": "POST"}
        asked["access-control-request-headers"] = "content-type,x-stainless-lang,last-event-id"
        assert http.options("/v1/problems", headers=asked).status_code == 200
        assert http.get("/v1/models", headers={"origin": here.url}).status_code == 200


def test_a_body_has_its_bounds(door: Here) -> None:
    with door.http() as http:
        said = http.post("/v1/problems", content=b" " * (MOST_BYTES + 1), headers=JSON)
        assert said.status_code == 413
        deep = b'{"id":' + b"[" * 200_000
        assert http.post("/v1/problems", content=deep, headers=JSON).status_code == 400
        twice = {"id": "a", "problem": "What is 1 + 1?", "policy": "cot", "strange": 1}
        assert http.post("/v1/problems", json=twice).json()["error"]["param"] == "strange"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("holders: {}", "holders"),
        ("holders: {a: {sha256: x}}", "holders.a.sha256"),
        ("holders: {a b: {sha256: " + "a" * 64 + "}}", "holders.a b.[key]"),
        ("holders: {a: {sha256: " + "a" * 64 + ", calls: 3}}", "holders.a.calls"),
        (f"holders: {{a: {{sha256: {'a' * 64}, call_limit: {1 << 64}}}}}", "holders.a.call_limit"),
        ("[", "tokens"),
        ("holders: {a: {sha256: !!timestamp x}}", "tokens"),
        ("holders: {a: {at_once: 1:%s5}}" % ("5:" * 3000), "tokens"),
        ("holders:\n  a: {sha256: x}\n  a: {sha256: y}", "tokens"),
    ],
)
def test_a_tokens_file_that_is_wrong_is_refused_by_name(
    folder: Path, text: str, field: str
) -> None:
    (folder / "t.yaml").write_text(text)
    with pytest.raises(metalogue.Error) as caught:
        access_of("t.yaml")
    assert (caught.value.where, caught.value.field) == ("t.yaml", field)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--log", "jsonl:a.jsonl"], 2, "jsonl:a.jsonl can only be read"),
        (["--log", "a.db", "--tokens", "none.yaml"], 2, "No such file"),
        (["--log", "a.db", "--listen", "0.0.0.0:0"], 2, "anybody who reaches it"),
        (["--log", "a.db", "--policy", "mc3"], 2, "no policy 'mc3'"),
        (["--log", "kafka://127.0.0.1:1", "--tokens", "none.yaml"], 2, "No such file"),
        (["--log", "kafka://127.0.0.1:1"], 2, "asks no model itself"),
    ],
)
def test_a_door_that_cannot_open_says_why_in_two_lines(
    serve: Serve, words: list[str], code: int, said: str
) -> None:
    serve()
    done = call("serve", "--backbone", "openai", "--listen", "127.0.0.1:0", *words)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("--backbone", "rehearsal"),
        ("--role", "monitor=rehearsal"),
        ("--model", "gpt-x"),
        ("--base-url", "http://127.0.0.1:1/v1"),
        ("--max-connections", "3"),
        ("--tools", "mcp:foo"),
        ("--price", "m=1,2"),
        ("--prices", "none.yaml"),
        ("--offer", "mini=rehearsal"),
    ],
)
def test_a_door_on_kafka_refuses_what_only_who_asks_a_model_heeds(words: tuple[str, str]) -> None:
    done = call("serve", "--listen", "127.0.0.1:0", "--log", "kafka://127.0.0.1:1", *words)
    assert (done.code, "asks no model itself" in done.err) == (2, True), done.err
    option = "--backbone" if words[0] == "--role" else words[0]
    assert done.err.startswith(f"{option}: ")


def test_a_log_that_another_works_on_is_said(serve: Serve) -> None:
    serve()
    with only_worker("a.db"):
        done = call("serve", "--backbone", "openai", "--listen", "127.0.0.1:0", "--log", "a.db")
    assert done.code == 6
    assert "[log.busy, exit 6]" in done.err
    assert "Traceback" not in done.err


def test_the_openapi_page_names_every_route(door: Here) -> None:
    with door.http() as http:
        paths = http.get("/openapi.json").json()["paths"]
    assert {each.split("/")[2] for each in paths} == {
        *("models", "chat", "problems", "answers", "events", "explanations", "feedback"),
        *("cancellations", "reviews"),
    }


# ── people in the loop ───────────────────────────────────────────────────────────────────────────


def mumbles(asked: Asked) -> Answer:
    """A model that never comes to an answer."""
    return whole("I cannot tell.")


def test_a_holder_finds_and_judges_what_waits_for_a_person_among_their_own(
    serve: Serve, tokens: str
) -> None:
    serve(mumbles)
    put = {"id": "q", "problem": "What is 1 + 1?", "policy": "cot"}
    with served(tokens=tokens) as here, here.http("a-token") as alice, here.http("b-token") as bob:
        hers = alice.post("/v1/problems", json=put).headers["metalogue-episode"]
        assert alice.get(f"/v1/answers/{hers}", params={"wait_s": 60}).json()["answer"] is None
        (waiting,) = alice.get("/v1/reviews").json()["reviews"]
        assert (waiting["episode"], waiting["reasons"]) == (hers, ["abstained"])
        assert waiting["problem"] == put["problem"]
        assert bob.get("/v1/reviews").json() == {"reviews": []}
        assert alice.get("/v1/reviews", params={"below": 2}).status_code == 400
        assert bob.post(f"/v1/feedback/{hers}", json={"passed": True}).status_code == 404
        said = alice.post(f"/v1/feedback/{hers}", json={"reference": "2", "by": "Ada"})
        assert said.status_code == 202
        assert alice.get("/v1/reviews").json() == {"reviews": []}
        opened = SqliteLog("a.db")
        (feedback,) = (value for *_, value in opened.messages("feedback"))
        opened.close()
    assert json.loads(feedback)["by"] == "door:alice/Ada"


def test_a_verdict_on_an_answer_that_is_not_there_is_its_clients_mistake(serve: Serve) -> None:
    serve(mumbles)
    put = {"id": "q", "problem": "What is 1 + 1?", "policy": "reviewed"}
    with served(policies=["reviewed"]) as here, here.http() as http:
        episode = http.post("/v1/problems", json=put).headers["metalogue-episode"]
        deadline = time.monotonic() + soon(30.0)
        while not http.get("/v1/reviews").json()["reviews"]:
            assert time.monotonic() < deadline, "it asks a person"
            time.sleep(0.05)
        said = http.post(f"/v1/feedback/{episode}", json={"verdict": True})
        error = said.json()["error"]
        assert (said.status_code, error["code"]) == (409, "review.no_answer")
        assert "no answer that could be right or wrong" in error["message"]
        assert http.post(f"/v1/feedback/{episode}", json={"reference": "2"}).status_code == 202
