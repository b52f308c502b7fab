"""An episode that a limit ended: where, which call was not made, the best so far, and how to go on."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.answers.plain import shown
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, LimitReached
from schemas.identity import address_order, is_numbered
from streams.interfaces.cli.errors import SPENT, CliError
from streams.views.words import clean, plural, sure

OPTIONS = {"calls": "call", "tokens": "token", "cost": "cost", "seconds": "time"}


def spent(episode: str, journal: Mapping[str, Event], closed: EpisodeClosed, more: str) -> CliError:
    """The error for people and scripts; ``more`` names the log in a command to paste."""
    # The last one is where it ended.
    met = [at for at, each in journal.items() if is_numbered(at) and isinstance(each, LimitReached)]
    at = max(met, key=address_order, default=None)
    reached, opened = journal.get(at or ""), journal.get("opened")
    if not isinstance(reached, LimitReached) or not isinstance(opened, EpisodeOpened):
        return CliError("budget spent", error="budget.spent", exit=SPENT, where=episode)
    most = getattr(opened.limits, reached.which)
    option = f"--{OPTIONS[reached.which]}-limit"
    so_far = f"{closed.usage.calls} of {plural(most, 'call')}" if reached.which == "calls" else ""
    # Twice as much is a guess that people can change; the address is what they could not guess.
    again = f"metalogue fork {episode} --at {at} {option} {2 * (most or 0):g}{more}"
    best = "No answer so far."
    if closed.answer is not None:
        how_sure = sure(closed.confidence, closed.confidence_source, closed.calibrated)
        answer = " ".join(clean(shown(closed.answer)).split())
        best = f"Best so far {answer}, {how_sure}, given as `exhausted`."
    return CliError(
        f"budget spent, {so_far or reached.which} ({option} {most:g}); "
        f"the next call ({reached.asked.split(' ')[1]}) was not made",
        error="budget.spent",
        exit=SPENT,
        where=f"{episode} at {at}",
        hint=f"{best} Go on, paying only what follows: {again}",
    )
