"""Prompts in other words, as a command line or the configuration gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from streams.interfaces.cli.errors import usage

if TYPE_CHECKING:
    from handlers.policies.base import Policy
    from schemas.settings import PromptWords
    from streams.engine.prompts.files import PromptFile
    from streams.research.bench.recipe import Recipe

CODE = "prompt.file"


def read(path: str) -> list[PromptFile]:
    """The prompts of a file or folder. Raises a usage error that names file, role and place."""
    from streams.engine.prompts.files import BadPrompt
    from streams.engine.prompts.folders import read_all

    try:
        return read_all(path)
    except BadPrompt as error:
        first, *others = str(error).split("\n")
        hint = "\n  ".join([*others, "metalogue prompts show ROLE says what stands in it"])
        raise usage(first, field="--prompts", error=CODE, hint=hint) from error


def given(path: str | None) -> Mapping[str, PromptWords]:
    """What the prompts of the command line say otherwise, else those that are configured."""
    from streams.interfaces.cli.config import load

    place = path or load().prompts
    if place is None:
        return {}
    return {each.prompt.name: each.changed for each in read(place) if each.changed}


def set_for(policy: Policy[Any], path: str | None) -> dict[str, Any]:
    """The setting of a policy that these prompts make; nothing where it asks with none of them."""
    from schemas.settings import PROMPTS
    from streams.engine.prompts.catalogue import asked_by

    words = given(path)
    found = asked_by(policy, words) if words else {}
    # Without words there is no setting, not an empty one: that would make another episode of the
    # same problem.
    return {PROMPTS: found} if found else {}


def given_to(policy: str, path: str | None) -> Mapping[str, PromptWords]:
    """What the prompts of a policy that was found say otherwise."""
    from schemas.settings import PROMPTS
    from streams.engine.policies import find

    found: Mapping[str, PromptWords] = set_for(find(policy), path).get(PROMPTS, {})
    return found


def reworded(recipe: Recipe, said: Sequence[str]) -> Recipe:
    """The recipe whose runs ask in these words: ``DIR|FILE`` of all of them, ``RUN=DIR|FILE`` of one."""
    from streams.engine.policies import NoPolicy, find
    from streams.interfaces.cli.config import load

    places = {name: load().prompts for name in recipe.runs}
    for each in said:
        name, equals, path = each.partition("=")
        one = {name: path} if equals and name in recipe.runs else dict.fromkeys(recipe.runs, each)
        places |= one
    runs = dict(recipe.runs)
    for name, run in recipe.runs.items():
        if places[name] is None:
            continue
        # A policy that is not here is told of where it is run, as it is without any prompts.
        with suppress(NoPolicy):
            words = set_for(find(run.policy), places[name])
            runs[name] = run.model_copy(update={"settings": {**words, **run.settings}})
    return recipe.model_copy(update={"runs": runs})
