"""The review queue: what waits for a person, one of them, and his word on it from whoever has the token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException

from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.reviews import Item, is_judged, item_of, judgement, put, queue
from streams.interfaces.dashboard.live_log import LiveLog
from streams.interfaces.dashboard.words import number_in
from streams.runtime.embedded.queries.reviews import NEWEST

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

PAGE: Final = 50
BY_CHARS: Final = 200
WORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "right": {"verdict": True},
    "wrong": {"verdict": False},
    "pass": {"passed": True},
}
"""What the choices of the form stand for; ``reference`` takes its text along."""


def reviews_page(live_log: LiveLog, asked: Mapping[str, str]) -> dict[str, Any]:
    """The answers that wait for a person, newest first."""
    said = asked.get("before", "")
    number = number_in(said)
    before = NEWEST if number is None else number
    with live_log.looking() as log:
        found = list(islice(queue(log, before=before), PAGE + 1))
    older = found[PAGE - 1].offset if len(found) > PAGE else None
    return {"items": found[:PAGE], "older": older}


def review_page(live_log: LiveLog, asked: Mapping[str, str]) -> dict[str, Any]:
    """One answer with its problem."""
    with live_log.looking() as log:
        item = item_of(log, find_episode(log, asked.get("id") or None))
        judged = item.asked is None and is_judged(log, item.episode)
    known = live_log.state.outcomes.of(item.episode)
    return {"item": item, "judged": judged, "known": known, "title": f"Review {item.problem_id}"}


def judge(
    live_log: LiveLog, writable: Callable[[], SqliteLog], given: Mapping[str, str]
) -> dict[str, Any]:
    """Put a person's word on the log; what came of it, the next that waits, and the status to answer with."""
    with live_log.looking() as log:
        item = item_of(log, find_episode(log, given.get("id", "")))
    word, by = given.get("word", ""), given.get("by", "").strip()[:BY_CHARS] or "dashboard"
    if word != "reference" and word not in WORDS:
        raise HTTPException(400, f"no word {word[:80]!r}: say right, wrong, reference or pass")
    # Browsers send lines as CRLF; a reference is compared letter by letter.
    reference = given.get("reference", "").replace("\r\n", "\n").strip() or None
    stated = {"reference": reference} if word == "reference" else WORDS[word]
    try:
        said = judgement(item, by, **stated)
    except CliError as error:
        return _refused(item, error)
    # The word is feedback as any other, so what is said here and by
    # `metalogue review` counts alike.
    with closing(writable()) as log:
        try:
            new = put(log, said)
        except CliError as error:
            return _refused(item, error)
        # Whoever reviews goes through a queue: the next one stands ready without
        # another look at the list.
        after = next(queue(log), None)
    return _told(item, sent="recorded" if new else "known already", after=after)


def _refused(item: Item, error: CliError) -> dict[str, Any]:
    named = f"{error.field}: {error.detail}" if error.field else error.detail
    return _told(item, error=named, status=422)


def _told(
    item: Item, *, sent: str = "", after: Item | None = None, error: str = "", status: int = 200
) -> dict[str, Any]:
    return {"item": item, "sent": sent, "after": after, "error": error, "status": status}
