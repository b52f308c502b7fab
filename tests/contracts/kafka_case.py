"""A log on Kafka behind the port of recorders: what one claim appends, and what the import then holds."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from schemas.events.base import Event
from schemas.events.episode import PartitionClaimed, ProblemAdmitted
from schemas.problem import Problem
from streams.runtime.kafka.append import Appender, KafkaWriter, message_headers
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from tests.contracts.log_suite import Kept

ADMITTED = ProblemAdmitted(problem=Problem(id="a", problem="1", domain="d"), scope="s", offset=0)


class KafkaRecorder:
    """Appends under one claim; each commit is a connection's whole life, for it may run in any loop.

    On Kafka an episode counts where it was admitted, so each is; messages leave through the relay's lane.
    """

    def __init__(self, place: KafkaAddress) -> None:
        self.place, self.epoch = place, -1
        self.said: list[tuple[str, str, Event]] = []
        self.sent: list[tuple[str, bytes]] = []
        self.admitted: set[str] = set()
        self.kept: dict[str, str] = {}

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        if episode.startswith("p/") and episode not in self.admitted:
            self.admitted.add(episode)
            self.said.append((episode, "admitted", ADMITTED))
        self.said.append((episode, address, event))

    def keep(self, digest: str, text: str) -> None:
        self.kept[digest] = text

    def send(self, topic: str, key: str, value: bytes) -> None:
        self.sent.append((key, value))

    def commit(self) -> Awaitable[None]:
        return self._commit()

    async def _commit(self) -> None:
        appender = Appender(self.place)
        await appender.start()
        lane = appender.lane(self.place.topic("events"), 0)
        if self.epoch < 0:
            headers = headers_of("partition.claimed", "w/0", "claimed.contract.0", 1)
            lane.add(b"w/0", PartitionClaimed(worker="contract").to_json(), headers)
            self.epoch = await lane.commit()
        writer = KafkaWriter(lane, self.epoch)
        for each in self.said:
            writer.state("events", *each)
        for digest, text in self.kept.items():
            writer.keep(digest, text)
        answers = appender.lane(self.place.topic("answers"), 0)
        for key, value in self.sent:
            answers.add(key.encode(), value, message_headers("answer", key))
        self.said, self.sent = [], []
        await writer.commit()
        await answers.commit()
        await appender.stop()


@contextmanager
def kafka_log(place: KafkaAddress) -> Generator[Kept]:
    """The recorder of a place, and the import as its reader."""
    with TemporaryDirectory() as home, closing(KafkaLog(place, Path(home))) as log:

        def journal(episode: str) -> dict[str, Event]:
            log.refresh()
            return {a: e for a, e in log.journal(episode).items() if a != "admitted"}

        def text(digest: str) -> str | None:
            log.refresh()
            return log.text(digest)

        def message(topic: str, key: str) -> bytes | None:
            log.refresh()
            return next((value for _, name, _, value in log.messages(topic) if name == key), None)

        yield Kept(KafkaRecorder(place), journal, text, message)
