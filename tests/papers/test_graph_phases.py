"""Graph memory: in which phase an episode reads the graph, and what each leaves, a trace that was taken included."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from handlers.policies.base import Conclusion, Task
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from schemas.questions import Recall
from tests.handlers.policies.test_taken import TAKEN
from tests.papers.gm_says import GOOD, NEAR, PROBLEM, remembering
from tests.scripted import Ran, run

MEMORY = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0}})
ANSWER = "<answer>the Aare</answer>"


def episode(version: int = 1, **values: Any) -> Ran[Conclusion]:
    settings = GraphSettings.resolve("service", values)
    task = Task("h1", PROBLEM, "qa", 7, memory_version=version)
    return run(GRAPH_MEMORY.solve(task, settings), [ANSWER], memory=MEMORY)


@pytest.mark.parametrize(
    ("phase", "shown", "version", "reads"),
    [
        ("use", 3, 1, True),
        ("use", 0, 1, False),
        ("use", 3, 0, False),
        ("build", 3, 1, False),
        ("weigh", 3, 1, False),
    ],
)
def test_only_an_episode_that_is_to_be_guided_reads_the_graph(
    phase: str, shown: int, version: int, reads: bool
) -> None:
    ran = episode(version, phase=phase, principles_shown=shown)
    assert any(isinstance(question, Recall) for _, question in ran.asked) is reads
    guidance = dict(ran.requests[0].variables).get("guidance", "")
    assert guidance == ("advice m1" if reads else "")


def test_each_phase_leaves_what_its_learning_needs() -> None:
    def left(**values: Any) -> dict[str, Any]:
        ran = episode(**values)
        return GRAPH_MEMORY.reflect(ran.trace, ran.result, GraphSettings.resolve("service", values))

    assert left(phase="use") == {}
    assert left(phase="weigh", lone="run") == {
        "phase": "weigh",
        "answer": "the Aare",
        "lone": "run",
    }
    built = left(phase="build")
    assert built.keys() == {"phase", "path", "excerpt"}
    assert (built["phase"], built["path"]) == ("build", "GS IR AN")
    assert left(phase="build", excerpt_chars=0) == {"phase": "build", "path": "GS IR AN"}
    read = left(phase="build", grounding="model")
    assert read == {"phase": "build", "transcript": f"[reply]\n{ANSWER}\n\n[end: an answer]"}


@pytest.mark.parametrize("phase", ["use", "weigh", "build"])
def test_a_trace_leaves_what_a_building_episode_does_whatever_the_phase(phase: str) -> None:
    """Its answer is the trace's own: one without any ends in no answer."""
    assert GRAPH_MEMORY.takes is not None
    settings = GraphSettings.resolve("service", {"phase": phase})
    answered = GRAPH_MEMORY.takes(TAKEN, settings)
    silent = GRAPH_MEMORY.takes(structs.replace(TAKEN, answer=None), settings)
    assert answered.keys() == silent.keys() == {"phase", "path", "excerpt"}
    assert {answered["phase"], silent["phase"]} == {"build"}
    assert answered["path"].split()[-1] == "AN"
    assert silent["path"].split()[-1] == "NA"
    assert answered["excerpt"].endswith("[end: an answer]")
    assert silent["excerpt"].endswith("[end: no answer]")
