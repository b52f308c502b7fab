"""How each role is asked, and in which words, as settings say: laid over what a policy asks by itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from msgspec import structs

from handlers.policies.around import Change, through
from handlers.roles.wording import worded
from schemas.asking import Ask, Steps
from schemas.prompt import Template
from schemas.questions import Complete
from schemas.settings import PolicySettings

# Settings and prompts are laid over questions on their way out instead of being passed to
# each role: a role's own code knows nothing of them, so they reach every role that there is,
# and those of users.

P = ParamSpec("P")
R = TypeVar("R")


def as_set(work: Callable[P, Steps[R]]) -> Callable[P, Steps[R]]:
    """The same work, whose questions carry what its settings, the last argument, set for their roles and prompts."""

    @wraps(work)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        steps: Any = work(*args, **kwargs)
        # Where nothing is set nothing is laid around it: a driver may run the
        # policy's own generator.
        change = _change_of(args[-1])
        # What a user's own policy gives may be no steps at all: whoever drives it says so.
        if change is not None and isinstance(steps, Generator):
            return through(cast("Steps[R]", steps), change)
        return cast("Steps[R]", steps)

    return asked


def _change_of(settings: Any) -> Change | None:
    """What becomes of a question under these settings; nothing where they set neither parameters nor prompts."""
    reworded = in_words(settings) if getattr(settings, "prompts", None) else None
    if not getattr(settings, "parameters", None):
        return reworded

    def change(question: Ask[Any]) -> Ask[Any]:
        asked = with_parameters(question, settings)
        return asked if reworded is None else reworded(asked)

    return change


def in_words(settings: PolicySettings) -> Change:
    """A change of questions to the words that are set for their prompts; each template is worded once."""
    known: dict[str, Template] = {}

    def change(question: Ask[Any]) -> Ask[Any]:
        if not isinstance(question, Complete):
            return question
        template = question.template
        words = settings.prompts.get(template.name)
        if words is None:
            return question
        # One template with one digest: it is kept in the log by it, and its parser is made by it.
        found = known.get(template.digest)
        if found is None:
            found = known[template.digest] = worded(template, words)
        return structs.replace(question, template=found)

    return change


def with_parameters(question: Ask[Any], settings: PolicySettings) -> Ask[Any]:
    """A model call with the parameters that are set for its role; any other question as it is."""
    if not isinstance(question, Complete):
        return question
    said: dict[str, Any] = dict(settings.asked(question.role))
    return (
        structs.replace(question, sampling=replace(question.sampling, **said)) if said else question
    )
