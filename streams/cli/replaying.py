"""Sending a dead letter on again: to the topic that it was meant for, by the way it first came."""

from __future__ import annotations

from typing import Any

from schemas.identity import digest
from schemas.problem import Feedback, Problem
from streams.cli.feedback import message
from streams.cli.letters import ERRORS, TOPIC, Letter
from streams.policies import find
from streams.producing.produce import PLAN, Plan, Producer
from streams.producing.sources import BadLine, Line, parse_as
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.admission import foreign

VALUE = "select value from messages where topic = ? and key = ?"


def send_on(log: SqliteLog, letter: Letter, value: bytes) -> bool:
    """Publish bytes in a letter's stead and note it; whether that was new. Raises ``BadLine``."""
    new = _republish(log, letter, value)
    log.commit_position(f"dlq/{letter.number}", TOPIC, letter.offset)
    return new


def _republish(log: SqliteLog, letter: Letter, value: bytes) -> bool:
    plan = letter.headers.get(PLAN)
    if plan is not None:
        return _produce(log, letter, plan, value)
    if letter.topic == "feedback":
        return log.publish([message(parse_as(Feedback, value))]) == 1
    if letter.topic == "problems":
        return _problem(log, letter, value)
    raise BadLine(1, "", f"nothing reads the topic {letter.topic} any more", "dlq.topic")


def _produce(log: SqliteLog, letter: Letter, plan: dict[str, Any], value: bytes) -> bool:
    """As a line of the source that it came from: a late member of that source's series."""
    line = Line(int(letter.headers[f"{ERRORS}offset"]), value)
    producer = Producer(log, Plan.from_header(plan, find))
    checked = producer.run([line], dry=True)
    for refusal in checked.refused:
        raise refusal.error
    return Producer(log, producer.plan).run([line]).produced == 1


def _problem(log: SqliteLog, letter: Letter, value: bytes) -> bool:
    """As a client's message: by its episode's name, or by its own where the refused one holds that."""
    try:
        problem, labels = parse_as(Problem, value), list[Feedback]()
    except BadLine:
        problem, label = foreign(value)
        labels = [] if label is None else [label]
        value = problem.model_dump_json(exclude_defaults=True).encode()
    episode = episode_of(problem, "cot")
    refused = log.db.execute(VALUE, ("problems", episode)).fetchone() == (letter.value,)
    key = f"replay/{letter.number}/{digest(value.hex())}" if refused else episode
    log.publish([message(each) for each in labels])
    return log.publish([("problems", key, {}, value)]) == 1
