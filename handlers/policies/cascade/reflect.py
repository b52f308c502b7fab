"""What an episode of the cascade leaves to learn from: its candidates, and how it came from one to the next.

Pure, and without its outcome: which of the candidates are right is asked when the batch is learned from.
"""

from __future__ import annotations

from typing import Any

from handlers.answers.alike import alike
from handlers.learning.cascade import lead_key
from handlers.learning.votes import gain
from handlers.policies.base import Conclusion, Trace
from handlers.policies.cascade.settings import CascadeSettings
from handlers.roles.excerpt import excerpt
from schemas.events.cascade import AnswerWeighed
from schemas.events.episode import Embedded
from schemas.events.reasoning import Generated


def reflect(trace: Trace, conclusion: Conclusion, settings: CascadeSettings) -> dict[str, Any]:
    """Candidates, stages and the problem's vector; excerpts of the first and the last leading attempt."""
    if settings.updates == "frozen":
        return {}
    weighed = [event for _, event in trace.events if isinstance(event, AnswerWeighed)]
    problem = _Problem()
    stages = [problem.stage(event) for event in weighed]
    vector = next((e.vectors[0] for _, e in trace.events if isinstance(e, Embedded)), None)
    independent = any(event.came is not None for event in weighed)
    # The first trajectory that came to each candidate. What answered but left no text
    # has an empty one.
    attempts = [""] * len(problem.candidates)
    for _, event in trace.events:
        if isinstance(event, Generated) and event.answer is not None:
            for at, candidate in enumerate(problem.candidates):
                if not attempts[at] and alike(candidate, event.answer):
                    attempts[at] = excerpt(trace.text(event.source), settings.excerpt_chars)
    return {
        "vector": vector,
        "candidates": problem.candidates,
        "stages": stages,
        "chance": weighed[-1].chance if weighed else None,
        "independent": independent,
        "attempts": attempts,
    }


class _Problem:
    """The different answers to one problem, in the order in which they came up."""

    def __init__(self) -> None:
        self.candidates: list[str] = []

    def place(self, answer: str | None) -> int | None:
        """The place of an answer among the candidates, which it joins if it is new."""
        if answer is None:
            return None
        found = next((at for at, each in enumerate(self.candidates) if alike(each, answer)), None)
        if found is None:
            self.candidates.append(answer)
            return len(self.candidates) - 1
        return found

    def stage(self, event: AnswerWeighed) -> dict[str, Any]:
        """A weighing in plain values. After chains ``said`` is who leads the vote, after another arm its answer."""
        # The order matters: the leading answer joins the candidates before what the arm answered.
        votes = event.arm in (None, "more")
        leads = self.place(event.answer)
        return {
            "arm": event.arm,
            "votes": votes,
            "key": lead_key(event.votes, event.runner_up, event.of) if votes else event.arm,
            "margin": event.votes - event.runner_up,
            "raises": round(gain(event.votes, event.runner_up, event.of, 1 - event.context[2]), 9),
            "said": leads if votes else self.place(event.came),
            "leads": leads,
            "context": list(event.context),
            "spent": event.spent,
        }
