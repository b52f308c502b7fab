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
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from handlers.learning import graph
from handlers.learning.reinforce import relevance
from handlers.policies.registry import find
from schemas.events.graph import ExperienceShown, PairCompared, PathGrounded, PrincipleInduced
from schemas.memory import Memory
from state.folds.state import State
from state.projections.graph import every_edge
from state.tables.lance import connected
from state.tables.registry import TABLES
from state.tables.table import WATERMARK
from streams.answering.backbones.rehearsal import Rehearsal
from streams.answering.backbones.rehearsal.grounds import usually
from streams.answering.backbones.rehearsal.puzzles import PUZZLES
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.interfaces.cli.main import main
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.projector import LogSource, Projector, tables_path
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.worker import Worker
from tests.papers.gm_says import principle
from tests.streams.cli.calling import call

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
    """Proposes the helpful principle and the harmful one in turn, whatever it is shown."""

    said: Iterator[str] = field(default_factory=lambda: cycle([principle(HELPS), principle(HARMS)]))
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
    produce(log, "21-40", "phase=build")
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
    assert 195 <= len(shown) <= 200, "a few are like no problem that was met"
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


# ── Tables, screens, files ───────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tables(domain: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of the graph's tables, as the projector keeps them."""
    with closing(SqliteLog(domain)) as log:
        projector = Projector(log, [name for name in TABLES if name.startswith("graph_")])
        projector.open()
        projector.close()
        source = LogSource(log, projector.state)
        made = {
            name: [dict(row) for row in TABLES[name].rows(source, list(TABLES[name].keys(source)))]
            for name in projector.tables.open_tables
        }
    for name, rows in made.items():
        written = connected(tables_path(domain)).open_table(name).to_arrow().to_pylist()
        keys = {row["key"] for row in written} - {WATERMARK}
        assert keys == {row["key"] for row in rows}
        assert len(written) == len(keys) + 1
    return made


def test_the_graph_stands_in_tables(domain: Path, tables: dict[str, list[dict[str, Any]]]) -> None:
    with closing(SqliteLog(domain)) as log:
        [memory] = fold(log, State()).memories.values()
        offsets = {r.offset for r in log.records(kinds=("memory.versioned",))}
    held = memory.latest.learned
    edges = {(e["layer"], e["source"], e["target"]): e for e in tables["graph_edges"]}
    for path, node in held["paths"].items():
        for name, edge in node["principles"].items():
            assert edges["path_principle", path, name]["weight"] == edge["weight"]
    assert len([e for e in edges if e[0] == "case_path"]) == sum(
        len(case["paths"]) for case in held["cases"].values()
    )
    assert {row["path"] for row in tables["graph_paths"]} == set(held["paths"])
    assert {row["id"] for row in tables["graph_queries"]} == set(held["cases"])
    live = {row["id"] for row in tables["graph_metacognitions"] if row["live"]}
    assert live == set(held["principles"])
    assert {row["off"] for row in tables["graph_edges"]} <= offsets


def test_a_graph_that_grows_is_projected_row_by_row(tmp_path: Path) -> None:
    """What single versions changed adds up to what is there when it is written at once."""
    log = tmp_path / "a.db"
    produce(log, "21-26", "phase=build")
    work(log)
    produce(log, "7-12", "phase=weigh")
    work(log)
    with closing(SqliteLog(log)) as opened:
        state = fold(opened, State())
        source = LogSource(opened, state)
        for name in ("graph_paths", "graph_edges"):
            keys = list(TABLES[name].keys(source))
            whole = {row["key"]: row for row in TABLES[name].rows(source, keys)}
            parts = {row["key"]: row for key in keys for row in TABLES[name].rows(source, [key])}
            assert parts == whole


def test_graph_show_on_the_screen_and_as_files(domain: Path, tmp_path: Path) -> None:
    log = f"sqlite:{domain}"
    with closing(SqliteLog(domain)) as opened:
        [memory] = fold(opened, State()).memories.values()
    learned = {item.id for item in memory.latest.items if item.text.startswith((HELPS, HARMS))}
    assert len(learned) == 2
    said = call("graph", "show", "--log", log)
    assert said.code == 0
    for part in ("principles", "paths", "queries", *learned, "strength high"):
        assert part in said.out
    shown = call("graph", "show", "--log", log, "--json").json
    assert len(shown["queries"]) == 20
    assert {each["id"] for each in shown["principles"]} == learned
    assert all(each["evidence"] for each in shown["principles"])
    page, xml = tmp_path / "g.html", tmp_path / "g.graphml"
    for file in (page, xml):
        assert call("graph", "show", "--log", log, "--file", file).code == 0
    text = page.read_text()
    assert "<script" not in text
    assert "http" not in text
    assert text.count('<path class="link ') == len(shown["edges"])
    assert all(name in text for name in learned)
    root = ET.parse(xml).getroot()
    edges = root.findall(".//{*}edge")
    nodes = {node.get("id") for node in root.findall(".//{*}node")}
    assert len(edges) == len(shown["edges"])
    assert all({edge.get("source"), edge.get("target")} <= nodes for edge in edges)
    assert call("graph", "show", "--log", log, "--file", tmp_path / "g.png").code == 2
    early = call("graph", "show", "--log", log, "--at", 1, "--json").json
    assert len(early["queries"]) == 1


def test_the_graph_for_other_tools_weighs_each_edge(domain: Path, tmp_path: Path) -> None:
    file, log = tmp_path / "g.graphml", f"sqlite:{domain}"
    assert call("graph", "show", "--log", log, "--file", file).code == 0
    xml = "{http://graphml.graphdrawing.org/xmlns}"
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    assert "weight" in {key.attrib["id"] for key in root.iter(f"{xml}key")}
    shown = call("graph", "show", "--log", log, "--json").json["edges"]
    found = {
        (edge.attrib["source"], edge.attrib["target"]): edge.findtext(f"{xml}data[@key='weight']")
        for edge in root.iter(f"{xml}edge")
    }
    assert found == {(e["source"], e["target"]): str(e["weight"]) for e in shown}


def test_other_tools_read_the_graph(domain: Path, tmp_path: Path) -> None:
    networkx: Any = pytest.importorskip("networkx", reason="a reader of GraphML, in no lock")
    file, log = tmp_path / "g.graphml", f"sqlite:{domain}"
    assert call("graph", "show", "--log", log, "--file", file).code == 0
    read, shown = networkx.read_graphml(file), call("graph", "show", "--log", log, "--json").json
    assert read.is_directed()
    assert {node for node, said in read.nodes(data=True) if said["layer"] == "principle"} == {
        each["id"] for each in shown["principles"]
    }
    weights = {(a, b): said["weight"] for a, b, said in read.edges(data=True)}
    assert weights == {(e["source"], e["target"]): e["weight"] for e in shown["edges"]}


def test_graph_show_what_a_problem_activates(domain: Path) -> None:
    """Layer by layer; the last one is the relevance by which principles are shown."""
    log = f"sqlite:{domain}"
    said = call("graph", "show", "--problem", "4 5 6 10", "--log", log)
    assert said.code == 0
    assert all(name in said.out for name in ("queries", "paths", "principles", " p 0."))
    found = call("graph", "show", "--problem", "4 5 6 10", "--log", log, "--json").json
    assert len(found["similar"]) == 5
    assert sum(found["shares"].values()) == pytest.approx(1)
    with closing(SqliteLog(domain)) as opened:
        [memory] = fold(opened, State()).memories.values()
    active = graph.active(memory.latest.learned, found["similar"])
    assert found["principles"] == pytest.approx(relevance(active))
    assert found["floor"] == 0.15, "that of letters"
    unlike = call("graph", "show", "--problem", "Say no more than necessary.", "--log", log).out
    assert unlike.count("(not like it: nothing in service)") == 5
    assert "(not like it" not in said.out


# ── Forgetting ───────────────────────────────────────────────────────────────────────────────


def test_a_forgotten_problem_is_in_no_part_of_the_graph_nor_in_its_tables(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    produce(log, "21-34", "phase=build")
    work(log)
    produce(log, "7-10", "phase=weigh")
    work(log)
    with closing(SqliteLog(log)) as opened:
        projector = Projector(opened, [name for name in TABLES if name.startswith("graph_")])
        projector.open()
        state = projector.state
        [memory] = state.memories.values()
        before, pinned = memory.latest, memory.latest.number
        cases = {each.batch: each for each in before.of("case", "lesson")}
        made = {int(id[1:].partition(".")[0]): id for id in before.learned["principles"]}
        case = cases[min(made)]
        problem = case.subject.rpartition("/")[2]
        told = call("forget", "--problem", problem, "--yes", "--json", "--log", log)
        assert told.code == 0, told.err
        projector.follow(until=lambda: True)
        projector.close()
        after = memory.latest
        assert (after.number, after.revision) == (pinned, 1)
        assert case.id in before.learned["cases"]
        assert case.id not in str(after.learned)
        assert {item.id for item in before.items} - {item.id for item in after.items} == {
            case.id, made[min(made)],
        }  # fmt: skip
    rows = {
        name: connected(tables_path(log)).open_table(name).to_arrow().to_pylist()
        for name in projector.tables.open_tables
    }
    paths = {row["path"] for row in rows["graph_paths"] if row["key"] != WATERMARK}
    assert paths == set(after.learned["paths"])
    held = {(row["source"], row["target"]) for row in rows["graph_edges"]} - {(None, None)}
    assert held == {(a, b) for _, a, b, _ in every_edge(after.learned)}
    assert case.text not in str(rows)
    assert call("verify", "--log", log).code == 0
    assert call("rebuild", "--log", log).lines[-1] == call("state", "hash", "--log", log).lines[-1]


def test_a_person_retires_what_a_graph_learned_and_restores_it(tmp_path: Path) -> None:
    """Principles and cases are memory items like any other: by the same words, from the next version on."""
    log = tmp_path / "graph.db"
    produce(log, "201-214", "phase=build")  # two principles: one is left to be shown
    work(log)
    kept = newest(log)
    words = {kept.of("principle", "rule")[0].id, kept.of("case", "lesson")[0].id}
    said(log, "retire", words)
    assert {item.id for _, item in newest(log).aside} == words
    produce(log, "301-304")
    work(log)
    with closing(SqliteLog(log)) as opened:
        shown = [record.event for record in opened.records(kinds=("experience.shown",))]
        assert shown
        assert not any(isinstance(e, ExperienceShown) and words & {*e.items} for e in shown)
    said(log, "restore", words)
    assert newest(log).aside == ()
    with closing(SqliteLog(log)) as opened:
        assert not Verifier(opened, find).run().diverged


def said(log: Path, change: str, words: set[str]) -> None:
    """A person's words on some items, and a problem after which they are heeded."""
    for word in words:
        done = call("lessons", change, word, "--log", log)
        assert done.code == 0, done.err
    produce(log, "101" if change == "retire" else "102", "phase=weigh")
    work(log)


def newest(log: Path) -> Memory:
    """The newest memory version of the one scope that there is."""
    with closing(SqliteLog(log)) as opened:
        [memory] = fold(opened, State()).memories.values()
    return memory.latest
