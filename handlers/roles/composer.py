"""The composer: turns rules and lessons into guidance for one role, one problem and one round.

Source: MC² eq. (13), § C.3, figures 13, 18 and 23.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from msgspec import structs

from handlers.roles.form import Unreadable, parse
from handlers.roles.role import CUT, Role, listed, mending
from handlers.roles.values import bulleted
from schemas.asking import Steps
from schemas.questions import Completion, Sampling
from schemas.reply import Reply

COUNTS = {5: "five", 6: "six"}
WORDS = 20
"""A bullet is to have at most so many words."""
_FIGURE = re.compile(r"(?<![A-Za-z])\d")
"""Of a rule that a bullet names, such as R2, the number is none."""

Result: TypeAlias = Literal["composed", "regenerated", "fallback"]

_PROMPT = """\
You coach the {role} of a group of reasoning models. Below are {given}, and what was learned from \
other problems. You advise and do not solve the problem: write no solution and no answer.
Read everything, then write {what} for this very case: at most {most} bullets, each a line of at most \
{words} words.
{contents}"""


# A small model went on with a note for each lesson, or with a solution, at 10 of 23 first askings.
_CLOSING = """\
Now write {what}: {label} as the only heading, and below it three to {most} short bullets of advice. End with the \
last bullet: no calculation, no solution, no other heading."""
_NOTES = {
    "Recent feedback": 'Section "Recent feedback" is what the others said of the last attempt.',
    "Rules": 'Section "Rules" was learned over many problems.',
    "Lessons": """\
Section "Lessons" comes from single problems that may or may not resemble this one: ignore what does \
not apply.""",
}


@dataclass(frozen=True, slots=True)
class Coach:
    """The composer of one role: its prompt, and the one field that it replies with."""

    role: Role
    most: int

    @property
    def label(self) -> str:
        """The header that the bullets stand under."""
        return self.role.reply.fields[0].label

    @property
    def of_trajectory(self) -> bool:
        """Whether its guidance is about one trajectory, and about no other."""
        return any(section.variable == "trajectory" for section in self.role.template.sections)


@dataclass(frozen=True, slots=True)
class Bullets:
    """Guidance as bullets, and by how many bullets and words it is longer than was asked for.

    Surplus bullets are left out; a bullet that is too long stays whole, for half a rule may say its opposite.
    """

    lines: tuple[str, ...]
    cut: int = 0

    @property
    def text(self) -> str:
        """The guidance as it stands in its role's prompt."""
        return "\n".join(f"- {line}" for line in self.lines)


NOTHING = Bullets(())


@dataclass(frozen=True, slots=True)
class Composed:
    """What a composition came to."""

    bullets: Bullets
    result: Result
    source: str


def compose(
    coach: Coach,
    variables: Mapping[str, str],
    *,
    previous: Bullets,
    room: int,
    strict: bool = False,
    figures: bool = True,
    sampling: Sampling | None = None,
) -> Steps[Composed]:
    """Guidance that passes the checks: header, bullets, and at most ``room`` characters.

    Without ``figures``, bullets that name a number are left out: such a one solves where it was to advise.
    What fails is asked for once more, with the reason. What fails again leaves the previous guidance in
    force where it is about the problem; a plan for another trajectory would mislead, and none is better.
    """
    # Guidance is asked for twice at most, since every call on it is one less for the problem.
    question = coach.role.question(variables, sampling=sampling)
    reply = yield from question
    bullets, wrong = _heard(coach, reply, room, strict=strict)
    if wrong is None:
        return Composed(_advising(bullets, figures), "composed", reply.address)
    again = yield from structs.replace(question, history=mending(reply.text, wrong))
    bullets, wrong = _heard(coach, again, room, strict=strict)
    if wrong is None:
        return Composed(_advising(bullets, figures), "regenerated", again.address)
    return Composed(NOTHING if coach.of_trajectory else previous, "fallback", again.address)


def _advising(bullets: Bullets, figures: bool) -> Bullets:
    if figures:
        return bullets
    kept = tuple(line for line in bullets.lines if not _FIGURE.search(line))
    return Bullets(kept, bullets.cut + len(bullets.lines) - len(kept))


def _heard(
    coach: Coach, reply: Completion, room: int, *, strict: bool
) -> tuple[Bullets, Unreadable | None]:
    """The bullets of a reply, or why they cannot be used."""
    # Words of a prompt may have been changed for this episode; what is copied from them is
    # recognised by the words that were really asked with.
    coach = replace(coach, role=coach.role.as_asked(reply))
    if reply.cut and strict:
        return NOTHING, CUT
    text = reply.text
    if reply.cut:
        # What it had said as a whole is used: its first note, without a line that was broken off.
        # Small models write the note, and then notes on each problem that the lessons come from,
        # until they are cut.
        header = re.compile(
            rf"^[\W_]{{0,6}}{re.escape(coach.label)}[\W_]{{0,6}}$", re.MULTILINE | re.IGNORECASE
        )
        _, second, *_ = (*(found.start() for found in header.finditer(text)), None, None)
        text = text[:second] if second is not None else text.rpartition("\n")[0]
    bullets = read_bullets(coach, text, strict=strict)
    if bullets is None and reply.cut:
        return NOTHING, CUT
    if bullets is None:
        least = f"at most {coach.most} bullets of at most {WORDS} words, and nothing else"
        return NOTHING, Unreadable(coach.label, f"must hold {least}")
    if len(bullets.text) > room:
        return NOTHING, Unreadable(coach.label, f"must be shorter than {room} characters")
    return bullets, None


def read_bullets(coach: Coach, text: str, *, strict: bool = False) -> Bullets | None:
    """The bullets of a reply within their bounds, or none if it fails a check.

    The header may be missing, for the bullets are all that is asked for. What is more than was asked for is
    counted; under ``strict`` it fails the check.
    """
    # Too many items are cut here and counted, so the reader of lists must not refuse or drop them
    # first.
    values = parse(text, Reply((replace(coach.role.reply.fields[0], most=None),)))
    found = bulleted(text) if isinstance(values, Unreadable) else values[coach.label]
    # Bullets that repeat the prompt's own instructions advise nothing.
    if isinstance(found, tuple):
        found = tuple(line for line in found if not coach.role.template.says(line))
    if not isinstance(found, tuple) or not found:
        return None
    kept = tuple(" ".join(line.split()) for line in found[: coach.most])
    words = sum(max(len(line.split()) - WORDS, 0) for line in found[: coach.most])
    bullets = Bullets(kept, len(found) - len(kept) + words)
    if strict and bullets.cut:
        return None
    if strict:
        # Nothing but the header and bullets may stand there.
        lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
        header = lines[0].strip("*# ").rstrip(":：").strip("* ").replace("_", " ").casefold()
        bulleted_below = all(line.startswith("- ") for line in lines[1:])
        if header != coach.label.casefold() or not bulleted_below:
            return None
    return bullets


def _coach(
    role: str,
    label: str,
    most: int,
    given: str,
    sections: tuple[str, ...],
    what: str,
    contents: str,
) -> Coach:
    prompt = _PROMPT.format(
        role=role.capitalize(), given=given, what=what, contents=contents, most=most, words=WORDS
    )
    field = listed(label, f"bullets, a line of at most {WORDS} words each", most=most)
    sections = (*sections, "Rules?", "Lessons?")
    return Coach(
        Role.of(
            "composer",
            prompt,
            sections=sections,
            reply=[field],
            notes=_NOTES,
            template=f"composer.{role}",
            closing=_CLOSING.format(what=what, label=label, most=COUNTS[most]),
        ),
        most,
    )


COACHES: Mapping[str, Coach] = {
    "reasoner": _coach(
        "reasoner",
        "Guidance",
        6,
        "the problem",
        ("Problem", "Recent feedback?"),
        "a note on how to approach the problem",
        "Stay with strategy and leave the algebra to the Reasoner: name sub-goals, checks that "
        "pay, and pitfalls of this problem's structure, without repeating the problem.",
    ),
    "monitor": _coach(
        "monitor",
        "Review plan",
        5,
        "the problem and an excerpt of the trajectory under review",
        ("Problem", "Trajectory"),
        "a review plan",
        "Name the kinds of error that are likely here (logic, arithmetic, conditions and so on), "
        "and say where the Monitor should be strict.",
    ),
    "controller": _coach(
        "controller",
        "Decision policy",
        5,
        "the problem, and excerpts of the trajectory and of the Monitor's report",
        ("Problem", "Trajectory", "Report"),
        "a decision policy",
        "Say which signals here should lead to ACCEPT, PATCH or RESTART, how "
        "far to trust the Monitor's warnings, and what the trajectory's stability tells.",
    ),
}
