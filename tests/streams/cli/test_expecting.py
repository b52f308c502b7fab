"""What a worker, `solve` and `bench run` say that their work will take, before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path

from schemas.identity import canonical
from tests.endpoint import Answer, Asked, Endpoint, fails, serving, whole
from tests.streams.cli.calling import Called, call

RIGHT = "Final_answer: \\boxed{3}"


def right(asked: Asked) -> Answer:
    return whole(RIGHT)


def expected(called: Called) -> list[str]:
    return [line for line in called.err.splitlines() if line.startswith("expected: ")]


def produce(count: int, *more: str) -> None:
    lines = b"\n".join(
        canonical({"id": f"q{number}", "problem": f"1 + {number}"}) for number in range(count)
    )
    Path("in.jsonl").write_bytes(lines)
    assert call("produce", "in.jsonl", *more).code == 0


def work(endpoint: Endpoint, *more: str) -> Called:
    words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--no-tables")
    return call("worker", *words, "--until-idle", "--settle", *more)


def test_it_is_said_before_the_first_call(folder: Path) -> None:
    produce(3, "--policy", "cot")
    with serving(lambda _: fails(401, "invalid_api_key", "no")) as endpoint:
        called = work(endpoint)
    assert called.code == 5
    lines = called.err.splitlines()
    refused = next(at for at, line in enumerate(lines) if "key refused" in line)
    said = lines.index(
        "expected: cot, 3 problems: at most 3 calls; tokens unknown before the first has closed; "
        "cost unknown: --prices FILE says what tokens cost"
    )
    assert said < refused


def test_what_was_measured_says_more_than_a_bound(folder: Path) -> None:
    produce(2, "--policy", "cot", "--series", "a")
    with serving(right) as endpoint:
        assert work(endpoint).code == 0
        produce(4, "--policy", "cot", "--series", "b")
        called = work(endpoint, "--price", "check=10,20")
    assert expected(called) == [
        "expected: cot, 4 problems: about 4 calls, 440 tokens (1.0 and 110 tokens each, mean of 2 "
        "closed on this log); cost about 0.0048"
    ]


def test_tokens_that_an_endpoint_did_not_say_stay_unknown(folder: Path) -> None:
    produce(1, "--policy", "cot", "--series", "a")
    with serving(lambda _: whole(RIGHT, usage=None)) as endpoint:
        assert work(endpoint).code == 0
        produce(1, "--policy", "cot", "--series", "b")
        called = work(endpoint)
    assert "about 1 call, unknown tokens" in expected(called)[0]


def test_another_models_means_are_not_taken(folder: Path) -> None:
    produce(2, "--policy", "cot", "--series", "a")
    assert call("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables").code == 0
    produce(2, "--policy", "cot", "--series", "b")
    with serving(right) as endpoint:
        assert "at most 2 calls" in expected(work(endpoint))[0]


def test_limits_bound_what_settings_leave_open(folder: Path) -> None:
    produce(2, "--policy", "tot")
    with serving(lambda _: fails(401, "invalid_api_key", "no")) as endpoint:
        unknown = work(endpoint)
        limited = work(endpoint, "--call-limit", "5", "--token-limit", "1000")
    assert "calls unknown before the first has closed: --call-limit bounds them" in unknown.err
    assert "expected: tot, 2 problems: at most 10 calls; at most 2.0k tokens" in limited.err


def test_each_policy_and_what_it_learns_has_its_line(folder: Path) -> None:
    produce(2, "--policy", "cot")
    produce(3, "--policy", "mc2")
    with serving(lambda _: fails(401, "invalid_api_key", "no")) as endpoint:
        mc2, cot = expected(work(endpoint))
    assert mc2.startswith("expected: mc2, 3 problems: at most 108 calls; ")
    assert mc2.endswith("; what it learns from them comes on top")
    assert cot.startswith("expected: cot, 2 problems: at most 2 calls; ")


def test_where_nothing_waits_a_problem_is_told(folder: Path) -> None:
    with serving(right) as endpoint:
        called = work(endpoint)
        solved = call("solve", "1 + 2", "--backbone", "openai:check", "--base-url", endpoint.url)
        again = call("solve", "1 + 2", "--backbone", "openai:check", "--base-url", endpoint.url)
    assert expected(called)[0].startswith(
        "expected: nothing waits yet; a problem for cot: at most 1"
    )
    assert expected(solved)[0].startswith("expected: at most 1 call; tokens unknown")
    assert not expected(again), "a recorded answer takes nothing"


def test_of_the_simulator_nothing_is_said(folder: Path) -> None:
    produce(1)
    called = call("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables")
    assert not expected(called)
    assert not expected(call("solve", "1 + 2", "--backbone", "rehearsal"))


def test_standard_error_is_for_errors_where_scripts_read_it(folder: Path) -> None:
    with serving(lambda _: fails(401, "invalid_api_key", "no")) as endpoint:
        words = ("--backbone", "openai:check", "--base-url", endpoint.url)
        called = call("solve", "1 + 2", *words, "--json")
        assert not call("solve", "1 + 3", *words, "--display", "none").err.startswith("expected")
        tried = call("doctor", *words, "--try", "--for", "io", "--json")
    assert [json.loads(each.err)["exit"] for each in (called, tried)] == [5, 5]


def test_bench_says_it_for_its_cells(folder: Path) -> None:
    with serving(right) as endpoint:
        words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "b.db")
        called = call("bench", "run", "mc2-tab-08", "--reduced", "--limit", "1", *words)
    assert expected(called)
    assert all(" problem" in line for line in expected(called))
