"""The faculty of choosing: a verdict, what to do with a solution, or any listed option."""

from __future__ import annotations

import re
from functools import lru_cache

from streams.answering.backbones.rehearsal import carry
from streams.answering.backbones.rehearsal.assess import finding
from streams.answering.backbones.rehearsal.prompts import Asked
from streams.answering.backbones.rehearsal.turn import Turn

KEEP, MEND, AGAIN = "keep", "mend", "again"
_COURSES = {
    KEEP: ("accept", "keep", "stop", "finish", "done"),
    MEND: ("patch", "mend", "correct", "repair", "revise"),
    AGAIN: ("restart", "again", "reject", "retry", "backtrack"),
}
_GOOD = ("solved", "correct", "valid", "sound", "enough", "done")
_TAKEN = re.compile(r"\baction\W{1,4}(\w+)|\b(accept|patch|restart)\b", re.IGNORECASE)

_MAKES = 0.8
"""How often something new is made where that is an option."""
_TRUSTS = 0.97
"""How often the course follows a report that found nothing."""
_OVERRULES = 0.3
"""How often a right solution is kept although the report blames it."""
_OVERLOOKS = 0.04
"""How often a wrong one is."""
_MENDS_SLIP, _MENDS_OTHER = 0.5, 0.08
"""How often a blamed solution is mended: when its approach works, and else."""


def choose(turn: Turn, asked: Asked) -> str:
    """One of the options."""
    folded = set(map(str.casefold, asked.choices))
    if folded in ({"yes", "no"}, {"pass", "fail"}):
        fault = finding(turn).fault
        good = "pass" in folded or asked.speaks_of(*_GOOD)
        says = ("pass", "yes") if good != fault else ("fail", "no")
        return next(option for option in asked.choices if option.casefold() in says)
    courses = _courses(asked.choices, asked.words)
    if not courses:
        if (state := carry.state(turn, asked)) is not None:
            return state
        new = [option for option in asked.choices if option.casefold() == "create"]
        made = new if turn.dice.below("makes", _MAKES) else asked.choices
        return str(turn.dice.pick(asked.label, made or asked.choices))
    if asked.speaks_of("taken", "last"):
        return _taken(turn, courses) or asked.choices[-1]
    wanted = _course(turn)
    return next((option for option in courses if courses[option] == wanted), asked.choices[-1])


def _course(turn: Turn) -> str:
    """Consistent with the report and the solution; a false alarm may be overruled."""
    dice = turn.dice
    if not finding(turn).fault:
        return KEEP if turn.answer is not None and dice.below("trusts", _TRUSTS) else AGAIN
    if turn.answer is None:
        return AGAIN
    # A right solution is kept more often than a wrong one, though the report blames both: whoever
    # decides reads the solution too, and would add nothing if he only obeyed the report.
    if dice.below("overrules", _OVERRULES if turn.right else _OVERLOOKS):
        return KEEP
    slip = turn.tried in turn.latent.works
    return MEND if dice.below("mends", _MENDS_SLIP if slip else _MENDS_OTHER) else AGAIN


def _taken(turn: Turn, courses: dict[str, str]) -> str | None:
    """The course that the prompt says was taken; the newest section is asked first."""
    for text in reversed(turn.prompt.told):
        for named, plain in _TAKEN.findall(text):
            word = (named or plain).casefold()
            for option, course in courses.items():
                if option.casefold() == word or word in _COURSES[course]:
                    return option
    return None


def course_said(turn: Turn) -> str | None:
    """The course that this reply has chosen, if it had to."""
    for asked in turn.prompt.asked:
        if asked.kind == "choice" and asked.label in turn.said:
            return _courses(asked.choices, asked.words).get(turn.said[asked.label])
    return None


@lru_cache(maxsize=256)
def _courses(choices: tuple[str, ...], words: str) -> dict[str, str]:
    """What the options mean, if they are courses to take: by name, or by the word behind it."""
    found: dict[str, str] = {}
    for option in choices:
        behind = re.search(rf"\b{re.escape(option.casefold())}\W+(\w+)", words)
        names = {option.casefold(), behind[1] if behind else ""}
        for course, stems in _COURSES.items():
            if names & set(stems):
                found[option] = course
    # Only where each option is a course: "accept" among other words is any word.
    return found if len(found) == len(choices) else {}
