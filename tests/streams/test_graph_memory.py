"""Graph memory on the embedded log: built, weighed and used by a worker, verified and rebuilt.

The domain is SIMULATED (rehearsal, seed 7): one principle names what works on each kind of puzzle, one
what does not. It shows that weights find out; it says nothing of any model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import pytest

from handlers.policies.registry import find
from schemas.events.graph import ExperienceShown, PairCompared, PathGrounded, PrincipleInduced
from state.folds.state import State
from streams.backbones.port import ModelReply, ModelRequest
from streams.backbones.rehearsal import Rehearsal
from streams.backbones.rehearsal.grounds import usually
from streams.backbones.rehearsal.puzzles import PUZZLES
from streams.cli.main import main
from streams.embedders.hashed import HashedEmbedder
from streams.rebuild import fold
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from streams.world import World
from tests.papers.gm_says import principle

SEED = 7


def advice(*, works: bool) -> str:
    """A sentence for each kind of puzzle: an approach that works on most of it, or that does not."""
    lines: list[str] = []
    for at, situation in enumerate(PUZZLES.situations):
        working = usually(SEED, PUZZLES.name, at, len(PUZZLES.approaches))
        named = next(a for a in range(len(PUZZLES.approaches)) if (a in working) is works)
        lines.append(f"With {situation}, {PUZZLES.approaches[named]}.")
    return "\n".join(lines)


HELPS, HARMS = advice(works=True), advice(works=False)


@dataclass
class Inducer:
    """Proposes the harmful principle and the helpful one in turn, whatever it is shown."""

    said: Iterator[str] = field(default_factory=lambda: cycle([principle(HARMS), principle(HELPS)]))
    name: str = "scripted"
    simulated: bool = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(text=next(self.said), finish="stop", model="scripted")

    async def close(self) -> None:
        pass


def produce(log: Path, numbers: str, *values: str) -> None:
    said = [part for value in ("base=mc2", "match_above=1.0", *values) for part in ("--set", value)]
    asked = ["produce", f"game24:{numbers}", "--policy", "graph_memory", *said]
    assert main([*asked, "--log", f"sqlite:{log}", "-q"]) == 0


def work(log: Path) -> None:
    world = World({"*": Rehearsal(), "inducer": Inducer()}, HashedEmbedder())
    with closing(SqliteLog(log)) as opened:
        asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))


def right(log: SqliteLog, values: str) -> float:
    """Accuracy of the episodes that were used with these settings."""
    query = """
        select avg(json_extract(g.body, '$.outcome') = 'right') from records a
        join records g on g.episode = a.episode and g.kind = 'graded'
        where a.kind = 'problem.admitted' and json_extract(a.body, '$.problem.settings.weights') = ?
    """
    return float(log.db.execute(query, (values,)).fetchone()[0])


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("graph") / "graph.db"
    produce(log, "1-20", "phase=build")
    work(log)
    produce(log, "101-220", "phase=weigh")
    work(log)
    for weights in ("learned", "frozen"):
        produce(log, "301-400", "principles_shown=1", f"weights={weights}")
        work(log)
    return log


def test_guidance_by_learned_weights_beats_frozen_ones_where_some_principles_harm(
    domain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIMULATED. The same principles, the same problems, one shown each time."""
    with closing(SqliteLog(domain)) as log:
        learned, frozen = right(log, "learned"), right(log, "frozen")
        shown = [record.event for record in log.records(kinds=("experience.shown",))]
    assert len(shown) == 200
    assert all(isinstance(event, ExperienceShown) and len(event.items) == 1 for event in shown)
    assert learned > frozen + 0.1, (learned, frozen)


def test_what_was_learned_verifies_and_rebuilds(domain: Path) -> None:
    with closing(SqliteLog(domain)) as log:
        verifier = Verifier(log, find)
        done = verifier.run()
        assert not done.diverged, done.diverged[:3]
        assert not done.unverifiable
        kinds = ("path.grounded", "principle.induced", "pair.compared")
        facts = [record.event for record in log.records(kinds=kinds)]
        rebuilt = fold(log, State())
    for kind in (PathGrounded, PrincipleInduced, PairCompared):
        assert any(isinstance(fact, kind) for fact in facts)
    [scope] = verifier.learner.scopes.values()
    [memory] = rebuilt.memories.values()
    assert memory.latest.state() == scope.memory.latest.state()
    assert rebuilt.hash() == fold(SqliteLog(domain), State()).hash()
