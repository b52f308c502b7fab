"""The cache before an embedder: few batches, each text once, and an error is nobody's for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.learning.embedding import width_of
from schemas.events.episode import Embedded
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed, Recall
from schemas.vectors import pack
from streams.answering.backbones.spelling import BackboneConfig
from streams.answering.embedders.cached import Cached
from streams.answering.embedders.hashed import HashedEmbedder, hashed
from streams.answering.embedders.spelling import build
from streams.core.backbone import SetupBroken, Unreachable
from streams.core.drive import Run
from streams.interfaces.cli.setup import Models, world_of


class Counting(HashedEmbedder):
    """Hashed vectors; notes what it was asked, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self.failures = failures

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise Unreachable("here", "no")
        return await super().embed(texts)


def test_what_is_asked_at_once_goes_together_and_only_once() -> None:
    inner = Counting()

    async def use() -> None:
        cached = Cached(inner, together=4)
        calls = [cached.embed([f"text {at}", "every time"]) for at in range(5)]
        for at, (own, shared) in enumerate(await asyncio.gather(*calls)):
            assert (own, shared) == (hashed(f"text {at}"), hashed("every time"))
        await cached.embed(["text 3", "every time"])

    asyncio.run(use())
    assert [len(batch) for batch in inner.asked] == [4, 2]
    assert len({text for batch in inner.asked for text in batch}) == 6


def test_those_unused_for_longest_go_first() -> None:
    inner = Counting()

    async def use() -> None:
        cached = Cached(inner, kept=2)
        for text in ("a", "b", "a", "c", "a", "b"):
            await cached.embed([text])

    asyncio.run(use())
    assert inner.asked == [["a"], ["b"], ["c"], ["b"]]


def test_a_failure_is_told_to_all_who_wait_and_tried_anew() -> None:
    async def use() -> None:
        cached = Cached(Counting(failures=3))
        first = await asyncio.gather(
            cached.embed(["a"]), cached.embed(["a", "b"]), return_exceptions=True
        )
        assert [type(each) for each in first] == [Unreachable, Unreachable]
        assert await cached.embed(["a"]) == [hashed("a")]

    asyncio.run(use())


def test_a_text_that_gets_no_vector_spoils_no_other_of_its_batch() -> None:
    class Picky(Counting):
        async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            if "text 5" in texts:
                raise Unreachable("here", f"{len(texts)} texts")
            return await super().embed(texts)

    async def use() -> None:
        cached, texts = Cached(Picky()), [f"text {at}" for at in range(8)]
        asked = (cached.embed([text]) for text in texts)
        for text, got in zip(
            texts, await asyncio.gather(*asked, return_exceptions=True), strict=True
        ):
            if text == "text 5":
                assert str(got) == "here: 1 texts"
            else:
                assert got == [hashed(text)]

    asyncio.run(use())


def test_one_who_leaves_harms_no_other() -> None:
    async def use() -> None:
        cached = Cached(Counting())
        leaves, stays = (asyncio.create_task(cached.embed(["a"])) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        assert await stays == [hashed("a")]

    asyncio.run(use())


def test_an_embedder_is_chosen_as_a_role_is() -> None:
    models = Models(backbone="rehearsal", roles=["embedder=minilm"])
    assert world_of(models).embedder.name == "minilm-53aa5117-256"
    assert world_of(Models(backbone="rehearsal")).embedder.name == "hashed-256"
    config = BackboneConfig(environ={"OPENAI_API_KEY": "k"})
    assert build("openai:text-embedding-3-small", config).name == "openai:text-embedding-3-small"
    with pytest.raises(SetupBroken, match="needs its model"):
        build("openai", config)
    with pytest.raises(ValueError, match=r"no embedder 'word2vec'; there are auto, hashed, minilm"):
        build("word2vec", config)


def test_vectors_of_two_embedders_are_never_compared() -> None:
    lesson = MemoryItem(
        id="L1", kind="lesson", role="reasoner", text="t", text_digest="d", batch=1,
        vector=pack([1.0] * 8),
    )  # fmt: skip
    world = world_of(Models(backbone="rehearsal"))
    run: Any = SimpleNamespace(
        embedder=None, memory=Memory("default/mc2", 1, (lesson,), embedder="minilm")
    )
    reserved: Any = None
    asked = Recall("a problem", ("reasoner",), 3)
    with pytest.raises(
        SetupBroken, match="holds vectors of minilm, this worker makes those of hashed-256"
    ):
        asyncio.run(world.answer(run, asked, "", "0", reserved))


CASE = {"cases": [{"id": "c", "vector": None}, {"id": "d", "vector": pack([1.0] * 8)}]}
ARM = {"arms": [{"id": "a1"}, {"id": "a2", "vector": pack([1.0] * 8)}]}
STAGE = {"arms": [{"id": "vote", "rows": [[pack([1.0] * 5), 0.5]]}]}
PRINCIPLE = {"version": 1, "paths": {}, "principles": {"P1": {"vector": pack([1.0] * 8)}}}
LESSON = MemoryItem(
    id="L1", kind="lesson", role="reasoner", text="t", text_digest="d", batch=1,
    vector=pack([1.0] * 8),
)  # fmt: skip
SAID = Embedded(asked="", embedder="hashed-256", dimensions=8, vectors=(pack([1.0] * 8),))


@pytest.mark.parametrize(
    ("items", "learned", "journal"),
    [
        ((LESSON,), {}, {}),
        ((), CASE, {}),
        ((), ARM, {}),
        ((), PRINCIPLE, {}),
        ((), {}, {"0": SAID}),
    ],
    ids=["a lesson", "a case", "an arm", "a principle", "its own record"],
)
def test_vectors_of_another_length_by_the_same_name_stop_the_worker_and_fail_no_problem(
    items: tuple[MemoryItem, ...], learned: dict[str, Any], journal: dict[str, Any]
) -> None:
    world = world_of(Models(backbone="rehearsal"))
    memory = Memory("default/mc2", 1, items, learned, embedder="hashed-256")
    run = Run("p/default/a/b", journal, 7, memory)
    reserved: Any = None
    for asked in (Recall("a problem", ("reasoner",), 3), Embed(("a problem",))):
        with pytest.raises(
            SetupBroken, match="vectors of 8 numbers, and now they have 256"
        ) as said:
            asyncio.run(world.answer(run, asked, "", "1", reserved))
        assert said.value.code == "embedder"
    # A memory of another embedder says nothing of this one's, as while its vectors are made anew.
    name, before = "b/default/mc2/1", replace(memory, embedder="minilm")
    anew = Run(name, {}, 7, before, "learning", embedder="hashed-256")
    found: Any = asyncio.run(world.answer(anew, Embed(("a",), True), "", "1", reserved))
    assert found.dimensions == 256


def test_what_a_cascade_chose_by_is_no_vector_of_a_text() -> None:
    """Each of its decisions is by five figures; taken for a vector, no problem of any cascade would be begun."""
    memory = Memory("default/cascade", 1, (), STAGE, embedder="hashed-256")
    assert width_of(memory) is None
