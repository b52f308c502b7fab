"""The doctor's look at whose policies a log needs: a scope without its policy waits, and says so nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import Reflected, SeriesOpened
from streams.cli.doctor.checks import Check, warn
from streams.learner import Learner
from streams.policies import NoPolicy, find
from streams.runtime.embedded.log import SqliteLog

FIRST = """
select kind, body from records where offset in (
  select min(offset) from records where kind in ('problem.admitted', 'reflected', 'series.opened')
  group by kind, json_extract(body, '$.scope'))
"""
WHAT_TO_DO = (
    "Start a worker where the policy is, or mend it: what waits goes on. What was begun is parked"
)


def checks(log: SqliteLog) -> Iterator[Check]:
    """A line for each scope whose policy is not here, or cannot have it."""
    for scope, why in lost(log).items():
        yield warn("policy", f"{scope}: nothing is begun or learned in it: {why}", WHAT_TO_DO)


def lost(log: SqliteLog) -> dict[str, str]:
    """Scopes by name, and why a worker that starts here could do nothing for them."""
    learner = Learner(find)
    for kind, body in log.db.execute(FIRST):
        with suppress(BadEvent, NoPolicy):  # what cannot be read is what `verify` tells of
            _meet(learner, decode(kind, body))
    return {scope: each.why for scope, each in learner.lost.items()}


def _meet(learner: Learner, event: Event) -> None:
    if isinstance(event, ProblemAdmitted):
        from streams.cli.config import load

        problem = event.problem
        policy = problem.policy or load().policy
        learner.scope(event.scope, policy, problem.profile, problem.settings)
    elif isinstance(event, (Reflected, SeriesOpened)):
        learner.meet(event.scope, event)
