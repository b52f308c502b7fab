"""The distiller: one micro-lesson of one role from one episode, or from a whole batch.

Source: MC² eq. (10), § C.4, figures 14, 19 and 24.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from handlers.roles.controller import ACTIONS, NUMBERED, in_words
from handlers.roles.form import Unreadable, Values, parse, render_reply
from handlers.roles.role import Check, Role, choice, listed, text
from handlers.roles.values import ECHO, NONE
from schemas.reply import Field, Reply

POLARITY = {
    "do": "DO: this attempt was accepted at once. Teach what to repeat.",
    "avoid": "AVOID: this attempt failed in every round. Teach what to avoid and how to see it.",
    "both": """\
BOTH: a first attempt was sent back, and the next one was accepted. Teach what was wrong with the first, how \
that could be seen, and what the second did instead.""",
    "patched": """\
BOTH: a slip in this attempt was mended, and nobody checked the result. Teach how to see such a slip, and how to \
avoid it.""",
    "taken_do": "DO: this attempt of another assistant was judged right. Teach what to repeat.",
    "taken_avoid": "AVOID: this attempt of another assistant was judged wrong. Teach what to avoid and how to see it.",
}
"""What the section "Polarity" says."""

_SHARED = """
You see one finished case: the problem, an excerpt of the last trajectory, and the Monitor's report and \
the Controller's decision, as far as there are any. The section "Polarity" says whether what was done is \
to be repeated or avoided. Fill in every line of the form in a few words. The numbers of the case may be \
mentioned, except where the form bars digits."""

_REASONER = f"""\
You write a micro-lesson for a Reasoner: one short example of how to carry out a solution, drawn \
from one case.{_SHARED}
Write steps as commands. Leave the rules about the form of the answer as they are."""

_MONITOR = f"""\
You write a micro-lesson for a Monitor: one short example of how to find the decisive fault in a \
trajectory, or how to make sure that there is none, drawn from one case.{_SHARED}
Teach how to find and locate a fault, not how to solve the problem. Where the report found none, teach how \
to make sure of that: such work is checked step by step too. Leave the form of the Monitor's summary as it is."""

# Not told what a signal is, a small model took the quantities of the problem for signals, and its rules
# fitted no other problem.
_CONTROLLER = f"""\
You write a micro-lesson for a Controller: one short example of how signals lead to one of its actions, \
drawn from one case. The Controller reads an attempt and the Monitor's report on it; then it takes the answer \
(ACCEPT), mends a slip (PATCH) or has the Reasoner begin again (RESTART).{_SHARED}
A signal is something that the Controller could see in the report or in the attempt, whatever the problem is about: \
whether a fault was found, of what kind it is and how early it comes, whether the report agrees with the attempt, \
what the rounds before came to. What the problem itself says is no signal.
Teach which action to take, not how to solve the problem. Advice for a restart names no number and gives \
no solution away."""

_BATCH = """\
You write one micro-lesson for the {role}, drawn from a batch of cases.
Find what recurs, and say what to do and what to avoid, so that the {role} can act on it."""

_DESCRIPTOR = "the kind of problem in three to eight words, without digits or names"
_EXAMPLE = "Good_error_report_example"
_CORE = {
    "reasoner": "Execution_recipe",
    "monitor": "Diagnostic_procedure",
    "controller": "Decision_rule_used",
}
"""What a lesson of a role teaches."""
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_SECTIONS = (
    *("Problem", "Polarity", "Outcome?", "Course?"),
    *("Trajectory", "Report?", "Decision?", "Rejected attempt?"),
)
_NOTES = {
    "Course": 'Section "Course" says what each round came to, and how each role did.',
    "Rejected attempt": """\
Section "Rejected attempt" is what was sent back before; the trajectory, report and decision are of the attempt \
that was accepted after it.""",
}
# A small model that read a solution last wrote one, and no lesson; told of the first label alone
# it wrote no other.
_CLOSING = """\
The case is finished, so do not solve its problem. Write its lesson now, in a few words behind each of these labels, \
and each label at the start of a line of its own: {labels}."""
_CLOSING_SIGNALS = """\
The case is finished: solve nothing, and name none of its figures. A signal is what the Monitor's report said. Write \
its lesson now, a few words behind each of these labels, each on a line of its own: {labels}."""
_CLOSING_BATCH = """\
The cases are finished, so solve nothing. Write their lesson now, each of these labels at the start of a line of its \
own: {labels}."""
_RULE = tuple(re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("IF", "THEN", "BECAUSE"))


@dataclass(frozen=True, slots=True)
class Distiller:
    """The distiller of one role. ``barred`` fields hold no digit; ``embedded`` ones are its key."""

    role: Role
    barred: tuple[str, ...]
    embedded: tuple[str, ...]
    taught: tuple[str, ...]
    """What a lesson teaches: one of these fields says something, or there is no lesson."""

    def declines(self, values: Values) -> bool:
        """Whether a reply that can be read says of its own accord that its case teaches nothing."""
        return all(values.get(label, ()) in (NONE, ()) for label in self.taught)

    def check(self, last_action: int | None = None, *, strict: bool = True) -> Check:
        """The rules that the fields alone cannot say; under ``strict`` the paper's, and no field may be missing."""
        return partial(_wrong if strict else _empty, self, last_action)

    def taken(self, values: Values, last_action: int | None = None) -> Values:
        """A lesson as it is kept: numbers in barred lines have no figures, and the action is the one that was taken.

        Of a lesson that passed the strict check nothing changes.
        """
        # Lessons are shown with other problems, and their keys are compared with those of other
        # lessons: a figure of this case would mislead the one and pull at the other.
        barred = {
            label: " ".join(_DIGITS.sub("N", str(values[label])).split())
            for label in self.barred
            if label in values
        }
        kept = {**values, **barred}
        # The action that was taken is on record; what the model says of it cannot be better.
        if last_action is not None:
            kept["Action_taken"] = NUMBERED[str(last_action)]
        # A field that hangs on a choice goes with it, once the choice was set right.
        return {
            field.label: kept[field.label]
            for field in self.role.reply.fields
            if field.label in kept
            and (field.when is None or kept.get(field.when[0]) in field.when[1])
        }

    def text(self, values: Values, polarity: str) -> str:
        """The canonical text of a lesson, headed by its polarity."""
        lesson = in_words(render_reply(self.role.reply, values))
        # The paper's example has a heading of its own above three lines; many models write the
        # lines alone, and a text in two forms would be found by two keys.
        if "Error_found" in values and _EXAMPLE not in values:
            lesson = lesson.replace("\nError_found: ", f"\n{_EXAMPLE}:\nError_found: ", 1)
        return f"Polarity: {polarity.upper()}\n{lesson}"

    def embedding_text(self, values: Values, *, descriptor_only: bool = False) -> str:
        """What is embedded of a lesson: its main fields, or its descriptor alone (MC² § C.7)."""
        labels = ("Descriptor",) if descriptor_only else self.embedded
        found = (values.get(label) for label in labels)
        return "\n".join(
            in_words(one if isinstance(one, str) else "\n".join(one))
            for one in found
            if isinstance(one, str | tuple)
        )

    def found_by(self, text: str, *, descriptor_only: bool = False) -> str:
        """What is embedded of a lesson, from its canonical text; all of it where nothing can be read."""
        # The text was written by ``text`` in this or an earlier build, so no field is required of
        # it.
        values = parse(text.partition("\n")[2], _at_least(self.role.reply, ()))
        if isinstance(values, Unreadable):
            return text
        return self.embedding_text(values, descriptor_only=descriptor_only)


def _wrong(
    distiller: Distiller, last_action: int | None, values: Values, reply: str
) -> Unreadable | None:
    """Why a lesson is not of the paper's form. Source: MC² figures 14, 19 and 24."""
    # The lenient form was read first; the paper's needs every field, so the reply is read once
    # more as a whole.
    whole = parse(reply, distiller.role.reply)
    if isinstance(whole, Unreadable):
        return whole
    copied = next((label for label in whole if label not in values), None)
    if copied is not None:
        return Unreadable(copied, ECHO)
    rule, taken = values.get("Decision_rule_used"), values.get("Action_taken")
    if rule is not None and not is_rule(str(rule)):
        return Unreadable("Decision_rule_used", "must read IF ... THEN an action BECAUSE ...")
    # The recorded action is what the lesson is about. A lesson on another one would teach what did
    # not happen.
    known = None if last_action is None else NUMBERED[str(last_action)]
    if None not in (taken, known) and taken != known:
        return Unreadable("Action_taken", f"must be {known}, the action that was taken")
    empty = _empty(distiller, last_action, values, reply)
    if empty is not None:
        return empty
    for label in distiller.barred:
        line = str(values[label])
        if any(map(str.isdecimal, line)):
            return Unreadable(label, "must hold no digits")
        if "\n" in line:
            return Unreadable(label, "must be one line")
    return None


def _empty(
    distiller: Distiller, last_action: int | None, values: Values, reply: str
) -> Unreadable | None:
    if set(values) == {"Descriptor"}:
        return Unreadable("Do", "missing, and so is Avoid")
    return None


def is_rule(line: str) -> bool:
    """Whether a line reads IF … THEN … BECAUSE …: the first of each word decides, for nothing comes sooner."""
    # A pattern of all three words with anything between them would take the cube of a line's
    # length.
    at = 0
    for word in _RULE:
        found = word.search(line, at)
        if found is None:
            return False
        at = found.end()
    return at < len(line)


def _at_least(reply: Reply, needed: tuple[str, ...]) -> Reply:
    """The form with nothing required but these fields, whatever was chosen; each may say NONE."""
    fields = (
        replace(field, least=0)
        if field.label in needed
        else replace(field, required=False, when=None, least=0)
        for field in reply.fields
    )
    return Reply(tuple(fields), reply.reasons)


def _one(
    role: str, prompt: str, reply: list[Field], barred: int, embedded: tuple[str, ...]
) -> Distiller:
    labels = tuple(field.label for field in reply)
    closing = _CLOSING_SIGNALS if role == "controller" else _CLOSING
    made = Role.of(
        "distiller",
        prompt,
        sections=_SECTIONS,
        reply=reply,
        notes=_NOTES,
        template=f"distiller.{role}",
        closing=closing.format(labels=", ".join(labels)),
    )
    # A small model leaves lines out. A lesson without its kind of problem cannot be found again,
    # and one without its core teaches nothing; all else may be missing.
    least = _at_least(made.reply, ("Descriptor", _CORE[role]))
    return Distiller(replace(made, least=least), labels[:barred], embedded, (_CORE[role],))


DISTILLERS: Mapping[str, Distiller] = {
    "reasoner": _one(
        "reasoner",
        _REASONER,
        [
            text("Descriptor", _DESCRIPTOR),
            text(
                "Applicable_when",
                "what such problems have in common, in one line without digits",
            ),
            listed("Execution_recipe", "numbered imperative steps", least=3, most=4),
            Field("Key_checks", "list", "checks", most=4, required=False),
            Field(
                "Worked_snippet",
                "list",
                "lines of a telling fragment of this case",
                least=3,
                most=10,
                required=False,
            ),
            listed("Failure_mode_to_avoid", "what goes wrong here, in a line", least=0, most=1),
        ],
        2,
        ("Descriptor", "Applicable_when", "Execution_recipe"),
    ),
    "monitor": _one(
        "monitor",
        _MONITOR,
        [
            text("Descriptor", _DESCRIPTOR),
            listed("Red_flags_seen", "red flags, if there are any", least=0, most=3),
            listed("Where_to_check_first", "where to look", least=1, most=1),
            listed(
                "Diagnostic_procedure",
                "numbered steps of a check, also where there was no fault",
                least=3,
                most=3,
            ),
            listed("Minimal_countercheck", "one concrete check on this case", least=1, most=1),
            Field(
                _EXAMPLE,
                "text",
                "nothing on this line; the three lines below it are the example",
                required=False,
            ),
            choice(
                "Error_found", ("YES", "NO"), "YES: a mistake changes the answer; NO: none does"
            ),
            text("Error_step", "a step number or NONE"),
            text("Error_description", "one sentence"),
        ],
        1,
        ("Descriptor", "Red_flags_seen", "Diagnostic_procedure"),
    ),
    "controller": _one(
        "controller",
        _CONTROLLER,
        [
            text("Descriptor", _DESCRIPTOR),
            listed(
                "Signals_observed",
                "what report and attempt showed, without figures",
                least=2,
                most=2,
            ),
            text(
                "Decision_rule_used",
                "one sentence with IF, THEN and BECAUSE in this order: the signal, the action, the reason",
            ),
            choice(
                "Action_taken",
                ACTIONS,
                "the Controller's last action",
                NUMBERED,
            ),
            Field(
                "If_RESTART_advice_example",
                "text",
                "what the next attempt was told to do otherwise, in one sentence",
                when=("Action_taken", ("RESTART",)),
            ),
        ],
        1,
        ("Descriptor", "Signals_observed", "Decision_rule_used"),
    ),
}


def _batch(role: str) -> Distiller:
    reply = [
        text("Descriptor", _DESCRIPTOR),
        Field("Do", "list", "what to repeat, a line each", least=0, most=4, required=False),
        Field("Avoid", "list", "what to avoid, a line each", least=0, most=4, required=False),
    ]
    prompt = _BATCH.format(role=role.capitalize())
    sections = ("Do?", "Avoid?", "Mended?")
    made = Role.of(
        "distiller",
        prompt,
        sections=sections,
        reply=reply,
        notes={
            "Do": 'Section "Do" holds cases that were accepted at once.',
            "Avoid": 'Section "Avoid" holds cases that failed in every round.',
            "Mended": 'Section "Mended" holds cases that were put right by another attempt, or by a patch.',
        },
        template=f"distiller.batch.{role}",
        closing=_CLOSING_BATCH.format(labels=", ".join(field.label for field in reply)),
    )
    return Distiller(made, ("Descriptor",), ("Descriptor", "Do", "Avoid"), ("Do", "Avoid"))


BATCH_DISTILLERS: Mapping[str, Distiller] = {role: _batch(role) for role in DISTILLERS}
