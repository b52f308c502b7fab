"""A backbone for one role goes to a role that some policy asks; any other is refused by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.cli.calling import call

SOLVE = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--log", "a.db")
REHEARSAL = ("--backbone", "rehearsal:latency_ms=0")
OWN = """
from dataclasses import replace
from handlers.policies.registry import POLICIES

X = replace(POLICIES["cot"], roles=("referee",))
"""


@pytest.mark.parametrize(
    "words",
    [
        SOLVE,
        ("worker", "--until-idle", "--log", "a.db"),
        ("bench", "run", "mc2-tab-02", "--reduced", "--log", "a.db"),
    ],
)
@pytest.mark.parametrize("said", ["--role", "--backbone"])
@pytest.mark.parametrize(
    ("role", "near"),
    [
        ("monitr", "did you mean 'monitor'?"),
        ("Reasoner", "did you mean 'reasoner'"),
        ("embeder", "did you mean 'embedder'?"),
        ("xyzzy", "there are composer, "),
    ],
)
def test_a_misspelt_role_is_met_by_the_nearest(
    folder: Path, words: tuple[str, ...], said: str, role: str, near: str
) -> None:
    called = call(*words, *REHEARSAL, said, f"{role}=rehearsal:seed=2")
    assert called.code == 2
    assert called.err.startswith(f"--role: no policy asks a role '{role}'; {near}")
    assert "[role.unknown, exit 2]" in called.err
    assert not Path("a.db").exists()


@pytest.mark.parametrize("said", ["--role", "--backbone"])
def test_a_backbone_of_a_role_that_is_wrong_is_told_by_the_role(folder: Path, said: str) -> None:
    for wrong, code in (("bogus", 2), ("llamacpp:none", 5)):
        called = call(*SOLVE, *REHEARSAL, said, f"monitor={wrong}")
        assert (called.code, "--role monitor: no " in called.err) == (code, True), called.err


def test_a_role_that_is_asked_is_taken(folder: Path) -> None:
    called = call(*SOLVE, *REHEARSAL, "--role", "monitor=rehearsal:seed=2", "--json")
    assert "monitor=rehearsal(seed=2)" in call("show", "--json", "--log", "a.db").json["backbones"]
    assert called.code in (0, 1)


def test_an_own_policy_s_roles_are_known_where_it_was_given(folder: Path) -> None:
    Path("own.py").write_text(OWN)
    words = ("solve", "1+1", *REHEARSAL, "--role", "referee=rehearsal", "--log", "a.db")
    assert call(*words).code == 2
    assert call(*words, "--policy", "own.py:X").code in (0, 1)
    Path("list").write_text("own.py:X\nabsent.py:Y\n")
    assert call(*words, "--seed", 2, "--allow-policies", "list").code in (0, 1)
