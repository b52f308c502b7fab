"""A policy that learns otherwise than before, and works on problems as it did: what it says of logs from before."""

from __future__ import annotations

import asyncio
import json
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from handlers.learning.calibrate import RULE
from handlers.policies.base import Policy, learn_nothing
from handlers.policies.mc2 import MC2
from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed, Reflected
from state.journal import Fenced
from streams.engine import learner
from streams.engine.policies import Find
from streams.engine.policies import find as installed
from streams.producing.sources import SourceLine
from streams.producing.traces.taking import Plan, Taker
from streams.replay.verify import Verified, Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.crash.series import Counted, StoppingLog, produced, quick

PROBLEMS, BATCH = 4, 2


def version_of(version: str, *earlier: str, learns: bool = True) -> Find:
    """MC² alone, in this version."""

    @cache
    def made() -> Policy[Any]:
        said: dict[str, Any] = {
            "version": version,
            "formerly": {each: dict[str, Any]() for each in earlier},
        }
        if not learns:
            said["learn"] = learn_nothing
        return changed(MC2, **said)

    return lambda name: made() if name == "mc2" else installed(name)


BEFORE = version_of("before")
SINCE = version_of("since", "before", learns=False)
STRANGE = version_of("since")


def work(log: SqliteLog, find: Find) -> None:
    worker = Worker(log, Counted(), find, max_concurrency=PROBLEMS)
    asyncio.run(worker.run(until_idle=True, settle=True))


def verified(log: SqliteLog, find: Find) -> Verified:
    return Verifier(log, find).run()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    source = f"game24:901-{900 + PROBLEMS}"
    produced(tmp_path / "a.db", source, values={"batch_size": BATCH, "max_rounds": 2})
    return tmp_path / "a.db"


def test_episodes_of_before_are_derived_again_and_what_was_learned_of_them_is_not(
    path: Path,
) -> None:
    log = quick(SqliteLog(path))
    work(log, BEFORE)
    assert verified(log, BEFORE).episodes == PROBLEMS + PROBLEMS // BATCH
    done = verified(log, SINCE)
    assert (done.diverged, done.episodes) == ([], PROBLEMS)
    told = {each.partition(": ")[2] for each in done.unverifiable}
    assert told == {"learned with mc2@before; installed is mc2@since"}
    strange = verified(log, STRANGE)
    assert (strange.diverged, strange.episodes) == ([], 0)
    log.close()


def test_an_episode_that_was_begun_before_is_worked_on_and_stays_of_its_version(path: Path) -> None:
    first = StoppingLog(path, commits=4)
    with pytest.raises(Fenced):
        work(first, BEFORE)
    first.close()
    log = quick(SqliteLog(path))
    begun = {record.episode for record in log.records(kinds=["episode.opened"])}
    assert 0 < len(begun) < PROBLEMS
    work(log, SINCE)
    of = {
        record.episode: record.event.policy
        for record in log.records(kinds=["reflected"])
        if isinstance(record.event, Reflected)
    }
    assert len(of) == PROBLEMS
    assert {episode: policy == "mc2@before" for episode, policy in of.items()} == {
        episode: episode in begun for episode in of
    }
    batches = [record.event for record in log.records(kinds=["batch.closed"])]
    assert {b.policy_version for b in batches if isinstance(b, BatchClosed)} == {"since"}
    openings = [record.event for record in log.records(kinds=["episode.opened"])]
    assert {o.policy_version for o in openings if isinstance(o, EpisodeOpened)} == {
        "before",
        "since",
    }
    done = verified(log, SINCE)
    assert (done.diverged, done.unverifiable) == ([], [])
    log.close()


def test_a_setting_that_came_since_is_as_it_was_for_episodes_of_before(path: Path) -> None:
    """And what was learned of them is derived again, where the version since learns as the one before."""
    log = quick(SqliteLog(path))
    work(log, BEFORE)
    since: dict[str, Any] = {"version": "since", "learns_as": ("before",)}
    alike = changed(MC2, **since, formerly={"before": {}})
    lacking = changed(MC2, **since, formerly={"before": {"max_rounds": 1}})
    found = verified(log, lambda name: alike if name == "mc2" else installed(name))
    assert (found.diverged, found.unverifiable) == ([], [])
    assert found.episodes == PROBLEMS + PROBLEMS // BATCH
    found = verified(log, lambda name: lacking if name == "mc2" else installed(name))
    assert found.diverged, "they were worked on in two rounds"
    log.close()


def changed(policy: Policy[Any], **said: Any) -> Policy[Any]:
    made = copy(policy)
    for name, value in said.items():
        object.__setattr__(made, name, value)
    return made


def test_prompts_of_ones_own_tell_versions_apart_whatever_was_learned() -> None:
    policy = changed(MC2, version="2", learns_as=("1",))
    assert [policy.learned_as(each) for each in ("2", "1", "0", "1~ab")] == [
        True,
        True,
        False,
        False,
    ]
    own = changed(policy, version="2~ab")
    assert [own.learned_as(each) for each in ("2~ab", "1~ab", "1~cd", "1")] == [
        True,
        True,
        False,
        False,
    ]


def test_what_cases_of_other_tools_left_before_is_derived_again(tmp_path: Path) -> None:
    log = quick(SqliteLog(tmp_path / "a.db", create=True))
    said = [
        {"role": "user", "content": "4 4 10 10"},
        {"role": "assistant", "content": "(10 * 10 - 4) / 4"},
    ]
    line = json.dumps({"messages": said, "id": "t", "tool": "bot", "verdict": True})
    plan = Plan(source="traces.jsonl", find=BEFORE, policy="mc2", domain="game24")
    assert Taker(log, plan).run([SourceLine(1, line.encode())]).taken == 1
    assert (verified(log, BEFORE).unverifiable, verified(log, SINCE).unverifiable) == ([], [])
    assert "taken in with mc2@before" in str(verified(log, STRANGE).unverifiable)
    log.close()


@pytest.mark.parametrize(
    ("rule", "diverged"), [("platt-isotonic@1", False), (RULE, False), ("another@9", True)]
)
def test_batches_are_held_to_the_calibration_that_they_were_closed_under(
    path: Path, rule: str, diverged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later build fits by another rule, and takes none but its own and those before it."""
    log = quick(SqliteLog(path))
    with monkeypatch.context() as patch:
        patch.setattr(learner, "CALIBRATION", rule)
        work(log, BEFORE)
    closed = [record.event for record in log.records(kinds=("batch.closed",))]
    assert [each.calibration for each in closed if isinstance(each, BatchClosed)] == [rule] * 2
    found = verified(log, BEFORE)
    assert [each.address for each in found.diverged] == (["batch"] * 2 if diverged else [])
    log.close()
