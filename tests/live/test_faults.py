"""A broken set-up in the middle of a run is a state of the worker, never an outcome of a problem."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import PATIENCE_S, until, worker
from tests.crash.series import End, end_of, produced
from tests.endpoint import Answer, Asked, Endpoint, drops, fails, serving
from tests.live.thinking import (
    IDLE,
    KEY,
    QUICK,
    SILENT,
    EndpointAt,
    after,
    asked_of,
    reading,
    seeds,
    think,
)
from tests.pace import soon
from tests.ports import free_port
from tests.streams.cli.calling import call
from tests.surroundings import Serve, led_to

pytestmark = pytest.mark.live

SOURCE, SIZE, SMALL = "game24:901-912", 12, {"max_rounds": 2, "batch_size": 6}
LEFT_ALONE = ("answered", "abstained")

REFUSED = {
    "auth": fails(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"),
    "forbidden": fails(403, "permission_denied", f"{KEY} may not do this"),
    "model": fails(404, "model_not_found", "The model `check` does not exist"),
    "quota": fails(
        429, "insufficient_quota", "You exceeded your current quota", type="insufficient_quota"
    ),
    "payment": fails(402, "payment_required", "Payment Required"),
    "moved": Answer(status=308, headers={"location": f"http://127.0.0.1:9/v1?key={KEY}"}),
}
CODES = {
    "auth": "auth",
    "forbidden": "auth",
    "model": "model",
    "quota": "quota",
    "payment": "quota",
    "moved": "moved",
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> End:
    """What the same problems come to where nothing is broken."""
    path = tmp_path_factory.mktemp("calm") / "calm.db"
    with (
        pytest.MonkeyPatch.context() as here,
        led_to(here, think, {"OPENAI_API_KEY": KEY}) as start,
    ):
        start()
        produced(path, SOURCE, values=SMALL)
        assert call("worker", "--log", path, "--backbone", QUICK, *IDLE).code == 0
    end: End = reading(path, end_of)
    return end


@pytest.mark.parametrize(
    ("name", "calls"),
    [*((name, 17) for name in REFUSED), ("auth", 0), ("model", 60), ("quota", 60)],
)
def test_nothing_is_closed_or_charged_and_a_restart_finishes(
    serve: Serve, folder: Path, undisturbed: End, name: str, calls: int
) -> None:
    path = folder / "a.db"
    produced(path, SOURCE, values=SMALL)
    endpoint = serve(after(calls, REFUSED[name]))
    broken = call("worker", "--log", path, "--backbone", QUICK, *IDLE)

    assert broken.code == 5
    first, hint = broken.err.strip().splitlines()
    assert first.startswith(f"{endpoint.url}: ")
    assert first.endswith(f"[model.{CODES[name]}, exit 5]")
    assert hint.startswith("  No problem was closed or charged; ")
    stats = call("log", "stats", "--json", "--log", path).json
    assert f"; {stats['problems'] - stats['closed']} episodes stay open" in hint
    assert KEY not in broken.err + broken.out
    assert stats["completions"] == calls
    assert stats["closed"] == stats["answers"] < SIZE
    answers = call("consume", "--json", "--log", path).rows
    assert {answer["status"] for answer in answers} <= {*LEFT_ALONE}

    recorded, healed = reading(path, seeds), serve()
    done = call("worker", "--log", path, "--backbone", QUICK, *IDLE)
    assert (done.code, done.err) == (0, "")
    assert not recorded & set(asked_of(healed))
    assert healed.repeats() == 0
    assert reading(path, end_of) == undisturbed


@pytest.mark.parametrize("name", ["auth", "model", "quota", "moved"])
def test_the_message_names_what_to_mend(serve: Serve, folder: Path, name: str) -> None:
    endpoint = serve(after(0, REFUSED[name]))
    produced(folder / "a.db", "game24:901-902", policy="cot", values={})
    said = call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE).err
    what = {
        "auth": "key refused, HTTP 401 invalid_api_key; key from OPENAI_API_KEY",
        "model": "check cannot be asked, HTTP 404 model_not_found",
        "quota": "quota spent, HTTP 429 insufficient_quota",
        "moved": "HTTP 308 sends us to http://127.0.0.1:9/v1; no redirect is followed: give",
    }
    assert said.startswith(f"{endpoint.url}: {what[name]}")


@pytest.mark.parametrize("name", REFUSED)
def test_solve_says_the_same_and_leaves_the_episode_open(
    serve: Serve, folder: Path, name: str
) -> None:
    serve(after(1, REFUSED[name]))
    words = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--backbone", QUICK)
    broken = call(*words, "--log", folder / "a.db")
    assert (broken.code, broken.out) == (5, "")
    assert f"[model.{CODES[name]}, exit 5]" in broken.err
    assert KEY not in broken.err
    healed = serve()
    done = call(*words, "--json", "--log", folder / "a.db")
    assert done.code in (0, 1)
    assert done.json["usage"]["calls"] == len(healed.asked) + 1


def test_a_key_that_was_never_set_is_said_before_anything_is_done(folder: Path) -> None:
    produced(folder / "a.db", "game24:901-902", policy="cot", values={})
    said = call("worker", "--log", folder / "a.db", "--backbone", "openai:some", *IDLE)
    assert said.code == 5
    assert "OPENAI_API_KEY" in said.err
    assert "[model.auth, exit 5]" in said.err
    solved = call("solve", "1 + 1", "--backbone", "openai:some", "--log", folder / "b.db")
    assert (solved.code, "[model.auth, exit 5]" in solved.err) == (5, True)
    assert not (folder / "b.db").exists()


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("OPENAI_API_KEY", "sk-ü", "auth"), ("OPENAI_ORG_ID", "ü", "client")],
)
def test_what_no_request_can_carry_closes_nothing(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, code: str
) -> None:
    endpoint = serve()
    produced(folder / "a.db", SOURCE, values=SMALL)
    with monkeypatch.context() as broken:
        broken.setenv(name, value)
        said = call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE)
    assert (said.code, endpoint.asked) == (5, [])
    assert f"[model.{code}, exit 5]" in said.err
    assert call("log", "stats", "--json", "--log", folder / "a.db").json["closed"] == 0
    assert call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE).code == 0
    assert len(reading(folder / "a.db", end_of).answers) == SIZE


# ── A dead endpoint ──────────────────────────────────────────────────────────────────────────


def nobody() -> str:
    """An address where nobody listens."""
    return f"http://127.0.0.1:{free_port()}/v1"


def test_solve_ends_when_nobody_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = nobody()
    words = ("solve", "2+2", "-m", "m", "--base-url", url, "--backbone", f"{QUICK}&max_attempts=2")
    dead = call(*words, "--log", folder / "a.db")
    assert (dead.code, dead.out) == (6, "")
    told, first, hint = dead.err.strip().splitlines()
    assert told.startswith("expected: at most 1 call; ")
    assert first == f"{url}: connection refused [model.unreachable, exit 6]"
    assert "No problem was closed or charged" in hint
    assert reading(folder / "a.db", seeds) == set()


PUT_OFF = fails(429, "rate_limit_exceeded", "slow down", headers={"retry-after": "6.2"})


@pytest.mark.parametrize(
    ("answer", "code", "said", "mend"),
    [
        (
            PUT_OFF,
            "busy",
            "it puts us off, HTTP 429 rate_limit_exceeded slow down; 3 attempts in",
            "later",
        ),
        (PUT_OFF, "busy", ", and it asks for a pause of 7 s [", "a worker, which waits"),
        (fails(503), "busy", "it puts us off, HTTP 503; 3 attempts in 0 s [", "later"),
        (
            fails(500, None, "oops"),
            "failing",
            "it answers that it fails, HTTP 500 oops;",
            "Look at",
        ),
    ],
)
def test_solve_says_what_the_endpoint_did_when_it_gives_up(
    serve: Serve, folder: Path, answer: Answer, code: str, said: str, mend: str
) -> None:
    """It runs: nobody has to start it."""
    endpoint = serve(after(0, answer))
    words = ("solve", "2+2", "--backbone", f"{QUICK}&max_attempts=3", "--log", folder / "a.db")
    done = call(*words)
    assert (done.code, len(endpoint.asked)) == (6, 3)
    first, hint = done.err.strip().splitlines()[-2:]
    assert first.startswith(f"{endpoint.url}: ")
    assert first.endswith(f"[model.{code}, exit 6]")
    assert said in first
    assert mend in hint
    assert "Start the endpoint" not in hint


@pytest.mark.slow
def test_a_worker_waits_for_an_endpoint_that_went_away(folder: Path, undisturbed: End) -> None:
    """It answers, it is gone, it cuts every connection, it is back: nobody notices but the clock."""
    path = folder / "a.db"
    produced(path, SOURCE, values=SMALL)
    log = SqliteLog(path)
    endpoint = Endpoint(after(40, SILENT))
    process = worker(path, "--backbone", f"{QUICK}&max_attempts=2", **endpoint.env())
    assert until(lambda: len(seeds(log)) == 40, process)
    endpoint.close()
    recorded = seeds(log)
    cutting = EndpointAt(endpoint.url, lambda _: drops())
    assert until(lambda: len(cutting.asked) >= 3, process)
    cutting.close()
    closed = end_of(log).answers
    back = EndpointAt(endpoint.url, think)
    _, said = process.communicate(timeout=PATIENCE_S)
    back.close()
    assert process.returncode == 0
    assert said.decode().count("[model.unreachable]") == 1
    assert endpoint.url in said.decode()
    assert not recorded & set(asked_of(back))
    assert len(closed) < SIZE
    assert end_of(log) == undisturbed
    log.close()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_waits_can_be_told_to_stop(folder: Path, stop: signal.Signals) -> None:
    path = folder / "a.db"
    produced(path, SOURCE, values=SMALL)
    env = {"OPENAI_BASE_URL": nobody(), "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m"}
    process = worker(path, "--backbone", f"{QUICK}&max_attempts=1", **env)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"expected: ")
    assert b"[model.unreachable]" in process.stderr.readline()
    limit_s = soon(5)
    process.send_signal(stop)
    _, said = process.communicate(timeout=limit_s)
    assert process.returncode == 0, said
    assert len(reading(path, end_of).answers) == 0


def test_an_endpoint_that_is_up_later_is_found(folder: Path) -> None:
    path = folder / "a.db"
    produced(path, "game24:901-903", policy="cot", values={})
    url = nobody()
    env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m"}
    process = worker(path, "--backbone", f"{QUICK}&max_attempts=1", **env)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"expected: ")
    assert b"[model.unreachable]" in process.stderr.readline()
    endpoint = EndpointAt(url)
    process.communicate(timeout=PATIENCE_S)
    endpoint.close()
    assert process.returncode == 0
    assert len(reading(path, end_of).answers) == 3


def test_a_model_that_nobody_chose_is_the_only_one_offered(folder: Path) -> None:
    """Without OPENAI_MODEL the endpoint is asked; with two to choose from, the user is."""
    produced(folder / "a.db", "game24:901-902", policy="cot", values={})
    words = ("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE, "--base-url")
    with serving(think, models=("one", "two")) as several:
        asked = call(*words, several.url)
        assert asked.code == 5
        assert "one, two" in asked.err
        assert several.asked == []
    with serving(think, models=("one",)) as single:
        assert call(*words, single.url).code == 0
        assert {each.body["model"] for each in single.asked} == {"one"}


ODD = Answer(raw=b'{"error": null}', status=418)


def test_an_error_that_is_the_prompts_is_recorded_and_the_rest_goes_on(
    serve: Serve, folder: Path
) -> None:
    """Too long a prompt, a filtered one, a teapot: answers like any other."""
    faults = [
        fails(400, "context_length_exceeded", "maximum context length is 10 tokens"),
        fails(400, "content_filter", "filtered"),
        ODD,
    ]

    def script(asked: Asked) -> Answer:
        seed: int = asked.body["seed"]
        return faults[seed // 4 % 3] if seed % 4 == 0 else think(asked)

    endpoint = serve(script)
    produced(folder / "a.db", SOURCE, values=SMALL)
    done = call("worker", "--log", folder / "a.db", "--backbone", QUICK, *IDLE)
    assert done.code == 0
    assert len(reading(folder / "a.db", end_of).answers) == SIZE
    assert set(asked_of(endpoint)) == reading(folder / "a.db", seeds)
