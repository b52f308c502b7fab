"""The consolidator: keeps a role's six rules in step with the lessons of the last batches.

Source: MC² eq. (11), § C.5, figures 15, 20 and 25.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from handlers.roles.controller import in_words
from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Check, Role, text

RULES = 6
NEW = 2
"""So many rules may be new in one consolidation, unless there were none before."""

RuleList: TypeAlias = tuple[tuple[str, str], ...]

_PROMPT = """\
You keep the long-term knowledge of the {role}: exactly {rules} rules. Below are the present \
rules, if there are any, and recent micro-lessons, newest first, each marked DO or AVOID.
Bring the rules up to date:
- keep good rules word for word, without rewriting them for style;
- merge rules that say the same;
- add at most {new} new rules, and only what several lessons support (all may be new if there \
are no present rules);
- delete a rule only if lessons contradict it or it does harm.
Each rule is one sentence that can be acted on and checked, without digits, examples or mention \
of a task. {kind}"""

_KINDS = {
    "reasoner": 'Prefer the forms "do X before Y" and "if this holds, then do that".',
    "monitor": "Each rule says how to detect and locate a mistake, not how to solve.",
    "controller": "Each rule leads from a signal to an action's name: ACCEPT, PATCH or RESTART.",
}
_ROWS = re.compile(r"^[\W_]{0,12}([A-Z])(\d{1,3})[\s*_`]{0,6}[:：.)]", re.MULTILINE | re.IGNORECASE)
_SENTENCES = re.compile(r"[.!?][\"')\]]{0,3}\s+(?=[A-Z])")
_SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Consolidator:
    """The consolidator of one role, whose rules are named by its letter."""

    role: Role
    letter: str

    @property
    def ids(self) -> tuple[str, ...]:
        """``R1`` to ``R6``."""
        return tuple(f"{self.letter}{number}" for number in range(1, RULES + 1))

    def check(self, previous: Sequence[str] = (), *, strict: bool = False) -> Check:
        """Six rules, one sentence each, no digit; under ``strict`` at most two new ones."""
        return partial(_wrong, self, tuple(previous), strict)

    def rules(self, values: Values) -> RuleList:
        """The rules by id, in order."""
        return tuple((rule, plain_rule(str(values[rule]))) for rule in self.ids)


def plain_rule(said: str) -> str:
    """A rule's first paragraph on one line, with actions called by name."""
    paragraph = re.split(r"\n[ \t]*\n", said, maxsplit=1)[0]
    return in_words(" ".join(paragraph.split()))


def new_rules(rules: RuleList, previous: Sequence[str]) -> int:
    """How many rules have a text that stood in no rule before."""
    known = {" ".join(rule.split()) for rule in previous}
    return sum(rule not in known for _, rule in rules)


def _wrong(
    consolidator: Consolidator, previous: tuple[str, ...], strict: bool, values: Values, reply: str
) -> Unreadable | None:
    rows = [(found[1].upper(), found[2]) for found in _ROWS.finditer(reply)]
    named = sorted(letter + number for letter, number in rows if letter == consolidator.letter)
    if named and named != list(consolidator.ids):
        return Unreadable(
            "rules", f"exactly {consolidator.ids[0]} to {consolidator.ids[-1]}, each once"
        )
    rules = consolidator.rules(values)
    for name, rule in rules:
        problem = _unfit(rule)
        if problem is not None:
            return Unreadable(name, problem)
    if len({rule.casefold() for _, rule in rules}) < RULES:
        return Unreadable("rules", "two of them say the same")
    if strict and previous and new_rules(rules, previous) > NEW:
        return Unreadable("rules", f"at most {NEW} may be new")
    return None


def _unfit(rule: str) -> str | None:
    if any(map(str.isdecimal, rule)):
        return "must hold no digits"
    if _SENTENCES.search(_SHORT.sub("", rule)):
        return "must be one sentence"
    return None


def _consolidator(role: str) -> Consolidator:
    letter = role[0].upper()
    reply = [
        text(f"{letter}{number}", "a rule, one sentence without digits")
        for number in range(1, RULES + 1)
    ]
    prompt = _PROMPT.format(role=role.capitalize(), rules="six", new="two", kind=_KINDS[role])
    made = Role.of(
        "consolidator",
        prompt,
        sections=("Rules?", "Lessons"),
        reply=reply,
        template=f"consolidator.{role}",
    )
    return Consolidator(made, letter)


CONSOLIDATORS: Mapping[str, Consolidator] = {role: _consolidator(role) for role in _KINDS}
