"""The user's own grader, as the command line names it: a file, or the name of an installed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import usage

if TYPE_CHECKING:
    from streams.answering.grading.own import OwnGrader

OPTION = "--grader"


def grader_of(spelled: str | None) -> OwnGrader | None:
    """The grader in a process of its own, which ends with this one; nothing where none was named.

    Raises a usage error where it cannot be loaded.
    """
    if spelled is None:
        return None
    from streams.answering.grading.own import NoGrader, own_grader

    try:
        return own_grader(spelled)
    except NoGrader as error:
        hint = "A file of yours holds one: NAME = Grader(name=…, version=…, grade=…)"
        raise usage(str(error), field=OPTION, error="grader.unknown", hint=hint) from error
