"""One episode, cut out of a log, is shown and verified alone; what its memory was made of comes with it on request."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import orjson
import pytest

from handlers.policies.registry import POLICIES
from schemas.events.episode import EpisodeOpened
from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.digest import log_digest
from streams.replay.verify import Verified, Verifier
from streams.runtime.embedded.imported import import_jsonl
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import produced, quick, worked
from tests.streams.cli.calling import call

LACKS = "episodes' answers and facts"


def worked_on(path: Path, policy: str) -> None:
    """Two batches of two, where there are batches: what comes second knows something of what came first."""
    own = POLICIES[policy].settings.model_fields
    values = {"batch_size": 2} if "batch_size" in own else {}
    produced(path, "game24:901-904", policy=policy, values=values, limits=Limits(calls=8))
    with closing(quick(SqliteLog(path))) as log:
        worked(log)


def cut(log: Path, problem: str, *more: str) -> tuple[Path, Verified]:
    """The episode of a problem in a file of its own, and what `verify` says of it."""
    lines = log.with_suffix(".jsonl")
    lines.write_bytes(call("log", "cat", "--episode", problem, *more, "--log", log).raw)
    with closing(import_jsonl(str(lines))) as one:
        return lines, Verifier(one, find).run()


def knows(log: Path, problem: str) -> bool:
    """Whether an episode knew something that others had left."""
    with closing(SqliteLog(log)) as opened:
        (episode,) = opened.db.execute(
            "select episode from records where address = 'admitted' and episode like ?",
            (f"p/game24/{problem}/%",),
        ).fetchone()
        began = opened.find(episode, "opened")
        assert isinstance(began, EpisodeOpened)
        return began.memory_version > 0


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_episode_of_each_policy_is_verified_alone(tmp_path: Path, policy: str) -> None:
    log = tmp_path / "a.db"
    worked_on(log, policy)
    for problem in ("n901", "n904"):
        _, bare = cut(log, problem)
        assert (bare.diverged, bare.unverifiable) == ([], [])
        lacks = LACKS in {each.what for each in bare.left_out}
        assert lacks == knows(log, problem)
        assert bool(bare.episodes) != lacks
        lines, whole = cut(log, problem, "--learned")
        assert (whole.diverged, whole.unverifiable) == ([], [])
        assert LACKS not in {each.what for each in whole.left_out}
        assert whole.episodes >= 1
        shown = call("show", "--log", f"jsonl:{lines}")
        assert shown.code == 0
        assert problem in shown.out


def test_a_cut_that_was_changed_is_found_without_its_memory(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    worked_on(log, "mc2")
    lines, bare = cut(log, "n904")
    assert LACKS in {each.what for each in bare.left_out}
    said = [orjson.loads(line) for line in lines.read_bytes().splitlines()]
    reply = next(line for line in said if line.get("kind") == "completed")
    reply["event"]["model"] = "another"
    lines.write_bytes(b"\n".join(map(orjson.dumps, said)))
    with closing(import_jsonl(str(lines))) as one:
        found = [(each.episode, each.part) for each in Verifier(one, find).run().diverged]
        assert found == [(reply["episode"], "stamps")]
        assert len(log_digest(one)) == 64


def test_what_is_left_out_is_said_before_the_last_line(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    worked_on(log, "mc2")
    lines, _ = cut(log, "n904", "--learned")
    said = call("verify", "--log", f"jsonl:{lines}").lines
    assert said[-2].startswith(
        "left out: the rest of the log (this is a part without its claims); "
    )
    assert said[-1].startswith("verified 2 episodes, ")


def test_learned_is_of_one_episode(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    worked_on(log, "cot")
    refused = call("log", "cat", "--learned", "--log", log)
    assert (refused.code, "--learned is of one episode" in refused.err) == (2, True)
