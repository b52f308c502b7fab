"""The paper's profile of the graph memory, from one end to the other on a worker: built, weighed, used.

Agent, Grounder and Inducer are SCRIPTED: who searches is right, who does not is wrong, and half of all
runs search unless a principle says so. It shows that the parts fit; it says nothing of any model.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from handlers.policies.base import Task
from handlers.policies.bases import BASES
from handlers.policies.graph_memory import GraphSettings
from handlers.policies.graph_memory.runs import canonical
from handlers.policies.graph_memory.settings import ONE_PATH
from handlers.policies.registry import find
from schemas.events.episode import EpisodeOpened
from schemas.events.graph import ExperienceShown, PairCompared, PathGrounded, PrincipleInduced
from schemas.events.learning import SeriesOpened
from schemas.fence import sections_of
from schemas.questions import ToolResult, UseTool
from state.folds.state import State
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.worker import Worker
from tests.papers.gm_says import principle, rehearsed
from tests.scripted import run
from tests.streams.cli.calling import call

SEARCHED, GUESSED = "GS SP KG TS IA KS AN", "GS KS AN"
HELPS, HARMS = "search before you answer", "answer at once and search for nothing"
_NUMBER = re.compile(r"number (\d+)")


def part(request: ModelRequest, heading: str) -> str:
    """One section of a prompt."""
    return dict(sections_of(request.messages[1][1])).get(heading, "")


@dataclass
class Scripted:
    """Plays one role; notes what it was asked."""

    role: str
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])
    flying: int = 0
    most: int = 0
    name: str = "scripted"
    simulated: bool = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        self.flying += 1
        self.most = max(self.most, self.flying)
        for _ in range(5):  # others may ask meanwhile
            await asyncio.sleep(0)
        self.flying -= 1
        text = getattr(self, self.role)(request)
        return ModelReply(text=text, finish="stop", model="scripted")

    def agent(self, request: ModelRequest) -> str:
        """Searches as the guidance says, else in half of its runs; then knows the number."""
        number = _NUMBER.findall(part(request, "Problem"))[-1]
        if len(request.messages) > 2:
            return f"It says so. <answer>{number}</answer>"
        guidance = part(request, "Guidance")
        searches = guidance.startswith(HELPS) if guidance else request.seed % 2 == 0
        if searches:
            call = json.dumps({"name": "search", "arguments": {"query": f"number {number}"}})
            return f"I look it up. <tool_call>{call}</tool_call>"
        return "I guess. <answer>none of these</answer>"

    def grounder(self, request: ModelRequest) -> str:
        """First a step that is not listed, once; then by what the transcript shows."""
        said = part(request, "Transcript")
        if len(self.asked) == 1:
            return "Path: GS TS IR AN"
        return f"Path: {SEARCHED if '[tool search: found]' in said else GUESSED}"

    def inducer(self, request: ModelRequest) -> str:
        """What tells the paths apart; every other time the opposite."""
        assert part(request, "Path that succeeded") == SEARCHED
        # Where there are no principles yet, this section is the last, with the closing words behind it.
        assert part(request, "Path that failed").partition("\n\n")[0] == GUESSED
        held = part(request, "Principles so far")
        if HELPS in held and HARMS in held:
            return json.dumps({"decision": "skip", "reasoning": "both are there"})
        return principle(HARMS if HELPS in held else HELPS)

    async def close(self) -> None:
        pass


class Numbers:
    """A tool that finds what it is asked for."""

    async def call(self, question: UseTool) -> ToolResult:
        return ToolResult(f"The answer is {dict(question.arguments)['query']}.", "found")

    async def close(self) -> None:
        pass


@dataclass
class Lived:
    """A log, and who was asked what."""

    log: Path
    agent: Scripted
    grounder: Scripted
    inducer: Scripted
    most: dict[str, int]
    """How many calls of the agent were under way at once, by phase."""


def produce(log: Path, folder: Path, phase: str, numbers: range) -> None:
    lines = [
        {
            "id": f"n{at}",
            "problem": f"What is said to be number {at} of the list?",
            "answer": str(at),
        }
        for at in numbers
    ]
    file = folder / f"{phase}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = call(
        "produce", file, "--domain", "lists", "--policy", "graph_memory", "--profile", "paper",
        "--set", f"phase={phase}", "--log", log,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "warning" not in said.err


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    folder = tmp_path_factory.mktemp("paper")
    log = folder / "graph.db"
    agent, grounder, inducer = Scripted("agent"), Scripted("grounder"), Scripted("inducer")
    most = dict[str, int]()
    for phase, numbers in (("build", range(8)), ("weigh", range(8, 32)), ("use", range(32, 44))):
        produce(log, folder, phase, numbers)
        agent.most = 0
        world = World({"*": agent, "grounder": grounder, "inducer": inducer}, HashedEmbedder())
        world.tools = Numbers()
        with closing(SqliteLog(log)) as opened:
            asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))
        most[phase] = agent.most
    return Lived(log, agent, grounder, inducer, most)


def facts(log: Path, kind: str) -> list[object]:
    with closing(SqliteLog(log)) as opened:
        return [record.event for record in opened.records(kinds=(kind,))]


def test_the_papers_graph_is_built_from_paths_that_a_model_reads(lived: Lived) -> None:
    grounded = facts(lived.log, "path.grounded")
    assert len(grounded) == 8 * 4, "four roll-outs a problem, none of them lost"
    paths = {(fact.path, fact.outcome) for fact in grounded if isinstance(fact, PathGrounded)}
    assert paths == {(SEARCHED, "right"), (GUESSED, "wrong")}
    turn = next(request for request in lived.agent.asked if len(request.messages) > 2)
    (who, said), (_, came) = turn.messages[2:]
    assert (who, "I look it up." in said) == ("assistant", True), "its own reasoning"
    assert came.startswith("<tool_response>The answer is number")
    assert all("I " in part(request, "Transcript") for request in lived.grounder.asked)
    asked_again = lived.grounder.asked[1].messages[-1][1]
    assert "TS→IR is not listed" in asked_again
    made = [f for f in facts(lived.log, "principle.induced") if isinstance(f, PrincipleInduced)]
    assert {fact.summary for fact in made if fact.decision == "create"} == {HELPS, HARMS}
    assert all(part(request, "Work that failed") == "" for request in lived.inducer.asked)


def test_the_papers_weights_learn_which_principle_helps_and_prompts_show_it(lived: Lived) -> None:
    pairs = [fact for fact in facts(lived.log, "pair.compared") if isinstance(fact, PairCompared)]
    assert len(pairs) == 24
    with closing(SqliteLog(lived.log)) as opened:
        [memory] = fold(opened, State()).memories.values()
    held = memory.latest.learned
    names = {each["summary"]: name for name, each in held["principles"].items()}
    for path in held["paths"].values():
        weights = {name: edge["weight"] for name, edge in path["principles"].items()}
        assert weights[names[HELPS]] > 1 > weights[names[HARMS]]
    shown = [e for e in facts(lived.log, "experience.shown") if isinstance(e, ExperienceShown)]
    assert len(shown) == 12
    assert all(event.items[0] == names[HELPS] for event in shown)
    graded = facts(lived.log, "graded")[-12:]
    assert {getattr(event, "outcome", None) for event in graded} == {"right"}


def test_pairs_pay_one_run_and_who_reads_no_memory_waits_for_none(lived: Lived) -> None:
    """Of 24 weighed problems each is run twice; all three series run their problems side by side."""
    opened = [e for e in facts(lived.log, "series.opened") if isinstance(e, SeriesOpened)]
    assert [(event.window, event.ahead) for event in opened] == [(1, True), (1, True), (12, None)]
    assert all(count > 1 for count in lived.most.values()), lived.most
    began = [e for e in facts(lived.log, "episode.opened") if isinstance(e, EpisodeOpened)]
    versions = [event.memory_version for event in began]
    assert versions[:32] == [0] * 32, "what reads no memory pins none"
    assert set(versions[32:]) == {32}
    first = [request for request in lived.agent.asked if len(request.messages) == 2]
    assert len(first) == 8 * 4 + 24 * 2 + 12


def test_the_papers_log_verifies_and_rebuilds(lived: Lived) -> None:
    with closing(SqliteLog(lived.log)) as log:
        done = Verifier(log, find).run()
    assert not done.diverged, done.diverged[:3]
    assert not done.unverifiable


# ── Where nothing can be learned ─────────────────────────────────────────────────────────────


PUZZLES = ("4 5 6 10", "1 2 3 4", "3 3 8 8", "2 3 5 12", "6 6 6 6")


def paths_of(base: str) -> Iterator[str]:
    policy = BASES[base]
    for at, puzzle in enumerate(PUZZLES):
        settings = policy.settings.resolve("service", {})
        ran = run(policy.solve(Task(str(at), puzzle, "game24", at), settings), rehearsed)
        if ran.result.answer is not None:
            yield canonical(ran.trace.events, ran.result, GraphSettings())


@pytest.mark.parametrize("base", sorted(ONE_PATH))
def test_bases_of_which_every_path_is_the_same(base: str) -> None:
    assert len(set(paths_of(base))) <= 1


def test_produce_says_where_nothing_can_be_learned(tmp_path: Path) -> None:
    def said(*values: str) -> str:
        words = [part for value in values for part in ("--set", value)]
        made = call(
            "produce", "game24:1-2", "--policy", "graph_memory", *words, "--log", tmp_path / "a.db"
        )
        assert made.code == 0, made.err
        return made.err

    blind = said("phase=build", "base=cot")
    assert "warning: graph_memory will learn nothing from this: every run of cot" in blind
    assert "grounding=model" in blind
    assert "warning" not in said("phase=build", "base=cot", "grounding=model")
    assert "warning" not in said("phase=build", "base=mc2")
    assert "warning" not in said("phase=use", "base=cot")
    assert "weights=frozen" in said("phase=weigh", "base=mc2", "weights=frozen")
