"""What an episode of the Meta-Reasoner leaves to its scope, whole, and what its arms are called over all episodes."""

from __future__ import annotations

from typing import Any

from handlers.policies.meta_reasoner.measure import curve, meant, own, rewards, training_sample
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from schemas.vectors import pack
from tests.papers.mr_says import STRATEGY, episode, model, noted, reported, summary
from tests.scripted import hashed

OTHER = "Look at the other side of it."


def service(**values: Any) -> MetaReasonerSettings:
    return MetaReasonerSettings.resolve("service", {"feature_dims": 8, **values})


def test_an_episode_leaves_its_rewards_choices_proposals_and_pulls() -> None:
    ran = episode(model(3), service())
    contexts = [pack(hashed(reported(f"attempt {at}"))) for at in (1, 2)]
    assert summary(ran, service()) == {
        "rewards": [[0, 0.54], [1, 0.52], [2, 0.5]],
        "chosen": ["a1", "a2"],
        "proposals": [
            {
                "id": "a4",
                "when": "much is left",
                "text": STRATEGY,
                "parent": "a1",
                "vector": pack(hashed(STRATEGY)),
            }
        ],
        "pulls": [["a1", contexts[0], 0.52, 0.7], ["a2", contexts[1], 0.5, 0.7]],
    }
    assert rewards(ran.trace) == [0.54, 0.52, 0.5]
    assert curve([0.5, 0.25, 0.0, -0.5]) == [0.5, 0.75, 0.75, 0.25]


def test_retirement_looks_at_rewards_where_that_is_set_or_progress_is_not_told() -> None:
    for values, rated in (({"retire_on": "reward"}, 0.52), ({}, 0.7)):
        settings = service(**values)
        [first, *_] = summary(episode(model(3), settings), settings)["pulls"]
        assert first[2:] == [0.52, rated]


def test_where_nothing_is_learned_only_rewards_and_choices_are_left() -> None:
    for values in ({"updates": "frozen"}, {"choice": "random"}):
        settings = service(**values)
        left = summary(episode(model(2), settings), settings)
        assert set(left) == {"rewards", "chosen"}
        assert len(left["chosen"]) == 1


def test_a_reward_that_is_unknown_is_in_the_curve_and_in_no_pull() -> None:
    unread = model(2, judge=lambda at: "Hm.")
    settings = service(strategies="fixed", first_judgement="always")
    ran = episode(unread, settings)
    left = summary(ran, settings)
    assert (left["rewards"], left["pulls"]) == ([[0, None], [1, None]], [])
    assert rewards(ran.trace) == [0.0, 0.0]


def test_arms_have_the_names_that_learning_gave_them_batch_after_batch() -> None:
    settings = service()
    one = summary(episode(model(2), settings), settings)
    other = summary(episode(model(2, note=lambda at: noted(OTHER)), settings), settings)
    pinned = constants(settings)
    batches = [([("e1", one)], pinned), ([("e2", other), ("e3", one)], pinned)]
    assert meant(batches) == {"e1": {"a4": "a4"}, "e2": {"a4": "a5"}, "e3": {"a4": "a4"}}
    assert meant([]) == {}
    ran = episode(model(2), settings)
    assert own("e2", ran.trace, {"a4": "a5"}) == {"a4": "a5"}
    assert own("e2", ran.trace, {}) == {"a4": "a4 of e2"}


def test_a_training_sample_is_drawn_without_replacement_from_what_is_no_test() -> None:
    problems = [f"p{at}" for at in range(40)]
    drawn = training_sample([*problems, *problems], problems[:10], 20, 3)
    assert len(set(drawn)) == len(drawn) == 20
    assert set(drawn) <= set(problems[10:])
    assert drawn == training_sample(problems[::-1], problems[:10], 20, 3)
    assert drawn != training_sample(problems, problems[:10], 20, 4)
    assert drawn[:5] == training_sample(problems, problems[:10], 5, 3)
