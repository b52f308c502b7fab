"""The HTTP door over a real socket: OpenAI's own client, our own routes, and everybody who may not come in."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2 as httpx
import metalogue
import openai
import pytest
import uvicorn
import yaml
from metalogue import Engine

from streams.cli.working import only_worker
from streams.door.access import access_of
from streams.door.http.app import MOST_BYTES, app_of
from streams.door.service import Offer, Service
from streams.runtime.embedded.log import SqliteLog
from streams.web.connections import Connection
from streams.web.hosts import Hosts
from tests.endpoint import Answer, Asked, whole
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.streams.door.conftest import keyless
from tests.streams.door.test_engine import Gate
from tests.surroundings import Serve

LOG = "sqlite:a.db"
ASKED = [{"role": "user", "content": "What is 17 + 25?"}]
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Here:
    """A door that is served."""

    url: str

    def client(self, token: str = "none") -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=0, timeout=60)

    def http(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)


@contextmanager
def served(
    *,
    tokens: str | None = None,
    patience_s: float = 60.0,
    origins: tuple[str, ...] = (),
    max_pending: int = 100,
) -> Generator[Here]:
    """A door on loopback, in a thread of its own, over an engine on the log."""
    offer = Offer(policies=["mc2", "cot"], patience_s=patience_s)
    engine = Engine(LOG, backbone="openai", policy="mc2", max_pending=max_pending)
    app = app_of(Service(engine, offer, access_of(tokens)), Hosts.of("127.0.0.1"), origins)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", http=Connection, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    async def work() -> None:
        async with engine:
            await server.serve([listening])

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    deadline = time.monotonic() + soon(30.0)
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    try:
        yield Here(f"http://127.0.0.1:{listening.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def door(serve: Serve) -> Generator[Here]:
    serve()
    with served() as here:
        yield here


def ask(client: openai.OpenAI, model: str = "cot", **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=ASKED, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# ── as OpenAI's clients speak ────────────────────────────────────────────────────────────────────


def test_the_official_client_gets_models_and_answers(door: Here) -> None:
    client = door.client()
    assert [each.id for each in client.models.list()] == ["mc2", "cot"]
    said = ask(client, "mc2", temperature=0.3, user="somebody")
    assert said.choices[0].message.content == "42"
    assert said.choices[0].finish_reason == "stop"
    assert said.model == "mc2"
    with metalogue.open_log(LOG) as log:
        (answer,) = log.answers()
    assert said.metalogue["episode"] == answer.episode
    used = answer.usage
    assert used.calls > 1, "the usage is that of the whole episode"
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (
        used.prompt_tokens,
        used.completion_tokens,
    )


def test_a_stream_shows_steps_then_the_answer(door: Here) -> None:
    chunks = list(ask(door.client(), "mc2", stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "42"
    extras: list[dict[str, Any]] = [c.model_extra or {} for c in chunks]
    said: list[dict[str, Any]] = [each.get("metalogue", {}) for each in extras]
    steps = [each["kind"] for each in said if "kind" in each]
    assert steps[:3] == ["problem.admitted", "episode.opened", "completed"]
    assert "episode.closed" in steps
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0
    assert [c for c in chunks[:-1] if c.usage] == []


def test_a_conversation_is_put_with_who_said_what(serve: Serve) -> None:
    endpoint = serve()
    turns = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "1 + 1?"}],
        },
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "And 2 + 2?"},
    ]
    with served() as here:
        client: Any = here.client()
        said = client.chat.completions.create(model="cot", messages=turns)
    assert said.choices[0].message.content == "4"
    shown = str(endpoint.asked[0].body["messages"])
    for part in (
        "Instructions: Be brief.",
        "User: What is 1 + 1?",
        "Assistant: 2",
        "User: And 2 + 2?",
    ):
        assert part in shown


def test_each_completion_is_paid_but_one_under_a_known_key(serve: Serve) -> None:
    endpoint = serve()
    with served() as here:
        client = here.client()
        assert len({ask(client).metalogue["episode"] for _ in range(2)}) == 2
        assert len(endpoint.asked) == 2
        key = {"Idempotency-Key": "k"}
        assert len({ask(client, extra_headers=key).metalogue["episode"] for _ in range(2)}) == 1
        assert len(endpoint.asked) == 3
        with ThreadPoolExecutor(4) as many:
            other = {"Idempotency-Key": "l"}
            found = [many.submit(ask, client, extra_headers=other) for _ in range(4)]
            assert len({each.result().metalogue["episode"] for each in found}) == 1
        assert len(endpoint.asked) == 4
        with pytest.raises(openai.ConflictError):
            ask(client, "mc2", extra_headers=key)
        with pytest.raises(openai.ConflictError):
            client.chat.completions.create(
                model="cot",
                messages=[{"role": "user", "content": "What is 2 + 2?"}],
                extra_headers=key,
            )
    assert len(endpoint.asked) == 4


def test_no_answer_is_said_as_none(serve: Serve) -> None:
    """An endpoint that says nothing of a number: the text is empty, and why stands beside it."""
    silent = {"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
    serve(lambda asked: Answer(raw=json.dumps({"choices": [silent]}).encode()))
    with served() as here:
        said = ask(here.client())
    assert said.choices[0].message.content == ""
    assert "No answer was given" in said.choices[0].message.refusal
    assert said.usage is None, "tokens that nobody counted are not zero"


@pytest.mark.parametrize(
    ("given", "status", "param"),
    [
        ({"model": "mc3", "messages": ASKED}, 404, "model"),
        ({"model": "own.py:OWN", "messages": ASKED}, 404, "model"),
        ({"model": "cot"}, 400, "messages"),
        ({"model": "cot", "messages": []}, 400, "messages"),
        ({"model": "cot", "messages": ASKED, "n": 2}, 400, "n"),
        ({"model": "cot", "messages": [{"role": "user", "content": " "}]}, 400, "problem"),
        ({"model": "cot", "messages": [{"role": "tool", "content": "x"}]}, 400, "messages.0.role"),
    ],
)
def test_what_is_wrong_is_named(door: Here, given: dict[str, Any], status: int, param: str) -> None:
    with door.http() as http:
        said = http.post("/v1/chat/completions", json=given)
    assert said.status_code == status
    assert said.json()["error"]["param"] == param
    with metalogue.open_log(LOG) as log:
        assert list(log.records("p/")) == []


# ── our own ──────────────────────────────────────────────────────────────────────────────────────


def test_a_problem_is_put_once_waited_for_followed_explained_and_judged(door: Here) -> None:
    put = {"id": "sum", "problem": "What is 17 + 25?", "policy": "mc2", "answer": 42}
    with door.http() as http:
        first = http.post("/v1/problems", json=put)
        episode = first.headers["metalogue-episode"]
        answer = http.get(f"/v1/answers/{episode}", params={"wait_s": 60})
        assert (answer.status_code, answer.json()["answer"]) == (200, "42")
        again = http.post("/v1/problems", json=put)
        assert (again.status_code, again.json()) == (200, answer.json())
        lines = http.get(f"/v1/events/{episode}").text.splitlines()
        assert [line for line in lines if line.startswith("event: ")][-1] == "event: answer"
        assert json.loads(lines[-2].removeprefix("data: "))["answer"] == "42"
        explained = http.get(f"/v1/explanations/{episode}").json()
        assert explained["answer"] == "42"
        assert http.post(f"/v1/feedback/{episode}", json={"verdict": True}).status_code == 202
        assert http.post(f"/v1/feedback/{episode}", json={}).status_code == 400
        assert http.post(f"/v1/cancellations/{episode}").status_code == 409
        other = http.post("/v1/problems", json=put | {"problem": "What is 2 + 2?"})
        assert (other.status_code, other.json()["error"]["param"]) == (409, "id")
        for path in ("answers", "events", "explanations"):
            assert http.get(f"/v1/{path}/p/default/none/x").status_code == 404


def test_a_trace_comes_back_with_every_answer_and_no_credential_is_kept(door: Here) -> None:
    trace = {"traceparent": "00-4bf9-00f0-01", "X-Request-Id": "r/7"}
    with door.http("secret") as http:
        first = http.post(
            "/v1/problems", json={"id": "a", "problem": "What is 1 + 1?"}, headers=trace
        )
        path = f"/v1/answers/{first.headers['metalogue-episode']}"
        found = http.get(path, params={"wait_s": 60}, headers={"traceparent": "another"})
        for said in (first, found):
            assert {name: said.headers[name] for name in trace} == trace
        asked = {"model": "cot", "messages": ASKED}
        assert http.post("/v1/chat/completions", json=asked, headers=trace).headers[
            "x-request-id"
        ] == ("r/7")
        assert "traceparent" not in http.post("/v1/chat/completions", json=asked).headers
    with metalogue.open_log(LOG) as log:
        kept = [each.event for each in log.records() if each.address == "admitted"]
    assert "secret" not in repr(kept)
    assert "r/7" in repr(kept)


def test_what_is_not_done_in_time_goes_on(serve: Serve) -> None:
    gate = Gate()
    serve(gate)
    with served(patience_s=0.2) as here, here.http() as http:
        put = http.post(
            "/v1/problems", json={"id": "a", "problem": "What is 1 + 1?", "policy": "cot"}
        )
        assert (put.status_code, put.json()["status"]) == (202, "open")
        episode = put.headers["metalogue-episode"]
        late = http.post("/v1/chat/completions", json={"model": "cot", "messages": ASKED})
        assert (late.status_code, late.json()["error"]["code"]) == (504, "patience")
        gate.open.set()
        found = put
        for _ in range(600):
            if found.status_code == 200:
                break
            found = http.get(f"/v1/answers/{episode}", params={"wait_s": 60})
        assert found.json()["answer"] == "2"


def test_progress_goes_on_behind_the_offset_that_was_seen_last(serve: Serve) -> None:
    serve()
    with served() as here, here.http() as http:
        put = http.post("/v1/problems", json={"id": "a", "problem": "What is 1 + 1?"})
        episode = put.headers["metalogue-episode"]
        whole = http.get(f"/v1/events/{episode}").text.split("\n\n")
        ids = [line for each in whole for line in each.splitlines() if line.startswith("id: ")]
        offsets = [int(line.removeprefix("id: ")) for line in ids]
        assert offsets == sorted(set(offsets))
        assert len(offsets) > 3
        assert all("id: " in each for each in whole if "event: record" in each)
        seen = offsets[1]
        where = f"/v1/events/{episode}"
        for rest in (
            http.get(where, params={"after": seen}),
            http.get(where, headers={"last-event-id": str(seen)}),
        ):
            assert rest.text.split("\n\n") == whole[2:], "nothing twice, and nothing lost"
        for wrong in ("x", "-1", "1" * 30):
            refused = http.get(f"/v1/events/{episode}", headers={"last-event-id": wrong})
            assert refused.status_code in (400, 422)


def test_a_problem_is_cancelled(serve: Serve) -> None:
    gate = Gate()
    serve(gate)
    with served() as here, here.http() as http:
        put = http.post(
            "/v1/problems", json={"id": "a", "problem": "What is 1 + 1?", "policy": "cot"}
        )
        episode = put.headers["metalogue-episode"]
        gate.asked.wait(60)
        assert http.post(f"/v1/cancellations/{episode}").status_code == 202
        gate.open.set()
        ended = http.get(f"/v1/answers/{episode}", params={"wait_s": 0})
        assert ended.status_code in (202, 409)


def test_a_broken_set_up_is_503_and_closes_nothing(serve: Serve) -> None:
    serve(keyless)
    with served() as here, here.http() as http:
        said = http.post("/v1/chat/completions", json={"model": "cot", "messages": ASKED})
    assert (said.status_code, said.json()["error"]["code"]) == (503, "model.auth")


# ── who may come in ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def tokens(folder: Path) -> str:
    holders = {
        "alice": {"sha256": sha256(b"a-token").hexdigest(), "at_once": 1},
        "bob": {"sha256": sha256(b"b-token").hexdigest(), "call_limit": 1},
    }
    (folder / "tokens.yaml").write_text(yaml.safe_dump({"holders": holders}))
    return "tokens.yaml"


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
        ("[", "tokens"),
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


def test_a_log_that_another_works_on_is_said(serve: Serve) -> None:
    serve()
    with only_worker("a.db"):
        done = call("serve", "--backbone", "openai", "--listen", "127.0.0.1:0", "--log", "a.db")
    assert done.code == 6
    assert "another worker has this log" in done.err
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
