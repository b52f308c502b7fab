"""What an episode of the MGV policies leaves to be known, whole."""

from __future__ import annotations

from handlers.policies.mgv.settings import FlavellSettings, RetrievalSettings
from schemas.vectors import pack
from tests.papers.mgv_says import PROBLEM, Model, acquisition, episode, reflected
from tests.scripted import hashed

OPENED = {"diagnosis": "plain", "check": None, "verdict": None}


def test_a_regulation_leaves_each_round_and_how_sure_its_answer_was() -> None:
    settings = FlavellSettings.resolve("service", {"max_rounds": 3, "fail_run": 2})
    ran = episode(settings, Model(["95", "96", "97"], [0.6, 0.5, 0.4], ["FAIL"]))
    assert reflected(ran, settings) == {
        "class": "stories",
        "vector": pack(hashed(PROBLEM)),
        "diagnosis": "plain",
        "confidence": 0.6,
        "signals": {"verbal": 0.6},
        "knowing": None,
        "passed": False,
        "ended_by": "abandoned: failures",
        "tuples": [
            {
                "round": at,
                "diagnosis": "plain",
                "strategy": strategy,
                "check": "plausibility",
                "verdict": "FAIL",
                "answer": answer,
                "confidence": confidence,
                "effort": 3,
            }
            for at, strategy, answer, confidence in (
                (0, "direct", "95", 0.6),
                (1, "decompose", "96", 0.5),
            )
        ],
    }


def test_a_search_leaves_its_first_feeling_of_knowing_and_how_wide_it_looked() -> None:
    settings = RetrievalSettings.resolve("service", {"max_rounds": 2, "tie": "stop"})
    ran = episode(settings, Model([None, "96"], [0.8]))
    left = reflected(ran, settings)
    assert left["tuples"] == [
        {
            **OPENED,
            "round": 0,
            "strategy": "intensive",
            "answer": None,
            "confidence": 0.0,
            "effort": 1,
        },
        {
            **OPENED,
            "round": 1,
            "strategy": "intensive",
            "answer": "96",
            "confidence": 0.8,
            "effort": 2,
        },
    ]
    assert left["knowing"] == [0.0, 0.0]
    assert (left["passed"], left["ended_by"], left["confidence"]) == (None, "output", 0.8)
    assert left["signals"] == {"verbal": 0.8}


def test_a_member_that_voted_leaves_the_vote_and_nothing_where_it_kept_nothing() -> None:
    settings = acquisition(max_rounds=1, keep=0.0)
    ran = episode(settings, Model(["95", "96", "96"], [0.9]), calls=3)
    left = reflected(ran, settings)
    assert left["tuples"] == []
    assert (left["ended_by"], left["confidence"]) == ("max_rounds", 2 / 3)
    assert left["signals"] == {"agreement": 2 / 3}
    kept = acquisition(max_rounds=1)
    [one] = reflected(episode(kept, Model(["95", "96", "96"], [0.9]), calls=3), kept)["tuples"]
    assert one == {
        **OPENED,
        "round": 1,
        "strategy": "direct",
        "answer": "96",
        "confidence": 2 / 3,
        "effort": 3,
    }
