"""Replies of each provider, in its own format on loopback, come to the same record."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.price import Price
from schemas.questions import Sampling
from streams.answering.backbones.prices import price_for
from streams.core.normalise import completed
from tests.endpoint import Answer, Asked, serving
from tests.streams.backbones.asking import always, asking, in_turn
from tests.streams.backbones.providers.wires import SECRET, WIRES, Wire, one, with_provider

EVERYTHING = asking(
    sampling=Sampling(temperature=0.4, top_p=0.9, max_tokens=100_000, stop=("END",)),
)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def test_a_reply_with_its_tokens_its_model_and_what_was_thought(wire: Wire) -> None:
    thought = None if wire.kind == "azure" else "6 times 7"
    reply = one(wire, always(wire.fine("42", thought)))
    assert (reply.text, reply.thought, reply.finish) == ("42", thought, "stop")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (15, 20, 5)
    assert reply.reasoning_tokens == wire.thinking
    assert (reply.model, reply.attempts, reply.free) == ("m-1", 1, True)
    assert reply.dropped == wire.lacks
    record = completed("q", reply)
    assert (record.thought, record.dropped) == (thought, wire.lacks or None)


def test_what_was_not_counted_is_unknown_and_no_zero(wire: Wire) -> None:
    reply = one(wire, always(wire.reply("42", None, wire.reasons[0], False)))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("42", None, None)


def test_parameters_go_by_the_provider_s_names_and_its_key_in_its_place(wire: Wire) -> None:
    with serving(wire.echo) as endpoint:
        reply = with_provider(wire, endpoint, lambda b: b.complete(EVERYTHING))
        (asked,) = endpoint.asked
    assert (reply.text, asked.path) == ("2+2", wire.path)
    values = {name: wire.sent(asked.body, name) for name in ("temperature", "top_p", "max_tokens")}
    assert values == {"temperature": 0.4, "top_p": 0.9, "max_tokens": 100_000}
    assert wire.sent(asked.body, "stop") == ["END"]
    shown = " ".join(asked.headers.values())
    if wire.kind == "bedrock":
        assert "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" in shown
        assert "/eu-west-1/bedrock/aws4_request" in shown
        assert SECRET not in shown
    else:
        assert SECRET in shown


def test_a_reply_that_was_cut_and_one_that_was_filtered_say_so(wire: Wire) -> None:
    _, cut, filtered = wire.reasons
    assert one(wire, always(wire.reply("4", None, cut, True))).finish == "length"
    assert one(wire, always(wire.reply("", None, cut, True))).finish == "length"
    refused = one(wire, always(wire.reply("", None, filtered, True)))
    # The library puts words of its own into a filtered reply; none of them is the model's.
    assert (refused.finish, refused.text) == ("refusal", "")


def test_an_empty_reply_is_asked_for_once_more(wire: Wire) -> None:
    nothing = wire.reply("", None, wire.reasons[0], True)
    mended = one(wire, in_turn(nothing, wire.fine()))
    assert (mended.text, mended.attempts, mended.free) == ("42", 2, False)
    empty = one(wire, always(nothing))
    assert (empty.text, empty.finish, empty.attempts) == ("", "error", 2)


def test_what_cannot_be_read_is_asked_for_once_more(wire: Wire) -> None:
    garbage = [b"", b"{", b"[]", b"<p>no", b"{}", b"null"]

    def script(asked: Asked) -> Answer:
        again, at = asked.number % 2, asked.number // 2
        return wire.fine() if again else Answer(raw=garbage[at])

    async def each(backbone: Any) -> list[tuple[str, int]]:
        replies = [await backbone.complete(asking()) for _ in garbage]
        return [(reply.text, reply.attempts) for reply in replies]

    with serving(script) as endpoint:
        assert with_provider(wire, endpoint, each) == [("42", 2)] * len(garbage)


def test_a_schema_goes_along_where_it_is_asked_for(wire: Wire) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    with serving(always(wire.fine())) as endpoint:
        reply = with_provider(
            wire, endpoint, lambda b: b.complete(asking(schema=schema)), structured=True
        )
        (asked,) = endpoint.asked
    if wire.kind == "bedrock":  # the library knows no way there but for Claude, so it asks without
        assert reply.dropped == ("response_format", "seed")
    else:
        assert '"answer"' in str(asked.body).replace("'", '"')
        assert "response_format" not in reply.dropped


def test_what_a_provider_wants_besides_goes_along(wire: Wire) -> None:
    with serving(always(wire.fine())) as endpoint:
        with_provider(
            wire, endpoint, lambda b: b.complete(asking()), extra_body='{"custom": {"a": 1}}'
        )
        (asked,) = endpoint.asked
    body: Any = asked.body.get("additionalModelRequestFields", asked.body)
    assert body["custom"] == {"a": 1}


def test_effort_is_said_as_the_provider_says_it() -> None:
    models = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash", "azure": "o4"}
    models["bedrock"] = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
    found: dict[str, Any] = {}
    for kind, model in models.items():
        wire = WIRES[kind]
        with serving(always(wire.fine())) as endpoint:
            with_provider(
                wire, endpoint, lambda b: b.complete(EVERYTHING), model, reasoning_effort="low"
            )
            found[kind] = endpoint.asked[0].body
    assert found["anthropic"]["thinking"]["type"] == "enabled"
    assert "thinkingConfig" in found["gemini"]["generationConfig"]
    fields = found["bedrock"]["additionalModelRequestFields"]
    assert fields["reasoning_config"]["type"] == "enabled"
    assert found["azure"]["reasoning_effort"] == "low"


def test_a_key_that_comes_back_is_not_recorded(wire: Wire) -> None:
    reply = one(wire, always(wire.fine(f"it is {SECRET}")))
    assert reply.text == "it is [key]"


def test_a_price_is_found_by_name_model_or_kind(wire: Wire) -> None:
    with serving() as endpoint:
        name = with_provider(wire, endpoint, named)
    assert name == f"{wire.kind}:m-1"
    price = Price(prompt=1, completion=2)
    for said in (name, "m-1", wire.kind):
        assert price_for({said: price}, name) == price


async def named(backbone: Any) -> str:
    return str(backbone.name)


def test_gemini_reads_thoughts_in_pieces() -> None:
    wire = WIRES["gemini"]

    def script(_: Asked) -> Answer:
        answer = wire.fine("4", "6 times")
        both = answer.raw.replace(b'{"text": "4"}', b'{"text": "4"}, {"text": "2"}')
        return Answer(raw=both)

    assert one(wire, script).text == "42"
