"""`bench rebuild`: the log that it grows is one that folds verify, and what its figures are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from state.folds.state import State
from streams.research.bench import rebuild
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import ROWS, fold
from tests.streams.bench.worlds import always

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What a dozen puzzles leave, and not sixty."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rebuild, "PROBLEMS", 12)
        return rebuild.sample(tmp_path_factory.mktemp("sample") / "s.db")


@pytest.fixture
def grown(
    sampled: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int, int], tuple[SqliteLog, int]]]:
    """Grows logs out of the same puzzles, and closes them."""
    logs: list[SqliteLog] = []

    def sample(path: Path) -> Rows:
        assert path == tmp_path / "sample.db"
        return sampled

    def grow(events: int, quiet: int) -> tuple[SqliteLog, int]:
        log, end = rebuild.grow(tmp_path / f"{len(logs)}.db", events, quiet)
        logs.append(log)
        return log, end

    monkeypatch.setattr(rebuild, "sample", sample)
    yield grow
    for log in logs:
        log.close()


def own(rows: Rows, *topics: str) -> int:
    """How many rows every copy has."""
    return sum(row[5] != "text.kept" and row[0] in topics for row in rows)


def test_a_sample_is_what_mc2_leaves_when_all_has_been_learned(sampled: Rows) -> None:
    kinds = Counter(row[5] for row in sampled)
    closed = [row for row in sampled if row[5] == "episode.closed" and row[3].startswith("p/")]
    assert kinds["problem.admitted"] == len(closed) == 12
    assert kinds["batch.closed"] == kinds["memory.versioned"] == 2, "also the half batch"
    opened = [orjson.loads(row[7]) for row in sampled if row[5] == "episode.opened"]
    assert {each["policy"] for each in opened} == {"mc2"}
    assert all(row[3].startswith("p/game24/") for row in sampled if row[5] == "episode.opened")


def test_each_copy_learns_by_itself_in_a_memory_of_its_own(
    sampled: Rows, grown: Callable[[int, int], tuple[SqliteLog, int]]
) -> None:
    log, end = grown(3 * len(sampled), 0)
    assert log.end() == end >= 3 * len(sampled)
    copies = (end - (len(sampled) - own(sampled, "events", "learning"))) / own(
        sampled, "events", "learning"
    )
    assert copies == 4 == int(copies)
    state = fold(log, State(), end)  # it verifies every version
    assert [scope.split("/")[-2] for scope in state.memories] == [f"m{n:05d}" for n in (1, 2, 3, 4)]
    learned = [fold_.versions.latest.items for fold_ in state.memories.values()]
    assert len({len(items) for items in learned}) == 1
    assert len({tuple(item.text for item in items) for items in learned}) == 1
    assert len(learned[0]) > 10


def test_texts_stand_once_and_offsets_have_no_gap(
    sampled: Rows, grown: Callable[[int, int], tuple[SqliteLog, int]]
) -> None:
    log, end = grown(2 * len(sampled), 1)
    rows = log.db.execute("select offset, kind, episode, address from records").fetchall()
    assert [row[0] for row in rows] == [*range(1, log.end() + 1)]
    texts = sum(row[5] == "text.kept" for row in sampled)
    assert [row[1] == "text.kept" for row in rows] == [at < texts for at in range(len(rows))]
    assert len({(row[2], row[3]) for row in rows}) == len(rows)
    assert log.end() == end + own(sampled, "events"), "the tail has a whole copy"


def test_the_tail_leaves_nothing_to_learn_from(
    sampled: Rows, grown: Callable[[int, int], tuple[SqliteLog, int]]
) -> None:
    once = own(sampled, "events")
    log, end = grown(len(sampled), 2 * once)
    assert log.end() == end + 2 * once, "as much as is asked for, and no copy more"
    topics = log.db.execute("select topic, kind from records where offset > ?", (end,))
    assert {topic for topic, _ in topics} == {"events"}
    early = log.db.execute("select count(*) from records where topic = 'learning'").fetchone()
    assert early == (own(sampled, "learning"),)


class Asked:
    """A log that remembers what was asked of it, and whose rows are counted as they are read."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies, self.read, self.asked = bodies, 0, list[Any]()
        self.db = self

    def execute(self, *words: Any) -> Iterator[tuple[int, bytes]]:
        self.asked.append(words)
        for body in self.bodies:
            self.read += 1
            yield self.read, body


def test_the_floors_read_every_row_and_only_one_of_them_parses() -> None:
    log: Any = Asked(b"{}", b"{", b"{}")
    rebuild.rows_only(log, 7)
    assert (log.read, log.asked) == (3, [(ROWS, (0, 7))])
    log = Asked(b"{}", b"[]", b"{")
    with pytest.raises(orjson.JSONDecodeError):
        rebuild.orjson_only(log, 9)
    assert (log.read, log.asked) == (3, [(ROWS, (0, 9))])


def test_the_memory_of_the_process_is_told_in_megabytes() -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kilobytes = int(next(line for line in status if line.startswith("VmRSS")).split()[1])
    found = rebuild.resident_mb()
    assert found == pytest.approx(kilobytes * 1024 / 1e6, rel=0.1)
    assert found == round(found, 1)


def test_growth_is_told_apart_by_what_is_learned_and_by_the_tail(
    sampled: Rows,
    grown: Callable[[int, int], tuple[SqliteLog, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, end = grown(2 * len(sampled), 300)
    held = iter((100.0, 110.26, 110.5))
    monkeypatch.setattr(rebuild, "resident_mb", lambda: next(held))
    state = fold(log, State(), end)
    assert rebuild.memory(log, end) == {
        "learned_items": len(state.lives.known),
        "memory_grown_mb": 10.3,
        "quiet_events": log.end() - end,
        "quiet_learned_items": 0,
        "quiet_memory_grown_mb": 0.2,
    }


def test_rates_are_medians_over_events_folded_from_nothing(
    sampled: Rows,
    grown: Callable[[int, int], tuple[SqliteLog, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, end = grown(len(sampled), 0)
    seconds = iter((2.0, 0.5, 2.0, 4.0, 0.25, 0.5, 8.0, 0.125, 8.0))

    def cpu(work: Callable[[], object]) -> float:
        work()
        return next(seconds)

    clock = SimpleNamespace(
        perf_counter=count(0.0, 0.1234567).__next__, process_time=count(0.0, 0.0123456).__next__
    )
    monkeypatch.setattr(rebuild, "cpu", cpu)
    monkeypatch.setattr(rebuild, "time", clock)
    monkeypatch.setattr(rebuild, "resident_mb", lambda: 71.5)
    monkeypatch.setattr(rebuild, "memory", always({"grown": 1}))
    found = rebuild.measure(log, end)
    state = fold(log, State(), end)
    keys = found.pop("snapshot_keys")
    assert keys > len(state.lives.known)
    assert found == {
        "events": end,
        "events_per_s": end // 4,
        "rows_only_per_s": end * 4,
        "orjson_only_per_s": end // 2,
        "memory_mb": 71.5,
        "grown": 1,
        "state_hash": state.hash(),
        "snapshot_write_s": 0.123,
        "snapshot_restart_s": 0.123,
        "snapshot_restart_cpu_s": 0.012,
        "snapshot_hash_equal": True,
    }
    assert log.path.with_name("bench.snapshot.db").is_file()


def test_cpu_seconds_are_of_the_work_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter((3.0, 7.5))
    done: list[str] = []
    monkeypatch.setattr(rebuild, "time", SimpleNamespace(process_time=lambda: next(looks)))
    assert rebuild.cpu(lambda: done.append("worked")) == 4.5
    assert done == ["worked"]


def test_the_log_is_closed_whatever_came_of_it(
    sampled: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[SqliteLog, int]] = []

    def lost(log: SqliteLog, end: int) -> dict[str, Any]:
        told.append((log, log.end() - end))
        raise RuntimeError("no memory left")

    said: list[str] = []
    monkeypatch.setattr(rebuild, "sample", always(sampled))
    monkeypatch.setattr(rebuild, "measure", lost)
    with pytest.raises(RuntimeError, match="no memory left"):
        rebuild.run(said.append, 1_000, 1)
    [(log, tail)] = told
    assert tail == own(sampled, "events")
    with pytest.raises(Exception, match="closed"):
        log.db.execute("select 1")
    assert said == ["writing a log of 1,000 events …", "folding it, beside the floors …"]
