"""The finite state machine of canonical paths: states, where they may lead, and which events lead there.

A protocol is a table: whoever wants another machine gives other tables.

Source: trainable graph memory, § 3 (finite state machine); the paper's figure is lost, so ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

# Events become actions (``grounding``), actions become states here. An action that leads to no
# listed state leaves the machine where it is: an event of a policy that this table did not foresee
# must shorten a path and never break it.

START: Final = "GS"
ANYWHERE: Final = ("AN", "NA")
ENDS: Final = frozenset({"AN", "NA", "ED"})

NAMES: Final[Mapping[str, str]] = {
    "GS": "GoalSetting",
    "SP": "StrategyPlanning",
    "KS": "KnowledgeSufficient",
    "KG": "KnowledgeGap",
    "TS": "ToolSearch",
    "IA": "InformationAnalysis",
    "IR": "InternalReasoning",
    "UR": "UngroundedReasoning",
    "SY": "Synthesis",
    "SC": "SelfCheck",
    "ED": "ErrorDiagnosis",
    "AN": "Answer",
    "NA": "NoAnswer",
}
MEANS: Final[Mapping[str, str]] = {
    "GS": "takes in what is asked and what an answer must be",
    "SP": "decides how to go about it, or changes its plan",
    "KS": "finds that it knows enough",
    "KG": "finds that it lacks knowledge",
    "TS": "calls a tool",
    "IA": "reads what came back and takes from it what matters",
    "IR": "reasons from what it knows",
    "UR": "reasons or guesses although knowledge is missing",
    "SY": "puts several results together",
    "SC": "checks its work",
    "ED": "finds a fault in its work",
    "AN": "gives an answer",
    "NA": "ends without one",
}
"""What an agent does in each state, as prompts define it."""
MAY_GO: Final[Mapping[str, tuple[str, ...]]] = {
    "GS": ("SP", "KS", "KG", "TS", "IR"),
    "SP": ("KS", "KG", "TS", "IR"),
    "KS": ("SP", "KG", "TS", "IR", "SY", "SC"),
    "KG": ("SP", "KS", "TS", "UR"),
    "TS": ("KG", "IA", "ED"),
    "IA": ("SP", "KS", "KG", "TS", "IR", "SY", "SC", "ED"),
    "IR": ("SP", "KS", "KG", "TS", "SY", "SC", "ED"),
    "UR": ("SP", "KG", "TS", "SY", "SC", "ED"),
    "SY": ("SP", "KG", "TS", "IR", "SC", "ED"),
    "SC": ("SP", "KS", "KG", "TS", "IR", "SY", "ED"),
    "ED": ("SP", "KG", "TS", "IR", "SY", "SC"),
    "AN": (),
    "NA": (),
}
LANDS: Final[Mapping[str, str]] = {
    "open": "GS",
    "plan": "SP",
    "suffice": "KS",
    "gap": "KG",
    "search": "TS",
    "observe": "IA",
    "reason": "IR",
    "combine": "SY",
    "check": "SC",
    "fault": "ED",
    "answer": "AN",
    "stop": "NA",
}
UNGROUNDED: Final = frozenset({"KG", "UR"})
"""In these states ``reason`` lands in UngroundedReasoning."""


@dataclass(frozen=True, slots=True)
class Machine:
    """(S, A, δ): δ goes where an action lands if that is listed, else it stays.

    Raises ``ValueError`` for a table that names a state which it does not list.
    """

    may_go: Mapping[str, Sequence[str]]
    lands: Mapping[str, str]

    def __post_init__(self) -> None:
        named = {START, *ANYWHERE, *self.lands.values(), "UR"}
        named |= {state for then in self.may_go.values() for state in then}
        if missing := sorted(named - self.may_go.keys()):
            raise ValueError(f"states that the machine does not list: {', '.join(missing)}")

    def follows(self, state: str, then: str) -> bool:
        """Whether one state may follow another. Every state that is no end may end anywhere."""
        return then in self.may_go[state] or (then in ANYWHERE and state not in ANYWHERE)

    def step(self, state: str, action: str) -> str:
        """δ(state, action)."""
        # One action with two meanings: reasoning while knowledge is missing is what a
        # principle may be about.
        target = "UR" if action == "reason" and state in UNGROUNDED else self.lands[action]
        return target if self.follows(state, target) else state

    def path(self, actions: Iterable[str]) -> tuple[str, ...]:
        """The states that actions lead through, immediate repeats collapsed."""
        found = [START]
        for action in actions:
            state = self.step(found[-1], action)
            if state != found[-1]:
                found.append(state)
        return tuple(found)

    def fault(self, path: Sequence[str]) -> str | None:
        """What is wrong with a path, the first thing there is; the bad step by its name."""
        # A model that reads paths is told what was wrong with one: a name of the bad step mends
        # more than a no.
        if not path:
            return "names no state"
        if unknown := [state for state in path if state not in self.may_go]:
            return f"{unknown[0]} is no state of the machine"
        if path[0] != START:
            return f"it begins with {path[0]} and must begin with {START}"
        for state, then in pairwise(path):
            if not self.follows(state, then):
                listed = (
                    " ".join((*self.may_go[state], *ANYWHERE)) if self.may_go[state] else "nothing"
                )
                return f"{state}→{then} is not listed; {state} may be followed by {listed}"
        if path[-1] not in ENDS:
            return f"it ends with {path[-1]} and must end with {', '.join(sorted(ENDS))}"
        return None

    def described(self) -> str:
        """The states, a line each with what it stands for and what may follow, as prompts show them."""
        lines: list[str] = []
        for state, then in self.may_go.items():
            means = f", {MEANS[state]}" if state in MEANS else ""
            name = NAMES.get(state, state)
            lines.append(f"{state} ({name}{means}): {' '.join(then) or 'the end'}")
        ends = f"Every state but {' and '.join(ANYWHERE)} may also go to {' or '.join(ANYWHERE)}."
        return "\n".join((*lines, ends))


MACHINE: Final = Machine(MAY_GO, LANDS)


def collapsed(path: Sequence[str]) -> tuple[str, ...]:
    """Without cycles that repeat at once: leftmost first, shortest first, until none is left."""
    # Leftmost and shortest first, so that a path has one collapsed form, whatever cycles it holds.
    states = list(path)
    found = _repeat(states)
    while found is not None:
        at, size = found
        del states[at : at + size]
        found = _repeat(states)
    return tuple(states)


def _repeat(states: Sequence[str]) -> tuple[int, int] | None:
    for at in range(len(states)):
        for size in range(1, (len(states) - at) // 2 + 1):
            if states[at : at + size] == states[at + size : at + 2 * size]:
                return at, size
    return None


def path_id(path: Sequence[str]) -> str:
    """A canonical path's name: its states."""
    return " ".join(path)
