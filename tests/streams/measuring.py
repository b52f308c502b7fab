"""Small learners whose learned state hangs on vectors, one of each rule; no decision hangs on the embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handlers.policies.base import Batch, Conclusion, Policy, Task, Trace, learn_nothing
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from handlers.policies.mgv.settings import MgvSettings, rule_constants
from schemas.asking import Steps
from schemas.events.episode import Embedded
from schemas.events.graph import PrincipleInduced
from schemas.events.learning import EmbedderChanged, LessonDistilled
from schemas.identity import digest, hash01
from schemas.memory import Memory
from schemas.problem import Limits, Problem
from schemas.questions import Embed, Recall
from schemas.vectors import pack
from state.folds.state import State
from streams.engine.learner import Learner
from streams.engine.progress import Outcome
from streams.replay.lineage import command
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import scope_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.contracts.runtimes import Life, Runtime
from tests.pupil import PUPIL, PupilSettings, say

ARMS = constants(
    MetaReasonerSettings(feature_dims=8, merge_above=1.0, retire_after=2, retire_below=0.4)
)
"""Only what says the same is merged."""


def solve(task: Task, given: PupilSettings) -> Steps[Conclusion]:
    """The problem is embedded, then a report beside something else, then a proposal."""
    yield from Embed((task.problem,))
    yield from Recall(task.problem, (), 0, kinds=())
    yield from Embed((f"report of {task.problem}", "beside it"))
    yield from Embed((f"try {task.problem}",))
    reply = yield from say(task.problem)
    return Conclusion(answer=reply.text, ended_by="vote")


def reflect(trace: Trace, conclusion: Conclusion, given: PupilSettings) -> dict[str, Any]:
    """What the rules take: contexts with rewards, a proposal, the problem's own vector."""
    own, report, proposal = (e.vectors[0] for _, e in trace.events if isinstance(e, Embedded))
    reward, rating = (hash01(texts(trace), name) for name in ("reward", "rating"))
    mine = {"id": "a9", "when": "w", "text": texts(trace)[2], "parent": "a1", "vector": proposal}
    pulls = [["a1", report, reward, rating], ["a9", report, rating, reward]]
    return {"proposals": [mine], "pulls": pulls, "class": "d", "vector": own}


def texts(trace: Trace) -> list[str]:
    """The first text of every question."""
    return [trace.embedded[at][0] for at, event in trace.events if isinstance(event, Embedded)]


def measured_texts(trace: Trace, given: PupilSettings) -> tuple[str, ...]:
    return (texts(trace)[1],) * 2


def learn(batch: Batch, given: PupilSettings) -> Steps[None]:
    """A lesson of every member, and a principle."""
    for at, member in enumerate(batch.members):
        yield LessonDistilled(
            id=f"L{batch.number}.{at}",
            role="pupil",
            polarity="do",
            text=f"lesson of {member.reflected.problem}",
            subject=member.subject,
            evidence=(member.episode,),
            source="-",
        )
    yield from Embed(tuple(f"lesson of {m.reflected.problem}" for m in batch.members))
    for at, member in enumerate(batch.members):
        summary = f"principle of {member.reflected.problem}"
        (vector,) = yield from Embed((summary,))
        yield PrincipleInduced(
            case="contrast",
            decision="create",
            principle=f"M{batch.number}.{at}",
            paths=("S D",),
            summary=summary,
            score=40.0,
            vector=pack(vector),
            subject=member.subject,
        )


def _forever(given: PupilSettings) -> None:
    return None


def measuring(rule: str, given: dict[str, Any]) -> Policy[Any]:
    """A policy that learns by this rule."""

    def held(settings: PupilSettings) -> dict[str, Any]:
        return given

    return replace(
        PUPIL,
        solve=solve,
        reflect=reflect,
        measured_texts=measured_texts,
        learn=learn if rule == "graph@2" else learn_nothing,
        live_batches=_forever,
        rule=rule,
        rule_constants=held,
    )


BANDIT = measuring("linucb@1", ARMS)
CASES = measuring("beliefs@1", rule_constants(MgvSettings()))
GRAPH = measuring("graph@2", {"initial_weight": 1.0, "step_size": 0.05})
COUNT = 8


def asked(at: int) -> Any:
    """A problem of no series; some say the same."""
    text = f"the sum of {at % 5} and {at % 3}"
    problem = Problem(id=f"x{at}", problem=text, domain="d", policy="pupil")
    return "problems", f"p/d/x{at}/x", {}, problem.model_dump_json().encode()


SCOPE = scope_of(BANDIT, Problem(id="x0", problem="1", domain="d", policy="pupil"))


def changed(times: int, width: int) -> tuple[str, str, EmbedderChanged]:
    name = f"hashed-{width}"
    event = EmbedderChanged(scope=SCOPE, embedder=name)
    return f"n/{SCOPE}/-", f"embedder.{digest([name, times])}", event


def live(
    runtime: Runtime,
    policy: Policy[Any],
    width: int,
    *,
    deaths: Sequence[int] = (),
    settle: bool = False,
) -> None:
    """Workers that die, then one that does not."""
    for left in deaths:
        runtime.live(life_of(policy, width, dies_after=left))
    assert runtime.live(replace(life_of(policy, width), settle=settle)) == Outcome()


def life_of(policy: Policy[Any], width: int, *, dies_after: int | None = None) -> Life:
    """A worker with vectors of this width, that works on one thing at a time."""
    return Life(slots=1, find=lambda name: policy, dimensions=width, dies_after=dies_after)


def memory_of(log: SqliteLog, policy: Policy[Any]) -> Memory:
    """The newest version, checked by every verb that reads the log again."""
    assert Verifier(log, lambda name: policy).run().diverged == []
    learner = Learner(lambda name: policy, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    (scope,) = learner.scopes.values()
    assert fold(log, State()).memories[SCOPE].latest == scope.memory.latest
    return scope.memory.latest


def lived(
    runtime: Runtime,
    policy: Policy[Any],
    widths: Sequence[int],
    marks: Sequence[int],
    deaths: Sequence[int] = (),
    forgotten: Sequence[int] = (),
) -> Memory:
    """All problems by embedders of these widths in turn, which change before the problems at ``marks``."""
    begun = 0
    for turn, (width, end) in enumerate(zip(widths, (*marks, COUNT), strict=True)):
        if turn and width != widths[turn - 1]:
            runtime.log().publish(commands=[changed(turn, width)])
            live(runtime, policy, width, deaths=deaths)
        runtime.log().publish([asked(at) for at in range(begun, end)])
        live(runtime, policy, width)
        begun = end
    live(runtime, policy, widths[-1], settle=True)
    for at in forgotten:
        said = command(SCOPE, "d", f"x{at}", Limits(), None, None)
        runtime.log().publish(commands=[said])
        live(runtime, policy, widths[-1])
    return memory_of(runtime.log(), policy)
