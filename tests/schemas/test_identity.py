"""Names on a log: each follows from its parts, stays what it is on every log, and tells its parts again."""

from __future__ import annotations

from hashlib import sha256

import pytest

from schemas import identity

EPISODE = identity.episode_id("math", "a/b c", "0123abcd")


def test_the_names_that_logs_hold_stay_what_they_are() -> None:
    """Each of them stands on logs: another name for the same parts would lose what was recorded."""
    assert identity.text_digest("") == "e3b0c44298fc"
    assert identity.text_digest("x" * 4_097) == sha256(b"x" * 4_097).hexdigest()[:12]
    assert len(identity.text_digest("\ud800")) == 12
    assert identity.digest({"b": 1, "a": [None, 2.5]}) == identity.digest(
        {"a": [None, 2.5], "b": 1}
    )
    assert len(identity.digest("x")) == len(identity.text_digest("x")) == 12
    assert identity.canonical({2: "x", "a": 1}) == b'{"2":"x","a":1}'
    assert identity.hash01("a", 1) == 0.5141306901658262
    assert identity.hash01("ab", "c") != identity.hash01("a", "bc")
    assert identity.call_seed(7, "3.0") == 646008490
    assert identity.seed_of("a", 1) == int(identity.hash01("seed", "a", 1) * 2**31)
    assert identity.episode_seed(1, 2, "d", "p") == identity.seed_of(1, 2, "d", "p")


@pytest.mark.parametrize("seed", range(40))
def test_seeds_have_31_bits_and_use_them(seed: int) -> None:
    drawn = [identity.call_seed(seed, str(at)) for at in range(20)]
    assert 2**29 < max(drawn) < 2**31
    assert len(set(drawn)) == 20
    assert 0 <= identity.seed_of(seed) < 2**31


def test_names_are_made_of_their_parts() -> None:
    assert EPISODE == "p/math/a%2Fb%20c/0123abcd"
    assert identity.episode_parts(EPISODE) == ("math", "a/b c", "0123abcd")
    with pytest.raises(ValueError, match="q/a/b/c is not a problem's episode"):
        identity.episode_parts("q/a/b/c")
    assert identity.set_id("series", "3") == "s/series/3"
    assert identity.text_key("abc") == "t/abc"
    assert (
        identity.scope_id("d", "mc2", "main", {"k": 1}) == f"d/mc2/main/{identity.digest({'k': 1})}"
    )
    run = identity.run_id("mc2", "service", {"k": 1}, 5, 2, None)
    assert run == identity.digest(["mc2", "service", {"k": 1}, 5, 2, None])
    assert identity.probe_id("p/d/x/r", "3", "why", {"a": 1}) == (
        f"q/p/d/x/r/3/why/{identity.digest({'a': 1})}"
    )
    assert identity.taken_id("d", "x", "said") == f"p/d/x/taken-{identity.digest('said')}"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("b/d/mc2/main/abc/7", ("d/mc2/main/abc", 7, None)),
        ("b/d/mc2/main/abc/7.2", ("d/mc2/main/abc", 7, 2)),
        ("b/s\nt/7", ("s\nt", 7, None)),
        ("b/x/07", None),
        ("b/x/7.0", None),
        ("b/x/7.02", None),
        ("b/x", None),
        ("p/x/7/8", None),
    ],
)
def test_a_learning_episode_tells_its_parts_in_one_spelling(
    name: str, parts: tuple[str, int, int | None] | None
) -> None:
    assert identity.learning_parts(name) == parts
    if parts is not None:
        assert identity.learning_id(*parts) == name
    assert identity.learning_id("x", 7, 0) == "b/x/7"


@pytest.mark.parametrize(
    ("name", "taken", "of_a_set", "problem"),
    [
        ("p/d/x/taken-abc", True, False, "p/d/x/taken-abc"),
        ("p/d/x/abc", False, False, "p/d/x/abc"),
        ("p/d/taken-x/abc", False, False, "p/d/taken-x/abc"),
        ("p/d/taken-x", False, False, "p/d/taken-x"),
        ("q/d/x/taken-abc", False, False, "d/x/taken-abc"),
        ("s/series/1", False, True, "s/series/1"),
        ("q/p/d/x/abc/3/why/0f", False, False, "p/d/x/abc"),
        ("q/q/p/d/x/abc/3/why/0f/4/why/1e", False, False, "p/d/x/abc"),
    ],
)
def test_a_name_tells_what_kind_of_episode_it_is(
    name: str, taken: bool, of_a_set: bool, problem: str
) -> None:
    assert identity.is_taken(name) == taken
    assert identity.is_set(name) == of_a_set
    assert identity.probed(name) == problem


@pytest.mark.parametrize(
    ("address", "numbered"),
    [("3", True), ("3.1.0", True), ("3.", False), ("a", False), ("٣", False), ("3.a", False)],
)
def test_numbered_addresses_are_those_of_whole_numbers(address: str, numbered: bool) -> None:
    assert identity.is_numbered(address) == numbered


def test_addresses_are_ordered_as_their_records_came_to_be() -> None:
    ordered = ["admitted", "opened", "0", "0.2", "0.10", "1", "2", "10", "asked.3", "closed"]
    assert sorted({*ordered}, key=identity.address_order) == ordered
    assert identity.address_order("10.2") == (1, (10, 2), "")


def test_a_version_under_other_prompts_names_its_own() -> None:
    changed = identity.with_prompts("12", {"reasoner": {}})
    assert changed == f"12~{identity.digest({'reasoner': {}})}"
    assert identity.without_prompts(changed) == identity.without_prompts("12") == "12"
    assert identity.with_prompts(changed, {"reasoner": {}}) == changed
    assert identity.names_a_file("mine.py:POLICY")
    assert not identity.names_a_file("mc2")
