"""An embeddings endpoint under fire: nothing wrong is kept, and what passes is waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.limits import UNBOUNDED
from schemas.events.base import AnswerEvent
from schemas.events.episode import Embedded, QuestionAbandoned
from schemas.memory import Memory
from schemas.questions import Embed
from schemas.vectors import as_kept, unpack
from streams.backbones.openai import Options
from streams.backbones.openai.faults import Fault
from streams.backbones.port import NotSent, SetupBroken, Unreachable
from streams.backbones.rehearsal import Options as Calm
from streams.backbones.rehearsal import Rehearsal
from streams.drive import Run
from streams.embedders.cached import Cached
from streams.embedders.hashed import hashed
from streams.embedders.openai import OpenAIEmbedder
from streams.embedders.reading import Vectors, read_vectors
from streams.trying import Patience
from streams.world import World
from tests.endpoint import Answer, Asked, Endpoint, Script, drops, fails, serving
from tests.streams.backbones.asking import QUICK

TEXTS = ["the first", "the second", "the third"]
WRONG: Any = float("nan")


def vectors(asked: Asked, size: int = 8) -> Answer:
    """What a sound endpoint says."""
    texts = asked.body["input"]
    return said([{"index": at, "embedding": hashed(text, size)} for at, text in enumerate(texts)])


def said(data: list[dict[str, Any]]) -> Answer:
    return Answer(raw=json.dumps({"data": data, "model": "check"}).encode())


def spoilt(change: Callable[[list[dict[str, Any]]], object]) -> Script:
    """A sound reply, less sound."""

    def script(asked: Asked) -> Answer:
        data = json.loads(vectors(asked).raw)["data"]
        change(data)
        return said(data)

    return script


def at_first(fault: Script | Answer, times: int = 1) -> Script:
    """The fault so many times, and then sound replies."""

    def script(asked: Asked) -> Answer:
        if asked.number >= times:
            return vectors(asked)
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
    [(fails(401), "auth"), (fails(404), "model"), (fails(402), "quota"), (fails(400), "model")],
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
