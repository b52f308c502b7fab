"""How far the leading answer is trusted, what replies cost, what is tried next, and where it ends: in figures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from handlers.learning.cascade import expected_reward, joined
from handlers.learning.likeness import Likeness, likeness_of
from handlers.learning.votes import chance, gain
from handlers.policies.base import Task
from handlers.policies.cascade.settings import MEANS, ArmName, CascadeSettings, Price, constants
from handlers.policies.cascade.solve import audited, best, concluded, scored
from handlers.policies.cascade.working import Attempt, Lead, Opinion, Spending, Work
from handlers.policies.mgv.knowledge import knowledge_of
from handlers.roles.monitor import MONITOR
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import Generated
from schemas.events.strategy import StrategyChosen
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.questions import Complete, Completion, Embed
from schemas.vectors import as_kept, pack
from tests.handlers.policies.cascade.says import TASK, episode, found, says, settings, weighed
from tests.papers.mc2_says import near_to
from tests.scripted import hashed


def working(
    *chains: str | None,
    own: CascadeSettings | None = None,
    learned: dict[str, Any] | None = None,
    difficulty: float = 0.5,
    task: Task = TASK,
) -> Work:
    """A problem of which so many chains came to these answers."""
    held = own or settings()
    work = Work(task, held, learned or {}, difficulty, Spending(held))
    work.chains += [Attempt(answer, f"So: {answer}") for answer in chains]
    return work


# ── What replies cost ────────────────────────────────────────────────────────────────────────


def reply(tokens: int | None) -> Completion:
    return Completion("0", "so", "stop", "m", tokens=tokens)


def asked(role: str) -> Complete:
    return Complete(role, MONITOR.template, ())


@pytest.mark.parametrize(
    ("price", "cost"),
    [("calls", 4.0), ("tokens", (100 + 500 + 300 + 50) / 500), ("money", (600 + 4 * 350) / 500)],
)
def test_replies_are_paid_for_by_call_by_token_or_by_their_models_token(
    price: Price, cost: float
) -> None:
    """What nobody counted is taken for an average call; what is no model's reply costs nothing."""
    spent = Spending(settings(price=price, strong_price=4.0, call_tokens=500))
    assert (spent.calls, spent.cost) == (0, 0.0)
    for role, tokens in (("reasoner", 100), ("monitor", None), ("strong", 300), ("strong", 50)):
        spent.see("0", asked(role), reply(tokens))
    spent.see("1", Embed(("text",)), ((0.0,),))
    spent.see("2", Generated(source="0"), None)
    spent.see("3", asked("reasoner"), None)
    assert (spent.calls, spent.tokens, spent.strong_tokens) == (4, 600, 350)
    assert spent.cost == pytest.approx(cost)


@pytest.mark.parametrize("price", ["calls", "tokens", "money"])
def test_the_stronger_model_costs_more_where_money_is_paid_and_a_call_where_it_is_not(
    price: Price,
) -> None:
    own = settings(arms=("check",), strong=True, strong_price=3.0, price=price)
    expected = constants(own)["expected"]
    assert expected["strong"][0] == (3.0 if price == "money" else 1.0)
    assert expected["check"][0] == 2
    assert constants(settings(arms=("check",)))["expected"].keys() == {"check"}


def test_the_rule_is_told_every_arm_its_price_and_what_it_should_bring() -> None:
    own = settings(
        arms=("search", "more", "guided", "check"), search_calls=9, worth=7, ridge=2, cases_kept=5,
        exploration=0.5,
    )  # fmt: skip
    told = constants(own)
    assert (told["worth"], told["ridge"], told["exploration"]) == (7, 2, 0.5)
    assert (told["cases_kept"], told["feature_dims"]) == (5, None)
    assert [each["name"] for each in told["start"]] == ["search", "more", "guided", "check"]
    start: list[dict[str, Any]] = told["start"]
    for each in start:
        assert (each["when"], each["text"]) == (MEANS[each["name"]].when, MEANS[each["name"]].text)
    prices: dict[ArmName, int | None] = {"search": 9, "more": None, "guided": 1, "check": 2}
    assert told["expected"] == {
        arm: [prices[arm], MEANS[arm].rescues, MEANS[arm].hurts, MEANS[arm].as_chains]
        for arm in prices
    }


def test_the_stronger_model_is_an_arm_only_where_there_is_one_and_comes_last() -> None:
    named: tuple[ArmName, ...] = ("strong", "more")
    assert settings(arms=named).means == ("more",)
    assert settings(arms=named, strong=True).means == ("more", "strong")
    assert settings(arms=(), strong=True).means == ("strong",)


# ── How far the leading answer is trusted ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("chains", "lead"),
    [
        ((), Lead(None, 0.0, 0, 0, 0)),
        ((None, None), Lead(None, 0.0, 0, 0, 2)),
        (("31",), Lead("31", 0.5, 1, 0, 1)),
        (("31", "31.0", "36", None), Lead("31", chance(2, 1, 4, 0.5), 2, 1, 4)),
        (("36", "31", "31", "36"), Lead("36", chance(2, 2, 4, 0.5), 2, 2, 4)),
        (("1", "2", "2", "3", "3", "2"), Lead("2", chance(3, 2, 6, 0.5), 3, 2, 6)),
    ],
    ids=["none", "unread", "one", "a blank counts", "a tie goes to the first", "three answers"],
)
def test_the_vote_of_chains(chains: tuple[str | None, ...], lead: Lead) -> None:
    found_lead = working(*chains).weigh()
    assert found_lead.chance == pytest.approx(lead.chance)
    assert found_lead == Lead(lead.answer, found_lead.chance, lead.votes, lead.runner_up, lead.of)


def test_an_easy_problem_and_what_was_learned_of_such_a_vote_move_the_chance() -> None:
    usual, easy = (working("31", "31", difficulty=each).weigh().chance for each in (0.5, 0.1))
    assert (usual, easy) == pytest.approx((chance(2, 0, 2, 0.5), chance(2, 0, 2, 0.9)))
    assert easy > usual
    learned = {"leads": {"2:0:2": [1, 6]}, "opinions": {}}
    own = settings(prior_weight=2.0)
    taught = working("31", "31", learned=learned, own=own).weigh().chance
    assert taught == pytest.approx((1 + 2 * usual) / (6 + 2))


def test_opinions_count_as_independent_witnesses_one_after_another() -> None:
    work = working("31", "31")
    work.opinions.append(Opinion("check", "31.0"))
    sure = joined(chance(2, 0, 2, 0.5), MEANS["check"].trust, agrees=True)[0]
    assert work.weigh().answer == "31"
    assert work.lead.chance == pytest.approx(sure)
    work.opinions.append(Opinion("guided", "36"))
    ours, _ = joined(sure, MEANS["guided"].trust, agrees=False)
    assert work.weigh().answer == "31"
    assert work.lead.chance == pytest.approx(ours)
    assert (work.lead.votes, work.lead.runner_up, work.lead.of) == (2, 0, 2)


def test_an_opinion_that_is_trusted_more_takes_the_lead_and_one_that_is_not_leaves_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = working("31", "36")
    work.opinions.append(Opinion("strong", "35"))
    _, theirs = joined(chance(1, 1, 2, 0.5), MEANS["strong"].trust, agrees=False)
    assert work.weigh().answer == "35"
    assert work.lead.chance == pytest.approx(theirs)
    assert work.leading is None, "no chain came to it"
    even = working("31", "36")
    even.opinions.append(Opinion("check", "35"))
    as_sure = chance(1, 1, 2, 0.5)
    where = import_module("handlers.policies.cascade.working")

    def reliability(*asked: object) -> float:
        return as_sure

    monkeypatch.setattr(where, "reliability", reliability)
    assert even.weigh().answer == "31", "of equals what leads stays"


def test_where_no_chain_can_be_read_an_opinion_leads_by_itself() -> None:
    work = working(None, None)
    work.opinions.append(Opinion("check", "31"))
    assert (work.weigh().answer, work.lead.chance) == ("31", MEANS["check"].trust)
    work.opinions.append(Opinion("guided", "31.0"))
    sure, _ = joined(MEANS["check"].trust, MEANS["guided"].trust, agrees=True)
    assert work.weigh().answer == "31"
    assert work.lead.chance == pytest.approx(sure)
    learned = {"leads": {}, "opinions": {"check": [0, 4]}}
    doubted = working(None, learned=learned, own=settings(prior_weight=4.0))
    doubted.opinions.append(Opinion("check", "31"))
    assert doubted.weigh().chance == pytest.approx(4 * MEANS["check"].trust / 8)


# ── A weighing as it is stated ───────────────────────────────────────────────────────────────


def test_a_weighing_says_what_came_what_leads_and_what_it_took_since_the_one_before() -> None:
    script = {"reasoner": [says(36), says(35), says(31)], "monitor": [found("YES", "Lost.")]}
    first, second = weighed(episode(script, settings(arms=("check",))))
    assert (first.round, first.arm, first.came, first.answer) == (0, None, None, "36")
    split = chance(1, 1, 2, 0.5)
    assert (first.votes, first.runner_up, first.of, first.spent) == (1, 1, 2, 2)
    assert first.chance == round(split, 6)
    assert first.context == (1.0, round(1 - split, 6), 0.5, 0.5, 1.0)
    _, theirs = joined(split, MEANS["check"].trust, agrees=False)
    assert (second.round, second.arm, second.came, second.answer) == (1, "check", "31", "31")
    assert (second.chance, second.spent) == (round(theirs, 6), 2.0)
    assert second.context == (1.0, round(1 - theirs, 6), 0.5, 0.5, 1.0)


def test_what_the_choice_of_an_arm_hangs_on() -> None:
    work = working()
    work.weigh()
    assert work.context() == (1.0, 1.0, 0.5, 0.0, 1.0), "nothing yet, and a call is a call"
    work = working("31", "36", "31", difficulty=0.1234567, own=settings(call_tokens=100))
    work.weigh()
    for tokens in (100, 100, 250):
        work.spending.see("0", asked("reasoner"), reply(tokens))
    doubt = 1 - chance(2, 1, 3, 1 - 0.1234567)
    assert work.context() == (1.0, round(doubt, 6), 0.123457, 0.333333, 1.5)
    assert (work.margin, work.to_turn) == (1, 2)
    assert work.raises == gain(2, 1, 3, 1 - 0.1234567)
    fact = work.stated("more", None)
    assert (fact.spent, fact.of, work.paid, work.rounds) == (4.5, 3, 4.5, 1)
    assert work.stated("more", None).spent == 0.0
    assert working().stated(None, None).of == 1
    thirds = working("31", own=settings(call_tokens=300))
    thirds.spending.see("0", asked("reasoner"), reply(100))
    assert thirds.stated(None, None).spent == 0.333333


def test_answers_are_told_as_who_came_first_spelled_them() -> None:
    work = working("31.0", None)
    work.opinions.append(Opinion("guided", "36.00"))
    work.weigh()
    assert (work.spelt("31"), work.spelt("36"), work.spelt("7"), work.spelt(None)) == (
        *("31.0", "36.00", "7"),
        None,
    )


# ── What is tried next ───────────────────────────────────────────────────────────────────────


def test_scores_are_what_an_arm_should_bring_and_what_its_pulls_came_to_beside() -> None:
    own = settings(arms=("more", "check"), exploration=0.0)
    work = working("31", "36", own=own)
    work.weigh()
    context = work.context()
    bare = {
        arm: expected_reward(arm, context, 0, constants(own), work.raises)
        for arm in ("more", "check")
    }
    assert dict(scored(work, ("more", "check"))) == pytest.approx(bare)
    assert [arm for arm, _ in scored(work, ("check",))] == ["check"]
    pulled = {"expected_by": "votes", "arms": [{**constants(own)["start"][1], "id": "check", "birth": 2, "pulls": 1,
              "rated": 0.5, "rows": [[pack(context), 0.5]]}]}  # fmt: skip
    taught = working("31", "36", own=own, learned=pulled)
    taught.weigh()
    scores = dict(scored(taught, ("more", "check")))
    assert scores["more"] == pytest.approx(bare["more"])
    assert scores["check"] - bare["check"] == pytest.approx(0.25), (
        "half of what one pull came to, under a ridge of one"
    )
    assert all(score == round(score, 9) for score in scores.values())


def test_of_equal_scores_the_arm_that_is_named_first_is_tried() -> None:
    assert best((("guided", 0.2), ("check", 0.2), ("more", 0.1))) == ("guided", 0.2)
    assert best((("more", -0.3), ("check", -0.1))) == ("check", -0.1)


def test_an_audit_is_drawn_by_problem_and_seed_and_made_once() -> None:
    drawn = hash01(TASK.seed, "audit", TASK.subject)
    assert audited(working(own=settings(audit=drawn + 1e-9)))
    assert not audited(working(own=settings(audit=drawn)))
    after = working(own=settings(audit=1.0))
    after.opinions.append(Opinion("check", "31"))
    assert not audited(after)


def test_an_audit_tries_no_more_chains_and_where_nothing_else_is_left_none() -> None:
    script = {"reasoner": [says(31)] * 9, "monitor": [found("NO")]}
    both = settings(arms=("more", "check"), audit=1.0)
    chosen = episode(script, both).of(StrategyChosen)
    assert [(each.round, each.arm, each.how) for each in chosen] == [(1, "check", "explore")]
    assert [arm for arm, _ in chosen[0].scores] == ["more", "check"]
    alone = episode(script, settings(arms=("more",), audit=1.0))
    assert alone.of(StrategyChosen) == []
    assert alone.result.ended_by == "enough"


def test_what_is_tried_is_told_by_its_score_and_nothing_is_that_gains_nothing() -> None:
    """Where two chains disagree a check brings what it puts right less what it spoils and two calls."""
    script = {"reasoner": [says(31), says(36)], "monitor": [found("NO")]}
    right = round(chance(1, 1, 2, 0.5), 6)
    brings = (1 - right) * MEANS["check"].rescues - right * MEANS["check"].hurts
    own = settings(arms=("check",), exploration=0.0, worth=2 / brings - 1e-6)
    assert episode(script, own).result.ended_by == "enough", "it just does not pay its price"
    [choice] = episode(script, settings(arms=("check",), exploration=0.0, worth=21)).of(
        StrategyChosen
    )
    assert (choice.arm, choice.how) == ("check", "ucb")
    assert dict(choice.scores)["check"] == pytest.approx(brings - 2 / 21, abs=2e-6)


# ── How difficult a problem feels ────────────────────────────────────────────────────────────


def remembering(*cases: tuple[float, bool | None], words: int = 10) -> Memory:
    """Past problems that are so like this one, and whether their first answers were right."""
    query = hashed(TASK.problem)
    held = [
        {
            "id": f"p/words/{at}/run",
            "problem": "x",
            "vector": pack(as_kept(near_to(query, cosine))),
            "features": [words, 3, 2],
            "easy": easy,
        }
        for at, (cosine, easy) in enumerate(cases)
    ]
    return Memory("s", 1, (), {"cases": held, "leads": {}, "opinions": {}, "arms": []})


def felt(memory: Memory, **values: Any) -> ExperienceFelt:
    own = settings(arms=(), **values)
    [fact] = episode([says(31)] * 2, own, memory=memory).of(ExperienceFelt)
    return fact


def test_difficulty_is_felt_by_how_like_problems_turned_out() -> None:
    """Two were easy, one was not, one nobody knows, and one is like nothing here."""
    fact = felt(remembering((0.9, True), (0.8, True), (0.5, False), (0.7, None), (0.05, False)))
    known, unknown = 0.9 + 0.8, 0.5
    assert (fact.experience, fact.source, fact.round) == ("difficulty", "assess", 0)
    assert fact.subject == TASK.subject
    assert fact.value == pytest.approx(1 - (known + 1) / (known + unknown + 2), abs=2e-3)
    assert fact.value == round(fact.value or 0.0, 6)
    assert dict(fact.inputs) == {"h": 0.5, "cases": 3.0}


def test_only_the_nearest_of_them_are_looked_at() -> None:
    memory = remembering((0.9, True), (0.8, False), (0.7, False))
    assert dict(felt(memory, recall_k=1).inputs)["cases"] == 1.0
    assert dict(felt(memory, recall_k=2).inputs)["cases"] == 2.0


def test_from_where_on_a_problem_is_like_another_is_the_embedders_to_say() -> None:
    floor = likeness_of(None).floor
    for cosine, counted in ((floor + 0.01, 1.0), (floor - 0.01, 0.0)):
        fact = felt(remembering((cosine, True)))
        assert dict(fact.inputs)["cases"] == counted
        assert fact.source == ("assess" if counted else "feel")


def test_a_problem_that_just_reaches_the_floor_is_like_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = remembering((0.4, True))
    [(_, similarity)] = knowledge_of(memory.learned).vectors.nearest(hashed(TASK.problem), 1)
    module = import_module("handlers.policies.cascade.solve")
    for floor, counted in ((similarity, 1.0), (similarity + 1e-9, 0.0)):
        monkeypatch.setattr(module, "likeness_of", {None: Likeness(floor, 1.0)}.__getitem__)
        assert dict(felt(memory).inputs)["cases"] == counted


def test_without_a_like_problem_difficulty_is_where_its_features_stand_and_never_certain() -> None:
    far = [(0.0, True)] * 4
    shorter, longer = remembering(*far, words=1), remembering(*far, words=99)
    assert felt(shorter, min_cases=5).value == 0.5, "of too few it says nothing"
    fact = felt(shorter, min_cases=4)
    h = dict(fact.inputs)["h"]
    assert h > 0.5
    assert fact.value == pytest.approx(h, abs=1e-6)
    assert (fact.value or 0.0) > (felt(longer, min_cases=4).value or 1.0)
    sure = remembering(*[(1.0, False)] * 8)
    assert (felt(sure).value or 0.0) < 0.95


# ── The end ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("chance", "wrong_costs", "withheld"),
    [
        (0.5, 1.0, False),
        (0.4999, 1.0, True),
        (0.75, 3.0, False),
        (0.74, 3.0, True),
        (0.1, 0, False),
    ],
)
def test_an_answer_is_withheld_where_it_should_cost_more_than_it_is_worth(
    chance: float, wrong_costs: float, withheld: bool
) -> None:
    work = working(own=settings(wrong_costs=wrong_costs))
    work.lead = Lead("31", chance, 2, 0, 3)
    ended = concluded(work, "enough", None)
    assert ended.answer == (None if withheld else "31")
    assert ended.ended_by == ("withheld" if withheld else "enough")
    assert ended.confidence == (None if withheld else chance)
    assert ended.confidence_source == (None if withheld else "estimate")


def test_the_end_names_its_limit_and_rounds_what_it_claims() -> None:
    work = working()
    work.lead = Lead("31", 2 / 3, 2, 0, 3)
    ended = concluded(work, "limit", "calls")
    assert (ended.answer, ended.ended_by, ended.limit) == ("31", "limit", "calls")
    assert (ended.confidence, ended.confidence_source) == (0.666667, "estimate")
    work.lead = Lead(None, 0.0, 0, 0, 2)
    nothing = concluded(work, "limit", "tokens")
    assert (nothing.answer, nothing.ended_by, nothing.limit) == (None, "limit", "tokens")
    work.settings = settings(wrong_costs=1.0)
    assert concluded(work, "spent", None).ended_by == "spent", "there is nothing to withhold"
    work.lead = Lead("31", 0.1, 1, 1, 2)
    assert concluded(work, "limit", "calls").limit == "calls"
