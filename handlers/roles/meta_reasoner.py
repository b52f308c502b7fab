"""The meta-reasoner: sees the problem and a report, and says what should be done next.

Source: Meta-Reasoner § 3.3.3, App. F (dynamic bandit generation); § 4.2 (direct arm selection).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from handlers.roles.role import Role, choice, text
from schemas.reply import Field

TOKENS = 256
# What a note says for every problem. "Strategy" alone is what models call the first line of a
# reflection.
GENERAL = "General_strategy"

_TASK = """\
You guide another agent that solves a problem step by step. You know the problem and a report on \
its progress, not each of its steps; what you want is that it gets there sooner and more surely."""

_JUDGED = """\
Section "Judgement" is what a judge said of the work so far: use what helps."""

PROMPT = f"""\
{_TASK}
Reflect on it first: which strategy the agent follows, whether its progress suffices, which \
mistakes it has made, where it takes detours or repeats itself. Check the facts: is what it claims \
true and to the point? Think about what matters most now and which other ways could help. Then \
settle on one action for this problem. Last, put what is general in it into a strategy that an agent \
with any other problem could follow, and say what a report shows when it is needed. Rest everything on \
the problem and the report, and be brief."""

META_REASONER = Role.of(
    "meta_reasoner",
    PROMPT,
    sections=("Problem", "Report", "Judgement?"),
    reply=(
        text("Reflection", "strategy, progress, mistakes and detours, in two sentences"),
        text("Fact_check", "what does not hold, or that all does, in a sentence"),
        text("Thought", "what to see in it, and alternatives, in a sentence"),
        text("Action", "what the agent is to do next, as advice to it in a sentence or two"),
        Field(
            "When",
            "text",
            "what a report on any problem shows when the strategy is needed, in a sentence",
            required=False,
        ),
        Field(
            GENERAL,
            "text",
            "the advice in a sentence that fits any problem, without a number, name or result of this one",
            required=False,
        ),
    ),
    notes={"Judgement": _JUDGED},
    running=True,
    closing="""\
Do not solve the problem yourself. Advise the agent now, in one short sentence behind each of these labels, and each \
label at the start of a line of its own: Reflection, Fact_check, Thought, Action, When, General_strategy.""",
)

PICK = f"""\
{_TASK}
A list of strategies is given, each with the diagnosis that it is meant for. Choose the one that \
fits the report best."""


# Arms are found while learning, so these roles are made at run time, and once for each set of arms.
@lru_cache(maxsize=64)
def picker(arms: tuple[str, ...]) -> Role:
    """The meta-reasoner that chooses one of these strategies by its id."""
    return Role.of(
        "meta_reasoner",
        PICK,
        sections=("Problem", "Report", "Judgement?", "Strategies"),
        reply=(
            text("Reflection", "what the report shows"),
            choice("Strategy", arms, "the id of the one that fits"),
        ),
        template="meta_reasoner.pick",
        notes={"Judgement": _JUDGED},
        closing="Choose now, beginning with Reflection, in a sentence. Then Strategy, with a single id.",
    )


def strategy_lines(arms: Sequence[tuple[str, str, str]]) -> str:
    """Strategies as they are listed: id, diagnosis, what to do."""
    return "\n".join(f"{arm}: when: {when} Do: {what}" for arm, when, what in arms)
