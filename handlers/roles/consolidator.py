"""The consolidator: keeps a role's rules in step with the lessons of the last batches.

There are two for each role. One writes six rules, neither more nor fewer, as the paper does. The other writes as many
as its lessons support, up to six, and what it writes is taken as far as it can be used.

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
from handlers.roles.role import Check, Role
from handlers.roles.values import NONE
from schemas.reply import Field

RULES = 6
# So many rules may be new in one consolidation, unless there were none before.
NEW = 2
# A rule that says what to do has so many words; NONE has one.
LEAST_WORDS = 3
# What stands behind the label of no rule: some copy how a lesson is marked.
NO_RULES = {NONE.casefold(), "do", "avoid", "both"}

RuleList: TypeAlias = tuple[tuple[str, str], ...]

_EXACT = """\
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

_UP_TO = """\
You keep the long-term knowledge of the {role}: a short list of rules, {rules} at most. Below are recent \
micro-lessons, newest first, each marked DO, AVOID or BOTH. Write down what several of them teach.
A rule is one general sentence that says what to do and when. It fits other problems too, so it names no \
number, no person and no thing of a single problem. {kind}
A few good rules are better than {rules} weak ones: write NONE behind a label that needs no rule."""

_PRESENT = """\
Section "Rules" holds the present rules. Keep a good one word for word and behind its own label, make one \
of those that say the same, leave one out only if lessons contradict it, and add at most {new}."""

_WITHDRAWN = """\
Section "Withdrawn" holds rules that were taken out of use. Write none of them again, in these words or in \
others, even if lessons ask for it."""

_CLOSING = """\
Write the rules now, a line for each label from {first} to {last}, with no number and no name in any of them."""
_NO_MORE = " Write NONE where the lessons support no rule."
_KINDS = {
    "reasoner": 'Prefer the forms "do X before Y" and "if this holds, then do that".',
    "monitor": "Each rule says how to detect and locate a mistake, not how to solve.",
    "controller": """\
Each rule leads from a signal to an action's name: ACCEPT, PATCH or RESTART. A signal is what a Monitor's report or an \
attempt shows, whatever the problem is about.""",
}
_ROWS = re.compile(
    r"^[\W_]{0,12}([A-Z])(\d{1,3})(?:[ \t]{0,2}(?:[-–—]|to\b)[ \t]{0,2}[A-Z]?\d{1,3})?[\s*_`]{0,6}[:：.)]",
    re.MULTILINE | re.IGNORECASE,
)
_SENTENCES = re.compile(r"[.!?][\"')\]]{0,3}\s+(?=[A-Z])")
_BRACKETED = re.compile(r"[ \t]{0,4}\([^()\n]{0,200}\)")
_SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Consolidator:
    """The consolidator of one role, whose rules are named by its letter. ``exact``: six rules, or none are read."""

    role: Role
    letter: str
    exact: bool

    @property
    def ids(self) -> tuple[str, ...]:
        """``R1`` to ``R6``."""
        return tuple(f"{self.letter}{number}" for number in range(1, RULES + 1))

    def check(self, previous: Sequence[str] = (), *, strict: bool = False) -> Check:
        """One rule at least, or six of one sentence each without a digit; under ``strict`` at most two new ones."""
        return partial(_wrong, self, tuple(previous), strict)

    def rules(self, values: Values) -> RuleList:
        """The rules by id, in order: all six, or those that can be used, each text once."""
        # The paper's form takes six rules as they are; any that is missing was refused by
        # ``check`` before.
        if self.exact:
            return tuple((rule, plain_rule(str(values[rule]))) for rule in self.ids)
        found: dict[str, tuple[str, str]] = {}
        for name in self.ids:
            # A reply may run rules together on one line; what follows the next label is another
            # rule.
            said = str(values.get(name, NONE))
            surplus = _ROWS.search(said, 1)
            rule = plain_rule(said[: surplus.start()] if surplus else said).lstrip("-*• ")
            rule = _BRACKETED.sub(lambda found: "" if _counts(found[0]) else found[0], rule)
            # What still holds a digit speaks of one problem and would mislead on others; a word or
            # two, such as a lesson's DO, says nothing.
            if len(rule.split()) >= LEAST_WORDS and not _counts(rule):
                found.setdefault(rule.casefold(), (name, rule))
        return tuple(found.values())


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
    problem = _inexact(consolidator, values, reply) if consolidator.exact else None
    rules = () if problem is not None else consolidator.rules(values)
    if problem is None and not rules:
        # NONE to every rule that is named is an answer where there are no rules yet, and so is a form
        # that was left empty. Where there are some, it would delete them all in silence.
        said = [str(values[name]).casefold() for name in consolidator.ids if name in values]
        lines = [line.strip(" \t-*_:：").upper() for line in reply.splitlines() if line.strip()]
        empty = bool(lines) and set(lines) <= set(consolidator.ids)
        declined = empty or (bool(said) and set(said) <= NO_RULES)
        if previous or not declined:
            problem = Unreadable("rules", "none that is a general sentence without digits")
    if problem is None and strict and previous and new_rules(rules, previous) > NEW:
        problem = Unreadable("rules", f"at most {NEW} may be new")
    return problem


def _inexact(consolidator: Consolidator, values: Values, reply: str) -> Unreadable | None:
    """Why these are not six rules, each once, of one sentence without a digit. Source: MC² § C.5."""
    # The rows are counted in the raw reply, because the parser keeps only the last of several rows
    # with one label and would hide a seventh or a doubled rule.
    rows = [(found[1].upper(), found[2]) for found in _ROWS.finditer(reply)]
    named = sorted(letter + number for letter, number in rows if letter == consolidator.letter)
    if named and named != list(consolidator.ids):
        return Unreadable(
            "rules", f"exactly {consolidator.ids[0]} to {consolidator.ids[-1]}, each once"
        )
    rules = consolidator.rules(values)
    for name, rule in rules:
        if _counts(rule):
            return Unreadable(name, "must hold no digits")
        if _SENTENCES.search(_SHORT.sub("", rule)):
            return Unreadable(name, "must be one sentence")
    if len({rule.casefold() for _, rule in rules}) < RULES:
        return Unreadable("rules", "two of them say the same")
    return None


def _counts(rule: str) -> bool:
    return any(map(str.isdecimal, rule))


def _consolidator(role: str, *, exact: bool) -> Consolidator:
    letter = role[0].upper()
    about = "a rule, one sentence without digits"
    reply = [
        Field(f"{letter}{number}", "text", about if exact else f"{about}, or NONE", required=exact)
        for number in range(1, RULES + 1)
    ]
    words = {"role": role.capitalize(), "rules": "six", "new": "two", "kind": _KINDS[role]}
    closing = _CLOSING.format(first=reply[0].label, last=reply[-1].label)
    made = Role.of(
        "consolidator",
        (_EXACT if exact else _UP_TO).format(**words),
        sections=("Rules?", "Lessons") if exact else ("Rules?", "Withdrawn?", "Lessons"),
        reply=reply,
        notes={} if exact else {"Rules": _PRESENT.format(**words), "Withdrawn": _WITHDRAWN},
        template=f"consolidator.{role}.six" if exact else f"consolidator.{role}",
        closing=closing if exact else closing + _NO_MORE,
    )
    return Consolidator(made, letter, exact)


CONSOLIDATORS: Mapping[str, Consolidator] = {
    role: _consolidator(role, exact=False) for role in _KINDS
}
"""By role: up to six rules."""
SIX: Mapping[str, Consolidator] = {role: _consolidator(role, exact=True) for role in _KINDS}
"""By role: six rules, as in the paper."""
