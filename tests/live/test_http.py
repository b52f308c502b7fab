"""The whole pipeline against a real HTTP server."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from handlers.roles.monitor import PROMPT
from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import grown, kill, until, worker
from tests.crash.series import End, end_of, produced
from tests.endpoint import Answer, Asked, drops, fails, whole
from tests.live.thinking import IDLE, KEY, QUICK, asked_of, reading, seeds, slowly, think
from tests.streams.cli.calling import call
from tests.surroundings import Serve

pytestmark = pytest.mark.live

SIZE = 12
SMALL = {"max_rounds": 2, "batch_size": 6}


def pipeline(path: Path, backbone: str = QUICK) -> End:
    """Produce, work, consume, verify."""
    produced(path, f"game24:901-{900 + SIZE}", values=SMALL)
    worked = call("worker", "--log", path, "--backbone", backbone, *IDLE)
    assert worked.code == 0, worked.err
    answers = call("consume", "--log", path, "--json").rows
    assert len({answer["problem_id"] for answer in answers}) == len(answers) == SIZE
    verified = call("verify", "--log", path)
    assert (verified.code, verified.err) == (0, "")
    assert verified.lines[-1].endswith(" 0 model calls")
    end: End = reading(path, end_of)
    return end


def test_mc2_asks_each_call_once_and_what_it_asked_is_on_record(serve: Serve, folder: Path) -> None:
    endpoint = serve()
    end = pipeline(folder / "a.db")
    asked = Counter(asked_of(endpoint))
    assert set(asked.values()) == {1}
    assert asked.keys() == reading(folder / "a.db", seeds)
    assert {each.headers["authorization"] for each in endpoint.asked} == {f"Bearer {KEY}"}
    assert {each.body["model"] for each in endpoint.asked} == {"check"}
    calls = sum(answer["usage"]["calls"] for _, answer in end.answers)
    learning = call("log", "stats", "--json", "--log", folder / "a.db").json
    assert 0 < calls < len(endpoint.asked) == learning["completions"]
    assert learning["learning_episodes"] == 2


def test_each_role_is_asked_of_its_own_backbone(serve: Serve, folder: Path) -> None:
    endpoint, path = serve(), folder / "a.db"
    produced(path, "game24:901-906", values=SMALL)
    apart = ("--role", f"monitor={QUICK.replace('openai', 'openai:judge', 1)}")
    assert call("worker", "--log", path, "--backbone", QUICK, *apart, *IDLE).code == 0
    who = {
        (each.body["messages"][0]["content"].startswith(PROMPT), each.body["model"])
        for each in endpoint.asked
    }
    assert who == {(True, "judge"), (False, "check")}


def test_streaming_says_the_same(serve: Serve, folder: Path) -> None:
    serve()
    whole_ones = pipeline(folder / "a.db")
    streams = serve()
    assert pipeline(folder / "b.db", f"{QUICK}&stream=true") == whole_ones
    assert all(asked.body["stream"] for asked in streams.asked)
    assert all(asked.body["stream_options"] == {"include_usage": True} for asked in streams.asked)


PUT_OFF = fails(429, "rate_limit_exceeded", "slow down", headers={"retry-after": "0.05"})
JUNK = Answer(raw=b"<html>a gateway's page</html>", type="text/html")
MOODS = {
    "put off": PUT_OFF,
    "junk": JUNK,
    "cut off": drops("before"),
    "half": drops("middle"),
    "overloaded": fails(503),
}


@pytest.mark.parametrize("stream", ["false", "true"])
def test_moods_of_the_transport_leave_no_trace_but_attempts(
    serve: Serve, folder: Path, stream: str
) -> None:
    serve()
    calm = pipeline(folder / "calm.db")
    moods = list(MOODS.values())

    def script(asked: Asked) -> Answer:
        seed: int = asked.body["seed"]
        moody = asked.times == 1 and seed % 3 == 0
        return moods[seed % len(moods)] if moody else think(asked)

    endpoint = serve(script)
    assert pipeline(folder / "wild.db", f"{QUICK}&stream={stream}") == calm
    again = {asked.body["seed"] for asked in endpoint.asked if asked.times > 1}
    assert {seed % len(moods) for seed in again} == set(range(len(moods)))
    log = SqliteLog(folder / "wild.db")
    query = "select sum(json_extract(body, '$.attempts')) from records where kind = 'completed'"
    assert log.db.execute(query).fetchone()[0] == len(endpoint.asked)
    log.close()


def test_timeouts_and_endless_junk_become_answers(serve: Serve, folder: Path) -> None:
    def script(asked: Asked) -> Answer:
        match asked.body["seed"] % 8:
            case 0:
                return Answer(raw=b"{", latency_s=30)
            case 1:
                return Answer(raw=b"no JSON at all")
            case 2:
                return whole(None, refusal="I would rather not")
            case 3:
                return whole("x\ud800" * 10, usage={"prompt_tokens": -4, "completion_tokens": "7"})
            case _:
                return think(asked)

    endpoint = serve(script)
    pipeline(folder / "a.db", f"{QUICK}&timeout_s=0.25")
    log = SqliteLog(folder / "a.db")
    query = "select json_extract(body, '$.finish'), count(*) from records where kind = 'completed' group by 1"
    finishes = dict(log.db.execute(query).fetchall())
    assert finishes.keys() >= {"stop", "timeout", "error", "refusal"}
    tokens = (
        "select count(*) from records where kind = 'completed' and body like '%prompt_tokens\":-%'"
    )
    assert log.db.execute(tokens).fetchone()[0] == 0
    assert Counter(asked_of(endpoint)).keys() == seeds(log)
    log.close()


@pytest.mark.slow
def test_kills_never_ask_again_what_was_recorded(serve: Serve, folder: Path) -> None:
    serve()
    calm = pipeline(folder / "calm.db")
    path = folder / "wild.db"
    produced(path, f"game24:901-{900 + SIZE}", values=SMALL)
    endpoint = serve(slowly(0.15))
    env = endpoint.env()
    arguments = ("--backbone", QUICK, "--max-concurrency", 4)
    log = SqliteLog(path)
    for _ in range(8):
        recorded, begun = seeds(log), len(endpoint.asked)
        reached = grown(log, 9)
        process = worker(path, *arguments, **env)
        assert until(reached, process)
        assert kill(process)
        assert not recorded & set(asked_of(endpoint)[begun:])
    recorded, begun = seeds(log), len(endpoint.asked)
    done = call("worker", "--log", path, "--backbone", QUICK, *IDLE)
    assert done.code == 0, done.err
    assert not recorded & set(asked_of(endpoint)[begun:])
    end = end_of(log)
    log.close()
    assert end == calm
    assert endpoint.repeats() <= 8 * 4 * 3
