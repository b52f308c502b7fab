"""An embeddings endpoint under fire: nothing wrong is kept, and what passes is waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.limits import UNBOUNDED
from schemas.events.base import AnswerEvent
from schemas.events.episode import Embedded, QuestionAbandoned, Recalled
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.price import Price
from schemas.questions import Embed, Recall
from schemas.vectors import as_kept, unpack
from streams.answering.backbones.openai import Options
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.rehearsal import Options as Calm
from streams.answering.backbones.rehearsal import Rehearsal
from streams.answering.embedders.cached import Cached
from streams.answering.embedders.hashed import hashed
from streams.answering.embedders.openai import OpenAIEmbedder
from streams.answering.embedders.port import Bill
from streams.answering.embedders.reading import Vectors, read_vectors
from streams.answering.retries import Patience
from streams.answering.world import World
from streams.core.backbone import NotSent, SetupBroken, Unreachable
from streams.core.drive import Run
from tests.endpoint import Answer, Asked, Endpoint, Script, drops, fails, serving
from tests.streams.backbones.asking import QUICK

TEXTS = ["the first", "the second", "the third"]
WRONG: Any = float("nan")


def vectors(asked: Asked, size: int = 8) -> Answer:
    """What a sound endpoint says."""
    texts = asked.body["input"]
    return said([{"index": at, "embedding": hashed(text, size)} for at, text in enumerate(texts)])


def said(data: list[dict[str, Any]], **more: Any) -> Answer:
    return Answer(raw=json.dumps({"data": data, "model": "check", **more}).encode())


def counted(asked: Asked) -> Answer:
    """A sound endpoint that says how many tokens there were: one for each word."""
    data = json.loads(vectors(asked).raw)["data"]
    return said(data, usage={"prompt_tokens": words_of(asked)})


def words_of(asked: Asked) -> int:
    return sum(len(text.split()) for text in asked.body["input"])


def spoilt(change: Callable[[list[dict[str, Any]]], object]) -> Script:
    """A sound reply, less sound."""

    def script(asked: Asked) -> Answer:
        data = json.loads(vectors(asked).raw)["data"]
        change(data)
        return said(data)

    return script


def at_first(fault: Script | Answer, times: int = 1, then: Script = vectors) -> Script:
    """The fault so many times, and then sound replies."""

    def script(asked: Asked) -> Answer:
        if asked.number >= times:
            return then(asked)
        return fault if isinstance(fault, Answer) else fault(asked)

    return script


def embedded(endpoint: Endpoint, **options: Any) -> list[tuple[float, ...]]:
    async def body() -> list[tuple[float, ...]]:
        embedder = made(endpoint, **options)
        try:
            return await embedder.embed(TEXTS)
        finally:
            await embedder.close()

    return asyncio.run(body())


def made(endpoint: Endpoint, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("check", environ=endpoint.env(), options=Options(**(QUICK | options)))


PASSING: dict[str, Script | Answer] = {
    "put off": fails(429, message="too fast", headers={"Retry-After": "0.01"}),
    "failed": fails(500),
    "reset": drops("before"),
    "cut off": drops("middle"),
    "truncated": lambda asked: replace(vectors(asked), raw=vectors(asked).raw[:60]),
    "not JSON": Answer(raw=b"<html>gateway</html>"),
    "an error with status 200": Answer(raw=b'{"error": {"message": "overloaded"}}'),
    "one vector missing": spoilt(lambda data: data.pop(1)),
    "an index twice": spoilt(lambda data: data[1].update(index=0)),
    "not a number": spoilt(lambda data: data[1]["embedding"].__setitem__(0, WRONG)),
    "beyond what is kept": spoilt(lambda data: data[1]["embedding"].__setitem__(0, 1e9)),
    "words for numbers": spoilt(lambda data: data[1].update(embedding=["0.5"] * 8)),
    "nothing": spoilt(lambda data: data[1].update(embedding=[])),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_passes_is_asked_again_and_only_sound_vectors_come_back(
    fault: Script | Answer,
) -> None:
    with serving(at_first(fault)) as endpoint:
        assert embedded(endpoint) == [hashed(text, 8) for text in TEXTS]
        assert len(endpoint.asked) == 2


def test_retries_are_capped_and_a_pause_asked_for_is_kept_by_all() -> None:
    with serving(lambda _: fails(500)) as endpoint:
        with pytest.raises(Unreachable) as caught:
            embedded(endpoint, max_attempts=3)
        assert len(endpoint.asked) == caught.value.tried.attempts == 3
        assert caught.value.tried.silence == "error"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (fails(401), "auth"),
        (fails(404), "model"),
        (fails(402), "quota"),
        (fails(400), "model"),
        (Answer(raw=b'{"error": {"code": 401, "message": "no such key"}}'), "auth"),
    ],
)
def test_a_broken_set_up_is_told_at_once(fault: Answer, code: str) -> None:
    with serving(lambda _: fault) as endpoint:
        with pytest.raises(SetupBroken) as caught:
            embedded(endpoint)
        assert (caught.value.code, len(endpoint.asked)) == (code, 1)


def test_vectors_of_another_length_are_another_model() -> None:
    def longer_later(asked: Asked) -> Answer:
        return vectors(asked, 8 if asked.number == 0 else 9)

    async def body(endpoint: Endpoint) -> None:
        embedder = made(endpoint)
        await embedder.embed(TEXTS)
        with pytest.raises(SetupBroken, match="vectors of 8 and 9 numbers"):
            await embedder.embed(TEXTS)
        assert embedder.dimensions == 8
        await embedder.close()

    with serving(longer_later) as endpoint:
        asyncio.run(body(endpoint))


def test_batches_share_the_limits_of_completions() -> None:
    """Connections in flight, and a worker that stops: what only waits is let go of."""

    async def body(endpoint: Endpoint) -> None:
        embedder = Cached(made(endpoint, max_connections=2), together=1)
        asked = [asyncio.create_task(embedder.embed([f"text {n}"])) for n in range(6)]
        while len(endpoint.asked) < 2:  # noqa: ASYNC110 - it counts in a thread of its own
            await asyncio.sleep(0.005)
        assert "wait" in (embedder.why() or "")
        embedder.drain()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(each, NotSent) for each in outcomes) == 4
        await embedder.close()

    with serving(lambda asked: replace(vectors(asked), latency_s=0.05)) as endpoint:
        asyncio.run(body(endpoint))
        assert endpoint.most_inside == 2


def asked_of_the_world(script: Script, patience: Patience, **options: Any) -> AnswerEvent:
    """What is recorded of a learner's texts."""

    async def body(endpoint: Endpoint) -> AnswerEvent:
        world = World({"*": Rehearsal(Calm())}, made(endpoint, **options), patience=patience)
        run = Run("b/x/1", {}, 0, Memory("default/mc2", 0), topic="learning")
        return await world.during(world.answer(run, Embed(tuple(TEXTS)), "Embed", "0", UNBOUNDED))

    with serving(script) as endpoint:
        return asyncio.run(body(endpoint))


def test_an_endpoint_that_is_away_is_waited_for() -> None:
    answer = asked_of_the_world(at_first(fails(500), times=2), Patience(), max_attempts=2)
    assert isinstance(answer, Embedded)
    assert [unpack(each) for each in answer.vectors] == [as_kept(hashed(t, 8)) for t in TEXTS]


def test_texts_that_never_get_vectors_are_given_up() -> None:
    nothing = spoilt(lambda data: data[1].update(embedding=[None]))
    answer = asked_of_the_world(nothing, Patience(attempts=4, seconds=0.0))
    assert isinstance(answer, QuestionAbandoned)
    assert "no vector of finite numbers for text 2 of 3" in answer.reason


@given(st.recursive(st.none() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_reply_is_read_somehow(value: Any) -> None:
    for raw in (value, {"data": value}, {"data": [{"index": value, "embedding": value}]}):
        found = read_vectors(json.dumps(raw).encode(), 1)
        assert isinstance(found, Fault) or all(map(as_kept, found.vectors))
    assert isinstance(read_vectors(b'{"data": [{"embedding": [1, 2]}]}', 1), Vectors)


# ── What it took ─────────────────────────────────────────────────────────────────────────────


def billed(script: Script) -> list[Bill]:
    """What is billed for some texts, and for them once more."""

    async def body(endpoint: Endpoint) -> list[Bill]:
        embedder = made(endpoint)
        await embedder.embed(TEXTS)
        bills = [embedder.bill(TEXTS) for _ in range(2)]
        await embedder.close()
        return bills

    with serving(script) as endpoint:
        return asyncio.run(body(endpoint))


def test_every_attempt_is_billed_once_with_what_the_server_counted() -> None:
    first, again = billed(at_first(fails(500), 2, counted))
    assert (first.attempts, first.tokens, first.free) == (3, 6, True)
    assert first.seconds > 0
    assert again == Bill()


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1}, {"prompt_tokens": "six"}, 7])
def test_tokens_that_the_server_did_not_count_are_unknown(usage: Any) -> None:
    data = [{"index": at, "embedding": hashed(text, 8)} for at, text in enumerate(TEXTS)]
    (first, _) = billed(lambda asked: said(data, usage=usage))
    assert (first.attempts, first.tokens) == (1, None)


def test_an_attempt_that_broke_off_may_have_cost_something() -> None:
    first, _ = billed(at_first(drops("middle"), then=counted))
    assert (first.attempts, first.tokens, first.free) == (2, 6, False)


FAULTS: list[Script | Answer] = [fails(429), fails(500), drops("before"), Answer(raw=b"<html>")]


@given(st.integers(0, 2**16), st.integers(1, 4))
@settings(max_examples=8)
def test_in_a_storm_every_request_is_on_one_record(seed: int, together: int) -> None:
    """Questions of many episodes share requests and texts; sums over the record are the server's own."""
    paid: list[int] = []

    def stormy(asked: Asked) -> Answer:
        lucky = hash01(seed, asked.number)
        if lucky < 0.3:
            fault = FAULTS[int(lucky * 1000) % len(FAULTS)]
            return fault if isinstance(fault, Answer) else fault(asked)
        paid.append(words_of(asked))
        return counted(asked)

    async def body(endpoint: Endpoint) -> list[AnswerEvent]:
        embedder = Cached(made(endpoint, max_attempts=2), together=together)
        price = Price(prompt=1_000_000, completion=0)
        world = World({"*": Rehearsal(Calm())}, embedder, prices={"check": price})

        async def asks(at: int) -> AnswerEvent:
            run = Run(f"p/d/{at}/x", {}, 0, Memory("default/mc2", 0))
            texts = (f"own {at}", f"shared {at % 3}", "every one")
            question = Embed(texts) if at % 2 else Recall(" ".join(texts), ("r",), 1)
            return await world.answer(run, question, "asked", "0", UNBOUNDED)

        return await world.during(asyncio.gather(*map(asks, range(12))))

    with serving(stormy) as endpoint:
        answers = asyncio.run(body(endpoint))
    took = [e.took for e in answers if isinstance(e, Embedded | Recalled) and e.took is not None]
    assert len(took) == len(answers)
    assert sum(each.attempts for each in took) == len(endpoint.asked)
    assert sum(each.tokens or 0 for each in took) == sum(paid)
    for each in took:
        assert each.cost in (None, each.tokens), "a million for a million, or unknown"
        assert each.cost == 0 or each.attempts, "what was known already costs nothing"
