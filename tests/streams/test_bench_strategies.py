"""Benches of strategies: regret and its plot, the bandit's share of the time, six ways on Game of 24."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handlers.learning.linucb import LinUcb, Vector
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.replay.verify import Verifier
from streams.research.bench import bandit
from streams.research.bench.strategies import RUNS, produce
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import produced, quick, worked
from tests.streams.cli.calling import call

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.claim("mr-eq-01")
def test_regret_is_sublinear_where_arms_in_turn_lose_linearly() -> None:
    learned = [bandit.regret(seed, bandit.by_scores, 1_500) for seed in (1, 2)]
    drawn = [bandit.regret(seed, bandit.in_turn, 1_500) for seed in (1, 2)]
    assert all(bandit.exponent(each) < 0.5 for each in learned)
    assert all(0.9 < bandit.exponent(each) < 1.1 for each in drawn)
    assert max(each[-1] for each in learned) < 0.05 * min(each[-1] for each in drawn)
    drawing = bandit.regret_plot(learned[0], drawn[0])
    assert {name: len(points) for name, points in drawing.series.items()} == {
        "LinUCB": 75,
        "in turn": 75,
    }


@pytest.mark.claim("mr-eq-01")
def test_its_bandit_explores_as_much_as_the_figure_says() -> None:
    def ask(asked: LinUcb, x: Vector, at: int) -> int:
        settings.append((asked.ridge, asked.exploration, len(asked.arms)))
        return at % len(asked.arms)

    settings: list[tuple[float, float, int]] = []
    bandit.regret(1, ask, 3)
    assert settings == [(1.0, 0.2, bandit.ARMS)] * 3


@pytest.mark.slow
@pytest.mark.claim("mr-speed")
def test_embedding_and_choosing_take_less_than_three_percent_of_an_episode() -> None:
    """With a model of 200 ms; prompts and parsing are counted in. The best of three."""
    runs = [asyncio.run(bandit.shares(max_rounds=2)) for _ in range(3)]
    assert min((embed + policy) / whole for embed, policy, whole in runs) < 0.03


def test_six_ways_of_choosing_with_reward_curves(tmp_path: Path) -> None:
    url, folder = f"sqlite:{tmp_path / 's.db'}", tmp_path / "out"
    done = call("bench", "strategies", "--log", url, "--limit", 4, "--out", folder)
    assert done.code == 0, done.err
    assert "Simulated: no model answered." in done.out
    made = json.loads((folder / "analysis.json").read_text())
    assert made["simulated"] is True
    assert len(made["runs"]) == len(RUNS) == 6
    for figures in made["runs"].values():
        rewards = figures["rewards"]
        curve = rewards["cumulative_reward"]
        assert len(curve) == rewards["judged"] >= 4
        assert curve[-1] == pytest.approx(rewards["mean_reward"] * rewards["judged"], abs=1e-4)
        assert figures["accuracy"] is not None
    page = (folder / "analysis.html").read_text()
    assert "cumulative reward by round" in page
    assert page.index("Simulated") < page.index("cumulative reward")
    log = SqliteLog(tmp_path / "s.db")
    assert Verifier(log, find).run().diverged == []
    log.close()


def test_every_way_is_announced_as_a_series_whose_rounds_are_all_judged() -> None:
    asked: list[list[str]] = []

    def command(words: Sequence[str]) -> int:
        asked.append([*words])
        return 0

    produce(command, "sqlite:a.db", 7)
    judged = "--set first_judgement=always"
    assert [" ".join(words) for words in asked] == [
        f"produce game24:901-907 --policy meta_reasoner {more}{judged} --series {name} --log sqlite:a.db --json"
        for name, more in (
            ("fixed-3", "--set strategies=fixed "),
            ("fixed-5", "--set strategies=fixed --set start_arms=5 "),
            ("dynamic", ""),
            ("random", "--set choice=random "),
            ("direct", "--set choice=direct "),
            ("no-report", "--set report=false "),
        )
    ]
    with pytest.raises(RuntimeError, match="exit 2"):
        produce(lambda _: 2, "sqlite:a.db", 7)


def passed(path: Path, first: int, **values: Any) -> dict[str, int]:
    """Work on five puzzles in one scope; the pulls of its arms by then."""
    common = {"max_rounds": 3, "strategies": "fixed"}
    source = f"game24:{first}-{first + 4}"
    produced(path, source, policy="meta_reasoner", values=common | values)
    log = quick(SqliteLog(path))
    worked(log)
    learner = Learner(find)
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    assert Verifier(log, find).run().diverged == []
    log.close()
    [scope] = learner.scopes.values()
    return {arm["id"]: arm["pulls"] for arm in scope.memory.latest.learned["arms"]}


def test_a_training_pass_then_frozen_or_continued_evaluation(tmp_path: Path) -> None:
    """All three share a scope: what training left is used, and learned on unless it is frozen."""
    path = tmp_path / "t.db"
    trained = passed(path, 901, training=True)
    assert sum(trained.values()) > 3
    assert passed(path, 906, updates="frozen") == trained
    continued = passed(path, 911)
    assert continued.keys() == trained.keys()
    assert sum(continued.values()) > sum(trained.values())


@pytest.mark.slow
@pytest.mark.claim("mr-forms")
def test_learned_state_is_the_same_to_the_bit_under_other_kernels(tmp_path: Path) -> None:
    """Arms folded from the log in processes whose BLAS is made for other processors."""
    path = tmp_path / "k.db"
    passed(path, 901)
    code = "import sys; from streams.interfaces.cli.main import main; sys.argv = ['metalogue', *sys.argv[1:]]; main()"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code, "state", "hash", "--log", str(path)],
            env=os.environ | {"OPENBLAS_CORETYPE": kernel, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernel in ("Haswell", "Prescott", "Nehalem")
    }
    assert hashes == {call("state", "hash", "--log", path).out}
