"""What the evidence page says of a run besides: how sure it was, what it took, and what it is held against."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from streams.research.evidence.figures import Pair, figures, sure
from streams.runtime.embedded.log import SqliteLog
from tests.streams.bench.worlds import case
from tests.streams.cli.calling import call


def test_a_confidence_is_measured_by_run_and_origin_over_what_was_graded() -> None:
    """Two are sure and right, one is not sure and wrong, one nobody graded, and one says nothing of it."""
    said: Any = {"confidence_source": "stated"}
    known = [
        case("a", "right", confidence=0.9, **said),
        case("b", "right", confidence=0.9, **said),
        case("c", "wrong", confidence=0.1, **said),
        case("d", confidence=0.4, **said),
        case("e", "wrong"),
    ]
    [found] = sure(known)
    assert (found.source, found.answers) == ("stated", 3)
    assert found.ece == pytest.approx(0.1)
    assert found.ece_interval is not None
    assert found.aurc == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert found.selective == pytest.approx((1, 1, 1, 2 / 3))
    assert list(sure(known[3:])) == [], "where nothing was both said and graded, nothing is told"


def test_runs_are_paired_to_those_of_one_policy_and_signed_towards_it() -> None:
    pair = Pair("cot C=8", "mc2 C=8", 10, only_one=3, only_other=1)
    turned = pair.against("cot")
    assert turned is not None
    assert (turned.one, turned.other) == ("mc2 C=8", "cot C=8")
    assert turned.difference == -pair.difference
    assert turned.p == pair.p
    assert turned.against("cot") is turned
    assert pair.against("mc2") == pair
    assert pair.against("co") is None, "a policy is not a beginning of a name"
    assert pair.against(None) == pair


def test_what_was_withheld_and_what_calls_took_stand_in_the_table_of_runs(tmp_path: Path) -> None:
    log = tmp_path / "run.db"
    put = ("produce", "game24:901-906", "--policy", "cot", "--profile", "paper")
    assert call(*put, "--log", log).code == 0
    cut = ("--backbone", "rehearsal:seed=7,truncated=0.5", "--until-idle")
    assert call("worker", "--log", log, *cut).code == 0
    with closing(SqliteLog(log)) as opened:
        [row] = figures(opened).rows
        replies = [record.event for record in opened.records(kinds=("completed",))]
        closed = [record.event for record in opened.records(kinds=("episode.closed",))]
    answered = [each.answer for each in cast("list[Any]", closed) if each.answer is not None]
    assert 0 < len(answered) < 6
    assert row.answered == len(answered) / 6
    spent = sum(each.seconds for each in cast("list[Any]", replies))
    assert row.seconds == pytest.approx(spent / 6)


def test_a_run_of_two_models_is_held_against_thresholds_at_its_price(tmp_path: Path) -> None:
    """A mark that names both banks; the run's tokens are those of each model's calls at their price."""
    logs = {name: tmp_path / f"{name}.db" for name in ("small", "large", "run")}
    bank = ("--policy", "self_consistency", "--set", "samples=8")
    strong = ("--policy", "cascade", "--set", "strong=true", "--set", "strong_price=5")
    small, large = "rehearsal:seed=7,insight=0.1", "rehearsal:seed=8"
    for name, put, backbones in (
        ("small", bank, [small]),
        ("large", bank, [large]),
        ("run", strong, [small, "--role", f"strong={large}"]),
    ):
        log = ("--log", logs[name])
        assert call("produce", "game24:901-906", *put, *log).code == 0
        assert call("worker", *log, "--backbone", *backbones, "--until-idle").code == 0
        assert call("log", "pack", tmp_path / "logs" / name, *log).code == 0
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- evidence: logs/run with logs/small or logs/large -->\n<!-- evidence: end -->\n"
    )
    assert call("evidence", page, "--write").code == 0
    text = page.read_text()
    [head] = [line for line in text.splitlines() if "fixed rules of two models" in line]
    assert "on 6 problems of both banks" in head
    assert head.endswith("a token of the larger at 5 of the smaller:")
    with closing(sqlite3.connect(logs["run"])) as db:
        spent = dict(
            db.execute(
                "select role = 'strong', sum(prompt_tokens + completion_tokens) from calls group by role = 'strong'"
            )
        )
    assert spent[1] > 0, "the larger was asked"
    _, below = text.split(head)
    own, *others = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in below.splitlines()
        if line.startswith("|")
    ][2:]
    assert own[2] == f"{(spent[0] + 5 * spent[1]) / 6:,.0f}"
    assert [each[0] for each in others][:2] == [
        "vote of 1 of the smaller",
        "vote of 3 of the smaller",
    ]
    assert call("evidence", page).code == 0
