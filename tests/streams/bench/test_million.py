"""`bench million`: its table on small logs, and how growth is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.interfaces.cli.bench.million import sizes_of
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.main import main
from streams.research.analysis.plots import drawn
from streams.research.bench.million import (
    AIMS,
    LEAST_MB,
    LEAST_S,
    Cost,
    Failed,
    Row,
    command,
    figures,
    markdown,
    measured,
    plot,
)

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
