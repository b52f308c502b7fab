"""Which calls an endpoint must be told a seed for, and which only ask a question.

A seed is sent where something uses it: where a person chose it (another seed or pass, a sample of a fork), in
probes, whose sides share their luck, and in ``paper``, whose runs are to be made again; and where one prompt
is asked several times, which a server that remembers replies would answer alike. Models of this machine,
and the simulator, always draw by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.events.episode import Completed, EpisodeOpened
from schemas.problem import Problem
from schemas.questions import Complete

if TYPE_CHECKING:
    from streams.core.drive import Run


def is_chosen(problem: Problem, opened: EpisodeOpened) -> bool:
    """Whether somebody set what an episode's draws come from, or compares them with another's."""
    repeated = problem.seed > 0 or problem.walk > 1
    return repeated or problem.profile == "paper" or opened.parent is not None


def is_used(run: Run, question: Complete, asked: str, address: str) -> bool:
    """Whether this draw was chosen, or must differ from another: a sample, a lane, a prompt that returns."""
    if question.sampling.temperature == 0:
        return False  # nothing is drawn
    if run.seeded or question.draw or "." in address:
        return True
    # Looked at last, since it goes through the whole record. A prompt that comes back must not get
    # the very same reply from a server that remembers.
    known = run.journal.values()
    return any(isinstance(each, Completed) and each.asked == asked for each in known)
