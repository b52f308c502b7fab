"""Errors as programs are told them: the same words as on the command line, without its options."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.log_faults import fault_of
from streams.runtime.embedded.files import SqliteError

T = TypeVar("T")
TOGETHER: Mapping[str, str] = {
    "set": "settings",
    "role": "roles",
    "offer": "offers",
    "price": "prices",
    "budget": "budgets",
}
"""Options that are given one by one, by the parameter that takes all of them."""


class Error(Exception):
    """An error says what went wrong, where, in which field, and what helps.

    ``code`` is stable, such as ``log.missing`` or ``input.duplicate``; ``field`` names the parameter or the
    field of a record that is wrong, or is empty.
    """

    def __init__(
        self, detail: str, *, code: str, where: str = "", field: str = "", hint: str = ""
    ) -> None:
        # Who checks settings names the one that is wrong by its whole path, which begins with the parameter.
        named = "" if field and detail.startswith((f"{field}:", f"{field}.")) else field
        place = ": ".join(part for part in (where, named) if part)
        said = f"{place}: {detail} [{code}]" if place else f"{detail} [{code}]"
        super().__init__(f"{said}. {hint}" if hint else said)
        self.detail, self.code, self.where = detail, code, where
        self.field, self.hint = field, hint


def as_error(error: CliError) -> Error:
    """The same error with a parameter's name where an option's stood."""
    # An option of the command line and a parameter of a function bear one name, each
    # in its own spelling, but for those that are said one by one there: ``--offer mini`` is ``offers.mini``.
    option, _, part = error.field.partition(" ")
    name = option.removeprefix("--").replace("-", "_").lower()
    field = ".".join(filter(None, (TOGETHER.get(name, name), part)))
    return Error(error.detail, code=error.error, where=error.where, field=field, hint=error.hint)


@contextmanager
def in_our_words() -> Generator[None]:
    """Raises an ``Error`` for what the command line would end with, be it a full disk or a damaged file."""
    try:
        yield
    except CliError as error:
        raise as_error(error) from error
    # Of these only faults of a log are ours. Any other, such as a caller's own
    # file, passes as it is.
    except (OSError, SqliteError) as error:
        fault = fault_of(error)
        if fault is None:
            raise
        raise as_error(fault) from error


def parked(episode: str, why: str) -> Error:
    """It waits for a person."""
    hint = f"A person decides: metalogue doctor --adopt or --void {episode}"
    return Error(f"parked: {why}", code="episode.parked", where=episode, hint=hint)


def cancelled(episode: str) -> Error:
    """A person took it out."""
    return Error("the episode was cancelled", code="cancelled", where=episode)


def closed() -> Error:
    """A client was used outside its block."""
    return Error("it is not open: use it in `async with`", code="client.closed")


def there(found: T | None, episode: str) -> T:
    """What was found of an episode. Raises an ``Error`` where that is nothing."""
    if found is None:
        raise Error("no such episode", code="episode.unknown", where=episode)
    return found


def no_loop(name: str, instead: str) -> None:
    """Raise an ``Error`` in a running event loop, which a function that waits by itself would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Error(f"{name}() cannot be called in a running event loop", code="usage", hint=instead)
