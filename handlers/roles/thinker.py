"""The Thinker: carries a trajectory on by one thought, under one of three strategies.

A thought is as long as it needs to be. Sixteen calls pay for five thoughts: were each of them a small step, no
problem of more than two or three would ever be answered in the tree.

Source: CoT2-Meta § 2.2, § B.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from handlers.answers.extract import extract
from handlers.roles.again import Meter
from handlers.roles.form import Unreadable, every, is_figure, preamble
from handlers.roles.role import Role, RoleReply, choice, open_answer, text
from handlers.roles.steps import with_answer
from handlers.roles.values import NONE
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
Where the problem is still open after your thought, end it with what remains to be done, and give none as the \
final answer."""

SO_FAR = {
    "Trajectory": """\
Section "Trajectory" holds the thoughts so far: carry them on, and do not repeat what they say."""
}
"""What is said of the trajectory where there is one already."""

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
is given again; one that does not hold leaves the problem open. Also say how far you trust the trajectory.""",
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

# A thought is asked for as a plain chain is, free to its last line. Under the labels Thought and
# State a model of 1.5 billion parameters told the problem again and boxed a guess: 14 of 40 direct
# thoughts were right, of free ones 27 of the same 40. Whoever writes those labels is read all the
# same.
THINKERS: Mapping[Strategy, Role] = {
    strategy: Role.of(
        "thinker",
        FRAME.format(task=TASKS[strategy]),
        sections=("Problem", "Trajectory?", "Scores?"),
        notes=SO_FAR,
        reply=(*((TRUST,) if strategy == "verify" else ()), open_answer()),
        reasons=True,
        template=f"thinker.{strategy}",
        sampling=GENERATION,
        mends=False,
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
    form = lenient(role.reply)
    values = replace(role, least=form).hear(completion)
    said = RoleReply({} if isinstance(values, Unreadable) else values, (completion,), "ok")
    answer = said.get("Final_answer")
    if said.get("State") == "OPEN" or (answer is None and said.values):
        # A model of 1.5 billion parameters worked the problem out and called it OPEN, in 22 of 34
        # replies. The last figure or formula that it gives as final is taken; "not yet" is none.
        given = [str(one) for one in every(said.text, form, "Final_answer")]
        answer = given[-1] if to_the_end and given and is_figure(given[-1]) else None
    answer = None if answer == NONE else answer
    # Some replies go through the form once for each step. Their thoughts are one, without what
    # repeats the trajectory, or the prompt itself.
    known = set(dict(question.variables).get("trajectory", "").split("\n"))
    new = dict.fromkeys(
        each
        for each in map(str, every(said.text, form, "Thought"))
        if not known.issuperset(each.split("\n")) and not role.template.says(each)
    )
    # A line of a free thought may well begin with State, which is then no label.
    labels = form if {"Thought", "State"} & said.values.keys() else role.reply
    thought = "\n".join(new) or said.get("Thought") or preamble(said.text, labels)
    if not said.values or not (thought or answer):
        answer = None if completion.cut else extract(completion.text)
        return Thought(completion.text.strip(), answer, completion.address, False)
    return Thought(
        with_answer(thought, answer), answer, completion.address, True, said.number("Confidence")
    )


@lru_cache(maxsize=256)
def lenient(form: Reply) -> Reply:
    """The form as it is read: a thought may be free or labelled, and say or not say whether it settles the problem."""
    asked = {field.label: replace(field, required=False) for field in form.fields}
    if "State" in asked:
        return replace(form, fields=(asked.pop("Thought"), *form.fields[1:]))
    own = (replace(THOUGHT, required=False), replace(STATE, required=False))
    return replace(form, fields=(*own, *asked.values()))
