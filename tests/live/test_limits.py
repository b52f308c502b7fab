"""Limits and totals: kept to the call, live and after a restart, with one worker or several lives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import end_of, produced
from tests.live.thinking import IDLE, QUICK, reading
from tests.streams.cli.calling import call
from tests.surroundings import Serve

REHEARSED = ("--backbone", "rehearsal:seed=7", *IDLE)
SMALL = ("--set", "max_rounds=2", "--set", "batch_size=6")


def produce(log: Path, policy: str, *more: object) -> None:
    done = call("produce", "game24:901-912", "--policy", policy, "--log", log, *more)
    assert done.code == 0, done.err


@pytest.mark.parametrize("policy", ["mc2", "cot", "greedy", "self_consistency"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
def test_no_episode_makes_more_calls_than_its_limit(folder: Path, policy: str, limit: int) -> None:
    log = folder / "a.db"
    produce(log, policy, "--call-limit", limit)
    assert call("worker", "--log", log, *REHEARSED).code == 0
    answers = call("consume", "--json", "--log", log).rows
    assert len(answers) == 12
    for answer in answers:
        assert 1 <= answer["usage"]["calls"] <= limit
        assert answer["status"] != "failed"
        assert (answer["status"] == "exhausted") == answer["ended_by"].startswith("limit")
    stopped = [answer for answer in answers if answer["status"] == "exhausted"]
    assert all(answer["usage"]["calls"] == limit for answer in stopped)
    enough = {"cot": 1, "greedy": 1, "self_consistency": 5}.get(policy)
    assert (len(stopped) == 0) == (enough is not None and limit >= enough) or policy == "mc2"
    assert call("verify", "--log", log).code == 0


@pytest.mark.parametrize("policy", ["mc2", "cot", "self_consistency"])
def test_no_episode_spends_more_tokens_than_its_limit(folder: Path, policy: str) -> None:
    """Kept by reservation: the cap on a reply is what is left, and a call not covered is not made."""
    log = folder / "a.db"
    most = 600 if policy == "self_consistency" else 1_500
    produce(log, policy, "--token-limit", most)
    assert call("worker", "--log", log, *REHEARSED).code == 0
    answers = call("consume", "--json", "--log", log).rows
    spent = [a["usage"]["prompt_tokens"] + a["usage"]["completion_tokens"] for a in answers]
    assert len(spent) == 12
    assert max(spent) <= most
    assert policy == "cot" or {answer["status"] for answer in answers} >= {"exhausted"}
    assert call("verify", "--log", log).code == 0


def test_the_endpoint_is_told_what_is_left(serve: Serve, folder: Path) -> None:
    endpoint = serve()
    produce(folder / "a.db", "mc2", "--token-limit", 2_000, "--limit", 3)
    assert call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE).code == 0
    problems = [asked.body for asked in endpoint.asked if "max_tokens" in asked.body]
    assert min(body["max_tokens"] for body in problems) < 2_000
    assert all(body["max_tokens"] > 0 for body in problems)


def test_a_call_refused_is_not_made(serve: Serve, folder: Path) -> None:
    endpoint = serve()
    words = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--backbone", QUICK)
    done = call(*words, "--call-limit", 2, "--json", "--log", folder / "a.db")
    assert done.code == 4
    assert (done.json["status"], done.json["usage"]["calls"]) == ("exhausted", 2)
    assert done.json["ended_by"].startswith("limit")
    assert len(endpoint.asked) == 2
    again = call(*words, "--call-limit", 2, "--json", "--log", folder / "a.db")
    assert (again.code, again.json["answer"]) == (4, done.json["answer"])
    assert len(endpoint.asked) == 2, "what is on record is not asked again"


def test_a_record_s_limits_beat_the_command_line(folder: Path) -> None:
    lines = [
        {"id": "own", "problem": "4 4 10 10", "domain": "game24", "limits": {"calls": 1}},
        {"id": "other", "problem": "1 2 4 6", "domain": "game24"},
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ("produce", "in.jsonl", "--policy", "self_consistency", "--call-limit", 3)
    assert call(*words, "--log", folder / "a.db").code == 0
    assert call("worker", "--log", folder / "a.db", *REHEARSED).code == 0
    answers = call("consume", "--json", "--log", folder / "a.db").rows
    calls = {answer["problem_id"]: answer["usage"]["calls"] for answer in answers}
    assert calls == {"own": 1, "other": 3}


@pytest.mark.parametrize("total", [1, 40, 75])
def test_a_total_pauses_and_a_restart_comes_to_the_same(
    serve: Serve, folder: Path, total: int
) -> None:
    values = {"max_rounds": 2, "batch_size": 6}
    calm, paused = folder / "calm.db", folder / "paused.db"
    for path in (calm, paused):
        produced(path, "game24:901-912", values=values)
    serve()
    assert call("worker", "--log", calm, "--backbone", QUICK, *IDLE).code == 0
    endpoint = serve()
    lives = 0
    while True:
        begun = len(endpoint.asked)
        words = ("worker", "--log", paused, "--backbone", QUICK, "--total-calls", total, *IDLE)
        done = call(*words)
        assert len(endpoint.asked) - begun <= total
        if done.code == 0:
            break
        assert done.code == 4
        assert done.err.startswith("calls spent [budget.spent, exit 4]\n  ")
        lives += 1
        if total == 1 and lives == 3:  # it would take many lives
            assert call("worker", "--log", paused, "--backbone", QUICK, *IDLE).code == 0
            break
    assert lives >= 1
    assert endpoint.repeats() == 0
    assert reading(paused, end_of) == reading(calm, end_of)


def test_total_tokens_and_time_pause_too(folder: Path) -> None:
    log = folder / "a.db"
    produce(log, "mc2", *SMALL)
    done = call("worker", "--log", log, *REHEARSED, "--total-tokens", 3_000)
    assert (done.code, done.err.partition(" ")[0]) == (4, "tokens")
    slow = ("--backbone", "rehearsal:seed=7,latency_ms=20", *IDLE)
    done = call("worker", "--log", log, *slow, "--total-time", "0.01")
    assert (done.code, done.err.partition(" ")[0]) == (4, "seconds")
    assert call("worker", "--log", log, *REHEARSED).code == 0
    assert len(call("consume", "--log", log).lines) == 12


def test_learning_has_a_limit_of_its_own(folder: Path) -> None:
    free, held = folder / "free.db", folder / "held.db"
    for path, more in ((free, ()), (held, ("--learning-call-limit", 3))):
        produce(path, "mc2", *SMALL)
        assert call("worker", "--log", path, *REHEARSED, *more).code == 0
        assert len(call("consume", "--log", path).lines) == 12
        assert call("verify", "--log", path).code == 0
    query = (
        "select sum(kind = 'completed'), sum(kind = 'limit.reached') from records "
        "where topic = 'learning' and episode like 'b/%' group by episode"
    )
    rows = {
        path: reading(path, lambda log: log.db.execute(query).fetchall()) for path in (free, held)
    }
    assert max(made for made, _ in rows[free]) > 3
    assert all(made <= 3 for made, _ in rows[held])
    assert sum(refused for _, refused in rows[free]) == 0
    assert sum(refused for _, refused in rows[held]) > 0


def test_a_limit_of_seconds_is_kept_by_recorded_latencies(serve: Serve, folder: Path) -> None:
    """What is spent is on record, so a replay comes to the same end at any speed."""
    log = folder / "a.db"
    # Shorter than a single reply: an episode of two calls, whose report is clean, never comes to its second.
    produce(log, "mc2", *SMALL, "--time-limit", "0.05", "--limit", 4)
    slow = ("--backbone", "rehearsal:seed=7,latency_ms=60", *IDLE)
    assert call("worker", "--log", log, *slow).code == 0
    answers = call("consume", "--json", "--log", log).rows
    assert {answer["status"] for answer in answers} == {"exhausted"}
    assert all("seconds" in answer["ended_by"] or answer["ended_by"] for answer in answers)
    assert call("verify", "--log", log).code == 0


@pytest.mark.parametrize(
    "option", ["--call-limit", "--token-limit", "--cost-limit", "--time-limit"]
)
@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_limit_is_a_positive_number(folder: Path, option: str, value: str) -> None:
    words = ("solve", "1 + 1", "--backbone", "rehearsal", "--log", folder / "a.db")
    done = call(*words, option, value)
    assert done.code == 2
    assert option in done.err


def test_a_cost_limit_needs_a_price(serve: Serve, folder: Path) -> None:
    """Of a model whose price nobody knows, no cost can be kept to."""
    serve()
    log = folder / "a.db"
    done = call("solve", "1 + 1", "--backbone", QUICK, "--cost-limit", "0.1", "--log", log)
    assert done.code == 2
    assert "price" in done.err
    assert call("worker", "--backbone", QUICK, "--total-cost", "1", "--log", log, *IDLE).code == 2


def test_stopped_episodes_say_where_and_what(folder: Path) -> None:
    log = folder / "a.db"
    words = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--log", log)
    done = call(*words, "--backbone", "rehearsal", "--call-limit", 2)
    assert done.code == 4
    opened = SqliteLog(log)
    refused = list(opened.records(kinds=["limit.reached"]))
    opened.close()
    assert [getattr(each.event, "which", None) for each in refused] == ["calls"]


def test_a_known_answer_is_given_again_and_says_what_was_not_used(folder: Path) -> None:
    words = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--log", "a.db")
    rehearsed = ("--backbone", "rehearsal", "--json")
    first = call(*words, *rehearsed, "--call-limit", 2)
    again = call(*words, *rehearsed, "--call-limit", 24)
    assert (first.code, again.code) == (4, 4)
    assert first.json["known"] is False
    assert again.json == first.json | {"known": True}
    assert "its limits then: calls 2; not used: calls 24" in again.err
    assert "anew: --seed 1" in again.err
    fork = again.err.partition("metalogue fork ")[2].partition(",")[0].split()
    assert call("fork", *fork, "--call-limit", 24, *rehearsed[:2], "--log", "a.db").code == 0
    anew = call(*words, *rehearsed, "--call-limit", 24, "--seed", 1)
    assert anew.json["known"] is False
    same = call(*words, *rehearsed, "--call-limit", 24, "--seed", 1)
    assert "not used" not in same.err


def test_producing_known_problems_with_other_limits_says_that_theirs_stay(folder: Path) -> None:
    words = ("produce", "game24:901-903", "--policy", "cot", "--log", "a.db")
    assert "known" not in call(*words, "--call-limit", 2).err
    assert "3 known: they keep the limits" in call(*words, "--call-limit", 9).err
    assert "known" not in call(*words).err
