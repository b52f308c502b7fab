"""Dead letters: a list, one of them, and sending it on again for whoever has the token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

from streams.interfaces.cli.letters import DeadLetter, letter, letters
from streams.interfaces.cli.replaying import send_on
from streams.interfaces.dashboard.guard import may_change
from streams.interfaces.dashboard.live_log import LiveLog
from streams.interfaces.dashboard.words import number_in
from streams.producing.sources import BadLine

if TYPE_CHECKING:
    from starlette.requests import Request

    from streams.runtime.embedded.log import SqliteLog

PAGE: Final = 50
MOST_BYTES: Final = 4 << 20
MOST_OF_STRANGERS: Final = 64 << 10
"""Bytes that are read of a form before it has given the token."""
NOT_THE_TOKEN: Final = "that is not the token"


def letters_page(live_log: LiveLog, asked: Mapping[str, str]) -> dict[str, Any]:
    """Dead letters, newest first."""
    said = asked.get("from", "")
    first = number_in(said) or 0
    with live_log.looking() as log:
        found = list(letters(log))
    found.reverse()
    return {
        "letters": found[first : first + PAGE],
        "count": len(found),
        "waiting": sum(not each.sent_on for each in found),
        "first": first,
        "next": first + PAGE if first + PAGE < len(found) else None,
    }


def letter_page(live_log: LiveLog, asked: Mapping[str, str]) -> dict[str, Any]:
    """One dead letter with its headers and bytes."""
    found = _found(live_log, asked.get("n", ""))
    return {"letter": found, "text": found.text(), "title": f"Dead letter {found.number}"}


def _found(live_log: LiveLog, number: str) -> DeadLetter:
    if not number.isdecimal() or len(number) > 12:
        raise HTTPException(404, f"no dead letter {number!r}")
    with live_log.looking() as log:
        return letter(log, int(number))


async def form_of(request: Request, token: str | None) -> dict[str, str]:
    """The fields of a form as browsers send it, for whoever gives the token.

    ``token`` is the word that whoever may change something has to give; none, and nobody may. It is looked
    at as soon as it has come: strangers are not listened to. Raises what is shown as a page of its own.
    """
    body, trusted = b"", False
    if not token:
        raise HTTPException(403, "this dashboard only reads")
    async for chunk in request.stream():
        body += chunk
        first, more, _ = body.partition(b"&")
        if not trusted and more:
            # Our forms have the token first, so that a wrong one is refused before
            # megabytes are read.
            given = _fields(first).get("token")
            if given is not None and not may_change(token, given):
                raise HTTPException(403, NOT_THE_TOKEN)
            trusted = given is not None
        if not trusted and len(body) > MOST_OF_STRANGERS:
            raise HTTPException(403, "the token has to be given first")
    # Once more on the whole: a form may be too short to have been looked at,
    # or give the token twice.
    fields = _fields(body)
    if not may_change(token, fields.get("token", "")):
        raise HTTPException(403, NOT_THE_TOKEN)
    return fields


def _fields(body: bytes) -> dict[str, str]:
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def replay(
    live_log: LiveLog, writable: Callable[[], SqliteLog], given: Mapping[str, str]
) -> dict[str, Any]:
    """Send a letter on as it is, or as it was mended; what came of it, and the status to answer with."""
    found = _found(live_log, given.get("n", ""))
    # Browsers send lines as CRLF, whatever they were shown. A text that nobody changed is sent on
    # as the bytes that came: what is not UTF-8 does not survive the way through a form.
    text = given.get("text")
    plain = None if text is None else text.replace("\r\n", "\n")
    value: bytes | None = None
    if plain is not None and plain != found.text().replace("\r\n", "\n"):
        value = plain.encode().strip(b"\r\n")
    # The log is opened for writing for this one act, and closed again: all else only reads.
    with closing(writable()) as log:
        try:
            new = send_on(log, found, value)
        except BadLine as error:
            return {"letter": found, "sent": "", "error": error, "status": 422}
    sent = "sent on" if new else "known already: nothing was sent"
    return {"letter": found, "sent": sent, "error": None, "status": 200}
