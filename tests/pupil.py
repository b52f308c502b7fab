"""A small learner that stands for every policy, its problems, and what a log of it means.

It recalls lessons, asks in two lanes, and learns from labels in batches of three, of which two stay
live.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from handlers.policies.base import Batch, Conclusion, Policy, Task, Trace
from schemas.asking import All, Steps, Stopped
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeOpened
from schemas.events.learning import (
    KnowledgeConsolidated,
    LessonDistilled,
    PositionVoided,
    SeriesOpened,
)
from schemas.events.reasoning import KnowledgeReached, Voted
from schemas.identity import digest, hash01, names_a_file
from schemas.problem import Feedback, Problem
from schemas.prompt import Section, Template
from schemas.questions import Complete, Embed, Recall
from schemas.reply import Reply
from schemas.settings import PolicySettings
from streams.core.backbone import ModelReply, ModelRequest, Tried, Unreachable
from streams.engine.policies import NoPolicy
from streams.replay.digest import log_digest
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import SCOPE, episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog
from tests.normal import spelled_otherwise

WINDOW, LIVE, SIZE = 3, 2, 8
TEMPLATE = Template("pupil", "Answer.", (Section("Problem", "problem"),), Reply(()))


class PupilSettings(PolicySettings):
    """No settings."""


def say(text: str, draw: int = 0) -> Complete:
    return Complete("pupil", TEMPLATE, (("problem", text),), draw=draw)


def solve(task: Task, given: PupilSettings) -> Steps[Conclusion]:
    known = yield from Recall(task.problem, ("pupil",), 2, exclude=task.subject)
    shown = [item.text for item in known.items]
    replies = yield from All(say(f"{task.problem} {shown}", draw) for draw in range(2))
    votes = [reply.text for reply in replies if not isinstance(reply, Stopped)]
    items = tuple(item.id for item in known.items)
    yield KnowledgeReached(
        round=0, role="pupil", source="0", result="composed", bullets=0, items=items
    )
    yield Voted(answer=votes[0], votes=1, of=2)
    return Conclusion(answer=votes[0], ended_by="vote")


def reflect(trace: Trace, conclusion: Conclusion, given: PupilSettings) -> dict[str, Any]:
    return {"calls": sum(isinstance(event, Completed) for _, event in trace.events)}


def learn(batch: Batch, given: PupilSettings) -> Steps[None]:
    replies = yield from All(say(f"{m.outcome} {m.reflected.problem}") for m in batch.members)
    texts: list[str] = []
    for number, (member, reply) in enumerate(zip(batch.members, replies, strict=True)):
        text = "" if isinstance(reply, Stopped) else reply.text
        yield LessonDistilled(
            id=f"L{batch.number}.{number}",
            role="pupil",
            polarity="do",
            text=f"{text} {member.outcome}",
            subject=f"d/{member.reflected.problem_id}",
            evidence=(member.episode,),
            source="0",
        )
        texts.append(text)
    yield from Embed(tuple(texts))
    rules = ((f"R{batch.number}", f"{len(batch.memory.items)} were known"),)
    yield KnowledgeConsolidated(role="pupil", rules=rules, result="consolidated")


PUPIL = Policy(
    name="pupil",
    version="1",
    about="a small learner",
    settings=PupilSettings,
    solve=solve,
    learns="labels",
    reflect=reflect,
    learn=learn,
    window=lambda given, size: WINDOW,
    live_batches=lambda given: LIVE,
)


def find(name: str) -> Policy[Any]:
    return PUPIL


def newer(name: str) -> Policy[Any]:
    """The policy of another build."""
    return replace(PUPIL, version="2")


def both(name: str) -> Policy[Any]:
    """The pupil, and one of another name."""
    return replace(PUPIL, name=name)


def only_the_other(name: str) -> Policy[Any]:
    """Where the pupil's file is gone."""
    if name == "pupil":
        raise NoPolicy("pupil.py: no such file")
    return both(name)


@dataclass
class Numbers:
    """A model that answers by prompt and draw, after a number of turns of the loop that was drawn."""

    delays: Iterator[int]
    name: str = "numbers"
    simulated: bool = True
    silent_on: str | None = None
    """What a prompt says that is never answered."""
    answered: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.silent_on is not None and self.silent_on in request.messages[-1][1]:
            raise Unreachable("here", "it hurts", Tried(attempts=1, answered=self.answered))
        self.answered += 1
        for _ in range(next(self.delays)):
            await asyncio.sleep(0)
        lucky = hash01("numbers", request.messages, request.draw)
        return ModelReply(
            text=str(int(lucky * 3)),
            finish="stop",
            model="numbers",
            prompt_tokens=3,
            completion_tokens=1,
            seconds=lucky,
        )

    async def close(self) -> None:
        pass


def problems(labelled: bool = True, size: int = SIZE) -> list[Problem]:
    return [
        Problem(
            id=str(n),
            problem=f"problem {n} of {n % 4}",
            domain="d",
            policy="pupil",
            series="s",
            position=n,
            labelled=labelled and n % 3 != 1,
        )
        for n in range(size)
    ]


def publication(
    given: list[Problem], voids: tuple[int, ...] = (), size: int = SIZE
) -> tuple[list[tuple[str, str, dict[str, Any], bytes]], list[tuple[str, str, Event]]]:
    """What ``produce`` appends in one commit."""
    scope = scope_of(PUPIL, given[0])
    messages: list[tuple[str, str, dict[str, Any], bytes]] = []
    for problem in given:
        if problem.labelled:
            label = Feedback(domain="d", problem_id=problem.id, reference="1", by="source")
            body = label.model_dump_json(exclude_none=True).encode()
            messages.append(("feedback", digest(problem.id), {}, body))
        value = problem.model_dump_json().encode()
        messages.append(("problems", episode_of(problem, "pupil"), {}, value))
    opened = SeriesOpened(
        scope=scope,
        series="s",
        size=size,
        window=WINDOW,
        timing="barrier",
        policy="pupil",
        policy_version="1",
        profile="service",
        settings={},
        seed=0,
        walk=1,
    )
    commands: list[tuple[str, str, Event]] = [(f"n/{scope}/s", "series", opened)]
    for at in voids:
        void = PositionVoided(scope=scope, series="s", position=at, reason="refused")
        commands.append((f"n/{scope}/s", f"void.{at}", void))
    return messages, commands


def opened_with(log: SqliteLog) -> dict[int, int]:
    """The memory version that each position's episode pinned."""
    names = {episode_of(problem, "pupil"): problem.position or 0 for problem in problems()}
    return {
        names[record.episode]: record.event.memory_version
        for record in log.records(kinds=["episode.opened"])
        if isinstance(record.event, EpisodeOpened) and record.episode in names
    }


def meant(log: SqliteLog) -> tuple[str, str]:
    """The digests of what was said and of what was learned."""
    verifier = Verifier(log, find)
    verified = verifier.run()
    assert not verified.diverged, verified.diverged
    assert not verified.unverifiable
    assert spelled_otherwise(log) == []
    return log_digest(log), verifier.learner.state_hash()


Put = tuple[str, str, dict[str, Any], bytes]
"""A message as it is published: topic, key, headers and value."""


def alone(name: str, policy: str = "pupil") -> Put:
    """A problem of no series."""
    problem = Problem(id=name, problem="1", domain="d", policy=policy)
    return "problems", f"p/d/{name}/x", {}, problem.model_dump_json().encode()


OWN = "pupil.py:PUPIL"


def not_given(name: str) -> Policy[Any]:
    """Where no file was given."""
    if names_a_file(name):
        raise NoPolicy(f"{name} was not given")
    return both(name)


def by_file(name: str, *, told: bool) -> Put:
    """A problem of a policy's file; its producer had that file, and told its scope, or it did not."""
    topic, key, headers, value = alone(name, OWN)
    problem = Problem.model_validate_json(value)
    return topic, key, {**headers, **({SCOPE: scope_of(both(OWN), problem)} if told else {})}, value


def no_number(given: PupilSettings) -> dict[str, Any]:
    """Constants that no record can hold."""
    return {"rate": math.nan}


def one_that_says_nonsense(name: str) -> Policy[Any]:
    """Where the pupil's constants are none that a record could hold."""
    if name == "pupil":
        return replace(both(name), rule_constants=no_number)
    return both(name)
