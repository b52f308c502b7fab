"""A log on Kafka at the command line: its place, its local import, its topics."""

# A log on Kafka is read from a local SQLite file, the import, which every command brings up to
# date first; so all commands but the worker work on one kind of log. Whatever speaks to brokers
# goes through `reached`, which alone turns their failures into errors for people, and through
# `hinting`, which says what is waited for: without it a broker that is away would look like a
# command that hangs.

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streams.interfaces.cli.errors import FAILED, OK, SETUP, UNREACHABLE, CliError, usage
from streams.interfaces.cli.kafka_refused import Overheard, denied, not_taken, overhearing
from streams.interfaces.cli.output import out, out_json, say
from streams.views.words import plural

if TYPE_CHECKING:
    from streams.runtime.kafka.imported import KafkaLog
    from streams.runtime.kafka.place import KafkaAddress
    from streams.runtime.kafka.rights import Who

T = TypeVar("T")
HINT_S: Final = 3.0
"""Whoever waits for so long is told what for."""
_PLACE: Final = re.compile(r"\('([^'\s]{1,255})', (\d{1,5}), <AddressFamily\.\w{1,16}: \d{1,3}>\)")
"""A broker as its client spells it, with the kind of its address."""


def is_kafka(url: str) -> bool:
    """Whether a log lies on Kafka."""
    return url.startswith("kafka://")


def place_of(url: str) -> KafkaAddress:
    """The place that a URL and the configuration name. Raises a usage error."""
    from streams.interfaces.cli.config import keep_password, load
    from streams.runtime.kafka.place import BadPlace, KafkaAddress, clients_of

    said = load().kafka
    # Before a client is made: a file that came with a folder must not turn encryption off under a
    # password of the environment.
    keep_password("kafka.security_protocol", "kafka.sasl_mechanism", "kafka.ssl_ca")
    try:
        clients = clients_of(
            protocol=said.security_protocol,
            mechanism=said.sasl_mechanism,
            username=said.sasl_username,
            password=said.sasl_password,
            ca=said.ssl_ca,
            certificate=said.ssl_certificate,
            key=said.ssl_key,
        )
        return KafkaAddress.of(url, clients)
    except (BadPlace, OSError) as error:
        hint = "Write kafka://HOST:PORT[,HOST:PORT][/PREFIX]"
        raise usage(str(error), field="--log", hint=hint) from error


def reached(place: KafkaAddress, work: Callable[[], T], *, printed: bool = False) -> T:
    """What talking to the broker gives. Raises a ``CliError`` where it is not there or lacks topics."""
    from streams.runtime.kafka import aio
    from streams.runtime.kafka.refusals import RefusedByBroker
    from streams.runtime.kafka.sending import Unrecorded
    from streams.runtime.kafka.topics import NoTopics

    heard = Overheard()
    try:
        with overhearing(printed=printed) as heard:
            return work()
    except NoTopics as error:
        hint = f"Make them: metalogue topics create --partitions 8 --log {place.url}"
        raise usage(str(error), field="--log", error="log.missing", hint=hint) from error
    except RefusedByBroker as error:
        raise not_taken(error, place.url) from error
    except Unrecorded as error:
        hint = (
            "What was answered and is not recorded is asked again; what was to be sent, send again."
        )
        raise CliError(
            str(error), error="log.unreachable", exit=UNREACHABLE, where=place.url, hint=hint
        ) from error
    except (aio.kafka_error(), OSError) as error:
        # Only files of the local import have a name: with one, it was not the broker.
        if isinstance(error, OSError) and error.filename is not None:
            raise CliError(
                f"{error.filename}: {error.strerror}",
                error="config.value",
                exit=SETUP,
                where="METALOGUE_HOME",
                hint="Local imports of clusters are kept there: name a folder that can be written.",
            ) from error
        # A client that was let in nowhere says so in its log alone.
        raise denied(heard, place.url) or _away(place, error) from error


def _away(place: KafkaAddress, error: Exception) -> CliError:
    """The error for people where brokers did not do what was asked: who answered, and what was missing."""
    from streams.runtime.kafka import roll

    # The brokers are asked themselves, because the client says of any trouble only that it got no
    # answer.
    with overhearing(printed=False):
        called = roll.call(place)
    reason = str(error).removeprefix(type(error).__name__ + ": ") or type(error).__name__
    reason = _PLACE.sub(r"\1:\2", reason)
    # People mend another thing where some brokers answer than where none does.
    told = called.told() if called.answered else "no broker answered"
    hint = "Is the broker up? For a local one: make broker"
    if called.answered:
        hint = (
            "Too few brokers may be up, or one has just gone: the same command may do in a minute."
        )
    return CliError(
        f"{told}: {reason}"[:400],
        error="log.unreachable",
        exit=UNREACHABLE,
        where=place.url,
        hint=hint,
    )


@contextmanager
def hinting(place: KafkaAddress) -> Generator[Callable[[], None]]:
    """Say once, on stderr, what is waited for if it takes long. What is given says that it is there."""

    def hint() -> None:
        from streams.runtime.kafka import roll

        said = roll.call(place).told()
        # The roll call takes seconds itself, and what was waited for may have come meanwhile.
        if not over.is_set():
            say(f"{place.url}: {said}; still waiting")

    # A thread, and no task: what is waited for may block the loop, and may have none.
    over = threading.Event()
    waiting = threading.Timer(HINT_S, hint)
    # Ctrl-C must end the process, although the hint is still to be said.
    waiting.daemon = True
    waiting.start()

    def done() -> None:
        over.set()
        waiting.cancel()

    try:
        yield done
    finally:
        done()


def run(place: KafkaAddress, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine against the broker. Raises a ``CliError`` as ``reached`` does."""
    with hinting(place):
        return reached(place, lambda: asyncio.run(work()))


def open_kafka(url: str) -> KafkaLog:
    """The local file of a log on Kafka, brought up to date."""
    from streams.interfaces.cli.config import load
    from streams.runtime.kafka.imported import KafkaLog

    place = place_of(url)
    # Kept from one command to the next, so that each reads only what is new on the topics.
    home = Path(load().home).expanduser()
    with hinting(place):
        return reached(place, lambda: KafkaLog(place, home))


def create(
    url: str, partitions: int, replicas: int | None, min_isr: int | None, *, json: bool
) -> None:
    """``topics create``. Raises a usage error for copies that the cluster does not allow."""
    from streams.runtime.kafka import topics
    from streams.runtime.kafka.soundness import CannotCopy

    place = place_of(url)
    try:
        made = run(place, lambda: topics.create(place, partitions, replicas, min_isr))
    except CannotCopy as error:
        raise usage(str(error), field=error.field) from error
    copies = made.copies
    if json:
        told = {"replicas": copies.replicas, "min_isr": copies.min_isr, "note": copies.note}
        told["partitions"] = made.partitions
        out_json({"log": place.url, "topics": place.topics(), "created": made.topics, **told})
        return
    there = len(place.topics()) - len(made.topics)
    out(f"{place.url}: {len(made.topics)} topics made, {there} were there")
    if made.partitions != partitions:
        say(
            f"it has {made.partitions} partitions and keeps them, not {partitions} [topics.partitions]"
        )
    if made.topics:
        out(
            f"each partition {plural(copies.replicas, 'replica')}, {copies.min_isr} in sync to append"
        )
        if copies.note:
            say(f"not safe: {copies.note} [topics.copies]")


def check(url: str, *, json: bool) -> int:
    """``topics check``; the exit code."""
    from streams.runtime.kafka import topics
    from streams.runtime.kafka.soundness import faults, untold

    place = place_of(url)
    cluster = run(place, lambda: topics.described(place))
    # What may not be asked for is told apart from what is wrong: a user with few rights does no
    # harm by looking.
    wrong, hidden = faults(place, cluster.topics, cluster.brokers), untold(cluster.topics)
    if json:
        found = [topic.as_json(name) for name, topic in cluster.topics.items()]
        partitions = {each["topic"]: each["partitions"] for each in found}
        told = {"brokers": cluster.brokers, "topics": found, "unknown": hidden}
        out_json({"ok": not wrong, "faults": wrong, "partitions": partitions, **told})
        return FAILED if wrong else OK
    for fault in wrong:
        say(f"{fault} [topics.fault]")
    for name in hidden:
        say(
            f"{name}: its settings may not be asked for, so its retention is unknown [topics.unknown]"
        )
    for name in cluster.others:
        say(
            f"{name}: dead letters of an earlier build, which are not read any more [topics.before]"
        )
    out(f"{len(cluster.topics)} topics, {plural(cluster.brokers, 'broker')}, {len(wrong)} faults")
    return FAILED if wrong else OK


def rights(url: str, who: Who | None, principal: str, *, json: bool) -> None:
    """``topics acls``: nothing is asked of the cluster."""
    from streams.runtime.kafka.rights import ABOUT, lines

    place = place_of(url)
    # Printed to be read by an administrator before it is run: nothing here may change rights by
    # itself.
    for each in ABOUT if who is None else (who,):
        if json:
            out_json({"who": each, "about": ABOUT[each], "lines": [*lines(place, each, principal)]})
            continue
        out(f"# {each}: {ABOUT[each]}")
        for line in lines(place, each, principal):
            out(line)
