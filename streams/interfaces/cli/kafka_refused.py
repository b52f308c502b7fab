"""Refusals of a broker, told to people: an append by its name, and whether it let anybody in at all.

Why it let nobody in, aiokafka's client says in its log alone, and raises that nobody answered.
"""

from __future__ import annotations

import logging
import ssl
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

from streams.interfaces.cli.chatter import damping
from streams.interfaces.cli.errors import SETUP, CliError
from streams.runtime.kafka.refusals import RefusedByBroker

CLIENT, KEPT = "aiokafka", 20
_BEFORE: list[tuple[int, bool]] = []
"""How the client's log was when each of those who listen now began: a door's threads may listen at once."""
# By their names, because the library is loaded only where a log lies on Kafka.
DENIED = (
    "AuthenticationFailedError",
    "AuthenticationMethodNotSupported",
    "SaslAuthenticationFailed",
    "UnsupportedSaslMechanismError",
    "IllegalSaslStateError",
)

HINTS = {
    "size": "Raise max.message.bytes of {topic}. What was recorded is kept; a restart goes on.",
    "record": "What a topic takes is said by its settings: look at those of {topic}.",
    "right": "Give this user the right to write to {topic}. What was recorded is kept.",
}
"""What to do, by why a broker refused an append."""


class Overheard(logging.Handler):
    """The latest errors that a client told its log of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.reasons = deque[BaseException](maxlen=KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the errors among what a line was made of."""
        # The client tells of an error as an argument of its message, and the text alone would not
        # say which kind it was.
        told = record.args if isinstance(record.args, tuple) else ()
        self.reasons.extend(each for each in told if isinstance(each, BaseException))


@contextmanager
def overhearing(*, printed: bool) -> Generator[Overheard]:
    """Listen to the client for a while; what it says is printed too, or not."""
    log, heard = logging.getLogger(CLIENT), Overheard()
    _BEFORE.append((log.level, log.propagate))
    # Errors are let through whatever level people asked for: they are listened to, and not shown.
    log.setLevel(logging.ERROR)
    log.propagate = False
    log.addHandler(heard)
    try:
        with damping() if printed else nullcontext():
            yield heard
    finally:
        log.removeHandler(heard)
        # Whoever ends last gives back what the first found, though another may have begun before.
        # By its method, because loggers below remember what they let through until it is called.
        level, log.propagate = _BEFORE.pop()
        log.setLevel(level)


def denied(heard: Overheard, where: str) -> CliError | None:
    """The error for people, if it was a matter of credentials or certificates."""
    errors: Any = import_module("aiokafka.errors")
    kinds = tuple(getattr(errors, name) for name in DENIED)
    names: tuple[str, ...]
    for reason in heard.reasons:
        if isinstance(reason, kinds):
            what, names = "the broker refused the credentials", ("SASL_USERNAME", "SASL_PASSWORD")
        elif isinstance(reason, ssl.SSLError):
            what, names = f"no trusted connection: {reason.reason}", ("SSL_CA",)
        else:
            continue
        hint = "Check " + " and ".join(f"METALOGUE_KAFKA__{name}" for name in names)
        return CliError(what, error="log.credentials", exit=SETUP, where=where, hint=hint)
    return None


def not_taken(error: RefusedByBroker, where: str) -> CliError:
    """The error for people where a broker answered and refused an append."""
    hint = HINTS[error.why].format(topic=error.topic)
    return CliError(str(error), error="log.refused", exit=SETUP, where=where, hint=hint)
