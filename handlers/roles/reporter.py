"""The reporter: condenses the trajectory into a progress report.

Source: Meta-Reasoner § 3.2, App. F (progress report).
"""

from __future__ import annotations

from handlers.roles.role import Role, listed

# A report is read by the meta-reasoner at every round, so that its length is paid for again and
# again.
TOKENS = 512

PROMPT = """\
You watch how a problem is being worked on and write a short report for an adviser who will not \
see the work itself. Leave out worked examples that the problem may bring along.
First list what was attempted, step after step. Then sum the work up in bullets, six or seven \
sentences in all where there is so much to say, one or two where there is only a step: how far it has \
come; whether its steps agree with each other; what has been reached for good; which strategies come \
back again and again; what was overlooked; what looks promising; and what there is to say of the \
numbers involved. Leave out what does not apply. Reason from what stands there and guess nothing."""

REPORTER = Role.of(
    "reporter",
    PROMPT,
    sections=("Problem", "Trajectory"),
    reply=(
        listed("Current_attempts", "each attempt in a line"),
        listed("Observations", "what matters about the progress made"),
    ),
    template="reporter",
)
