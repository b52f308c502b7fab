"""The judge: values a partial solution by how likely it is to lead to the right answer.

Source: Tree of Thoughts § 3 (value prompt); ReST-MCTS* (process value of partial chains).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from handlers.roles.again import Meter, strictly
from handlers.roles.form import Unreadable
from handlers.roles.oracle import JUDGEMENT, bounded
from handlers.roles.role import FAIR, Role, number
from handlers.roles.steps import shown
from schemas.asking import Steps
from schemas.events.search import ThoughtJudged

PROMPT = f"""\
You judge work in progress. Given are a problem and a trajectory of numbered steps that may not be \
finished. How likely is it that going on from here leads to the right answer? Consider whether \
what was done holds and whether what remains can still be done. Give one number from 0 (hopeless) \
to 1 (certain). {FAIR} Think it through briefly."""
AGAIN = "State it again in exactly this form, and write nothing else:\nValue: 0.xx"

JUDGE = Role.of(
    "judge",
    PROMPT,
    sections=("Problem", "Trajectory"),
    reply=[number("Value", "how promising the trajectory is, in [0, 1]", unit=True)],
    sampling=JUDGEMENT,
    mends=False,
    reasons=True,
)


def read_value(text: str) -> Fraction | None:
    """The labelled number, or one that is the whole reply; none unless it lies in [0, 1]."""
    values = JUDGE.read(text)
    return None if isinstance(values, Unreadable) else bounded(f"{values['Value']}")


def judge(
    node: str,
    problem: str,
    steps: Sequence[str],
    meter: Meter,
    unread: float | None = None,
) -> Steps[float | None]:
    """The value of a trajectory, or ``unread`` where it cannot be read after one more request."""
    question = JUDGE.question({"problem": problem, "trajectory": shown(steps)})
    heard = yield from strictly(
        question,
        read_value,
        # What cannot be read stays none and becomes no 0 here: that would prune the branch as if
        # somebody had judged it.
        lambda value: value is not None,
        lambda first, second: second if second is not None else first,
        AGAIN,
        meter,
    )
    value = unread if heard.value is None else float(heard.value)
    yield ThoughtJudged(node=node, value=value or 0.0, source=heard.source, parse=heard.parse)
    return value
