"""Sending a dead letter on again: to the topic that it was meant for, by the way it first came."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from schemas.identity import digest
from schemas.problem import Feedback, Problem
from streams.engine.policies import find
from streams.interfaces.cli.feedback import message
from streams.interfaces.cli.letters import ERRORS, TRACES, DeadLetter
from streams.producing.produce import PLAN, Plan, Producer
from streams.producing.sources import BadLine, NoSource, SourceLine, lines_of, parse_as
from streams.producing.traces.taking import Plan as TracePlan
from streams.producing.traces.taking import Taker
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import messages
from streams.runtime.embedded.queries.letters import TOPIC
from streams.runtime.kafka.admission import foreign
from streams.runtime.room import need_room


def send_on(log: SqliteLog, letter: DeadLetter, mended: bytes | None = None) -> bool:
    """Publish a letter, or bytes in its stead, and note it; whether that was new. Raises ``BadLine``."""
    if mended is None:
        mended = whole_of(log, letter)
        letter = letter._replace(value=mended)
    new = _republish(log, letter, mended)
    log.commit_position(f"dlq/{letter.number}", TOPIC, letter.offset)
    return new


def whole_of(log: SqliteLog, letter: DeadLetter) -> bytes:
    """The bytes that were refused: of a cut letter as they lie where it says. Raises ``BadLine``."""
    cut = letter.cut
    if cut is None:
        return letter.value
    found = _where_it_lay(log, letter)
    if found is None:
        raise _lost(
            f"and the whole is not to be had any more: it {letter.missing.rpartition(') ')[2]}"
        )
    if len(found) != cut.size or sha256(found).hexdigest() != cut.digest:
        raise _lost(f"and what {letter.missing.rpartition(') ')[2]} now is not what was refused")
    return found


def _lost(why: str) -> BadLine:
    return BadLine(1, "", f"only its first bytes are here, {why}", "dlq.cut")


def _where_it_lay(log: SqliteLog, letter: DeadLetter) -> bytes | None:
    if letter.lies is not None:
        return log.whole(*letter.lies)
    try:
        number = int(str(letter.headers.get(f"{ERRORS}offset")))
        lines = lines_of(str(letter.headers.get(f"{ERRORS}source")), None)
        return next((each.raw for each in lines if each.number == number), None)
    except (NoSource, ValueError):
        return None


def _republish(log: SqliteLog, letter: DeadLetter, value: bytes) -> bool:
    plan = letter.headers.get(PLAN)
    if plan is not None and letter.topic == TRACES:
        return _take(log, letter, plan, value)
    if plan is not None:
        return _produce(log, letter, plan, value)
    if letter.topic == "feedback":
        feedback = parse_as(Feedback, value)
        need_room(log.room, label=feedback)
        return log.publish([message(feedback)]) == 1
    if letter.topic == "problems":
        return _problem(log, letter, value)
    raise BadLine(1, "", f"nothing reads the topic {letter.topic} any more", "dlq.topic")


def _produce(log: SqliteLog, letter: DeadLetter, plan: dict[str, Any], value: bytes) -> bool:
    """As a line of the source that it came from: a late member of that source's series."""
    line = SourceLine(int(letter.headers[f"{ERRORS}offset"]), value)
    producer = Producer(log, Plan.from_header(plan, find))
    checked = producer.run([line], dry=True)
    for refusal in checked.refused:
        raise refusal.error
    return Producer(log, producer.plan).run([line]).produced == 1


def _take(log: SqliteLog, letter: DeadLetter, plan: dict[str, Any], value: bytes) -> bool:
    """As a line of the file of traces that it came from."""
    line = SourceLine(int(letter.headers[f"{ERRORS}offset"]), value)
    taking = TracePlan.from_header(plan, find)
    for _, error in Taker(log, taking).run([line], dry=True).refused:
        raise error
    return Taker(log, taking).run([line]).taken > 0


def _problem(log: SqliteLog, letter: DeadLetter, value: bytes) -> bool:
    """As a client's message: by its episode's name, or by its own where the refused one holds that."""
    try:
        problem, labels = parse_as(Problem, value), list[Feedback]()
    except BadLine:
        problem, label = foreign(value)
        labels = [] if label is None else [label]
        value = problem.model_dump_json(exclude_defaults=True).encode()
    need_room(log.room, problem, labels[0] if labels else None)
    if log.room is not None and len(value) > log.room:  # it was longer than what it says
        value = problem.model_dump_json(exclude_defaults=True).encode()
    episode = episode_of(problem, "cot")
    refused = messages.value_of(log, "problems", episode) == letter.value
    key = f"replay/{letter.number}/{digest(value.hex())}" if refused else episode
    log.publish([message(each) for each in labels])
    return log.publish([("problems", key, {}, value)]) == 1
