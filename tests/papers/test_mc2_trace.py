"""MC² § C.6, § C.8: the record of an episode, and how its calls are drawn."""

from __future__ import annotations

import json

import pytest

from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.mc2.trace import history
from tests.papers.mc2_says import (
    HEADERS,
    ROLES,
    answering,
    audited,
    batch,
    best,
    decided,
    episode,
    full_memory,
    guided,
    learn,
    restarted,
    rounds,
    solved,
)


@pytest.mark.claim("mc2-c6", "mc2-c8")
def test_history_holds_what_the_paper_lists_and_survives_json() -> None:
    script: dict[str, list[str]] = {
        "composer": [guided(HEADERS[role]) for role in ROLES] + ["no", "no"] + [
            guided("Review plan", "other"), guided("Decision policy")
        ],
        "reasoner": [solved("1"), solved("2")],
        "monitor": [audited("YES", "3", "third line"), audited("NO")],
        "controller": [restarted("begin anew"), decided(2)],
    }  # fmt: skip
    ran = episode(script, memory=full_memory())
    found = history(ran.trace)
    assert json.loads(json.dumps(found)) == found
    assert history(ran.trace) == found
    first, second = found
    assert (first["iteration"], second["iteration"]) == (1, 2)
    assert first["reasoner"]["final_answer"] == "1"
    assert first["monitor"]["error_found"] == "YES"
    assert first["monitor"]["error_location"] == "3"
    assert first["monitor"]["error_description"] == "third line"
    assert first["monitor"]["explanation"] == "I read each step."
    assert first["controller"]["suggestions"] == "begin anew"
    assert first["controller"]["final_answer"] is None
    assert second["controller"]["corrected_reasoning"] == "done again"
    assert second["controller"]["final_answer"] == ran.result.answer == "2"
    kept, changed = second["reasoner"]["policy_update"], second["monitor"]["policy_update"]
    assert (kept["used"], kept["succeeded"], kept["model"]) == (True, False, "scripted")
    assert kept["prompt_before"] == kept["prompt_after"]
    assert changed["prompt_before"] == first["monitor"]["policy_update"]["prompt_after"]
    assert changed["prompt_before"] != changed["prompt_after"]


@pytest.mark.claim("mc2-c6", "mc2-c8")
def test_a_round_is_told_whole() -> None:
    restart = restarted("begin anew")
    said = {
        "reasoner": [solved("1"), solved("2")],
        "monitor": [audited("YES", "3", "third line"), audited("NO")],
        "controller": [restart],
    }
    settings = Mc2Settings.resolve("service", {})
    first, second = history(episode(said, settings).trace)
    assert first == {
        "iteration": 1,
        "reasoner": {
            "final_answer": "1",
            "full_response": solved("1"),
            "policy_update": None,
        },
        "monitor": {
            "error_found": "YES",
            "error_location": "3",
            "error_description": "third line",
            "explanation": "I read each step.",
            "full_report": audited("YES", "3", "third line"),
            "policy_update": None,
        },
        "controller": {
            "action": 3,
            "justification": "wrong track",
            "suggestions": "begin anew",
            "corrected_reasoning": None,
            "final_answer": None,
            "full_decision": restart,
            "policy_update": None,
        },
    }
    assert second["controller"] == {
        "action": 1,
        "justification": None,
        "suggestions": None,
        "corrected_reasoning": None,
        "final_answer": "2",
        "full_decision": "",
        "policy_update": None,
    }, "a clean report accepted in its stead"


@pytest.mark.claim("mc2-c6", "mc2-c8")
def test_history_of_a_cold_and_of_a_cut_episode() -> None:
    cold = history(rounds(("NO", 1)).trace)
    assert cold[0]["reasoner"]["policy_update"] is None
    assert cold[0]["reasoner"]["full_response"] == solved("40")
    cut = history(episode({"reasoner": [solved("1")], "monitor": []}, calls=1).trace)
    assert cut[0]["monitor"] is None
    assert cut[0]["controller"] is None


@pytest.mark.claim("mc2-c6", "mc2-c8")
def test_decoding_is_the_endpoints_own() -> None:
    """Under ``paper`` no sampling and no cap is asked for; the seed is the driver's business."""
    paper = episode(answering, memory=full_memory()).requests + learn(batch([best("a")])).requests
    for question in paper:
        s = question.sampling
        assert (s.temperature, s.top_p, s.max_tokens, s.stop) == (None, None, None, ())
    service = Mc2Settings.resolve("service", {})
    assert {q.sampling.max_tokens for q in episode(answering, service).requests} == {8_192}
