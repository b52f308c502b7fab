"""Admission: a problem gets its episode, durably, and only then its offset is acknowledged.

Theory of operation. The order of what is appended is all that protects a problem from a kill. Its label goes first,
since an episode may close before a label that comes later, and would stay ungraded for a while. Dead letters come
next, then admissions; only when these were read back under our claim the messages are acknowledged. Whoever is killed
in between is handed the same messages again. Labels and letters have ids that are made of what they say, and a
problem that was admitted is known by the source offset, so all of it counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from handlers.policies.base import Policy
from schemas.events.episode import ProblemAdmitted
from schemas.identity import text_digest
from schemas.letters import errors_of
from schemas.problem import Feedback
from state.journal import Fenced
from streams.engine.judgements import feedback_name
from streams.producing.sources import BadLine
from streams.producing.typed import need_same_type, type_mark
from streams.runtime.embedded.intake import Usual, nothing_usual
from streams.runtime.embedded.log import now_ms
from streams.runtime.kafka.admission import Asked, Refused, asked
from streams.runtime.kafka.append import Appender, Until, as_headers, message_headers
from streams.runtime.kafka.letters import KafkaDeadLetter, letter_key, theirs
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.past import ClosedEpisodeIndex
from streams.runtime.kafka.place import KafkaAddress, partition_of
from streams.runtime.room import need_room

AT_ONCE = 500


class Intake:
    """Admits what came in for a partition, in order."""

    def __init__(
        self,
        place: KafkaAddress,
        appender: Appender,
        find: Callable[[str], Policy[Any]],
        default_policy: str,
        partitions: int,
        past: ClosedEpisodeIndex,
        until: Until,
        usual: Usual = nothing_usual,
        offered: Collection[str] = (),
    ) -> None:
        self.place, self.appender, self.find, self.past = place, appender, find, past
        self.default_policy, self.partitions, self.until = default_policy, partitions, until
        self.refused, self.usual, self.offered = 0, usual, offered
        self.is_open: Callable[[str], bool] | None = None
        """Whether an episode is open on a partition that is ours."""
        self.admitting: dict[str, tuple[int, str]] = {}
        """Episodes that are being admitted: on which partition, and the mark of their answers' type."""

    async def take(self, owned: Owned, room: int) -> None:
        """Admit a batch, of no more than there is room for.

        It is acknowledged once its admissions count. Where our claim was lost none does, and the batch goes
        back to the queue: the group may still say that the partition is ours, and deliver nothing again.
        """
        taken = [owned.queue.popleft() for _ in range(min(AT_ONCE, room, len(owned.queue)))]
        # A redelivered message is known by its offset: its admission is on the log already.
        fresh = [event for event in taken if event.message.offset > owned.source]
        try:
            await self._admit(owned, fresh)
        except Fenced:
            owned.queue.extendleft(reversed(taken))
            raise
        finally:
            others = ((e, at) for e, at in self.admitting.items() if at[0] != owned.index)
            self.admitting = dict(others)
        for event in taken:
            event.ack()
            owned.position = max(owned.position, event.message.offset + 1)
            owned.source = max(owned.source, event.message.offset)

    async def _admit(self, owned: Owned, fresh: list[Any]) -> None:
        """Labels, then dead letters, then admissions, which count when this returns. Raises ``Fenced``."""
        new: dict[str, ProblemAdmitted] = {}
        labels: list[Feedback] = []
        for event in fresh:
            self._take(owned, event.message, new, labels)
        lanes = set[Any]()
        for label in labels:
            key = f"{label.domain}/{label.problem_id}".encode()
            lane = self.appender.lane(
                self.place.topic("feedback"), partition_of(key, self.partitions)
            )
            body = label.model_dump_json(exclude_none=True).encode()
            lane.add(key, body, message_headers("feedback", feedback_name(label)))
            lanes.add(lane)
        for lane in lanes:
            await lane.commit()
        await self.appender.lane(self.place.dead("problems"), owned.index).commit()
        assert owned.events is not None
        for episode, event in new.items():
            owned.events.state("events", episode, "admitted", event)
        await owned.events.land(self.until, lambda: owned.fold.upto)

    def _take(
        self, owned: Owned, message: Any, new: dict[str, ProblemAdmitted], labels: list[Feedback]
    ) -> None:
        """Tell admissions and labels apart; what is refused becomes a dead letter, and costs no other message."""
        headers = headers_of_message(message)
        try:
            found = asked(
                *(headers, message.value, self.find, self.default_policy),
                *(self.usual, self.offered),
            )
            problem = found.problem
            # Before its name is taken: what is refused for its size is put again, and shorter.
            need_room(self.appender.sizes.room, problem, found.label)
            key, said = (problem.domain, problem.id), text_digest(problem.problem)
            known = owned.texts.get(key) or self.past.text(*key)
            if known is None:
                owned.texts[key] = said
            elif known != said:
                taken = f"id: {problem.id!r} is taken by another problem text"
                raise Refused("input.duplicate", taken)
            if self._is_known(owned, found):
                return
        except Refused as error:
            self.refuse("problems", message, headers, error)
            return
        except BadLine as error:
            self.refuse("problems", message, headers, Refused(error.code, str(error)))
            return
        self.admitting[found.episode] = owned.index, type_mark(problem)
        if found.label is not None:
            labels.append(found.label)
        new.setdefault(
            found.episode,
            ProblemAdmitted(
                problem=problem,
                scope=found.scope,
                partition=owned.index,
                offset=message.offset,
                headers=found.headers,
            ),
        )

    def _is_known(self, owned: Owned, found: Asked) -> bool:
        """Whether a problem is admitted already, or just now on another partition that is ours.

        Raises ``BadLine`` where it was put with another type of answer.
        """
        episode = found.episode
        is_open = self.is_open is not None and self.is_open(episode)
        if episode in owned.fold.closed or is_open:
            need_same_type(found.problem, self.past.type_mark(episode))
            return True
        if episode not in self.admitting:
            return False
        index, mark = self.admitting[episode]
        need_same_type(found.problem, mark)
        return index != owned.index

    def refuse(
        self, topic: str, message: Any, headers: list[tuple[str, bytes]], error: Refused
    ) -> None:
        """A dead letter: the bytes as they came, as far as its topic takes them, and why."""
        self.refused += 1
        at = now_ms()
        said = errors_of(
            topic,
            partition=message.partition,
            offset=message.offset,
            exception=error.code,
            message=str(error),
            attempts=1,
            first=at,
            last=at,
        )
        lane = self.appender.lane(self.place.dead(topic), message.partition)
        key = letter_key(topic, message)
        letter = KafkaDeadLetter(key, message.value, theirs(headers), as_headers(said))
        lane.add(*letter.row(self.appender.sizes, lane.topic))


def headers_of_message(message: Any) -> list[tuple[str, bytes]]:
    """The headers of a Faust message or an aiokafka record, in order."""
    headers: Any = message.headers or ()
    return list(headers.items()) if hasattr(headers, "items") else list(headers)
