"""Sending a dead letter on again: to the topic that it was meant for, by the way it first came."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import Any

from schemas.carried import TooMuch, carried, comes_back, of_text
from schemas.identity import digest
from schemas.letters import ERRORS, PLAN
from schemas.problem import Feedback, Problem
from streams.engine.policies import find
from streams.interfaces.cli.feedback import message
from streams.interfaces.cli.letters import TRACES, DeadLetter
from streams.interfaces.cli.output import say
from streams.producing.produce import Plan, Producer
from streams.producing.sources import BadLine, NoSource, SourceLine, lines_of, parse_as
from streams.producing.traces.taking import Plan as TracePlan
from streams.producing.traces.taking import Taker
from streams.producing.typed import need_fit
from streams.runtime.embedded.intake import SCOPE, episode_of
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
    # After it was published: who is killed in between sends it on again, and it is known then.
    log.commit_position(f"dlq/{letter.number}", TOPIC, letter.offset)
    return new


def whole_of(log: SqliteLog, letter: DeadLetter) -> bytes:
    """The bytes that were refused: of a cut letter as they lie where it says. Raises ``BadLine``."""
    cut = letter.cut
    if cut is None:
        return letter.value
    found: bytes | None = None
    if letter.lies is not None:
        found = log.whole(*letter.lies)
    else:
        # A line of a file: it may have gone, or have been edited since, which the digest tells.
        with suppress(NoSource, ValueError):
            number = int(str(letter.headers.get(f"{ERRORS}offset")))
            lines = lines_of(str(letter.headers.get(f"{ERRORS}source")), None)
            found = next((each.raw for each in lines if each.number == number), None)
    where = letter.missing.rpartition(") ")[2]
    if found is None:
        why = f"and the whole is not to be had any more: it {where}"
    elif len(found) != cut.size or sha256(found).hexdigest() != cut.digest:
        why = f"and what {where} now is not what was refused"
    else:
        return found
    raise BadLine(1, "", f"only its first bytes are here, {why}", "dlq.cut")


def _republish(log: SqliteLog, letter: DeadLetter, value: bytes) -> bool:
    plan = letter.headers.get(PLAN)
    if plan is not None:
        # As a line of the source that it came from. It is tried dry first, or what is refused again
        # would leave a second letter of the same line.
        line = SourceLine(int(letter.headers[f"{ERRORS}offset"]), value)
        if letter.topic == TRACES:
            taking = TracePlan.from_header(plan, find)
            for _, error in Taker(log, taking).run([line], dry=True).refused:
                raise error
            return Taker(log, taking).run([line]).taken > 0
        producer = Producer(log, Plan.from_header(plan, find))
        for refusal in producer.run([line], dry=True).refused:
            raise refusal.error
        # The plan as the dry run left it: the line is a late member of its source's series.
        return Producer(log, producer.plan).run([line]).produced == 1
    if letter.topic == "feedback":
        feedback = parse_as(Feedback, value)
        need_room(log.room, label=feedback)
        need_fit(log, feedback)
        return log.publish([message(feedback)]) == 1
    if letter.topic == "problems":
        return _problem(log, letter, value)
    raise BadLine(1, "", f"nothing reads the topic {letter.topic} any more", "dlq.topic")


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
    return log.publish([("problems", key, kept_of(letter), value)]) == 1


def kept_of(letter: DeadLetter) -> dict[str, Any]:
    """The headers that a letter's message goes on with: its application's own, and the scope of a policy's file."""
    # Never why it was refused. Brokers bear the scope by its name among CloudEvents.
    scope = letter.headers.get(SCOPE) or letter.headers.get(f"ce_{SCOPE}")
    ours = {} if scope is None else {SCOPE: scope}
    own = {name: value for name, value in letter.headers.items() if comes_back(name)}
    try:
        carried(of_text(own))
    except TooMuch as error:
        # They are why it was refused, and nobody can mend them: its problem goes on without.
        say(f"dead letter {letter.number}: sent on without its headers: {error}")
        return ours
    return own | ours
