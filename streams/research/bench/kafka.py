"""The cost of the worker's appends beside plain aiokafka, on one broker in one run, with latency and replay."""

# Rates of a broker wander by the minute, so ours and plain aiokafka take turns on topics of one kind,
# and what is told first is their ratio. Both wait for each answer, as an episode does: a producer that
# never waited would be timed at what no worker can use.

from __future__ import annotations

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.append import Appender, KafkaWriter
from streams.runtime.kafka.envelope import read
from streams.runtime.kafka.fence import EventsFold
from streams.runtime.kafka.place import KafkaAddress

EPISODES, STEPS, PARTITIONS, ROUNDS = 1_000, 12, 8, 5
TEXT = "word " * 30


def run(place: KafkaAddress, say: Callable[[str], None]) -> dict[str, object]:
    """The figures."""
    return asyncio.run(_run(place, say))


async def _run(place: KafkaAddress, say: Callable[[str], None]) -> dict[str, object]:
    mine = KafkaAddress(place.servers, f"{place.prefix or 'bench'}.{time.time_ns()}", place.clients)
    theirs = KafkaAddress(mine.servers, f"{mine.prefix}.plain", mine.clients)
    for each in (mine, theirs):
        await topics.create(each, PARTITIONS)
    ratios: list[float] = []
    ours: list[float] = []
    raws: list[float] = []
    say("appending, beside plain aiokafka")
    for round_ in range(ROUNDS):
        raws.append(await _raw(theirs))
        ours.append(await _worker(mine, round_))
        ratios.append(ours[-1] / raws[-1])
    say("replaying, beside plain aiokafka")
    reads, replays, shares = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        reads.append(await _read(mine))
        replays.append(await _replay(mine))
        shares.append(replays[-1] / reads[-1])
    say("answering")
    from streams.research.bench.kafka_answers import latencies
    from streams.research.bench.kafka_paced import LATENCY_MS, RATE, costs, paced

    p50, p99 = await latencies(mine)
    say(f"answering {RATE} a second, {LATENCY_MS} ms a call, by a worker of its own")
    paced_p50, paced_p99 = await paced(mine)
    say("answering what is queued, by one worker and by two")
    ones, twice = list[float](), list[float]()
    for round_ in range(ROUNDS):
        one, two = await costs(mine, 1, round_), await costs(mine, 2, round_)
        if one is None or two is None:
            break  # this system tells no process's CPU, and will not the next time
        ones.append(one)
        twice.append(two / one)
    return {
        "append_ratio": round(statistics.median(ratios), 3),
        "appends_per_s": round(statistics.median(ours)),
        "raw_appends_per_s": round(statistics.median(raws)),
        "answer_p50_ms": round(p50, 2),
        "answer_p99_ms": round(p99, 2),
        "replay_events_per_s": round(statistics.median(replays)),
        "raw_reads_per_s": round(statistics.median(reads)),
        "replay_ratio": round(statistics.median(shares), 3),
        "paced_p50_ms": round(paced_p50),
        "paced_p99_ms": round(paced_p99),
        "cpu_ms_an_episode": round(statistics.median(ones), 3) if ones else None,
        "cpu_of_two_workers": round(statistics.median(twice), 3) if twice else None,
    }


def _answer(step: int) -> Completed:
    return Completed(
        asked="Complete reasoner 0123456789ab 0123456789ab",
        text=TEXT,
        finish="stop",
        model="m",
        prompt_tokens=100 + step,
        completion_tokens=50,
        seconds=0.5,
    )


async def _raw(place: KafkaAddress) -> float:
    """Plain aiokafka: as many coroutines, the same bytes and keys, each append awaited."""
    producer = aio.producer(
        place,
        acks="all",
        enable_idempotence=True,
        linger_ms=0,
        compression_type="zstd",
        max_batch_size=900_000,
    )
    await producer.start()
    topic = place.topic("events")
    fact = Generated(source="0", answer="1").to_json()

    async def one(number: int) -> None:
        key = f"raw/{number}".encode()
        for step in range(STEPS):
            value = _answer(step).to_json()
            await producer.send(topic, fact, key=key, partition=number % PARTITIONS)
            await producer.send_and_wait(topic, value, key=key, partition=number % PARTITIONS)

    begun = time.perf_counter()
    await asyncio.gather(*map(one, range(EPISODES)))
    took = time.perf_counter() - begun
    await producer.stop()
    return 2 * EPISODES * STEPS / took


async def _worker(place: KafkaAddress, round_: int) -> float:
    """The worker's own writers: a fact rides with each answer, and each answer is awaited."""
    appender = Appender(place)
    await appender.start()
    topic = place.topic("events")
    writers = [KafkaWriter(appender.lane(topic, p), 0) for p in range(PARTITIONS)]

    async def one(number: int) -> None:
        writer, episode = writers[number % PARTITIONS], f"p/bench/{round_}-{number}/run"
        for step in range(STEPS):
            writer.state("events", episode, str(2 * step), Generated(source="0", answer="1"))
            writer.state("events", episode, str(2 * step + 1), _answer(step))
            await writer.commit()

    begun = time.perf_counter()
    await asyncio.gather(*map(one, range(EPISODES)))
    took = time.perf_counter() - begun
    await appender.stop()
    return 2 * EPISODES * STEPS / took


async def _replay(place: KafkaAddress) -> float:
    """Events a second through the fold that a take-over runs."""
    folds: defaultdict[Any, EventsFold] = defaultdict(EventsFold)

    def take(tp: Any, record: Any) -> None:
        folds[tp].take(record.offset, read(record.headers, record.value))

    return await _read(place, take)


async def _read(place: KafkaAddress, take: Callable[[Any, Any], None] | None = None) -> float:
    """Records a second of all that a topic holds, each handed on where somebody takes it."""
    consumer = aio.consumer(place, max_partition_fetch_bytes=4 << 20)
    await consumer.start()
    tps = [aio.spot(place.topic("events"), p) for p in range(PARTITIONS)]
    consumer.assign(tps)
    await consumer.seek_to_beginning(*tps)
    ends = await consumer.end_offsets(tps)
    total, left, begun = 0, set(tps), time.perf_counter()
    while left:
        for tp, records in (
            await consumer.getmany(*left, timeout_ms=500, max_records=5_000)
        ).items():
            total += len(records)
            if take is not None:
                for record in records:
                    take(tp, record)
            if records[-1].offset + 1 >= ends[tp]:
                left.discard(tp)
    took = time.perf_counter() - begun
    await consumer.stop()
    return total / took
