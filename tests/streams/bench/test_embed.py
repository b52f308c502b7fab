from __future__ import annotations

from collections.abc import Sequence

import pytest

from streams.research.bench import embed


class Counting:
    """An embedder that takes 1.23456 ms a text by a clock of its own, and changes its mind if it is to."""

    name, dimensions = "counting@1", 2

    def __init__(self, *, steady: bool = True) -> None:
        self.steady, self.now, self.closed = steady, 0.0, False
        self.sizes: list[int] = []
        self.seen: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.sizes.append(len(texts))
        self.seen += texts
        self.now += 1.23456e-3 * len(texts)
        return [(1.0, 0.0 if self.steady else float(len(self.sizes))) for _ in texts]

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("steady", [True, False])
def test_milliseconds_a_sentence_are_told_for_each_size_of_batch(
    steady: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, said = Counting(steady=steady), list[str]()
    monkeypatch.setattr("streams.research.bench.embed.time.perf_counter", lambda: embedder.now)
    assert embed.run(embedder, said.append) == {
        "embedder": "counting@1",
        "dimensions": 2,
        "ms_per_sentence_1": 1.235,
        "ms_per_sentence_8": 1.235,
        "ms_per_sentence_32": 1.235,
        "same_batch_same_vectors": steady,
    }
    assert said == ["batch 1", "batch 8", "batch 32"]
    assert embedder.sizes == [1, *[1] * 5 * 64, *[8] * 5 * 8, *[32] * 5 * 2, 64, 64]
    assert embedder.seen[-64:] == embedder.seen[-128:-64]
    assert not {*embedder.seen[-64:]} & {*embedder.seen[:-128]}, "an embedder may keep what it saw"
    assert embedder.closed


def test_no_round_has_a_sentence_of_another() -> None:
    rounds = [set(embed.sentences(turn)) for turn in range(3)]
    assert [len(each) for each in rounds] == [64] * 3
    assert len(set[str]().union(*rounds)) == 3 * 64
    words = {" ".join(sorted(text.split()[:10])) for each in rounds for text in each}
    assert words == {" ".join(sorted(embed.WORDS))}
