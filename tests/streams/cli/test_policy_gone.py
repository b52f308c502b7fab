"""An own policy's file that is not here, or that says nonsense: its problems wait, and nobody else's do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from streams.interfaces.cli.working import only_worker
from tests.streams.cli.calling import Called, call

OWN = """
from dataclasses import replace
from handlers.policies.registry import POLICIES

COT = replace(POLICIES["mc2"], {})
"""
LOG = ("--log", "a.db")
QUICK = ("--backbone", "rehearsal:latency_ms=0", "--until-idle")
FEW = ("--set", "max_rounds=1", "--set", "batch_size=2")
Spoilt: TypeAlias = Callable[[Path], None]


def write(file: Path, more: str = "") -> None:
    file.write_text(OWN.format(more or "about='ours'"))


def move(file: Path) -> None:
    """The file is not here any more."""
    file.rename("elsewhere.py")


def say_nan(file: Path) -> None:
    """Its constants are none that a record could hold."""
    write(file, "rule_constants=lambda given: {'rate': float('nan')}")


def fail(file: Path) -> None:
    """Its constants are asked for in vain."""
    write(file, "rule_constants=lambda given: {}['rate']")


def rule_of_no_name(file: Path) -> None:
    """Its rule is none of ours."""
    write(file, "rule='mine@1'")


def no_window(file: Path) -> None:
    """Its batches would have no members."""
    write(file, "window=lambda given, size: 0")


def forget_what_lives(file: Path) -> None:
    """How long its lessons live is asked for in vain."""
    write(file, "live_batches=lambda given: given.span")


SPOILT: dict[Spoilt, str] = {
    move: "cp.py: no such file",
    say_nan: "rule_constants: rate: must be a finite number",
    fail: "rule_constants: KeyError: 'rate' (cp.py:5)",
    rule_of_no_name: "rule: there is none called 'mine@1'",
    forget_what_lives: "live_batches: AttributeError: ",
    no_window: "window: 0 is no number of members",
}


@pytest.fixture
def own(folder: Path) -> Path:
    """An own policy whose first batch was learned from."""
    file = folder / "cp.py"
    write(file)
    (folder / "list").write_text("# ours\ncp.py:COT  # whose problems come and go\n")
    produced("game24:901-903", "cp.py:COT")
    assert worked().code == 0
    return file


def produced(source: str, policy: str) -> None:
    few = FEW if policy == "cp.py:COT" else ()
    assert call("produce", source, "--policy", policy, *few, *LOG).code == 0


def worked() -> Called:
    return call("worker", "--policy", "cot", "--allow-policies", "list", *QUICK, *LOG)


@pytest.mark.parametrize("spoil", SPOILT)
def test_other_problems_are_solved(own: Path, spoil: Spoilt) -> None:
    spoil(own)
    produced("game24:904-904", "cot")
    done = worked()
    assert done.code == 0, done.err
    assert "defect" not in done.err
    assert call("log", "stats", "--json", *LOG).json["answers"] == 4
    assert call("solve", "1+1", "--policy", "cot", "--backbone", "rehearsal", *LOG).code == 0


@pytest.mark.parametrize("spoil", SPOILT)
def test_the_doctor_and_the_worker_name_it(own: Path, spoil: Spoilt) -> None:
    assert "policy  " not in call("doctor", "--policy", "cp.py:COT", *LOG).out
    spoil(own)
    found = call("doctor", "--policy", "cp.py:COT", "--json", *LOG)
    (check,) = (each for each in found.json["checks"] if each["name"] == "policy")
    assert check["state"] == "warn"
    assert check["detail"].startswith("game24/cp.py:COT/")
    assert SPOILT[spoil] in check["detail"]
    assert worked().err.count(SPOILT[spoil]) == 1


def test_what_only_reads_needs_no_policy(own: Path) -> None:
    reading = [
        ("lessons", "list"),
        ("knowledge", "show"),
        ("state", "hash"),
        ("rebuild",),
        ("export", "out"),
        ("log", "digest"),
        ("show", "n901"),
    ]
    before = {words: call(*words, *LOG) for words in reading}
    move(own)
    for words, told in before.items():
        done = call(*words, *LOG)
        assert (words, done.code, done.err) == (words, 0, told.err)
        if words[0] in ("lessons", "knowledge", "state", "log", "show"):
            assert done.out == told.out


def test_its_episodes_are_not_verifiable_and_counted_once(own: Path) -> None:
    produced("game24:904-904", "cot")
    assert worked().code == 0
    whole = call("verify", "--policy", "cp.py:COT", "--json", *LOG).json
    assert whole["unverifiable"] == []
    for spoil in (move, say_nan):
        write(own)
        spoil(own)
        done = call("verify", "--policy", "cp.py:COT", "--json", *LOG)
        assert (done.code, done.json["diverged"]) == (0, [])
        names = [each.partition(": ")[0] for each in done.json["unverifiable"]]
        assert len(names) == len(set(names))
        assert done.json["episodes"] + len(names) == whole["episodes"]
        assert done.json["episodes"] == 1
        assert call("verify", "n903", "--policy", "cp.py:COT", *LOG).code == 0


def test_a_problem_of_it_is_refused_or_waits(own: Path) -> None:
    """What nobody admitted becomes a dead letter; a problem whose policy only says nonsense waits."""
    produced("game24:904-904", "cp.py:COT")
    say_nan(own)
    done = worked()
    assert (done.code, done.err.count(": waits")) == (1, 1)
    write(own)
    assert worked().code == 0
    assert call("log", "stats", "--json", *LOG).json["answers"] == 4


def test_problems_whose_policy_never_comes_back_are_taken_out(own: Path) -> None:
    produced("game24:904-906", "cp.py:COT")
    move(own)
    assert worked().err.count(": waits") == 3
    (check,) = (c for c in call("doctor", "--json", *LOG).json["checks"] if c["name"] == "policy")
    scope = check["detail"].partition(": ")[0]
    assert check["detail"].endswith("; 3 problems open")
    assert f"metalogue doctor --void {scope} --log a.db, or one EPISODE of it" in check["todo"]

    unknown = call("doctor", "--void", "n999", *LOG)
    assert unknown.code == 1
    assert unknown.err.startswith("n999 is not parked or without its policy [episode.not_parked")
    assert call("doctor", "--adopt", "n904", *LOG).code == 1
    assert call("doctor", "--void", "n90", *LOG).code == 1
    with only_worker("a.db"):
        busy = call("doctor", "--void", "n904", *LOG)
    assert (busy.code, "[log.busy, exit 6]" in busy.err) == (6, True)

    one = call("doctor", "--void", "n904", *LOG)
    assert one.err.count(": left out of its batch; ") == 1
    assert worked().err.count(": waits") == 2
    rest = call("doctor", "--void", scope, *LOG)
    assert rest.err.count(": left out of its batch; ") == 2
    done = worked()
    assert (done.code, done.err.count(": waits")) == (0, 0)

    Path("elsewhere.py").rename(own)
    assert worked().code == 0
    assert call("log", "stats", "--json", *LOG).json["answers"] == 3
    (check,) = (c for c in call("doctor", "--json", *LOG).json["checks"] if c["name"] == "policy")
    assert "problems open" not in check["detail"]
    assert call("verify", "--policy", "cp.py:COT", *LOG).code == 0
