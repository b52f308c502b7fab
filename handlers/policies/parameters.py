"""How each role is asked, as a policy's settings say: laid over what its roles ask by themselves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from handlers.policies.around import through
from schemas.asking import Ask, Steps
from schemas.questions import Complete
from schemas.settings import PolicySettings

P = ParamSpec("P")
R = TypeVar("R")


def as_set(work: Callable[P, Steps[R]]) -> Callable[P, Steps[R]]:
    """The same work, whose questions carry what its settings, the last argument, set for their roles."""

    @wraps(work)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        steps: Any = work(*args, **kwargs)
        settings: Any = args[-1]
        # What a user's own policy gives may be no steps at all: whoever drives it says so.
        if getattr(settings, "parameters", None) and isinstance(steps, Generator):
            given = cast("Steps[R]", steps)
            return through(given, lambda question: with_parameters(question, settings))
        return cast("Steps[R]", steps)

    return asked


def with_parameters(question: Ask[Any], settings: PolicySettings) -> Ask[Any]:
    """A model call with the parameters that are set for its role; any other question as it is."""
    if not isinstance(question, Complete):
        return question
    said: dict[str, Any] = dict(settings.asked(question.role))
    return replace(question, sampling=replace(question.sampling, **said)) if said else question
