"""A limit of cost that goes on in a fork or a probe: it is kept by the prices of who answers, or refused."""

from __future__ import annotations

from pathlib import Path

import metalogue
import pytest

from tests.streams.cli.calling import Called, call

LOG = ("--log", "a.db")
OWN = """
from dataclasses import replace
from handlers.policies.baselines.chain import COT, ChainSettings
class Small(ChainSettings):
    backbone: str | None = "mini"
OWN = replace(COT, name="own", settings=Small)
"""
USUAL, MINI = ("--price", "rehearsal(seed=3)=10,10"), ("--price", "rehearsal(seed=9)=10,10")


def lines() -> list[str]:
    """The episodes of the log, and what each of them recorded."""
    with metalogue.open_log("sqlite:a.db") as log:
        return [f"{each.episode} {each.address}" for each in log.records()]


def refused(done: Called) -> None:
    assert (done.code, "no price is known for rehearsal(seed=" in done.err) == (2, True), done.err


def limited(policy: str) -> str:
    """An episode whose cost is limited."""
    limit = ("--cost-limit", "0.02", "--backbone", "rehearsal:seed=3", *USUAL)
    done = call("solve", "4 5 6 10", "--policy", policy, *limit, "--json", *LOG)
    assert done.code in (0, 4), done.err
    episode: str = done.json["episode"]
    return episode


@pytest.mark.usefixtures("folder")
def test_a_fork_inherits_a_limit_of_cost_that_can_be_kept_or_is_refused() -> None:
    episode = limited("mc2")
    before = lines()
    fork = ("fork", episode, "--at", "0", "--backbone", "rehearsal:seed=9", *LOG)
    refused(call(*fork))
    refused(call(*fork, *USUAL))
    with pytest.raises(metalogue.Error, match="no price is known") as caught:
        metalogue.fork("sqlite:a.db", episode, "0", backbone="rehearsal:seed=9")
    assert caught.value.field == "cost_limit"
    assert lines() == before
    assert call(*fork, *MINI).code in (0, 4)
    assert call("verify", *LOG).code == 0


def test_who_answers_a_fork_is_priced_and_nobody_else(folder: Path) -> None:
    (folder / "own.py").write_text(OWN)
    assert call("solve", "1 + 2", "--backbone", "rehearsal:seed=3", *LOG).code == 0
    before = lines()
    offer = ("--backbone", "rehearsal:seed=3", "--offer", "mini=rehearsal:seed=9")
    own = ("--policy", "own.py:OWN", "--cost-limit", "0.02")
    fork = ("fork", "solve-", "--at", "0", *offer, *own, *LOG)
    refused(call(*fork))
    refused(call(*fork, *USUAL))
    assert lines() == before
    done = call(*fork, *MINI)
    assert done.code in (0, 4), done.err


@pytest.mark.usefixtures("folder")
def test_probes_inherit_a_limit_of_cost_that_can_be_kept_or_is_refused() -> None:
    produce = ("produce", "game24:901-909", "--policy", "mc2", "--cost-limit", "1")
    assert call(*produce, "--set", "batch_size=4", *LOG).code == 0
    worker = ("worker", "--backbone", "rehearsal:seed=3", "--until-idle", "--settle", *USUAL)
    assert call(*worker, *LOG).code == 0
    before = lines()
    used = [each["id"] for each in call("lessons", "list", "--json", *LOG).rows if each["used"]]
    probe = ("effect", "lesson", used[0], "--backbone", "rehearsal:seed=9", *LOG)
    refused(call(*probe))
    assert lines() == before
    done = call(*probe, *MINI, "--limit", "1")
    assert done.code == 0, done.err
