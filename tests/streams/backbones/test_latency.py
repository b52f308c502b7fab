from __future__ import annotations

from streams.answering.backbones.latency import ROUND, Latency


def slow_rounds(latency: Latency, seconds: float, tokens: int, rounds: int = 1) -> int:
    return sum(latency.is_slow(seconds, tokens) for _ in range(ROUND * rounds))


def test_a_round_at_twice_the_best_pace_is_slow_and_counts_once() -> None:
    latency = Latency()
    assert slow_rounds(latency, 1.0, 100, rounds=3) == 0
    assert slow_rounds(latency, 3.0, 100) == 1


def test_longer_replies_are_not_slow() -> None:
    latency = Latency()
    slow_rounds(latency, 1.0, 80)
    assert slow_rounds(latency, 10.0, 980) == 0


def test_one_straggler_in_a_round_is_not_slow() -> None:
    latency = Latency()
    slow_rounds(latency, 1.0, 100)
    assert not latency.is_slow(60.0, 100)
    assert slow_rounds(latency, 1.0, 100) == 0


def test_a_model_that_stays_slower_is_taken_for_what_it_is() -> None:
    latency = Latency()
    slow_rounds(latency, 1.0, 100)
    assert slow_rounds(latency, 3.0, 100, rounds=60) < 12
    assert slow_rounds(latency, 3.0, 100) == 0
