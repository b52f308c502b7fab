"""Which calls an endpoint must be told a seed for, and which only ask a question.

A seed is sent where something uses it: where a person chose it (another seed or pass, a sample of a fork), in
probes, whose sides share their luck, and in ``paper``, whose runs are to be made again; and where one prompt
is asked several times, which a server that remembers replies would answer alike. Models of this machine,
and the simulator, always draw by it.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeOpened
from schemas.problem import Problem
from schemas.questions import Complete


def is_chosen(problem: Problem, opened: EpisodeOpened) -> bool:
    """Whether somebody set what an episode's draws come from, or compares them with another's."""
    repeated = problem.seed > 0 or problem.walk > 1
    return repeated or problem.profile == "paper" or opened.parent is not None


def is_used(question: Complete, asked: str, address: str, journal: Mapping[str, Event]) -> bool:
    """Whether this call's draw must differ from another's: of a sample, in a lane, or of a prompt asked before."""
    if question.sampling.temperature == 0:
        return False
    if question.draw or "." in address:
        return True
    return any(isinstance(each, Completed) and each.asked == asked for each in journal.values())
