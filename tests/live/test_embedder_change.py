"""`lessons embed`: another embedder is an event; vectors are made anew, and what was recalled stays so."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from schemas.vectors import pack
from state.folds.state import State
from streams.answering.embedders.hashed import hashed
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.live.test_forgetting import copied, forget, state_hash, verified
from tests.streams.cli.calling import Called, call
from tests.streams.cli.learned import rows

pytestmark = [pytest.mark.live, pytest.mark.slow]

SCOPE = "game24/mc2"
MINILM = "minilm-53aa5117-256"
IDLE = ("--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--no-tables")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return copied(tmp_path / "a.db")


def embed(log: Path, wanted: str, *more: str) -> Called:
    return call("lessons", "embed", wanted, "--log", log, *more)


def worked(log: Path, embedder: str, *more: object) -> Called:
    return call("worker", *IDLE, "--role", f"embedder={embedder}", "--log", log, *more)


def produced(log: Path, source: str, policy: str = "mc2", *more: str) -> None:
    assert call("produce", source, "--policy", policy, *more, "--log", log).code == 0


def state_of(log: Path) -> State:
    state = State()
    with closing(SqliteLog(log)) as opened:
        state.attach(LogRecords(opened))
        fold(opened, state)
    return state


def lessons_of(log: Path, which: str = "id") -> list[tuple[str, str | None, int]]:
    """Every lesson in the tables, or every live one, with its embedder and the length of its vector."""
    from state.tables.lance import connected

    table = connected(Path(f"{log}.tables")).open_table("lessons").to_arrow().to_pylist()
    return [(row["id"], row["embedder"], len(row["vector"])) for row in table if row[which]]


def test_what_a_lesson_is_found_by_can_be_read_from_its_text(log: Path) -> None:
    (memory,) = (each.latest for each in state_of(log).memories.values())
    assert memory.embedded()
    for item in memory.embedded():
        assert item.vector == pack(hashed(MC2.found_by(item, Mc2Settings())))


def test_a_worker_with_another_embedder_is_told_the_command(log: Path) -> None:
    produced(log, "game24:921-922")
    refused = worked(log, "minilm")
    assert refused.code == 5
    assert "metalogue lessons embed" in refused.err
    assert "No problem was closed or charged; 2 episodes stay open" in refused.err
    assert embed(log, "minilm", "--yes").code == 0
    assert worked(log, "hashed").code == 5


def test_lessons_are_embedded_anew_and_all_else_stays(log: Path) -> None:
    calls = rows(log, "select count(*) from calls")
    said = embed(log, "minilm", "--reason", "meaning", "--by", "ann", "--json")
    assert said.code == 0, said.err
    assert said.json == {
        "scope": said.json["scope"],
        "from": "hashed-256",
        "to": MINILM,
        "lessons": len(rows(log, "select id from lessons")),
        "measured": 0,
    }
    assert worked(log, "minilm").code == 0
    assert rows(log, "select count(*) from calls") == calls, "no model is asked"
    assert verified(log).endswith("0 model calls")

    produced(log, "game24:921-930")
    assert worked(log, "minilm").code == 0
    assert verified(log).endswith("0 model calls")
    first = call("rebuild", "--log", log)
    assert first.lines[-1] == state_hash(log)
    assert {(made, size) for _, made, size in lessons_of(log)} == {(MINILM, 384)}
    assert call("rebuild", "--snapshot", "--log", log).lines[-1] == state_hash(log)

    assert embed(log, "minilm").code == 2
    assert embed(log, "hashed").code == 0
    assert worked(log, "hashed").code == 0
    assert call("rebuild", "--snapshot", "--log", log).lines[-1] == state_hash(log)
    # What was retired meanwhile is in no memory: it keeps the name of whoever embedded it last.
    assert {made for _, made, _ in lessons_of(log, "live")} == {"hashed-256"}
    assert {size for _, _, size in lessons_of(log)} == {256}
    live = {name for name, *_ in lessons_of(log, "live")}
    assert {made for name, made, _ in lessons_of(log) if name not in live} <= {"hashed-256", MINILM}
    assert live
    assert verified(log).endswith("0 model calls")


def test_a_problem_is_forgotten_from_under_new_vectors(log: Path) -> None:
    assert embed(log, "minilm").code == 0
    assert worked(log, "minilm").code == 0
    subject = str(rows(log, "select subject from lessons order by offset limit 1")[0][0])
    done = forget(log, subject.rpartition("/")[2], "--yes", "--backbone", "rehearsal:seed=7")
    assert done.code == 0, done.err
    (memory,) = (each.latest for each in state_of(log).memories.values())
    assert memory.embedder == MINILM
    assert {len(item.vector or "") for item in memory.embedded()} == {1024}, "384 halves in base64"
    assert subject not in {item.subject for item in memory.whole()}
    assert verified(log).endswith("0 model calls")


def test_open_episodes_are_named_and_go_on_with_what_they_recalled(
    log: Path, tmp_path: Path
) -> None:
    (tmp_path / "none.jsonl").write_text('{"prompt": "p", "text": "r"}\n')
    produced(log, "game24:921-921")
    words = ("worker", "--backbone", f"recorded:{tmp_path / 'none.jsonl'}", "--until-idle")
    assert call(*words, "--no-tables", "--log", log).code == 5
    refused = embed(log, "minilm")
    assert refused.code == 2
    assert "1 episode" in refused.err
    assert embed(log, "minilm", "--yes").code == 0
    assert worked(log, "minilm").code == 0
    assert verified(log).endswith("0 model calls")


@pytest.mark.parametrize(
    "policy", [("meta_reasoner",), ("mgv_flavell",), ("graph_memory", "--set", "phase=build")]
)
def test_what_was_measured_is_reckoned_again(tmp_path: Path, policy: tuple[str, ...]) -> None:
    log = tmp_path / "b.db"
    produced(log, "game24:901-920", *policy)
    assert worked(log, "hashed").code == 0
    (before,) = (each.latest for each in state_of(log).memories.values())
    calls = rows(log, "select count(*) from calls")

    said = embed(log, "minilm", "--json")
    assert said.code == 0, said.err
    assert said.json["measured"] > 0
    produced(log, "game24:921-921", *policy)
    stopped = worked(log, "hashed")
    assert stopped.code == 5
    assert f"holds vectors of {MINILM}" in stopped.err
    assert embed(log, "minilm", "--yes").code == 2
    back = embed(log, "hashed", "--yes")
    assert (back.code, "stays with hashed-256" in back.out) == (0, True)
    assert worked(log, "hashed").code == 0
    again = state_of(log).memories[before.scope].versions.pinned(before.number, None)
    assert again.learned == before.learned, "the first embedder is back before anything was made"

    assert embed(log, "minilm").code == 0
    assert worked(log, "minilm").code == 0
    assert verified(log).endswith("0 model calls")
    (after,) = (each.latest for each in state_of(log).memories.values())
    assert after.embedder == MINILM
    assert after.learned != before.learned
    assert call("rebuild", "--log", log).lines[-1] == state_hash(log)
    assert call("rebuild", "--snapshot", "--log", log).lines[-1] == state_hash(log)
    assert rows(log, "select count(*) from calls") != calls, "the problem that came meanwhile"


def test_what_an_earlier_build_measured_without_a_word_keeps_its_embedder(tmp_path: Path) -> None:
    log = tmp_path / "c.db"
    produced(log, "game24:901-910", "meta_reasoner")
    assert worked(log, "hashed").code == 0
    with closing(SqliteLog(log)) as opened, opened.db:
        unsaid = "json_remove(body, '$.texts', '$.embedder')"
        opened.db.execute(f"update records set body = {unsaid} where kind = 'reflected'")
    assert verified(log).endswith("0 model calls"), "as builds recorded it that did not say it"
    (memory,) = (each.latest for each in state_of(log).memories.values())
    assert memory.embedder == "hashed-256", "the members' own records say it"
    refused = embed(log, "minilm")
    assert refused.code == 2
    assert "did not say of what they are made" in refused.err
    assert "--memory NAME" in refused.err
    produced(log, "game24:911-911", "meta_reasoner")
    assert worked(log, "minilm").code == 5


@pytest.mark.parametrize("more", [(), ("--scope", "game24/cot")])
def test_a_memory_without_vectors_is_told_so(tmp_path: Path, more: tuple[str, ...]) -> None:
    log = tmp_path / "d.db"
    produced(log, "game24:901-901", "cot")
    assert worked(log, "hashed").code == 0
    refused = embed(log, "minilm", *more)
    assert refused.code == 2
    assert "no" in refused.err
    assert "vectors yet: start a worker with any embedder" in refused.err
