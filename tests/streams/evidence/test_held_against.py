"""What the evidence page says of a run besides: how sure it was, what it took, and what it is held against."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from streams.research.analysis.routing import Routed
from streams.research.analysis.sampling import Sampled
from streams.research.evidence.figures import Beside, Figures, Pair, Row, Sure, figures, sure
from streams.research.evidence.page import Block, tables_of
from streams.research.evidence.segments import Segments
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


def test_each_table_says_what_its_figures_are(tmp_path: Path) -> None:
    """Without a log: a run of two models, its confidence, two pairs of which one is asked for, and unknown numbers."""
    own = Sampled("cascade", 2.25, 1234.5, 0.5, (0.25, 0.75))
    rule = Sampled(
        "vote of 3", 3.0, None, 0.4, None, -0.1, (-0.2, 0.05), 0.4, 3, -0.15, (-0.3, 0.1), 0.5, 0.0625
    )  # fmt: skip
    known = Figures(
        rows=(Row("cot C=8", 3, 1, 2, 2, (0.5, 1.0), 1.5, 100.4, 1, 2 / 3, None),),
        sure=(Sure("cot C=8", "stated", 2, 0.1234, (0.05, 0.2), 0.25, (1.0, 0.5, 0.5, 0.5)),),
        roles=(),
        banks=(),
        beside=(Beside("bank", "gsm8k", ((rule, 20),)),),
        routed=(Routed("cascade", 2.5, 7, (own, rule)),),
        pairs=(Pair("cot C=8", "io", 10, 3, 1), Pair("io", "mc2", 10, 0, 0)),
        graders=(),
        models={"m": 4},
        policies=("cot@1",),
        backbones=("m",),
        seeds=(0,),
        tokens=None,
        hours=1.0,
        verified=1,
        facts=2,
        diverged=(),
        other_builds=0,
    )
    (tmp_path / "0001.jsonl.xz").write_bytes(b"x" * 1_000)
    (tmp_path / "0001.txt").write_text("a build on a | machine\n")
    (tmp_path / "0002.jsonl.xz").write_bytes(b"x")
    kept = Segments(tmp_path)
    lines = tables_of(known, kept, Block(Path(), "", None, None)).split("\n")
    assert (
        "| `cot C=8` | 3 | 2 | 2 | 100.0 % | 50.0–100.0 | 1.5 | 100 (1 unknown) | 66.7 % | – | 1 |"
        in lines
    )
    assert (
        "| `cot C=8` | stated | 2 | 0.123 | 0.050–0.200 | 0.250 | 100.0 | 50.0 | 50.0 | 50.0 |"
        in lines
    )
    told = "| 3.00 | – | 40.0 | – | -10.0 | -20.0 to +5.0 |"
    held = f"| `vote of 3` | 20 {told} 0.500 | 40.0 % | -15.0 (3) | -30.0 to +10.0 | 0.062 |"
    assert held in lines
    assert "| `cascade` | 2.25 | 1,234 | 50.0 | 25.0–75.0 | – | – | – |" in lines
    assert f"| vote of 3 {told} 40.0 % |" in lines
    assert (
        f"| `0001.jsonl.xz` | 1,000 | `{kept.hashes()['0001.jsonl.xz']}` | a build on a \\| machine |"
        in lines
    )
    assert lines[-2].endswith("| unknown |"), "nobody wrote down what packed the second"
    assert any("on 7 problems of both banks" in each and "at 2.5 of" in each for each in lines)
    assert not any("Runs on the same problems" in each for each in lines), "nobody asked for pairs"
    asked = Block(Path(), "", None, None, paired=True, to="cot")
    paired = tables_of(known, kept, asked).partition("Runs on the same problems")[2]
    assert "| `io` | `cot C=8` | 10 | 1 | 3 | -20.0 |" in paired
    assert "`mc2`" not in paired
