"""`bench million`: its table on small logs, and how growth is told."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import log
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from handlers.answers.grade import check_game24
from streams.interfaces.cli.bench.million import sizes_of
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.main import main
from streams.research.analysis.plots import drawn
from streams.research.bench import million
from streams.research.bench.million import (
    AIMS,
    LEAST_MB,
    LEAST_S,
    Cost,
    Failed,
    Reads,
    Row,
    command,
    figures,
    markdown,
    measured,
    plot,
)
from streams.runtime.embedded.log import SqliteLog

NAMES = ["produce", "worker", "worker, started again", "log stats", "show", "show ID",
         "dashboard, first page", "dashboard, all read", "dashboard, a page then", "rebuild", "verify"]  # fmt: skip


def seconds(start: float, **costs: float) -> tuple[Cost, dict[int, Cost]]:
    """Costs whose memory in MB is ten times their seconds."""
    found = {int(size.removeprefix("n")): of for size, of in costs.items()}
    return Cost(start, start, 10 * start), {n: Cost(s, s, 10 * s) for n, s in found.items()}


def test_what_reads_all_grows_beyond_its_start() -> None:
    start, costs = seconds(0.5, n100=0.6, n1000=1.5, n10000=10.5)
    row = Row("verify", "all", start, costs)
    assert row.time_growth == pytest.approx(1.0)
    assert row.memory_growth == pytest.approx(1.0)
    assert row.time_growth > 0.8 > Row("verify", "little", start, costs).time_growth  # type: ignore[operator]


def test_what_need_not_is_held_from_end_to_end() -> None:
    start, costs = seconds(0.5, n100=0.5, n1000=9.0, n10000=0.5)
    assert Row("show", "little", start, costs).time_growth == pytest.approx(0.0)
    start, costs = seconds(0.5, n100=0.5, n10000=5.0)
    assert Row("show", "little", start, costs).time_growth == pytest.approx(0.5)


def test_costs_below_what_can_be_told_apart_are_flat() -> None:
    start, costs = seconds(0.5, n100=0.5, n1000=0.5 + LEAST_S / 2)
    row = Row("verify", "all", start, costs)
    assert (row.time_growth, row.memory_growth) == (0.0, 0.0)
    assert LEAST_MB == 1.0
    assert Row("verify", "all", start, {100: start}).time_growth is None


def test_the_table_names_records_and_tells_what_is_unknown() -> None:
    start, costs = seconds(0.5, n1000=1.25)
    rows = [Row("verify", "all", start, costs)]
    table = markdown(rows, {1000: 1689}).splitlines()
    assert table[0].startswith("| command | reads | 1,000 problems, 1,689 records |")
    assert table[2] == "| verify | all | 1.25 s, 12 MB | – | – |"
    assert figures(rows, {1000: 1689})["commands"]["verify"]["time_growth"] is None
    assert plot(rows).series == {"verify": [(1000.0, 1.25)]}


def test_powers_are_drawn_with_plain_numbers() -> None:
    start, costs = seconds(0.5, n1000=0.6, n10000=1.5, n1000000=120.0)
    text = drawn(plot([Row("verify", "all", start, costs)])).decode()
    assert all(f">{said}<" in text for said in ("1,000", "1,000,000", "10", "100"))
    assert "mathdefault" not in text


@pytest.mark.parametrize("said", ["", "x", "1000,", "-5", "99", "20000000", "1000;2000", "٣٠٠"])
def test_sizes_that_are_none_are_named(said: str) -> None:
    with pytest.raises(CliError) as refused:
        sizes_of(said)
    assert refused.value.field == "--sizes"


def test_sizes_go_up_and_each_once() -> None:
    assert sizes_of("10_000, 1000,10000") == [1000, 10_000]


def test_a_command_that_fails_says_what_it_said() -> None:
    with pytest.raises(Failed, match=r"show --nothing: No such option: --nothing"):
        command(["show", "--nothing"], 0)


@pytest.mark.slow
def test_every_command_is_measured_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "million.svg"
    assert main(["bench", "million", "--sizes", "100,1000", "--plot", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["commands"]) == NAMES
    assert found["aims"] == AIMS
    assert set(found["records"]) == {"100", "1000"}
    assert found["records"]["1000"] > 1000
    for told in found["commands"].values():
        assert set(told["costs"]) == {"100", "1000"}
        assert all(cost["peak_mb"] > 10 for cost in told["costs"].values())
    assert file.read_bytes().startswith(b"<?xml")


def test_a_part_works_where_the_rest_is_queued(tmp_path: Path) -> None:
    found = {}
    for name, reads, _ in measured(tmp_path, 20):
        found[name] = reads
        if name == "worker":
            break
    assert found == {"produce": "all", "worker": "all"}
    assert main(["log", "stats", "--json", "--log", f"{tmp_path}/million.db"]) == 0


# ── Parts of it, without its processes ───────────────────────────────────────────────────────


def test_problems_are_puzzles_in_turn_with_names_of_their_own(tmp_path: Path) -> None:
    million.write_problems(tmp_path / "p.jsonl", 9)
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [each["id"] for each in lines] == [f"n{at:07d}" for at in range(9)]
    assert {each["domain"] for each in lines} == {"game24"}
    puzzles = [each["problem"] for each in lines]
    assert len({*puzzles}) == 7
    assert puzzles[7:] == puzzles[:2]
    assert all(check_game24(each, None).outcome == "withheld" for each in puzzles)


@pytest.mark.parametrize(("size", "worked"), [(100, "20"), (3, "1")])
def test_a_fifth_is_worked_on_and_then_looked_at(
    size: int, worked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], int]] = []
    some = Cost(1.0, 2.0, 3.0)

    def cost(words: Sequence[str], ends: int) -> Cost:
        asked.append(([*words], ends))
        return some

    def seen(url: str) -> Iterator[tuple[str, Reads, Cost]]:
        asked.append((["dashboard", url], 0))
        yield "dashboard, first page", "little", some

    monkeypatch.setattr(million, "command", cost)
    monkeypatch.setattr(million, "dashboard", seen)
    found = [(name, reads) for name, reads, _ in measured(tmp_path, size)]
    little = [name for name, reads in found if reads == "little"]
    assert [name for name, _ in found] == [*NAMES[:7], *NAMES[9:]]
    assert little == ["worker, started again", "log stats", "show", "show ID", NAMES[6]]
    url = f"sqlite:{tmp_path}/million.db"
    worker = ["worker", "--backbone", "rehearsal:latency_ms=0", "--no-tables", "--total-calls"]
    assert asked == [
        (["produce", f"{tmp_path}/problems.jsonl", "--log", url], 0),
        ([*worker, worked, "--log", url], 4),
        ([*worker, "1", "--log", url], 4),
        (["log", "stats", "--log", url], 0),
        (["show", "--log", url], 0),
        (["show", "n0000000", "--log", url], 0),
        (["dashboard", url], 0),
        (["rebuild", "--tables", "none", "--log", url], 0),
        (["verify", "--log", url], 0),
    ]
    assert len((tmp_path / "problems.jsonl").read_text().splitlines()) == size


def test_a_process_is_told_by_what_the_system_counts_for_it() -> None:
    found = command(["show", "--help"], 0)
    assert 0.05 < found.cpu_s < 60
    assert found.wall_s > 0.05
    assert 5 < found.peak_mb < 500


class Page(BaseHTTPRequestHandler):
    """A dashboard that is ready when it was asked for the third time."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        unready = self.path == "/readyz" and self.asked.count("/readyz") < 3
        self.send_response(503 if unready else 200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    """Where a dashboard answers."""
    Page.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Dashboard:
    """The process of one: this one itself, which says something and ends when it is told to."""

    def __init__(self, words: Sequence[str], to: int, says: str, code: int | None = None) -> None:
        self.words, self.pid, self.code = [*words], os.getpid(), code
        self.told: list[Any] = []
        os.write(to, says.encode())

    def poll(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.told.append(number)

    def wait(self) -> None:
        self.told.append("gone")


def test_a_dashboard_is_measured_at_its_first_page_when_ready_and_at_a_page_then(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Dashboard] = []

    def start(words: Sequence[str], to: int) -> Dashboard:
        started.append(Dashboard(words, to, f"reading\nready: {address} of a log\n"))
        return started[-1]

    looks = iter((Cost(1.0, 10.0, 50.0), Cost(3.0, 12.0, 60.0), Cost(3.5, 12.25, 65.0)))
    monkeypatch.setattr(million, "_started", start)

    def so_far(pid: int, began: float) -> Cost:
        return next(looks)

    monkeypatch.setattr(million, "_so_far", so_far)
    assert [*million.dashboard("sqlite:a.db")] == [
        ("dashboard, first page", "little", Cost(1.0, 10.0, 50.0)),
        ("dashboard, all read", "all", Cost(3.0, 12.0, 60.0)),
        ("dashboard, a page then", "little", Cost(0.5, 0.25, 65.0)),
    ]
    assert Page.asked == ["/", "/readyz", "/readyz", "/readyz", "/"]
    [process] = started
    listen = ["dashboard", "--listen", "127.0.0.1:0", "--log", "sqlite:a.db"]
    assert process.words == listen
    assert process.told == [signal.SIGTERM, "gone"]


def test_what_a_process_has_cost_so_far_is_read_while_it_goes_on(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(words: Sequence[str], to: int) -> Dashboard:
        return Dashboard(words, to, f"ready: {address}\n")

    monkeypatch.setattr(million, "_started", start)
    first, read, then = (cost for *_, cost in million.dashboard("sqlite:a.db"))
    assert first.cpu_s == pytest.approx(time.process_time(), rel=0.2, abs=0.3)
    status = Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0]
    assert read.peak_mb == pytest.approx(int(status) / 1024, rel=0.05)
    assert 0 <= first.wall_s <= read.wall_s
    assert 0 <= then.cpu_s <= 1


def test_a_dashboard_that_ends_says_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Dashboard] = []

    def start(words: Sequence[str], to: int) -> Dashboard:
        started.append(Dashboard(words, to, "no log there", code=2))
        return started[-1]

    monkeypatch.setattr(million, "_started", start)
    with pytest.raises(Failed, match=r"^dashboard: no log there$"):
        next(million.dashboard("sqlite:a.db"))
    assert started[0].told == [signal.SIGTERM, "gone"], "none is left behind"


def test_each_size_is_measured_once_after_the_log_of_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders: list[Path] = []

    def costs(folder: Path, size: int) -> Iterator[tuple[str, Reads, Cost]]:
        assert folder.is_dir()
        folders.append(folder)
        yield "verify", "all", Cost(size / 1000, 9.0, size / 10)
        yield "show", "little", Cost(0.5, 9.0, 100.0)

    said: list[str] = []
    monkeypatch.setattr(million, "measured", costs)

    def records_of(path: Path) -> int:
        return len(folders) * 1000 + 7

    monkeypatch.setattr(million, "records_of", records_of)
    rows, records = million.run(said.append, (1000, 200, 1000))
    assert records == {200: 2007, 1000: 3007}
    assert [(row.name, row.reads, row.start.cpu_s) for row in rows] == [
        ("verify", "all", 0.01), ("show", "little", 0.5),
    ]  # fmt: skip
    assert [{size: cost.cpu_s for size, cost in row.costs.items()} for row in rows] == [
        {200: 0.2, 1000: 1.0}, {200: 0.5, 1000: 0.5},
    ]  # fmt: skip
    assert said[-2:] == [
        f"    1,000 problems: verify{' ' * 18}     1.00 s      100 MB",
        f"    1,000 problems: show{' ' * 20}     0.50 s      100 MB",
    ]
    assert len(said) == 6
    assert not any(folder.exists() for folder in folders), "only one log is there at a time"
    made = figures(rows, records)
    assert made["records"] == {"200": 2007, "1000": 3007}
    assert made["aims"] == AIMS
    grown = (log((1.0 - 0.01) / (0.2 - 0.01)) / log(5), 1.0)
    assert made["commands"]["verify"] == {
        "reads": "all",
        "start": {"cpu_s": 0.01, "wall_s": 9.0, "peak_mb": 1.0},
        "costs": {
            "200": {"cpu_s": 0.2, "wall_s": 9.0, "peak_mb": 20.0},
            "1000": {"cpu_s": 1.0, "wall_s": 9.0, "peak_mb": 100.0},
        },
        "time_growth": pytest.approx(grown[0]),
        "memory_growth": pytest.approx(log(99 / 19) / log(5)),
    }


def test_records_of_a_log_are_counted(tmp_path: Path) -> None:
    with closing(SqliteLog(tmp_path / "a.db", create=True)) as made:
        made.publish(("problems", f"p{at}", {}, b"{}") for at in range(3))
    assert million.records_of(tmp_path / "a.db") == 0, "what waits is no record yet"


def test_growth_is_drawn_where_both_axes_go_by_powers() -> None:
    start, costs = seconds(0.5, n1000=0.001, n10000=1.5)
    drawing = plot([Row("verify", "all", start, costs)])
    assert drawing.series == {"verify": [(1000.0, LEAST_S), (10_000.0, 1.5)]}
    assert (drawing.x, drawing.y, drawing.powers) == ("problems", "CPU seconds", True)
