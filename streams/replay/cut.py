"""One episode cut out of a log, with what it takes to show it and to verify it alone.

That is its record and its messages, the texts that these refer to, the set that it was worked on in, and the
episode that it was taken from. What its memory was made of belongs to other episodes, and comes when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError

from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.events.learning import Graded, MemoryVersioned
from schemas.identity import learning_id, text_key
from schemas.problem import Feedback
from schemas.record import Record
from streams.replay.completeness import referred
from streams.replay.grades import SAID_IN
from streams.replay.messages import problem_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import messages, problems, rows
from streams.runtime.embedded.queries.scopes import learned_upto, made_at


@dataclass(slots=True)
class Cut:
    """Which records and messages of a log belong to it, by their offsets."""

    records: set[int] = field(default_factory=set[int])
    messages: set[int] = field(default_factory=set[int])


def cut_out(log: SqliteLog, episode: str, *, learned: bool = False) -> Cut:
    """Return the records that belong to an episode; on request also those that its memory was made of."""
    found = Cut()
    # The runs of judges that graded it; for each its set with all members, and what it was taken from.
    names = [episode]
    for record in log.records("learning", episode=episode, kinds=("graded",)):
        event = record.event
        if isinstance(event, Graded) and (event.detail or "").startswith(SAID_IN):
            names.append((event.detail or "").removeprefix(SAID_IN))
    for name in names:  # it grows while it is read
        opened = log.find(name, "opened")
        if isinstance(opened, EpisodeOpened):
            beside = (opened.within, opened.parent, *(opened.members or ()))
            names += [each for each in beside if each is not None and each not in names]
    for name in names:
        found.records |= {record.offset for record in log.records(episode=name)}
        found.messages |= _messages(log, name)
    if learned:
        _add_learned(log, found)
    # Last, for every record that came in before may refer to a text.
    texts = {text for record in _of(log, found) if (text := referred(record.event)) is not None}
    for text in texts:
        found.records |= {record.offset for record in log.records(episode=text_key(text))}
    return found


def _messages(log: SqliteLog, episode: str) -> set[int]:
    found = problems.messages_of(log, episode)
    admitted = log.find(episode, "admitted")
    if not isinstance(admitted, ProblemAdmitted):
        return found
    problem = admitted.problem
    put = problems.put_at(log, admitted.offset)
    # On Kafka an offset of the broker may be that of another message here, so what lies there is
    # read.
    sent = None if put is None else problem_of(put)
    if sent is not None and (sent.domain, sent.id) == (problem.domain, problem.id):
        found.add(admitted.offset)
    for offset, value in messages.values(log, "feedback"):
        try:
            said = Feedback.model_validate_json(value)
        except ValidationError:
            continue  # its dead letter says why
        named = (said.domain, said.problem_id)
        if said.episode == episode or named == (problem.domain, problem.id):
            found.add(offset)
    return found


def _add_learned(log: SqliteLog, found: Cut) -> None:
    """Add what the pinned memory versions were made of, and those from which these began."""
    scopes: dict[str, str] = {}
    wanted: list[tuple[str, int, int | None]] = []
    for record in list(_of(log, found)):
        if isinstance(record.event, ProblemAdmitted):
            scopes[record.episode] = record.event.scope
    for record in list(_of(log, found)):
        if isinstance(record.event, EpisodeOpened):
            opened = record.event
            scope = scopes.get(record.episode) or scopes.get(opened.parent or "")
            if scope is not None:
                wanted.append((scope, opened.memory_version, opened.memory_revision))
    for scope, number, revision in wanted:  # it grows while it is read
        version = log.find(learning_id(scope, 0), "version")
        if isinstance(version, MemoryVersioned) and version.origin:
            name, _, source = version.origin.rpartition("@")
            at, _, again = source.partition(".")
            begun = (name, int(at), int(again) if again else None)
            wanted += [begun] if begun not in wanted else []
        made = made_at(log, learning_id(scope, number, revision))
        if made is not None:
            found.records |= learned_upto(log, scope, made)


def _of(log: SqliteLog, found: Cut) -> Iterator[Record]:
    """The records so far."""
    for offset in rows.offsets_in_order(log, found.records):
        yield from log.records(after=offset - 1, upto=offset)
