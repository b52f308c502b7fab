"""The doctor's look at whose policies a log needs: a scope without its policy waits, and says so nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import Reflected, SeriesOpened
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.doctor.checks import Check, warn
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes, scopes
from streams.views.words import plural

WHAT_TO_DO = "Give it to a worker, or mend it: what waits goes on. What was begun is parked"


def checks(log: SqliteLog, option: str) -> Iterator[Check]:
    """A line for each scope whose policy is not here, or cannot have it."""
    held = Counter(waiting(log).values())
    for scope, why in lost(log).items():
        detail = f"{scope}: nothing is begun or learned in it: {why}"
        if not held[scope]:
            yield warn("policy", detail, WHAT_TO_DO)
            continue
        never = f"metalogue doctor --void {quote(scope)}{option}"
        todo = f"{WHAT_TO_DO}. If it never comes back: {never}, or one EPISODE of it"
        yield warn("policy", f"{detail}; {plural(held[scope], 'problem')} open", todo)


def waiting(log: SqliteLog) -> dict[str, str]:
    """Open episodes of scopes whose policy is not here, with these scopes."""
    without = lost(log)
    return {episode: scope for episode, scope in episodes.undecided(log) if scope in without}


def lost(log: SqliteLog) -> dict[str, str]:
    """Scopes by name, and why a worker that starts here could do nothing for them."""
    from streams.interfaces.cli.config import load

    # A worker's own learner is asked, since whoever judged by other rules would contradict it one
    # day. The first events of a scope are enough: all of it has the same policy and settings.
    learner = Learner(find)
    for event in scopes.first_of_each(log):  # what cannot be read is what `verify` tells of
        with suppress(NoPolicy):
            if isinstance(event, ProblemAdmitted):
                learner.scope_of(event, load().policy)
            elif isinstance(event, (Reflected, SeriesOpened)):
                learner.meet(event.scope, event)
    return {scope: each.why for scope, each in learner.lost.items()}
