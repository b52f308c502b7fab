"""Self-verification: a draft whose steps and answer its author checks, and mends where a check fails.

Unlike self-refine it asks for no improvement: what passes every check stands.

Source: design/baselines.md; Weng et al. 2023,
simplified: conditions are checked against the answer directly, none is masked and predicted back.
"""

from __future__ import annotations

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.self_refine import (
    SOUND,
    Revising,
    RevisionSettings,
    most_calls,
    revise,
)
from handlers.roles.role import FAIR, Role, answer, choice, text
from schemas.asking import Steps

VERIFIER = Role.of(
    "verifier",
    f"""\
You wrote the solution below. Check it: put the answer back into the problem, compute again every \
number in it, and hold it against each condition in turn. Report each check with what came of it. \
Then say whether the solution passed all of them. Propose no improvement. {FAIR}""",
    sections=("Problem", "Solution"),
    reply=(
        text("Checks", "every check and its result", unless=(SOUND, ("YES",))),
        choice(SOUND, ("YES", "NO"), "whether the solution is sound: all checks passed"),
    ),
    template="verifier.check",
)
MENDER = Role.of(
    "reasoner",
    """\
Below are a problem, a solution of yours, and the checks that it was put to, which it is not known to \
have passed. Find where it fails, and solve the problem again from there.""",
    sections=("Problem", "Solution", "Checks"),
    reply=[answer()],
    template="reasoner.mend",
    mends=False,
)
# The loop is self-refine's; only who looks and what it is asked differ, and so any difference in
# accuracy comes from checking instead of criticising.
VERIFYING = Revising(VERIFIER, MENDER, "checks")


def solve(task: Task, settings: RevisionSettings) -> Steps[Conclusion]:
    """1 + 2 · 3 calls, where every verifier can be read."""
    return revise(task, settings, VERIFYING)


SELF_VERIFICATION = Policy(
    name="self_verification",
    version="2",
    about="a draft that its author checks and mends, at most three times",
    settings=RevisionSettings,
    roles=("reasoner", "verifier"),
    solve=solve,
    most_calls=most_calls,
)
