"""The Thinker: carries a trajectory on by one thought, under one of three strategies.

A thought is as long as it needs to be. Sixteen calls pay for five thoughts: were each of them a small step, no
problem of more than two or three would ever be answered in the tree.

Source: CoT2-Meta § 2.2, § B.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from handlers.answers.extract import extract
from handlers.roles.again import Meter
from handlers.roles.form import Unreadable, every, is_figure
from handlers.roles.role import Role, RoleReply, choice, text
from handlers.roles.steps import with_answer
from schemas.asking import Steps
from schemas.questions import Complete, Sampling
from schemas.reply import Field, Reply

Strategy: TypeAlias = Literal["direct", "decompose", "verify"]
STRATEGIES: tuple[Strategy, ...] = ("direct", "decompose", "verify")

GENERATION = Sampling(temperature=0.4, top_p=0.95, max_tokens=2_048)
"""How thoughts, repairs and the samples of the baselines are drawn (§ B.5)."""

FRAME = """\
You add one thought to the work on a problem. It is as long as it needs to be.
{task}
Where the thought settles the problem, set the state to ANSWERED and give the final answer just as the \
problem asks for it. Otherwise set it to OPEN, and end the thought with what remains to be done."""

SO_FAR = {
    "Trajectory": """\
Section "Trajectory" holds the thoughts so far: carry them on, and do not repeat what they say."""
}
"""What is said of the trajectory where there is one already."""

# A small model made a thought of each sentence of the problem, one after another, until it was
# cut.
CLOSING = """\
Think on now, beginning with Thought: all that you work out goes into this one thought, step by step. Then State, \
once, and Final_answer if the problem is settled."""

TASKS: Mapping[Strategy, str] = {
    "direct": """\
Go straight for the final answer: carry the work on as far as you can, to the answer itself where you can \
reach it.""",
    "decompose": """\
Where no sub-goals have been named yet, name the smaller ones that the problem falls into, in an order \
in which they can be met; otherwise take those that are still open. Solve them one after another, as far as \
you can, to the answer itself where you can reach it.""",
    "verify": """\
Inspect the trajectory for local defects: false computations, unfounded claims, lost conditions. Say what you \
find and put it right; where all is well, say why it holds. An answer that holds, or that you have put right, \
is given again; one that does not hold leaves the problem OPEN. Also say how far you trust the trajectory.""",
}

THOUGHT = text("Thought", "the thought, whole")
STATE = choice(
    "State", ("OPEN", "ANSWERED"), "ANSWERED where this thought settles the problem, OPEN where not"
)
SETTLED = Field(
    "Final_answer", "answer", "the final answer, nothing else", when=("State", ("ANSWERED",))
)
TRUST = Field(
    "Confidence", "number", "trust in the trajectory, in [0, 1]", unit=True, required=False
)

FIELDS: Mapping[Strategy, tuple[Field, ...]] = {
    "direct": (THOUGHT, STATE, SETTLED),
    "decompose": (THOUGHT, STATE, SETTLED),
    "verify": (THOUGHT, STATE, SETTLED, TRUST),
}

THINKERS: Mapping[Strategy, Role] = {
    strategy: Role.of(
        "thinker",
        FRAME.format(task=TASKS[strategy]),
        sections=("Problem", "Trajectory?", "Scores?"),
        notes=SO_FAR,
        reply=FIELDS[strategy],
        template=f"thinker.{strategy}",
        sampling=GENERATION,
        mends=False,
        closing=CLOSING,
    )
    for strategy in STRATEGIES
}


@dataclass(frozen=True, slots=True)
class Thought:
    """What one generation said: the thought, an answer if it came to one, and where it stands."""

    text: str
    answer: str | None
    source: str
    readable: bool
    trust: float | None = None


def think(
    question: Complete, role: Role, meter: Meter, *, to_the_end: bool = True
) -> Steps[Thought]:
    """One generation, read leniently: whatever is no form is a thought all the same.

    ``to_the_end``: it goes as far as it can, so that an answer below the word OPEN is no result on the way.
    """
    # One call, and no second for the form: a tree has sixteen of them, and a thought without form
    # is one all the same.
    completion = yield from question
    meter.calls += 1
    role = role.as_asked(completion)
    first, *others = role.reply.fields
    # The thought may be left out, or copied from the prompt, where the answer is given.
    lenient = Reply((replace(first, required=False), *others), role.reply.reasons)
    values = replace(role, least=lenient).hear(completion)
    said = RoleReply({} if isinstance(values, Unreadable) else values, (completion,), "ok")
    answer = said.get("Final_answer")
    if answer is None and said.values and to_the_end:
        # A model of 1.5 billion parameters worked the problem out and called it OPEN, in 22 of 34
        # replies. The last figure or formula that it gives as final is taken; "not yet" is none.
        given = [str(one) for one in every(said.text, role.reply, "Final_answer")]
        answer = given[-1] if given and is_figure(given[-1]) else None
    if answer is None and "Thought" not in said.values:
        answer = None if completion.cut else extract(completion.text)
        return Thought(completion.text.strip(), answer, completion.address, False)
    # Some replies go through the form once for each step. Their thoughts are one, without what
    # repeats the trajectory, or the prompt itself.
    known = set(dict(question.variables).get("trajectory", "").split("\n"))
    new = dict.fromkeys(
        each
        for each in map(str, every(said.text, role.reply, "Thought"))
        if not known.issuperset(each.split("\n")) and not role.template.says(each)
    )
    thought = with_answer("\n".join(new) or said.get("Thought") or "", answer)
    return Thought(thought, answer, completion.address, True, said.number("Confidence"))
