"""One policy around another: its questions changed on the way out, and what it does looked at.

A wrapped policy is still a plain generator, so replay, limits and lanes hold for it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from typing import Any, Protocol, TypeVar, cast

from msgspec import structs

from schemas.asking import All, Ask, Steps, passing
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.prompt import Section, Template
from schemas.questions import Complete, Completion, Recollection, ToolResult, UseTool

# Guidance, set parameters and words, typed answers and what a cascade spends are all laid around
# a policy by ``through``, so each layer keeps what a driver relies on: the same number of
# requests in the same order, hence the same addresses. A layer may change what is asked; it must
# never ask more, or less.

R = TypeVar("R")
Change = Callable[[Ask[Any]], Ask[Any]]
Reading = Callable[[Any], Any]

GENERATORS = frozenset({"reasoner", "step", "thinker", "conductor", "executor"})
"""Roles that produce the reasoning itself; those that judge it have guidance of their own or none."""
SLOT = Section(
    "Guidance",
    "guidance",
    optional=True,
    note='Section "Guidance" was learned from earlier problems: use what fits and ignore the rest.',
)


def guided(steps: Steps[R], text: str) -> Steps[R]:
    """The same policy with this text in the guidance slot of every prompt that asks for reasoning."""
    return through(steps, lambda question: with_guidance(question, text)) if text else steps


def with_guidance(question: Ask[Any], text: str) -> Ask[Any]:
    """A generator's question with this guidance behind any that it has; others as they are."""
    if not isinstance(question, Complete) or question.role not in GENERATORS:
        return question
    # Guidance of its own comes first: it was composed for this call, what is added was not.
    template, said = slotted(question.template), dict(question.variables)
    own = said.get(SLOT.variable, "")
    said[SLOT.variable] = f"{own}\n\n{text}" if own else text
    variables = tuple((section.variable, said[section.variable]) for section in template.sections)
    return structs.replace(question, template=template, variables=variables)


@lru_cache(maxsize=64)
def slotted(template: Template) -> Template:
    """The template with a guidance slot, behind the problem where it has none of its own."""
    if any(section.variable == SLOT.variable for section in template.sections):
        return template
    # Behind the problem, so that the constant beginning of prompts stays the same
    # for servers' caches.
    first, *others = template.sections
    return replace(template, sections=(first, SLOT, *others))


def unlearned(steps: Steps[R]) -> Steps[R]:
    """The same policy as if nothing had been learned: what its scope knows is another policy's."""

    # The question itself is still put: left out, all addresses behind it would move.
    def without_items(reply: Any) -> Any:
        return Recollection(reply.version, ()) if isinstance(reply, Recollection) else reply

    return through(steps, read=without_items)


class Watcher(Protocol):
    """Whoever looks at what a policy does."""

    def see(self, address: str, request: object, reply: object) -> None:
        """What was yielded at an address, and what came back."""
        ...


@dataclass(slots=True)
class Watch:
    """What a wrapped policy did, by addresses of its own: its facts, tool calls and replies, in order."""

    events: list[tuple[str, Event]] = field(default_factory=list[tuple[str, Event]])

    def see(self, address: str, request: object, reply: object) -> None:
        """Take what was yielded at an address, and what came back."""
        if isinstance(request, Event):
            self.events.append((address, request))
        elif isinstance(reply, Completion):
            said = Completed(asked="-", text=reply.text, finish=reply.finish, model=reply.model)
            self.events.append((address, said))
        elif isinstance(reply, ToolResult) and isinstance(request, UseTool):
            called = ToolCalled(
                asked=request.fingerprint(),
                tool=request.tool,
                result=reply.result,
                text=reply.text,
            )
            self.events.append((address, called))


def through(
    steps: Steps[R],
    change: Change | None = None,
    watch: Watcher | None = None,
    at: str = "",
    read: Reading | None = None,
) -> Steps[R]:
    """The steps of a policy, each question changed and each reply read; ``watch`` is told of everything.

    Facts stay as they are, and so does a fork but for the lanes in it.
    """
    turns, here = count(), at

    def put(request: Any) -> Any:
        nonlocal here
        here = f"{at}{next(turns)}"
        if isinstance(request, All):
            fork = cast("All[Any]", request)
            lanes = [
                through(branch, change, watch, f"{here}.{lane}.", read)
                for lane, branch in enumerate(fork.branches)
            ]
            return All(lanes, fork.allow, twins=fork.twins)
        if change is not None and isinstance(request, Ask):
            return change(cast("Ask[Any]", request))
        return request

    def got(request: object, reply: Any) -> Any:
        heard = reply if read is None else read(reply)
        if watch is not None:
            watch.see(here, request, heard)
        return heard

    return passing(steps, put, got)
