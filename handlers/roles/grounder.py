"""The Grounder: reads a transcript as a path through the state machine, blind to how it turned out.

Source: trainable graph memory, Algorithm 1 line 9 (grounding); its prompt is lost, so this is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Check, Role, text

PROMPT = """\
You read the transcript of an agent's work on a problem as a path through a machine of states. Each \
state stands for what the agent does at that moment; section "Transitions" says what each state means \
and which states may follow it. The transcript holds the agent's replies, its calls of tools and what \
came back, in order. Go through it from its beginning and name the state of each thing that the agent \
does. Begin with GS, take only listed transitions, and end with AN where the agent gives an answer, \
with NA where it gives none, or with ED. Do not judge whether the answer is right. Leave out what only \
repeats the state before it."""

# A small model that read a solution last wrote one, at 8 of 14 first askings.
CLOSING = """\
Name the states of this transcript now, from GS on, in a single line that begins with Path. Do not solve the \
problem, and do not go on with the transcript."""

_BARE = re.compile(r"(?:[A-Z]{2}(?:[\s,;>→\-]{1,6}|$)){1,200}", re.ASCII)


class Labelless(Role):
    """A role whose reply may be the states alone: a small model that is asked for one line writes no label."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """The values of a reply, or what is wrong with it."""
        # A lone line of states is taken for the field. Among other words two capital letters may
        # be anything.
        bare = text.strip(" \t\r\n`*.")
        return Role.read(
            self, f"Path: {' '.join(bare.split())}" if _BARE.fullmatch(bare) else text, check
        )


GROUNDER = Labelless.of(
    "grounder",
    PROMPT,
    sections=("Transitions", "Problem", "Transcript"),
    reply=(text("Path", "the states' short names in order, with spaces between"),),
    closing=CLOSING,
)
_STATE = re.compile(r"(?<![A-Za-z])[A-Z]{2}(?![A-Za-z])")


def path_said(values: Values) -> tuple[str, ...]:
    """The states that a reply names, in order; what is said below them in another paragraph names none."""
    return tuple(_STATE.findall(str(values["Path"]).partition("\n\n")[0]))


def on(fault: Callable[[Sequence[str]], str | None]) -> Check:
    """Whether the path is one of the machine's; ``fault`` says what is wrong with one that is not."""

    def wrong(values: Values, reply: str) -> Unreadable | None:
        found = fault(path_said(values))
        return None if found is None else Unreadable("Path", found)

    return wrong
