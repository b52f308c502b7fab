"""What the facts of a cascade say, in a few words."""

from __future__ import annotations

from schemas.events.base import Event
from schemas.events.cascade import AnswerWeighed, CandidatesGraded
from streams.views.words import one_line, plural


def weighed(fact: Event) -> tuple[str, str, str] | None:
    """Who, what and tone of a fact of a cascade; none of any other."""
    match fact:
        case AnswerWeighed(answer=None):
            return "weighed", f"no answer yet, of {plural(fact.of, 'chain')}", "warn"
        case AnswerWeighed():
            against = f" against {fact.runner_up}" if fact.runner_up else ""
            came = f"; {fact.arm} says {one_line(fact.came)}" if fact.came is not None else ""
            # Votes beside the chance: it was made of them,
            # and of how often such votes were right before.
            votes = f"{fact.votes}{against} of {plural(fact.of, 'chain')}{came}"
            said = f"{one_line(fact.answer or '')}   chance {fact.chance:.2f}, {votes}"
            return "weighed", f"{said}, {fact.spent:.1f} calls' worth", ""
        case CandidatesGraded():
            right = sum(outcome == "right" for outcome in fact.outcomes)
            return (
                "graded",
                f"{right} of {plural(len(fact.outcomes), 'answer')} right, by {fact.by}",
                "",
            )
        case _:
            return None
