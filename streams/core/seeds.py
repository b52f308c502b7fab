"""Under which address a call draws its seed; which calls are told one, and which only ask a question.

A seed is sent where something uses it: where a person chose it (another seed or pass, a sample of a fork), in
probes, whose sides share their luck, and in ``paper``, whose runs are to be made again; and where one prompt
is asked several times, which a server that remembers replies would answer alike. Models of this machine,
and the simulator, always draw by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeOpened, Forked
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


def seed_address(journal: Mapping[str, Event], address: str) -> str:
    """The address under which a call draws its seed: a twin's place stands for its first sibling's.

    Twins are lanes that share it, so that nothing but what they are told sets them apart.
    In ``7.1.3`` the parts are in turn a place and a lane: the call is the fourth of lane 1 at 7.

    Source: trainable graph memory, Algorithm 2 (both sides of a pair under the same seed).
    """
    # Nearly every call stands outside of lanes, and needs no search.
    if "." not in address:
        return address
    parts = address.split(".")
    shared = list(parts)
    for lane in range(1, len(parts), 2):
        forked = journal.get(".".join(parts[:lane]))
        if isinstance(forked, Forked) and forked.twins:
            # Only this fork's lanes share their luck. Forks around it or within it keep
            # their lanes apart.
            shared[lane] = "0"
    return ".".join(shared)
