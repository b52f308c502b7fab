"""One call is kept for an answer: no limit of calls ends an episode without one that it could have had.

While a policy has no answer, whatever it asks that need not bring one must leave a call over. Where that
ends it, the call that is left asks for the answer plainly, with the work so far. An answer that a policy
has and withholds stays withheld.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar, cast

from msgspec import structs

from handlers.policies.around import GENERATORS
from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.chain import CHAIN, PROMPT
from handlers.policies.facts import generated
from handlers.roles.objects import as_text
from handlers.roles.role import Role, RoleReply
from handlers.roles.steps import shown
from schemas.asking import All, OutOfLimit, Steps, passing
from schemas.events.reasoning import Generated
from schemas.questions import Complete, Completion, Remain, Sampling, ToolResult
from schemas.settings import PolicySettings

S = TypeVar("S", bound=PolicySettings)
R = TypeVar("R")

# Methods are compared at equal calls, and a search that spends its last call on judging a
# thought would lose an answer which plain chain of thought had for one call. So the reserve is
# kept here, for all of them, and not by each. It ends with the first answer: from then on every
# call may be spent.

CLOSED = "closing"
"""Who made the answer of the kept call, as the record says it: no attempt of the policy's own."""
WORKERS = GENERATORS | {"expert"}
"""Roles whose replies are work on the problem."""

CLOSING = Role.of(
    "reasoner",
    PROMPT + '\nSection "Trajectory" holds the work so far: go on from there.',
    sections=("Problem", "Trajectory"),
    reply=CHAIN.reply.fields,
    template="chain.closing",
    mends=False,
)


def capped(settings: PolicySettings) -> Sampling:
    """The endpoint's own sampling, with the cap that a policy's settings put on a reply."""
    return Sampling(max_tokens=getattr(settings, "output_cap", None))


def answering(
    solve: Callable[[Task, S], Steps[Conclusion]], sampling: Callable[[S], Sampling] = capped
) -> Callable[[Task, S], Steps[Conclusion]]:
    """The same policy with its last call kept for an answer while it has none."""

    @wraps(solve)
    def answered(task: Task, settings: S) -> Steps[Conclusion]:
        work = Work()
        try:
            ended = yield from keeping(solve(task, settings), work)
        except OutOfLimit as limit:
            ended = Conclusion(answer=None, ended_by="limit", limit=limit.which)
        # Whoever had an answer and gives none withholds it on purpose, and what tokens, cost or
        # seconds ended leaves nothing that a call could be paid with.
        if ended.answer is not None or work.answered or ended.limit != "calls":
            return ended
        remaining = yield from Remain()
        if remaining.calls is None or remaining.calls < 1:
            return ended
        said = yield from close(task, work.done, sampling(settings), role=CLOSED)
        return replace(ended, answer=said.answer, confidence=None, confidence_source=None)

    return answered


def close(
    task: Task,
    done: Sequence[str],
    sampling: Sampling,
    at: int = 0,
    role: str = "reasoner",
) -> Steps[RoleReply]:
    """One plain chain of thought, which goes on from the work so far where there is any."""
    asked, own = CHAIN, {"problem": task.stated}
    if done:
        asked, own = CLOSING, own | {"trajectory": shown(done)}
    said = yield from asked.put(own, sampling=sampling)
    yield generated(said, at, role)
    return said


@dataclass(slots=True)
class Work:
    """What a lane knows of its episode: whether there is an answer yet, and the work on the problem.

    A lane is told of its siblings' only where they join: no call hangs on who was quicker.
    """

    answered: bool = False
    done: list[str] = field(default_factory=list[str])

    def take(self, request: object, reply: object) -> None:
        """What was yielded, and what came back."""
        if isinstance(request, Generated):
            self.answered = self.answered or request.answer is not None
        elif isinstance(reply, Completion) and isinstance(request, Complete):
            self.done += [as_text(reply.text).strip()] if request.role in WORKERS else []
        elif isinstance(reply, ToolResult) and reply.text:
            self.done.append(reply.text)

    def join(self, lanes: list[Work]) -> None:
        """Everything that the lanes came to, in their order."""
        self.answered = self.answered or any(lane.answered for lane in lanes)
        for lane in lanes:
            self.done += lane.done


def keeping(steps: Steps[R], work: Work, keeps: int = 1) -> Steps[R]:
    """The steps of a policy, of which those that may bring no answer leave so many calls over.

    In a lane none: whoever opens it hands out shares that it may use up.
    """
    lanes: list[Work] = []

    def put(request: Any) -> Any:
        lanes.clear()
        if isinstance(request, All):
            fork = cast("All[Any]", request)
            lanes.extend(Work(work.answered) for _ in fork.branches)
            pairs = zip(fork.branches, lanes, strict=True)
            branches = [keeping(branch, lane, keeps=0) for branch, lane in pairs]
            return All(branches, fork.allow, twins=fork.twins)
        if isinstance(request, Complete) and not work.answered and not answers(request):
            return structs.replace(request, keeps=keeps)
        return request

    def got(request: object, reply: Any) -> Any:
        work.take(request, reply)
        work.join(lanes)
        return reply

    return passing(steps, put, got)


def answers(question: Complete) -> bool:
    """Whether its reply always holds an answer, and never the word none."""
    fields = question.template.reply.fields
    return any(each.kind == "answer" and not (each.optional or each.none) for each in fields)
