"""Limits of cost: kept by stated prices, in solve, worker and produce; refused where a price is unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.usage import Usage, total
from streams.answering.embedders.hashed import hashed
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, drops, fails, whole
from tests.live.thinking import IDLE, QUICK, reading, think
from tests.streams.backbones.asking import always
from tests.streams.cli.calling import Called, call
from tests.surroundings import Serve

PRICE = ("--price", "check=1000,4000")
"""A thousand tokens of a prompt cost 1, of a reply 4."""
LIMIT = 2.0


def produce(log: Path, *more: object) -> None:
    words = ("produce", "game24:901-908", "--policy", "mc2", "--log", log)
    assert call(*words, "--set", "batch_size=4", *more).code == 0


def answers(log: Path) -> list[dict[str, Any]]:
    return call("consume", "--json", "--log", log).rows


def costs(log: Path) -> list[float]:
    return [answer["usage"]["cost"] for answer in answers(log)]


def openings(log: SqliteLog) -> list[EpisodeOpened]:
    events = [record.event for record in log.records(kinds=["episode.opened"])]
    return [event for event in events if isinstance(event, EpisodeOpened)]


def worked(log: Path, *more: object) -> Called:
    return call("worker", "--backbone", QUICK, "--log", log, *IDLE, *more)


def test_no_episode_costs_more_than_its_limit_and_the_prices_are_pinned(
    serve: Serve, folder: Path
) -> None:
    endpoint, log = serve(), folder / "a.db"
    produce(log, "--cost-limit", LIMIT)
    assert worked(log, *PRICE).code == 0
    spent = costs(log)
    assert len(spent) == 8
    assert 0 < max(spent) <= LIMIT
    assert "exhausted" in {answer["status"] for answer in answers(log)}
    assert all(asked.body["max_tokens"] <= LIMIT / 4 * 1000 for asked in endpoint.asked[:8])
    assert {opened.prices is not None for opened in reading(log, openings)} == {True}
    assert call("verify", "--log", log).code == 0


def test_a_worker_s_own_limit_holds_for_problems_that_have_none(serve: Serve, folder: Path) -> None:
    serve()
    log = folder / "a.db"
    produce(log)
    assert worked(log, *PRICE, "--cost-limit", LIMIT, "--call-limit", 3).code == 0
    assert max(costs(log)) <= LIMIT
    limits = {opened.limits.model_dump_json() for opened in reading(log, openings)}
    assert limits == {'{"calls":3,"tokens":null,"cost":2.0,"seconds":null}'}
    assert call("verify", "--log", log).code == 0


def test_missing_usage_is_reserved_and_reported_as_unknown(serve: Serve, folder: Path) -> None:
    def silent(asked: Asked) -> Answer:
        """Nothing is said of tokens; the model may have used all that it was given."""
        return replace(think(asked), raw=think(asked).raw.replace(b'"usage"', b'"used"'))

    endpoint, log = serve(silent), folder / "a.db"
    produce(log, "--cost-limit", LIMIT)
    assert worked(log, *PRICE).code == 0
    assert set(costs(log)) == {None}
    most = max(asked.body["max_tokens"] for asked in endpoint.asked)
    assert most <= LIMIT / 4 * 1000
    assert {answer["status"] for answer in answers(log)} == {"exhausted"}
    assert call("verify", "--log", log).code == 0


def test_an_attempt_that_broke_off_may_have_been_charged(serve: Serve, folder: Path) -> None:
    """Both attempts fit into the limit only where each is settled at what was reserved."""

    def breaks(asked: Asked) -> Answer:
        return drops("middle") if asked.times == 1 else think(asked)

    serve(breaks)
    log = folder / "a.db"
    produce(log, "--cost-limit", LIMIT)
    assert worked(log, *PRICE).code == 0
    assert set(costs(log)) == {None}
    assert call("verify", "--log", log).code == 0


def test_solve_and_fork_keep_it_too(serve: Serve, folder: Path) -> None:
    serve()
    log = folder / "a.db"
    words = ("--backbone", QUICK, "--log", log, *PRICE)
    done = call("solve", "4 5 6 10", "--policy", "mc2", "--cost-limit", 1.5, "--json", *words)
    assert done.json["usage"]["cost"] <= 1.5
    episode = done.json["episode"]
    forked = call("fork", episode, "--at", "2", "--cost-limit", 9, "--json", *words)
    assert forked.code in (0, 4), forked.err
    assert forked.json["usage"]["cost"] <= 9
    assert call("verify", "--log", log).code == 0


def test_without_a_price_nothing_runs_and_the_work_stays(serve: Serve, folder: Path) -> None:
    endpoint, log = serve(), folder / "a.db"
    produce(log, "--cost-limit", LIMIT)
    done = worked(log)
    assert done.code == 2
    assert "no price is known for openai:check" in done.err
    assert "--price check=IN,OUT" in done.err
    assert "No problem was closed or charged" in done.err
    assert not endpoint.asked
    for option in ("--cost-limit", "--total-cost"):
        assert worked(log, option, 1).code == 2
    solved = call(
        "solve", "1 + 1", "--backbone", QUICK, "--cost-limit", 1, "--log", folder / "b.db"
    )
    assert (solved.code, (folder / "b.db").exists()) == (2, False)
    assert worked(log, *PRICE).code == 0
    assert len(answers(log)) == 8


def test_every_role_s_model_needs_one(serve: Serve, folder: Path) -> None:
    serve()
    log = folder / "a.db"
    produce(log, "--cost-limit", LIMIT)
    roles = ("--backbone", "monitor=openai:other?backoff_s=0.01")
    done = worked(log, *roles, *PRICE)
    assert done.code == 2
    assert "openai:other" in done.err
    assert worked(log, *roles, *PRICE, "--price", "other=0,0").code == 0
    opened = reading(log, openings)[0]
    assert opened.prices is not None
    assert {role: price.prompt for role, price in opened.prices.items()} == {
        "*": 1000,
        "monitor": 0,
    }
    assert call("verify", "--log", log).code == 0


def test_prices_may_stand_in_the_configuration(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    (folder / "metalogue.yaml").write_text('prices:\n  check: "1000,4000"\n  gpt-4.1: "1,2,0.5"\n')
    words = ("solve", "1 + 1", "--backbone", QUICK, "--log", folder / "a.db", "--json")
    assert call(*words, "--cost-limit", 5).json["usage"]["cost"] > 0
    row = call("config", "show", "--json").json["prices"]
    assert row["source"] == "metalogue.yaml:2"
    (folder / "wrong").mkdir()
    (folder / "wrong" / "metalogue.yaml").write_text("prices:\n  check: cheap\n")
    monkeypatch.chdir(folder / "wrong")
    wrong = call(*words, "--cost-limit", 5)
    assert wrong.code == 5
    assert "MODEL=IN,OUT" in wrong.err


@pytest.mark.parametrize("price", ["check", "check=1", "check=a,b", "=1,2"])
def test_a_price_that_cannot_be_read_says_how_to_write_one(folder: Path, price: str) -> None:
    done = call("solve", "1 + 1", "--backbone", "rehearsal", "--price", price, "--log", "a.db")
    assert done.code == 2
    assert "--price" in done.err
    assert "MODEL=IN,OUT" in done.err


def test_a_total_of_cost_stops_the_worker(serve: Serve, folder: Path) -> None:
    endpoint, log = serve(always(whole("\\boxed{1}"))), folder / "a.db"
    assert call("produce", "game24:901-908", "--policy", "cot", "--log", log).code == 0
    done = worked(log, *PRICE, "--total-cost", 0.5, "--max-concurrency", 1)
    assert done.code == 4
    assert len(endpoint.asked) == 4  # 0.14 each; the fifth is not begun
    assert worked(log, *PRICE).code == 0
    assert len(answers(log)) == 8


def made_here(asked: Asked) -> Answer:
    """A model that thinks, and beside it one that makes vectors, and fails now and then."""
    if not asked.path.endswith("/embeddings"):
        return think(asked)
    if asked.number % 5 == 0:
        return fails(500)
    texts = asked.body["input"]
    data = [{"index": at, "embedding": hashed(text, 8)} for at, text in enumerate(texts)]
    usage = {"prompt_tokens": sum(len(text.split()) for text in texts)}
    return Answer(raw=json.dumps({"data": data, "usage": usage}).encode())


def test_vectors_of_an_endpoint_have_figures_of_their_own(serve: Serve, folder: Path) -> None:
    endpoint, log = serve(made_here), folder / "a.db"
    produce(log)
    assert worked(log, "--role", "embedder=openai:check", *PRICE).code == 0
    requests = [asked for asked in endpoint.asked if asked.path.endswith("/embeddings")]

    def closings(opened: SqliteLog) -> list[Usage]:
        events = [record.event for record in opened.records(kinds=["episode.closed"])]
        return [event.usage for event in events if isinstance(event, EpisodeClosed)]

    whole = total(reading(log, closings)).embedding
    assert whole is not None
    assert whole.attempts == len(requests)
    assert whole.tokens
    assert whole.cost == pytest.approx(whole.tokens / 1000)
    answer = next(each for each in answers(log) if "embedding" in each["usage"])
    assert {"attempts", "tokens", "cost", "seconds"} == set(answer["usage"]["embedding"])
    shown = call("show", answer["episode"], "--log", log)
    assert "vectors: " in shown.out
    assert call("verify", "--log", log).code == 0


def test_vectors_made_here_have_none(serve: Serve, folder: Path) -> None:
    serve()
    log = folder / "a.db"
    produce(log)
    assert worked(log).code == 0
    assert not any("embedding" in answer["usage"] for answer in answers(log))
    solved = call("solve", "1 + 1", "--backbone", QUICK, "--json", "--log", folder / "b.db")
    assert "embedding" not in solved.json["usage"]
