"""Rules of sampling on banks whose truth is set by hand: what each comes to, what it costs, and what it may see."""

from __future__ import annotations

from itertools import combinations
from math import comb
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.intervals import chance_interval, mean_interval
from streams.research.analysis.sampling import (
    Chain,
    Drawn,
    Ended,
    Rule,
    Sampled,
    beside,
    evaluate,
    rules,
    shared_out,
    sharing_rules,
    until,
    until_leads,
    until_sure,
    vote_of,
    while_it_pays,
    winner,
    winners,
)
from streams.research.analysis.withholding import FITTED, select


def chains(said: str, tokens: int | None = 10) -> tuple[Chain, ...]:
    """A chain for each letter: x is right, a dot says nothing, any other letter is wrong."""
    return tuple(Chain(None if c == "." else c, c == "x", tokens) for c in said)


def bank(*said: str, tokens: int | None = 10) -> list[Drawn]:
    return [Drawn(f"{at}", chains(each, tokens)) for at, each in enumerate(said)]


def named(found: list[Sampled]) -> dict[str, Sampled]:
    return {each.rule: each for each in found}


@given(st.text("xab.", min_size=1, max_size=20))
def test_the_winners_of_a_growing_bank_are_those_of_its_beginnings(said: str) -> None:
    drawn = chains(said)
    assert list(winners(drawn)) == [winner(drawn[:n])[0] for n in range(1, len(drawn) + 1)]


def test_a_problem_that_all_chains_solve_takes_as_few_as_each_rule_needs() -> None:
    found = named(evaluate(bank(*["x" * 16] * 3)))
    assert all(each.right == 1 for each in found.values())
    assert {name: each.chains for name, each in found.items() if each.chains is not None} == {
        "vote of 1": 1,
        "vote of 3": 3,
        "vote of 5": 5,
        "vote of 10": 10,
        "vote of 16": 16,
        "until 2 agree, at most 16": 2,
        "until 3 agree, at most 16": 3,
        "until 4 agree, at most 16": 4,
        "until 2 agree, at most 4": 2,
        "until 2 agree, at most 5": 2,
        "until one leads by 2, at most 16": 2,
        "while it pays at 16, at most 16": 2,
        "while it pays at 20, at most 16": 2,
        "while it pays at 200, at most 16": 2,
        "until sure at 0.8, at most 16": 2,  # 1 - 1/2^3 = .875 after two, .75 after one
        "until sure at 0.95, at most 16": 4,  # 1 - 1/2^5 = .969 after four, .9375 after three
        "3 a problem, shared out by lead": 3,
        "5 a problem, shared out by lead": 5,
    }
    assert found["vote of 3"].tokens == 30
    assert found["vote of 3"].price == pytest.approx(0.6)
    assert found["vote of 3"].gain == 0
    assert found["vote of 5"].gain is None, "it is held against itself"


def test_the_vote_of_one_is_the_share_of_right_chains_and_of_all_is_the_winner() -> None:
    """Nine of sixteen right: the vote of all is right, one chain is in 9/16 of orders; three by the binomials."""
    found = named(evaluate(bank(*["x" * 9 + "y" * 7] * 40)))
    three = (comb(9, 3) + comb(9, 2) * 7) / comb(16, 3)
    assert found["vote of 1"].right == pytest.approx(9 / 16, abs=0.02)
    assert found["vote of 3"].right == pytest.approx(three, abs=0.02)
    assert found["vote of 16"].right == 1
    assert found["any of 5"].right == pytest.approx(1 - comb(7, 5) / comb(16, 5))
    gain = found["vote of 1"].gain
    assert gain == pytest.approx(found["vote of 1"].right - found["vote of 5"].right)
    low, high = found["vote of 1"].gain_interval or (0, 0)
    assert gain is not None
    assert low < gain < high < 0, "forty such problems tell that one chain is worse"


def test_three_that_agree_of_five_are_the_vote_of_five_where_there_are_two_answers() -> None:
    mixed = bank(*("x" * n + "y" * (16 - n) for n in range(17)))
    for turn in range(30):
        drawn = [[chain.kind for chain in each.ordered(turn)] for each in mixed]
        taken = until(3, 5)(drawn)
        assert all(3 <= count <= 5 for count in taken)
        for kinds, count in zip(drawn, taken, strict=True):
            assert winner(chains("".join(map(str, kinds[:count]))))[0] is (
                kinds[:5].count("x") >= 3
            )


def test_a_lead_of_so_many_ends_the_drawing_and_nothing_else_does() -> None:
    told = [list("xx"), list("xyxx"), list("xyxyxx"), list("x.y.z")]
    assert until_leads(2, 5)([[*each] for each in told]) == [2, 4, 5, 5]


@pytest.mark.parametrize(
    ("worth", "taken"),
    [
        (5, [2, 2, 2, 2]),
        (20, [2, 3, 4, 5]),
        (500, [2, 5, 6, 5]),
        (20_000, [5, 9, 6, 5]),
    ],
)
def test_what_a_right_answer_is_worth_decides_how_long_it_pays(
    worth: float, taken: list[int]
) -> None:
    """Two that agree, two that differ at first, three that all do, and a vote that nothing decides."""
    told = [list("xxxxxxxxx"), list("xyxxxxxxx"), list("xyzxxx"), list("abcde")]
    assert while_it_pays(worth, 9)([[*each] for each in told]) == taken


def test_what_is_left_goes_to_the_problems_that_are_torn() -> None:
    """Three a problem are six: two for each, and both left over for the one whose first two differ."""
    assert shared_out(3)([list("xxxxx"), list("xyxyx")]) == [2, 4]
    assert shared_out(3)([list("xy"), list("xxxxx")]) == [2, 4], "nothing is left of the first"
    assert shared_out(5)([list("xy"), list("yx")]) == [2, 2], "there are no more to draw"


def test_a_lead_is_held_against_the_chains_that_it_took() -> None:
    """Six of eight is less sure than two of two, though it is further ahead."""
    assert shared_out(4)([list("xxxxxx"), list("xyxxxxxx")]) == [2, 6]


def test_intervals_are_over_problems_and_of_a_run_beside_them_pair_by_pair() -> None:
    """Chains of one problem are all alike here, so that no order matters."""
    known = [
        Drawn("0", chains("xxxxx", 10)),
        Drawn("1", chains("aaaaa", 11)),
        Drawn("2", chains("xxxxx", 12)),
    ]
    right = chance_interval([(1.0, 1), (0.0, 1), (1.0, 1)])
    found = named(evaluate(known, 3))
    three, ceiling = found["vote of 3"], found["any of 5"]
    assert three.right == ceiling.right == pytest.approx(2 / 3)
    assert (three.interval, three.tokens) == (right, 33)
    assert (three.gain, three.gain_interval) == (0, (0, 0))
    assert ceiling.interval == right
    assert (ceiling.chains, ceiling.tokens, ceiling.gain) == (None, None, None)
    said = {"0": Ended(True, 1, 40), "1": Ended(True, 2, 60), "2": Ended(True, 3, 66)}
    sampled, problems = beside(known, "run", said) or (three, 0)
    assert problems == 3
    assert sampled.interval == chance_interval([(1.0, 1)] * 3)
    assert sampled.gain_interval == mean_interval([(0.0, 1), (1.0, 1), (0.0, 1)])
    assert sampled.price == pytest.approx(166 / 165)
    assert beside(known, "run", {"0": said["0"]}) is not None


def test_chains_that_answer_nothing_do_not_vote_and_are_paid() -> None:
    assert until(2, 16)([[None, "x", None, "x", "x"]]) == [4]
    assert winner(chains("...")) == (False, 0.0)
    right, share = winner(chains(".yx"))
    assert not right, "ties go to the one first seen"
    assert share == pytest.approx(1 / 3)


def test_tokens_that_one_chain_does_not_tell_are_unknown_and_not_zero() -> None:
    whole = bank("x" * 5, "y" * 5)
    some = [*whole, Drawn("c", (*chains("xxxx"), Chain("x", right=True, tokens=None)))]
    assert named(evaluate(whole))["vote of 5"].tokens == 50
    found = named(evaluate(some))["vote of 5"]
    assert found.tokens is None
    assert found.chains == 5
    assert named(evaluate(some))["vote of 3"].price is None


def test_a_vote_that_is_withheld_where_few_agree() -> None:
    """Thirty problems that five of five solve, thirty of which two of five say the winning wrong answer."""
    sure, torn = ["xxxxx"] * 30, ["aabcd"] * 30
    found = {(each.chains, each.level): each for each in select(bank(*sure, *torn), (5,), (0, 0.5))}
    assert (found[5, 0].answered, found[5, 0].right) == (1, 0.5)
    assert (found[5, 0.5].answered, found[5, 0.5].right) == (0.5, 1)
    low, high = found[5, 0.5].interval or (0, 0)
    assert 0.8 < low < high == 1, "thirty right ones of thirty"


def test_no_vote_is_told_of_more_chains_than_the_bank_holds() -> None:
    known = [bank(*[letters] * 40) for letters in ("xxxxx", "xxxxxxxx")]
    told = [[each.chains for each in select(one, (5, 16), (0.5,))] for one in known]
    assert told == [[5], [5, 8]]


def test_a_level_that_no_vote_reaches_answers_nothing() -> None:
    [found] = select(bank(*["aabcd"] * 40), (5,), (0.9,))
    assert (found.answered, found.right, found.interval) == (0, None, None)


def test_too_few_problems_fit_no_calibrator_and_an_empty_bank_says_nothing() -> None:
    assert list(select(bank(*["xxxxx"] * 30), (5,), (0.5,))) == [], "29 others are below 30 labels"
    assert evaluate([]) == []
    assert list(select([], (5,), (0.5,))) == []


def test_a_chance_is_calibrated_without_the_problem_itself() -> None:
    """Only the problem at hand is right with this share of votes: the others cannot know that it would be."""
    odd = [*["xxxxx"], *["aaaaa"] * 40]
    [found] = select(bank(*odd), (5,), (0.5,))
    assert found.answered == 0, "forty problems say that five of five mean nothing"


def test_intervals_hold_the_truth_of_drawn_banks() -> None:
    """Problems are right with a chance of their own, drawn evenly; a vote of 1 is right in half of all cases."""
    held, dice = 0, Random(1)
    for _ in range(40):
        chances = [dice.random() for _ in range(20)]
        drawn = bank(*("".join("xy"[dice.random() > p] for _ in range(5)) for p in chances))
        low, high = named(evaluate(drawn, 20))["vote of 1"].interval or (0, 0)
        held += low <= 0.5 <= high
    assert 35 <= held <= 40


RULES = st.sampled_from(
    [
        vote_of(3),
        until(2, 5),
        until(3, 8),
        until_leads(2, 8),
        until_sure(0.8, 8),
        until_sure(0.95, 8),
        while_it_pays(20, 8),
        while_it_pays(500, 8),
    ]
)
KINDS = st.lists(st.sampled_from(["x", "y", "z", None]), min_size=1, max_size=8)


@given(RULES, KINDS, KINDS)
def test_a_rule_sees_nothing_of_what_it_does_not_draw(
    rule: Rule, kinds: list[str | None], other: list[str | None]
) -> None:
    [taken] = rule([kinds])
    assert 1 <= taken <= len(kinds)
    if taken < len(kinds):
        assert rule([kinds[:taken] + other]) == [taken]


@given(st.lists(KINDS, min_size=1, max_size=5), st.integers(2, 6))
def test_what_is_shared_out_is_all_that_there_is_to_share(
    drawn: list[list[str | None]], mean: int
) -> None:
    taken = shared_out(mean)(drawn)
    most = sum(map(len, drawn))
    assert sum(taken) == min(most, max(mean * len(drawn), sum(min(2, len(k)) for k in drawn)))
    unseen = [[*k[:n], *["x"] * (len(k) - n)] for k, n in zip(drawn, taken, strict=True)]
    assert shared_out(mean)(unseen) == taken, "it looks at nothing that it does not draw"


@given(st.integers(1, 16))
def test_no_rule_is_named_that_the_bank_cannot_tell_of(size: int) -> None:
    for rule in (*rules(size).values(), *sharing_rules(size).values()):
        assert all(count <= size for count in rule([["x"] * size, ["y"] * size]))


def test_orders_are_the_same_each_time_and_differ() -> None:
    [one] = bank("abcdefgh")
    orders = [tuple(c.kind for c in one.ordered(turn)) for turn in range(FITTED)]
    assert orders == [tuple(c.kind for c in one.ordered(turn)) for turn in range(FITTED)]
    assert all(a != b for a, b in combinations(orders, 2))


def test_another_run_is_paired_with_the_votes_on_the_problems_that_it_ended() -> None:
    known = bank("xxxxx", "aaaaa", "xxaaa", "xxxxx")
    said = {"0": Ended(True, 3, 60), "1": Ended(True, 5, 40), "2": Ended(False, 1, 50)}
    found = beside(known, "searched", said | {"elsewhere": Ended(True, 1, 1)})
    assert found is not None
    sampled, problems = found
    assert problems == 3
    assert (sampled.rule, sampled.chains, sampled.tokens) == ("searched", 3, 50)
    assert sampled.right == pytest.approx(2 / 3)
    assert sampled.gain == pytest.approx(1 / 3), "it was right where all five were wrong"
    assert sampled.price == 1.0
    assert sampled.gain_interval is not None
    assert sampled.gain is not None
    low, high = sampled.gain_interval
    assert low < sampled.gain < high


@pytest.mark.parametrize(
    ("calls", "equal"), [([1, 1], 1), ([2, 4], 3), ([8, 8], 8), ([9, 9], None)]
)
def test_a_run_is_also_held_against_the_vote_of_as_many_chains_as_it_made_calls(
    calls: list[int], equal: int | None
) -> None:
    """Of eight chains five are right: the more of them vote, the less a run that is always right is ahead."""
    torn = bank("xxxxxaaa", "xxxxxaaa")
    mine = {each.problem: Ended(True, n, 50) for each, n in zip(torn, calls, strict=True)}
    found = beside(torn, "run", mine)
    assert found is not None
    assert found[0].equal == equal
    if equal is None:
        assert (found[0].equal_gain, found[0].equal_interval) == (None, None), "too few"
        return
    right = fmean(list(winners(each.ordered(n)))[equal - 1] for each in torn for n in range(100))
    assert found[0].equal_gain == pytest.approx(1 - right)


def test_the_exact_test_is_against_the_first_chains_as_they_were_drawn() -> None:
    """Seven problems are missed by the first five chains and not by all eight; an eighth only by the run."""
    known = bank(*["aaaxxxxx"] * 7, "xxxxxxxx", "aaaaaaaa")
    ended = {f"{at}": Ended(at < 7, 8, 50) for at in range(9)}
    found = beside(known, "run", ended)
    assert found is not None
    assert found[0].p == pytest.approx(2 * (1 + 8) / 2**8), (
        "one of eight that differ, and its mirror"
    )
    assert (found[0].equal, found[0].equal_p) == (8, 1.0), "one differs: nobody could tell"
    dearer = beside(known, "run", {name: Ended(each.right, 9, 50) for name, each in ended.items()})
    assert dearer is not None
    assert (dearer[0].p, dearer[0].equal_p) == (found[0].p, None)


def test_a_run_whose_tokens_are_unknown_has_no_price_and_without_shared_problems_none_is_told() -> (
    None
):
    known = bank("xxxxx", "aaaaa")
    found = beside(known, "run", {"0": Ended(True, 1, None), "1": Ended(False, 1, 7)})
    assert found is not None
    assert (found[0].tokens, found[0].price) == (None, None)
    uncounted = [known[0], Drawn("1", chains("aaaaa", None))]
    found = beside(uncounted, "run", {str(at): Ended(True, 5, 50) for at in range(2)})
    assert found is not None
    assert (found[0].tokens, found[0].price) == (50, None), "nobody knows what the vote took"
    assert beside(known, "run", {"9": Ended(True, 1, 1)}) is None
    assert beside(bank("xxx"), "run", {"0": Ended(True, 1, 1)}) is None, "no five to vote"


@given(st.lists(st.text("xab.", min_size=5, max_size=8), min_size=2, max_size=6), st.randoms())
def test_the_vote_itself_gains_nothing_on_itself(said: list[str], random: Random) -> None:
    """A run that ends as the one order of five equal chains must end is worth what the vote is."""
    known = bank(*(letters[0] * 5 for letters in said))
    ended = {each.problem: Ended(each.chains[0].right, 5, 50) for each in known}
    found = beside(known, "same", ended)
    assert found is not None
    assert found[0].gain == 0
    assert found[0].price == 1
