"""The screen of another tool's trace: where it came from, what was said and done, how it was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from schemas.events.base import Event
from schemas.events.learning import Graded
from schemas.events.traces import TraceTaken
from state.folds.grades import GradesFold, Known
from streams.interfaces.cli.show.page import Page, outcome
from streams.interfaces.cli.show.paste import command
from streams.views.words import clean, one_line

STEP_CHARS = 2_000
"""Of a step that are shown; all of it: --json."""


def known_of(episode: str, journal: Mapping[str, Event]) -> Known:
    """What is known of its answer."""
    # By the fold that memories use, so that a verdict counts here exactly as it does in learning.
    fold = GradesFold()
    for event in journal.values():
        if isinstance(event, Graded):
            fold.feed(episode, event)
    return fold.of(episode)


def page_of(episode: str, taken: TraceTaken, journal: Mapping[str, Event], log: str | None) -> Page:
    """The whole screen."""
    # Where it came from stands at the top: nothing below was done by this
    # system, or paid for through it.
    page = Page()
    model = taken.model and f"({taken.model})"
    trace = f", trace {taken.trace}" if taken.trace else ""
    tool = " ".join(filter(None, (taken.tool or "an unknown tool", model)))
    whose = clean(f"taken from {tool}{trace}, in {taken.source}")
    page.line((taken.problem_id, "strong"), f"  {taken.domain}  ", (whose, "note"))
    page.wrapped(one_line(taken.problem))
    page.line()
    graded = outcome(known_of(episode, journal), taken.answer is not None)
    page.line("answered ", (one_line(taken.answer or "nothing"), "strong"), "   ", graded)
    page.line((f"{taken.scope}, no work of ours: in no accuracy, budget or sum of tokens", "dim"))
    page.line()
    for number, step in enumerate(taken.steps):
        who: str = step.by
        said = step.text
        if who == "tool":
            who = f"calls {clean(step.tool or 'a tool')}"
            who += f" with {one_line(step.asked)}" if step.asked else ""
        # An empty result and one that the other tool did not record are different things.
        if said is None:
            said = "(its result is not in the trace)"
        elif step.failed:
            said = f"failed: {said}"
        page.line((f"{number:>3}  ", "dim"), (who, "strong"))
        for line in clean(said)[:STEP_CHARS].split("\n"):
            page.wrapped(line, indent=5)
    page.line()
    page.line(("all of it  ", "dim"), command("show", episode, "--json", log=log))
    return page


def case_json(episode: str, taken: TraceTaken, journal: Mapping[str, Event]) -> dict[str, Any]:
    """The same for programs."""
    known = known_of(episode, journal)
    told = {name: value for name, value in structs.asdict(taken).items() if name != "version"}
    steps = [
        {k: v for k, v in structs.asdict(step).items() if v is not None} for step in taken.steps
    ]
    graded = known.standing(taken.answer is not None)
    return {"episode": episode, **told, "steps": steps, "outcome": known.outcome, "graded": graded}
