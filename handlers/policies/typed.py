"""Problems whose answer has a type: every role that answers is held to it, and so is what a policy ends with."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import structs

from handlers.answers.forms import canonical
from handlers.policies.around import through
from schemas.answer_type import AnswerType, WrongForm
from schemas.asking import Ask, Steps
from schemas.events.reasoning import ReplyReparsed
from schemas.prompt import Template
from schemas.questions import Complete

if TYPE_CHECKING:
    from handlers.policies.base import Conclusion, Task

S = TypeVar("S")

# A type is held twice. On the way out every template that asks for an answer says its form, so that
# a reply in another one is mended while the model still can. On the way back the conclusion is
# brought into canonical form, because a policy may make an answer of its own, as a vote does; what
# does not fit is never delivered.

WRONG_FORM = "form"
"""What ended an episode whose answer has not the form that its problem wants: nothing is delivered."""
GIVEN = frozenset({"answered", "voted"})
"""What policies say that end with whatever was answered: of no answer it says nothing."""


def held(solve: Callable[[Task, S], Steps[Conclusion]]) -> Callable[[Task, S], Steps[Conclusion]]:
    """The same policy, held to the type of its task's answer."""

    @wraps(solve)
    def worked(task: Task, settings: S) -> Steps[Conclusion]:
        steps: Any = solve(task, settings)
        said = task.answer_type
        # What a user's own policy gives may be no steps at all: whoever drives it says so.
        if said is None or not isinstance(steps, Generator):
            return cast("Steps[Conclusion]", steps)
        heard = _Heard()
        asked = _asked(cast("Steps[Conclusion]", steps), said, heard)
        return _ended(asked, said, heard)

    return worked


Tasks = Sequence[tuple["Task", int | None]]


def held_together(
    solve: Callable[[Tasks, S], Steps[tuple[Conclusion, ...]]],
) -> Callable[[Tasks, S], Steps[tuple[Conclusion, ...]]]:
    """As ``held`` for a set: each conclusion by its own task, questions where all tasks are of one type."""

    @wraps(solve)
    def worked(tasks: Tasks, settings: S) -> Steps[tuple[Conclusion, ...]]:
        steps = solve(tasks, settings)
        said = [task.answer_type for task, _ in tasks]
        if not any(said):
            return steps
        # A question of a set does not say which member it is about. With types that differ no form
        # can be demanded on the way out, and each conclusion is held to its own on the way back.
        first = said[0]
        if first is not None and len({each and each.text for each in said}) == 1:
            steps = _asked(steps, first, _Heard())
        return _each(steps, said)

    return worked


@dataclass(slots=True)
class _Heard:
    """Whether an answer was asked for once more, for whatever was wrong with it."""

    again: bool = False

    def see(self, address: str, request: object, reply: object) -> None:
        """Take what was yielded."""
        self.again = self.again or isinstance(request, ReplyReparsed)


def _ended(steps: Steps[Conclusion], said: AnswerType, heard: _Heard) -> Steps[Conclusion]:
    found = in_form((yield from steps), said)
    # Asked again in vain for the right form is another end than having nothing to say, and
    # whoever asked for a typed answer wants to know. Other words of a policy say more of
    # its end, and stand.
    if heard.again and getattr(found, "answer", "") is None and found.ended_by in GIVEN:
        return replace(found, ended_by=WRONG_FORM)
    return found


def _each(
    steps: Steps[tuple[Conclusion, ...]], said: Sequence[AnswerType | None]
) -> Steps[tuple[Conclusion, ...]]:
    found = yield from steps
    pairs = zip(found, said, strict=True)
    return tuple(one if form is None else in_form(one, form) for one, form in pairs)


def in_form(found: Conclusion, said: AnswerType) -> Conclusion:
    """The conclusion with its answer in canonical form; an answer of another form is withheld."""
    if getattr(found, "answer", None) is None:
        return found
    try:
        return replace(found, answer=canonical(said, found.answer))
    except WrongForm:
        return replace(found, answer=None, ended_by=WRONG_FORM)


def _asked(steps: Steps[S], said: AnswerType, heard: _Heard) -> Steps[S]:
    def change(question: Ask[Any]) -> Ask[Any]:
        if not isinstance(question, Complete):
            return question
        return structs.replace(question, template=_typed(question.template, said))

    return through(steps, change, heard)


@lru_cache(maxsize=512)
def _typed(template: Template, said: AnswerType) -> Template:
    if not any(field.kind == "answer" for field in template.reply.fields):
        return template
    return replace(template, reply=template.reply.typed(said))
