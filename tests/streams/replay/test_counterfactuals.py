"""What if: a fork repeats its parent for nothing, and pays only for what follows from its change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from schemas.events.base import Event
from schemas.events.episode import Completed, Embedded, EpisodeClosed, EpisodeOpened
from schemas.identity import address_order
from schemas.usage import Embedding
from state.folds.costs import CostsFold
from streams.answering.backbones.rehearsal import Rehearsal
from streams.answering.backbones.rehearsal.options import Options
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.interfaces.cli.forking import forked
from streams.replay.change import Change, by_role, reused
from streams.replay.differ import first_difference, meant, spent_from
from streams.replay.fork import CannotFork, Forked
from streams.replay.verify import before, numbered
from streams.research.analysis.cases import read
from streams.runtime.embedded.log import SqliteLog
from streams.telemetry.figures import Reader
from tests.streams.cli.calling import call

pytestmark = pytest.mark.slow
BACKBONE = "rehearsal:seed=7"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty episodes of MC², with lessons from the first ten for the rest."""
    path = tmp_path_factory.mktemp("forks") / "a.db"
    made = call("produce", "game24:901-920", "--policy", "mc2", "--call-limit", "30", "--log", path)
    assert made.code == 0, made.err
    done = call("worker", "--backbone", BACKBONE, "--until-idle", "--no-tables", "--log", path)
    assert done.code == 0, done.err
    return path


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    opened = SqliteLog(path)
    yield opened
    opened.close()


def world(seed: int = 7, **roles: int) -> World:
    named = {"*": Rehearsal(Options(seed=seed))} | {
        name: Rehearsal(Options(seed=s)) for name, s in roles.items()
    }
    return World(named, HashedEmbedder())


def fork(log: SqliteLog, parent: str, change: Change, asked: World) -> Forked:
    return asyncio.run(forked(log, parent, change, asked))


def episodes(log: SqliteLog) -> list[str]:
    return [case.episode for case in read(log).cases()]


def record(log: SqliteLog, parent: str, done: Forked, at: str) -> dict[str, Event]:
    """A fork's whole record, the parent's part before it."""
    return numbered(before(log.journal(parent), at) | log.journal(done.episode))


def spent_on_probes(log: SqliteLog) -> int:
    costs = CostsFold()
    for said in log.records("events", kinds=["completed"]):
        assert isinstance(said.event, Completed)
        costs.feed(said.episode, said.event)
    figures = Reader(str(log.path))
    figures.read_all()
    found = figures.figures.probing.calls
    figures.close()
    assert found == costs.columns["probes"].calls
    return found


def test_a_fork_anywhere_with_nothing_changed_is_its_parent_and_makes_no_call(
    log: SqliteLog,
) -> None:
    asked, forks = world(), 0
    parents = episodes(log)
    assert len(parents) == 20
    for parent in parents:
        journal = log.journal(parent)
        closed = journal["closed"]
        assert isinstance(closed, EpisodeClosed)
        for at in sorted(numbered(journal), key=address_order):
            done = fork(log, parent, Change(at=at), asked)
            again = {a: meant(event) for a, event in record(log, parent, done, at).items()}
            assert again == {a: meant(event) for a, event in numbered(journal).items()}
            assert (done.closed.answer, done.closed.ended_by) == (closed.answer, closed.ended_by)
            assert done.made == 0
            assert done.kept + done.reused == closed.usage.calls
            forks += 1
    assert asked.calls_begun == 0
    assert forks > 300
    assert spent_on_probes(log) == 0
    named = fork(log, parents[0], Change(at="3"), asked).episode
    opened = log.find(named, "opened")
    assert isinstance(opened, EpisodeOpened)
    assert (opened.parent, opened.at, opened.purpose) == (parents[0], "3", "fork")


def test_another_backbone_pays_only_for_what_follows(log: SqliteLog) -> None:
    for parent in episodes(log)[10:14]:
        journal = log.journal(parent)
        calls = sorted(
            (at for at, event in journal.items() if isinstance(event, Completed)), key=address_order
        )
        for number, at in enumerate(calls):
            asked = world(seed=9)
            done = fork(log, parent, Change(at=at), asked)
            assert (done.kept, done.reused) == (number, 0)
            assert asked.calls_begun == done.made == done.closed.usage.calls
            again = world(seed=9)
            assert fork(log, parent, Change(at=at), again) == done
            assert again.calls_begun == 0


def test_another_backbone_of_one_role_keeps_the_others_replies(log: SqliteLog) -> None:
    parent = episodes(log)[0]
    asked = world(controller=9)
    done = fork(log, parent, Change(at="0"), asked)
    roles = [
        e.asked.split(" ")[1]
        for e in log.journal(done.episode).values()
        if isinstance(e, Completed)
    ]
    assert done.reused >= 2  # the first round's reasoner and monitor
    assert asked.calls_begun == done.made < len(roles)


def test_samples_are_other_draws_under_names_of_their_own(log: SqliteLog) -> None:
    parent = episodes(log)[3]
    at = min(
        (a for a, e in log.journal(parent).items() if isinstance(e, Completed)), key=address_order
    )
    asked = world()
    done = [fork(log, parent, Change(at=at, sample=n), asked) for n in range(4)]
    assert len({each.episode for each in done}) == 4
    assert done[0].made == 0
    assert all(each.made == each.closed.usage.calls > 0 for each in done[1:])
    texts = {str(getattr(log.find(each.episode, at), "text", "")) for each in done}
    assert len(texts) > 1


def test_an_edited_reply_leads_on_from_there(log: SqliteLog) -> None:
    parent = episodes(log)[0]
    journal = log.journal(parent)
    at = next(a for a, e in journal.items() if isinstance(e, Completed))
    known = journal[at]
    assert isinstance(known, Completed)
    asked = world()
    done = fork(log, parent, Change(at=at, edit="I give up. No answer."), asked)
    put = log.find(done.episode, at)
    assert isinstance(put, Completed)
    assert (put.text, put.tokens) == ("I give up. No answer.", known.tokens)
    assert put.model.endswith("edited")
    assert asked.calls_begun == done.made
    fact = next(a for a, e in numbered(journal).items() if not isinstance(e, Completed))
    with pytest.raises(CannotFork, match="no reply"):
        fork(log, parent, Change(at=fact, edit="x"), asked)


def test_another_policy_begins_where_it_asks_the_same(log: SqliteLog) -> None:
    parent = episodes(log)[0]
    asked = world()
    done = fork(log, parent, Change(at="0", policy="cot"), asked)
    opened = log.find(done.episode, "opened")
    assert isinstance(opened, EpisodeOpened)
    assert (opened.policy, opened.limits.calls, done.made) == ("cot", 30, 1)
    left = log.journal(parent)
    last = max(numbered(left), key=address_order)
    with pytest.raises(CannotFork, match="another way at 0 already"):
        fork(log, parent, Change(at=last, policy="cot"), asked)


def test_diff_says_what_the_other_way_cost(log: SqliteLog) -> None:
    parent = episodes(log)[12]
    done = fork(log, parent, Change(at="0"), world(seed=11))
    left, right = log.journal(parent), record(log, parent, done, "0")
    found = first_difference(left, right)
    assert found is not None
    a, b = spent_from(numbered(left), found.address), spent_from(right, found.address)
    assert (found.calls, found.tokens) == (b.calls - a.calls, (b.tokens or 0) - (a.tokens or 0))
    more = "more" if found.calls > 0 else "fewer"
    assert found.said.startswith(f"{abs(found.calls)} calls {more}" if found.calls else "as many")


def test_the_commands(path: Path, log: SqliteLog) -> None:
    parent = episodes(log)[2]
    said = call(
        "fork", parent, "--at", "0", "--samples", "3", "--backbone", BACKBONE, "--log", path
    )
    assert said.code == 0, said.err
    assert [line for line in said.lines if line.startswith("3 samples: ")]
    rows = call(
        "fork",
        parent,
        "--at",
        "0",
        "--samples",
        "3",
        "--backbone",
        BACKBONE,
        "--json",
        "--log",
        path,
    ).rows
    assert rows[0]["made_calls"] == 0
    assert rows[-1]["samples"] == 3
    edited = path.parent / "reply.txt"
    edited.write_text("Answer: none")
    words = ("--edit", f"@{edited}", "--backbone", BACKBONE, "--json", "--log", path)
    at = next(a for a, e in log.journal(parent).items() if isinstance(e, Completed))
    assert call("fork", parent, "--at", at, *words).json["episode"].startswith("q/")
    long, bad = path.parent / "long.txt", path.parent / "bad.txt"
    long.write_text("a" * 1_048_577)
    bad.write_bytes(b"\xff")
    for wrong in (
        *(("--edit", f"@{long}"), ("--edit", f"@{bad}"), ("--edit", "@nowhere")),
        *(("--policy", "nobody"), ("--samples", "0")),
    ):
        asked = ("fork", parent, "--at", at, *wrong, "--backbone", BACKBONE, "--log", path)
        assert call(*asked).code == 2
    shown = call(
        "diff", parent, call("fork", parent, "--at", at, *words).json["episode"], "--log", path
    )
    assert "the second takes" in shown.out


def lesson(log: Path) -> str:
    rows: list[dict[str, Any]] = call("lessons", "list", "--json", "--log", log).rows
    return str(max(rows, key=lambda row: int(row["used"]))["id"])


def test_a_setting_that_the_parent_s_policy_has_not_is_refused(path: Path) -> None:
    words = ("fork", "n901", "--at", "1", "--set", "temprature=1", "--backbone", BACKBONE)
    refused = call(*words, "--log", path)
    assert refused.code == 2
    assert refused.err.startswith("--set: ")
    assert "[policy.setting, exit 2]" in refused.err


def test_the_effect_of_a_lesson(path: Path, log: SqliteLog) -> None:
    wanted = lesson(path)
    shown = call("lessons", "show", wanted, "--json", "--log", path).json
    before = call("lessons", "show", wanted, "--log", path).out
    assert "not measured: that it was shown says nothing of its worth" in before
    assert shown["effects"] == []
    asked = ("effect", "lesson", wanted, "--backbone", BACKBONE, "--log", path)
    said = call(*asked, "--json")
    assert said.code == 0, said.err
    found = said.json
    assert found["episodes"] == shown["used"] == len(found["pairs"]) > 0
    assert found["simulated"]
    gains = [100 * (pair["with"] - pair["without"]) for pair in found["pairs"]]
    assert found["effect"] == pytest.approx(sum(gains) / len(gains))
    assert found["interval"][0] <= found["effect"] <= found["interval"][1]
    assert found["cost"]["calls"] >= 0
    for pair in found["pairs"]:
        opened = log.find(pair["probe"], "opened")
        parent = log.find(pair["episode"], "opened")
        assert isinstance(opened, EpisodeOpened)
        assert isinstance(parent, EpisodeOpened)
        assert (opened.purpose, opened.without, opened.limits) == (
            "effect",
            (wanted,),
            parent.limits,
        )
        used = log.find(pair["probe"], "closed")
        assert isinstance(used, EpisodeClosed)
        assert wanted not in used.items
    again = call(*asked, "--json").json
    assert again["pairs"] == found["pairs"]
    assert "effect" in call(*asked).out
    told = call("lessons", "show", wanted, "--log", path).out
    assert f"effect {found['effect']:+.1f} points, 95 % {found['interval'][0]:+.1f}" in told
    assert "not measured" not in told
    [told_again] = call("lessons", "show", wanted, "--json", "--log", path).json["effects"]
    assert {name: told_again[name] for name in ("effect", "interval", "helped", "hurt")} == {
        name: found[name] for name in ("effect", "interval", "helped", "hurt")
    }
    assert call("lessons", "list", "--log", path).out.count("points, 95 %") == 1
    assert call("effect", "lesson", "L99.R9", "--backbone", BACKBONE, "--log", path).code == 2


def test_verify_holds_over_all_of_it(path: Path) -> None:
    said = call("verify", "--log", path)
    assert said.code == 0, said.out + said.err
    assert "0 model calls" in said.lines[-1]
    assert "not verifiable" not in said.out


def test_who_answers_is_read_by_role() -> None:
    assert by_role("rehearsal(seed=7, latency_ms=20) (SIMULATED)") == {
        "*": "rehearsal(seed=7, latency_ms=20)"
    }
    named = {"*": Rehearsal(Options(seed=7)), "judge": Rehearsal(Options(seed=8))}
    told = by_role(World(named, HashedEmbedder()).description)
    assert told == {role: backbone.name for role, backbone in named.items()}
    assert by_role("openai:gpt-4o, judge=openai:o3") == {"*": "openai:gpt-4o", "judge": "openai:o3"}


def test_vectors_that_a_fork_takes_over_were_paid_by_its_parent() -> None:
    took = Embedding(attempts=2, tokens=7, cost=0.1)
    known = Embedded(asked="a", embedder="e", dimensions=1, vectors=("AAA=",), took=took)
    assert reused(known) == structs.replace(known, took=None)
