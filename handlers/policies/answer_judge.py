"""The judge's side run: one question about an answer and its references, and what the verdict says of it.

Nobody chooses it as a policy: ``analyse``, ``worker`` and ``bench run`` with ``--judge`` run it beside an episode.
"""

from __future__ import annotations

from handlers.policies.base import Conclusion, Policy, Task
from handlers.roles.answer_judge import ANSWER_JUDGE, VERDICTS
from schemas.asking import Steps
from schemas.events.reasoning import Generated
from schemas.settings import PolicySettings

# A judge is a policy so that its one question is recorded, limited and replayed as any other. It
# works in an episode of its own beside the one it judges: its cost stands in a column of its own,
# and the answer that it judged was delivered before, so nothing that it says can reach a prompt.


class JudgeSettings(PolicySettings):
    """What is judged: an answer, and the references that it is held against."""

    answer: str = ""
    references: tuple[str, ...] = ()


def solve(task: Task, settings: JudgeSettings) -> Steps[Conclusion]:
    """``right``, ``wrong``, or nothing where the verdict is unclear or cannot be read."""
    said = yield from ANSWER_JUDGE.ask(
        problem=task.posed,
        references="\n".join(f"- {each}" for each in settings.references),
        given_answer=settings.answer,
    )
    verdict = VERDICTS.get(said.get("Verdict") or "")
    yield Generated(answer=verdict, source=said.source, parse=said.parse)
    ended_by = "judged" if said.readable else "unread"
    return Conclusion(answer=verdict, ended_by=ended_by)


JUDGED = Policy(
    name="answer_judge",
    version="1",
    about="whether an answer says what its reference says; in side runs only",
    settings=JudgeSettings,
    roles=("answer_judge",),
    solve=solve,
    most_calls=lambda settings: 2,
)
