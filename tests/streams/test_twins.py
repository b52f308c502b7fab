"""A learning episode of the graph memory in the real driver: twins share seeds, crashes change nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from handlers.limits import Ledger
from handlers.policies.base import Batch
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from schemas.events.base import Event
from schemas.events.episode import Forked
from schemas.events.graph import PairCompared, PrincipleInduced
from schemas.identity import canonical, is_numbered
from schemas.memory import Memory
from schemas.problem import Limits
from state.journal import Crashed, MemoryRecorder
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.core.drive import Run, drive, replayed
from streams.core.seeds import seed_address
from tests.papers.gm_says import BAD, GOOD, member, principle, remembering

PUZZLE, NEAR = "4 5 6 10", "4 5 6 12"
EPISODE = "b/s/2"


@dataclass
class Noting:
    """The simulator, or a scripted Inducer; keeps what it was asked."""

    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])
    name: str = "noting"
    simulated: bool = True
    inner: Rehearsal = field(default_factory=lambda: Rehearsal(Options(malformed=0)))

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if "principles for an agent" in request.messages[0][1]:
            return ModelReply(text=principle(), finish="stop", model="scripted")
        return await self.inner.complete(request)

    async def close(self) -> None:
        pass


def batch(phase: str) -> Batch:
    vectors = remembering(
        {NEAR: {GOOD: "right"}, PUZZLE: {BAD: "wrong"}}, {GOOD: {"m1": 1.0, "m2": 1.0}}
    )
    items = tuple(item for item in vectors.items if item.role != "case" or item.text == NEAR)
    memory = Memory("s", 1, items, vectors.learned)
    one = member("right", GOOD, PUZZLE, phase)
    told = structs.replace(one.reflected, domain="game24")
    return Batch("s", 2, (type(one)(one.episode, told, one.outcome),), memory, seed=7)


SETTINGS = GraphSettings(
    base="mc2", rollouts=4, match_above=1.0, relevance_floor=None, pairs="twins"
)


def world(backbone: Noting) -> World:
    return World({"*": backbone}, HashedEmbedder(32), patient=False)


def learn(
    phase: str, journal: dict[str, Event], stop_after: int | None = None
) -> tuple[dict[str, Event], Noting]:
    """A learning episode from a record on; what is on record then."""
    given, backbone = batch(phase), Noting()
    recorder = MemoryRecorder(stop_after=stop_after)
    run = Run(EPISODE, dict(journal), 7, given.memory, "learning", recorder, world(backbone))
    with suppress(Crashed):
        asyncio.run(drive(GRAPH_MEMORY.learn(given, SETTINGS), run, Ledger.of(Limits())))
        return run.journal, backbone
    return {**journal, **recorder.journal(EPISODE)}, backbone


def said(journal: dict[str, Event]) -> bytes:
    return canonical({at: event.to_json().decode() for at, event in journal.items()})


def test_twins_are_asked_under_equal_seeds_and_other_lanes_are_not() -> None:
    journal, backbone = learn("weigh", {})
    assert any(isinstance(event, PairCompared) for event in journal.values())
    assert any(isinstance(event, Forked) and event.twins for event in journal.values())
    reasoned = [r for r in backbone.asked if "expert at reasoning" in r.messages[0][1]]
    bare = [r for r in reasoned if "Guidance" not in r.messages[1][1]]
    led = [r for r in reasoned if "Guidance" in r.messages[1][1]]
    assert bare[0].seed == led[0].seed
    _, backbone = learn("build", {})
    seeds = [r.seed for r in backbone.asked if r.messages == backbone.asked[0].messages]
    assert len(seeds) == len(set(seeds)) > 1


def test_the_luck_of_nested_lanes() -> None:
    twins = Forked(asked="All 2", lanes=2, twins=True)
    plain = Forked(asked="All 2", lanes=2)
    journal: dict[str, Event] = {"3": twins, "3.1.4": plain, "5": plain, "5.1.0": twins}
    assert seed_address(journal, "2") == "2"
    assert seed_address(journal, "3.1.4") == seed_address(journal, "3.0.4") == "3.0.4"
    assert seed_address(journal, "3.1.4.1.7") == "3.0.4.1.7"
    assert seed_address(journal, "5.1.0.1.2") == "5.1.0.0.2"


@pytest.mark.claim("gm-alg2-l18")
@pytest.mark.parametrize("phase", ["build", "weigh"])
def test_a_crash_anywhere_leads_to_the_same_record(phase: str) -> None:
    whole, backbone = learn(phase, {})
    kind = PrincipleInduced if phase == "build" else PairCompared
    assert any(isinstance(event, kind) for event in whole.values())
    for stop in range(1, len(whole), 3):
        begun, _ = learn(phase, {}, stop)
        resumed, again = learn(phase, begun)
        assert said(resumed) == said(whole)
        known = sum(event.kind == "completed" for event in begun.values())
        assert len(again.asked) == len(backbone.asked) - known
    closed = Run(EPISODE, dict(whole), 7, batch(phase).memory, "learning")
    replayed(drive(GRAPH_MEMORY.learn(batch(phase), SETTINGS), closed, Ledger.of(Limits())))
    assert closed.visited == {at for at in whole if is_numbered(at)}
