"""Providers that refuse, put off, fail or send elsewhere, as each words it."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from typing import Any

import httpcore
import httpx
import pytest

from schemas.questions import Sampling
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.providers.access import find_access
from streams.answering.backbones.providers.clients import open_client
from streams.answering.backbones.providers.kinds import KINDS, Options
from streams.answering.backbones.providers.raised import fault_of
from streams.answering.backbones.providers.refusals import judged
from streams.core.backbone import SetupBroken, Unreachable
from tests.endpoint import Answer, Asked, drops, serving
from tests.streams.backbones.asking import always, asking, in_turn
from tests.streams.backbones.providers.wires import SECRET, WIRES, Wire, one, with_provider

SAMPLED = asking(sampling=Sampling(temperature=0.4, top_p=0.9))
HERE = "http://127.0.0.1:9"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def test_a_refused_parameter_is_left_out_told_once_and_recorded(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    def script(asked: Asked) -> Answer:
        return wire.refused if wire.sent(asked.body, "top_p") is not None else wire.fine()

    async def twice(backbone: Any) -> list[Any]:
        return [await backbone.complete(SAMPLED) for _ in range(2)]

    with serving(script) as endpoint, caplog.at_level(logging.WARNING):
        first, second = with_provider(wire, endpoint, twice)
        assert wire.sent(endpoint.asked[-1].body, "temperature") == 0.4
    assert (first.text, first.attempts, first.free) == ("42", 2, True)
    assert (second.text, second.attempts) == ("42", 1)
    assert first.dropped == second.dropped == tuple(sorted(("top_p", *wire.lacks)))
    assert sum("refuses top_p" in each.getMessage() for each in caplog.records) == 1


def test_a_bad_key_is_the_set_up_s_fault(wire: Wire) -> None:
    with pytest.raises(SetupBroken) as caught:
        one(wire, always(wire.bad_key))
    assert caught.value.code == "auth"
    assert wire.key in caught.value.detail
    assert SECRET not in str(caught.value)


def test_an_unknown_model_is_the_set_up_s_fault(wire: Wire) -> None:
    with pytest.raises(SetupBroken, match="m-1 cannot be asked") as caught:
        one(wire, always(wire.no_model))
    assert caught.value.code == "model"


def test_a_prompt_that_is_refused_is_recorded_and_gives_up_nothing(wire: Wire) -> None:
    kind = {"gemini": "INVALID_ARGUMENT", "bedrock": "ValidationException"}
    plain = wire.refusal(400, kind.get(wire.kind, "invalid_request_error"), "messages: bad role")
    for answer in (wire.too_long, plain):
        reply = one(wire, always(answer), SAMPLED)
        assert (reply.finish, reply.text, reply.attempts) == ("error", "", 1)
        assert (reply.dropped, reply.free) == ((), True)
        assert reply.too_long == (answer is wire.too_long)


def test_who_puts_us_off_is_asked_again_and_its_pause_is_kept(wire: Wire) -> None:
    reply = one(wire, in_turn(wire.busy, wire.fine()))
    assert (reply.text, reply.attempts, reply.free) == ("42", 2, True)
    with pytest.raises(Unreachable) as caught:
        one(wire, always(wire.busy), max_attempts=1)
    assert (caught.value.tried.silence, caught.value.tried.pause_s) == ("busy", wire.pause_s)


def test_an_overload_is_the_moment_s(wire: Wire) -> None:
    reply = one(wire, in_turn(wire.overloaded, wire.overloaded, wire.fine()))
    assert (reply.text, reply.attempts) == ("42", 3)
    with pytest.raises(Unreachable) as caught:
        one(wire, always(wire.overloaded), max_attempts=1)
    assert caught.value.tried.silence == "busy"


def test_a_failure_is_asked_again_by_us_and_not_by_the_library(wire: Wire) -> None:
    with serving(always(wire.refusal(500, "INTERNAL", "internal error"))) as endpoint:
        with pytest.raises(Unreachable) as caught:
            with_provider(wire, endpoint, lambda b: b.complete(asking()), max_attempts=3)
        assert len(endpoint.asked) == 3
    assert (caught.value.tried.attempts, caught.value.tried.silence) == (3, "error")


@pytest.mark.parametrize("when", ["before", "middle"])
def test_a_connection_that_breaks_is_lost(wire: Wire, when: Any) -> None:
    with serving(in_turn(drops(when), wire.fine())) as endpoint:
        reply = with_provider(wire, endpoint, lambda b: b.complete(asking()))
        assert len(endpoint.asked) == 2
    assert (reply.text, reply.attempts, reply.free) == ("42", 2, False)


def test_nobody_there_is_unreachable(wire: Wire) -> None:
    with serving() as endpoint:
        pass
    with pytest.raises(Unreachable, match=r"(?i)connect") as caught:
        with_provider(wire, endpoint, lambda b: b.complete(asking()), max_attempts=2)
    assert (caught.value.tried.attempts, caught.value.tried.free) == (2, True)


def test_silence_is_ended_by_our_clock(wire: Wire) -> None:
    late = Answer(raw=wire.fine().raw, latency_s=3.0)
    with serving(always(late)) as endpoint:
        reply = with_provider(wire, endpoint, lambda b: b.complete(asking()), timeout_s=0.4)
    assert (reply.finish, reply.attempts, reply.free) == ("timeout", 2, False)


def test_a_connection_that_took_too_long_is_free_and_lost() -> None:
    access = find_access(KINDS["gemini"], "m", {"GEMINI_API_KEY": SECRET}, None)
    late = httpx.ConnectTimeout("")
    late.__cause__ = httpcore.ConnectTimeout()
    fault = fault_of(access, late, 3.0)
    assert fault == Fault("lost", "no connection within 3 s", free=True)
    broken = httpx.ReadError("")
    broken.__cause__ = httpcore.ReadError()
    fault = fault_of(access, broken, 3.0)
    assert fault is not None
    assert (fault.kind, fault.free) == ("lost", False)


def test_a_call_has_the_time_that_its_role_has(wire: Wire) -> None:
    late = Answer(raw=wire.fine().raw, latency_s=0.5)
    short = asking(sampling=Sampling(timeout_s=0.1))

    async def both(backbone: Any) -> list[str]:
        return [(await backbone.complete(each)).finish for each in (short, asking())]

    with serving(always(late)) as endpoint:
        assert with_provider(wire, endpoint, both, timeout_s=60.0) == ["timeout", "stop"]


def test_bedrock_s_own_clock_is_later_than_the_longest_call_s() -> None:
    wire = WIRES["bedrock"]
    long = asking(sampling=Sampling(timeout_s=1800.0))
    waits: list[float] = []

    async def look(backbone: Any) -> None:
        await backbone.complete(asking())
        await backbone.complete(long)
        for timeout_s in (None, 1800.0):
            client = await backbone.line.opened(timeout_s)
            waits.append(client.library.client.meta.config.read_timeout)

    with serving(wire.echo) as endpoint:
        with_provider(wire, endpoint, look)
    assert waits == [180.0, 1860.0]


def test_a_key_that_no_header_can_carry_is_told_without_the_secrets_of_its_address() -> None:
    wire = WIRES["azure"]
    environ = {wire.key: "sk-ü", wire.address: "http://u:S3@h/v1?sig=S3"}
    with pytest.raises(SetupBroken, match="no HTTP header can carry") as caught:
        find_access(KINDS["azure"], "m", environ, None)
    assert caught.value.where == "http://h/v1"


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "azure"])
def test_no_clock_of_a_library_ends_a_request(kind: str) -> None:
    access = find_access(
        KINDS[kind], "m", {WIRES[kind].key: SECRET, WIRES[kind].address: HERE}, None
    )
    client: Any = open_client(access, Options(connect_s=3.0), {})
    http: Any = client.http
    request = http.build_request("POST", HERE, timeout=1.0)
    asyncio.run(client.close())
    assert request.extensions["timeout"] == dict.fromkeys(("read", "write", "pool")) | {
        "connect": 3
    }


def test_no_redirect_is_followed(wire: Wire) -> None:
    with serving(wire.echo) as other:
        place = Answer(status=307, headers={"location": f"{other.url}/elsewhere"})
        with pytest.raises(SetupBroken) as caught:
            one(wire, always(place))
        assert other.asked == []
    assert caught.value.code == "moved"


def test_a_packed_body_is_not_unpacked() -> None:
    for kind in ("anthropic", "gemini", "azure"):
        wire = WIRES[kind]
        packed = Answer(raw=wire.fine().raw, headers={"content-encoding": "gzip"})
        assert one(wire, always(packed)).finish == "error"


def test_a_flood_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.answering.backbones.providers.clients.MOST_BYTES", 5000)
    for kind in ("anthropic", "gemini", "azure"):
        wire = WIRES[kind]
        assert one(wire, always(wire.fine("x" * 20_000))).finish == "error"
        assert one(wire, always(wire.fine("x" * 2_000))).finish == "stop"


SPENT = "Your credit balance is too low to access the Anthropic API."
CASES: list[tuple[str, int, Any, str]] = [
    ("anthropic", 400, {"error": {"type": "invalid_request_error", "message": SPENT}}, "quota"),
    ("anthropic", 413, {"error": {"type": "request_too_large", "message": "too large"}}, "error"),
    ("gemini", 400, {"error": {"status": "FAILED_PRECONDITION", "message": "Enable it"}}, "auth"),
    ("bedrock", 424, {"code": "ModelErrorException", "message": "it failed"}, "failed"),
    ("bedrock", 408, {"code": "ModelTimeoutException", "message": "too slow"}, "failed"),
    ("bedrock", 403, {"message": "You don't have access to the model with the ID."}, "model"),
    ("azure", 400, {"error": {"code": "content_filter", "message": "filtered"}}, "refusal"),
    ("azure", 500, "not json", "failed"),
]


@pytest.mark.parametrize(("kind", "status", "body", "expected"), CASES)
def test_what_a_refusal_stands_for(kind: str, status: int, body: Any, expected: str) -> None:
    assert judged(KINDS[kind], status, body, {}, NOW).kind == expected


def test_a_vague_word_is_a_parameter_only_where_nothing_else_is_named() -> None:
    def names(message: str) -> set[str]:
        fault = judged(KINDS["anthropic"], 400, {"error": {"message": message}}, {}, NOW)
        return {"temperature", "reasoning_effort"} & fault.names if fault.kind == "model" else set()

    assert names("adaptive thinking is not supported on this model") == {"reasoning_effort"}
    assert names("`temperature` is not supported with thinking") == {"temperature"}
    assert names("thinking about it was good") == set()


def test_half_a_key_in_an_error_is_no_key_that_is_shown(wire: Wire) -> None:
    refusal = wire.refusal(400, "INVALID_ARGUMENT", f"you said {SECRET}")
    body = json.loads(refusal.raw)
    told = judged(KINDS[wire.kind], 400, body, {}, NOW, lambda text: text.replace(SECRET, "[key]"))
    assert "[key]" in told.detail
    assert SECRET not in told.detail
