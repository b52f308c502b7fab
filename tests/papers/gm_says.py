"""What models say to the graph memory in scripts, graphs to begin from, and learning episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from handlers.learning.rules import learned_after
from handlers.policies.base import Batch, Member
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from schemas.events.learning import Reflected
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.outcome import Outcome
from schemas.questions import Check, Complete, Credit
from schemas.usage import Usage
from schemas.vectors import pack
from state.folds.memory import Learned, next_memory
from state.folds.succession import Measures
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelRequest
from tests.scripted import Ran, Script, hashed, run

PROBLEM = "Which river flows through the town where the author was born?"
NEAR = "Which river flows through the town where the painter was born?"
FAR = "How many moons does the largest planet have?"
GOOD, BAD, OTHER = "GS SP KG TS IA KS AN", "GS SP KG TS KG NA", "GS SP IR SC AN"
ONE = {"initial_weight": 1.0, "step_size": 0.05}

Paths = Mapping[str, str]


def principle(summary: str = "search before answering", **more: Any) -> str:
    """The Inducer's reply in the paper's JSON."""
    meta = {
        "summary": summary,
        "strategy_principles": [
            {"principle": "search again", "confidence": "high", "confidence_score": 80}
        ],
        "overall_confidence": "high",
        "evidence_paths": [1, 2],
        "uncertainty_note": "few paths",
    }
    decision = {"decision": "create", "reasoning": "they part at the gap"}
    return orjson.dumps(
        {**decision, **more, "meta_cognition": {**meta, **more.pop("meta", {})}}
    ).decode()


def remembering(
    cases: Mapping[str, Paths],
    principles: Mapping[str, Mapping[str, float]],
    number: int = 1,
    **scores: float,
) -> Memory:
    """A memory of problems with paths and outcomes, and of paths with principles and weights."""
    items = [case_item(problem) for problem in cases]
    names = sorted({name for each in principles.values() for name in each})
    items += [rule_item(name, f"advice {name}") for name in names]
    held: dict[str, Any] = {
        "version": number,
        "cases": {
            text_digest(p): {"subject": "qa/x", "paths": edges(of)} for p, of in cases.items()
        },
        "paths": {
            path: {"principles": {m: {"weight": w} for m, w in principles.get(path, {}).items()}}
            for path in {*principles, *(path for of in cases.values() for path in of)}
        },
        "principles": {
            name: {
                "summary": f"advice {name}",
                "strategies": [],
                "score": scores.get(name, 60.0),
                "vector": pack(hashed(f"advice {name}")),
                "version": 1,
            }
            for name in names
        },
    }
    return Memory("s", number, tuple(items), held)


def edges(paths: Paths) -> dict[str, Any]:
    return {path: edge(outcome) for path, outcome in paths.items()}


def edge(outcome: str) -> dict[str, Any]:
    right, wrong = int(outcome == "right"), int(outcome == "wrong")
    return {"weight": 1.0, "right": right, "wrong": wrong, "runs": 1}


def case_item(problem: str) -> MemoryItem:
    return MemoryItem(
        id=text_digest(problem), kind="lesson", role="case", text=problem,
        text_digest=text_digest(problem), batch=1, subject=f"qa/{text_digest(problem)}",
        vector=pack(hashed(problem)),
    )  # fmt: skip


def rule_item(name: str, text: str) -> MemoryItem:
    return MemoryItem(
        id=name, kind="rule", role="principle", text=text, text_digest=text_digest(text), batch=1
    )


def member(
    outcome: str, path: str | None = GOOD, problem: str = PROBLEM, phase: str = "build", **said: Any
) -> Member:
    """A finished episode of this outcome and path."""
    told = Reflected(
        scope="s", policy="graph_memory@3", problem_id=text_digest(problem), domain="qa",
        problem=problem, problem_digest=text_digest(problem), profile="service", learning={},
        labelled=True, status="answered", usage=Usage(), memory_version=0,
        summary={"phase": phase, **({} if path is None else {"path": path}), **said},
    )  # fmt: skip
    return Member(f"p/qa/{text_digest(problem)}/run", told, outcome)


def learning(
    *members: Member,
    script: Script = (),
    memory: Memory | None = None,
    label: Callable[[Check], Outcome] | None = None,
    credit: Callable[[Credit], float | None] | None = None,
    **values: Any,
) -> Ran[None]:
    """One learning episode over these members."""
    before = memory or Memory("s", 0)
    settings = GraphSettings.resolve("service", {"rollouts": 1, **values})
    batch = Batch("s", before.number + 1, members, before, seed=7)
    return run(
        GRAPH_MEMORY.learn(batch, settings), script, memory=before, label=label, credit=credit
    )


def remembered(ran: Ran[None], memory: Memory | None = None, **values: Any) -> Memory:
    """The memory version that follows from a learning episode, by the fold and its rule."""
    before, settings = memory or Memory("s", 0), GraphSettings.resolve("service", values)
    said = Learned()
    for address, event in ran.events:
        said.feed(address, event)
    learned = learned_after("graph@2", before.learned, (), settings.constants, said.facts)
    return next_memory(before, said, before.number + 1, 1, Measures(learned))


def rehearsed(question: Complete) -> str:
    """What the simulator says."""
    request = ModelRequest(
        messages=question.messages(), sampling=question.sampling, seed=7, draw=question.draw
    )
    return Rehearsal(Options()).reply(request).text
