"""MC² eq. (1) to (7): who sees what, in which form, and when the rounds end.

Source: design/mc2.md D1.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.mc2.settings import Mc2Settings
from handlers.roles.composer import COACHES, read_bullets
from handlers.roles.consolidator import CONSOLIDATORS, SIX
from handlers.roles.controller import CONTROLLER, Decision, decision_of
from handlers.roles.distiller import DISTILLERS
from handlers.roles.form import Unreadable
from handlers.roles.monitor import MONITOR, report_of
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from schemas.events.reasoning import (
    ControllerActed,
    Generated,
    MonitorReported,
    ReplyReparsed,
)
from schemas.identity import hash01
from schemas.questions import Complete
from tests.papers.mc2_says import (
    PAPER,
    accepted,
    answering,
    audited,
    decided,
    episode,
    patched,
    restarted,
    rounds,
    setting,
    solved,
)
from tests.papers.mc2_stream import Stream
from tests.scripted import Ran, shown


def varied(question: Complete) -> str:
    """A model whose verdicts hang on what it is shown."""
    draw = hash01("varied 1", shown(question))
    if question.role == "reasoner":
        return solved(f"{draw:.6f}", f"Step 1: {draw:.9f}")
    if question.role == "monitor":
        return audited("YES" if draw < 0.5 else "NO")
    if question.role == "controller":
        return decided(1 + int(draw * 3), f"advice {draw:.9f}")
    return answering(question)


def seen(ran: Ran[Any]) -> list[str]:
    return [shown(question) for question in ran.requests]


@pytest.mark.claim("mc2-eq-01", "mc2-eq-02", "mc2-eq-03")
def test_prompts_depend_on_earlier_batches_only() -> None:
    """Permuting a batch changes no request of its problems; a later batch has changed ones."""
    runs: list[dict[str, list[str]]] = []
    for second in permutations(("d", "e", "f")):
        stream = Stream(varied)
        stream.batch(("a", "b", "c"))
        stream.batch(second)
        runs.append({name: seen(ran) for name, ran in stream.episodes.items()})
    assert all(run == runs[0] for run in runs)
    unlearned = Stream(varied)
    unlearned.batch(("d", "e", "f"))
    assert seen(unlearned.episodes["d"]) != runs[0]["d"]


@pytest.mark.claim("mc2-eq-01", "mc2-eq-02", "mc2-eq-03")
def test_the_reasoner_alone_depends_on_nothing() -> None:
    alone = setting(roles="R", guidance="none")
    stream = Stream(varied, alone)
    for names in (("a", "b"), ("c", "d")):
        stream.batch(names)
    later = seen(stream.episodes["d"])
    first = Stream(varied, alone)
    first.batch(("d",))
    assert later == seen(first.episodes["d"])


@pytest.mark.claim("mc2-eq-04")
def test_the_reasoner_gets_the_last_advice_alone() -> None:
    ran = rounds(("YES", 3), ("YES", 3), ("NO", 1))
    first, second, third = map(shown, ran.asks("reasoner"))
    assert "### Advice" not in first
    assert "advice number 0" in second
    assert "advice number 1" in third
    assert "advice number 0" not in third
    assert "Step 1: try." not in third, "no old trajectory either"


@pytest.mark.claim("mc2-eq-04")
@pytest.mark.parametrize(
    ("advice", "direct"), [("both", True), ("direct", True), ("composer", False)]
)
def test_who_sees_the_advice(advice: str, direct: bool) -> None:
    """D1 without memory: only the Reasoner's own prompt can hold it."""
    ran = rounds(("YES", 3), ("NO", 1), settings=setting(advice=advice))
    assert ("advice number 0" in shown(ran.asks("reasoner")[1])) is direct


def _every_role() -> list[Role]:
    coaches = [coach.role for coach in COACHES.values()]
    distillers = [distiller.role for distiller in DISTILLERS.values()]
    consolidators = [
        consolidator.role for table in (CONSOLIDATORS, SIX) for consolidator in table.values()
    ]
    return [REASONER, MONITOR, CONTROLLER, *coaches, *distillers, *consolidators]


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
@pytest.mark.parametrize("role", _every_role(), ids=lambda role: role.template.name)
def test_prompts_render(role: Role) -> None:
    """Figures 11 to 25: cold prompts leave optional sections out, full ones mark each."""
    template = role.template
    needed = {s.variable: f"[{s.heading}]" for s in template.sections if not s.optional}
    full = {s.variable: f"[{s.heading}]" for s in template.sections}
    cold, warm = shown(role.question(needed)), shown(role.question(full))
    for section in template.sections:
        assert f"### {section.heading}\n[{section.heading}]" in warm
        assert (f"### {section.heading}" in cold) is not section.optional
    assert warm.startswith(template.system)
    assert template.system.endswith(template.reply.block())


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
def test_prompt_fields_are_the_papers() -> None:
    def labels(role: Role) -> list[str]:
        return [field.label for field in role.reply.fields]

    assert labels(MONITOR) == ["Analysis", "Error_description", "Error_step", "Error_found"]
    assert set(labels(CONTROLLER)) == {
        "Action", "Justification", "Corrected_reasoning", "Suggestions", "Final_answer",
    }  # fmt: skip
    assert "\\boxed{" in REASONER.template.system
    assert [coach.label for coach in COACHES.values()] == [
        "Guidance", "Review plan", "Decision policy",
    ]  # fmt: skip
    assert [coach.most for coach in COACHES.values()] == [6, 5, 5]
    assert labels(DISTILLERS["reasoner"].role)[0] == "Descriptor"
    assert labels(SIX["controller"].role) == ["C1", "C2", "C3", "C4", "C5", "C6"]


REPORTS = [
    (audited("YES", "3", "x is wrong"), ("YES", "3", "x is wrong", "I read each step.")),
    (audited("NO"), ("NO", "NONE", "NONE", "I read each step.")),
    ("**Error_found:** yes\n- error step: 2", ("YES", "2", None, "")),
    ("Sound.\n### Error found\nNO", ("NO", None, None, "Sound.")),
    (
        "Read.\nAnalysis: Step 1: 2 * 3 = 6 holds.\nStep 2: 6 - 1 is 5.\nError_step: 2\nError_found: YES",
        ("YES", "2", None, "Read.\nStep 1: 2 * 3 = 6 holds.\nStep 2: 6 - 1 is 5."),
    ),
    ('{"Error_found": "NO", "Error_step": "NONE"}', ("NO", "NONE", None, None)),
    ("Error_found: YES or NO\nError_step: 1", (None, None, None, None)),
    ("nothing to see", (None, None, None, None)),
]  # fmt: skip


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
@pytest.mark.parametrize(("text", "expected"), REPORTS)
def test_reports_parse(text: str, expected: tuple[str | None, ...]) -> None:
    report = report_of(text)
    found = (report.flag, report.step, report.description, report.explanation)
    assert found[:3] == expected[:3]
    assert expected[3] in (None, report.explanation)


ANEW = Decision("restart", "wrong track", advice="anew")
DECISIONS = [
    (accepted("24"), Decision("accept", "sound", answer="24")),
    (patched("24"), Decision("patch", "one slip", "done again", "24")),
    (restarted("- begin anew"), Decision("restart", "wrong track", advice="begin anew")),
    (f"{patched('24')}\nSuggestions: none", Decision("patch", "one slip", "done again", "24")),
    (f"{restarted('anew')}\nFinal_answer: ### 24 ###", ANEW),
    (f"{restarted('anew')}\nCorrected_reasoning: so", ANEW),
    ("Action: 3\nJustification: no advice", Decision("restart", "no advice")),
    ("Action: 1 or 2 or 3", Decision("restart")),
]  # fmt: skip


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
@pytest.mark.parametrize(("text", "expected"), DECISIONS)
def test_decisions_parse(text: str, expected: Decision) -> None:
    """ỹ only with a patch (and the accepted answer with an accept), u only with a restart."""
    assert decision_of(text) == expected


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
def test_answers_and_guidance_parse() -> None:
    assert REASONER.read(solved("\\frac{1}{2}")) == {"Final_answer": "\\frac{1}{2}"}
    assert isinstance(REASONER.read(REASONER.template.system), Unreadable), (
        "an echoed form is no answer"
    )
    bullets = read_bullets(COACHES["monitor"], "Review plan:\n- one\n- two")
    assert bullets is not None
    assert bullets.lines == ("one", "two")


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
def test_patch_and_restart_reach_their_ends() -> None:
    """ỹ_k is the answer after a patch; after a restart no answer is stated."""
    ran = rounds(("YES", 3), ("YES", 2))
    assert [fact.answer for fact in ran.of(ControllerActed)] == [None, "2"]
    assert (ran.result.answer, ran.result.ended_by) == ("2", "corrected")


ACTIONS = st.lists(st.sampled_from((1, 2, 3)), min_size=6, max_size=6)
ENDINGS = {1: "accepted", 2: "corrected", 3: "max_rounds"}


@pytest.mark.claim("mc2-eq-07")
@given(actions=ACTIONS, limit=st.integers(1, 6))
def test_stop_rule(actions: list[int], limit: int) -> None:
    """1 ≤ T ≤ N; every action before the last is a restart; the Controller is asked each round."""
    played = [("YES", action) for action in actions]
    ran = rounds(*played, settings=setting(max_rounds=limit))
    taken = [{"accept": 1, "patch": 2, "restart": 3}[a.action] for a in ran.of(ControllerActed)]
    stop = next((k + 1 for k, action in enumerate(actions) if action != 3), limit)
    assert taken == actions[: min(stop, limit)]
    assert len(ran.of(Generated)) == len(taken)
    assert len(ran.requests) == 3 * len(taken), "three calls a cold round"
    assert ran.result.ended_by == ENDINGS[taken[-1]]


@pytest.mark.claim("mc2-eq-07")
def test_after_the_last_round_the_last_readable_answer_counts() -> None:
    said = {
        "reasoner": [solved("5"), solved("7"), "no idea"],
        "monitor": [audited("YES")] * 3,
        "controller": [decided(3)] * 3,
    }
    ran = episode(said)
    assert (ran.result.answer, ran.result.confidence) == ("7", 0.0)
    assert [fact.parse for fact in ran.of(Generated)] == ["ok", "ok", "unreadable"]


def test_a_reasoner_without_an_answer_is_asked_once_more_in_service() -> None:
    said = {
        "reasoner": ["no idea", solved("24")],
        "monitor": [audited("NO")],
        "controller": [decided(1)],
    }
    ran = episode(said, Mc2Settings.resolve("service", {}))
    assert (ran.result.answer, ran.result.confidence) == ("24", 1.0)
    _, again = ran.asks("reasoner")
    assert "Final_answer: missing" in again.history[1][1]
    assert [fact.parse for fact in ran.of(Generated)] == ["reparsed"]
    assert "Final_answer: \\boxed{24}" in shown(ran.asks("monitor")[0]), (
        "τ is the reply that counts"
    )


@pytest.mark.claim("mc2-eq-07")
def test_a_limit_ends_with_the_best_so_far() -> None:
    for calls in range(1, 9):
        limited = episode(
            {
                "reasoner": [solved("40"), solved("41"), solved("42")],
                "monitor": [audited("YES")] * 3,
                "controller": [decided(3)] * 3,
            },
            calls=calls,
        )
        assert (limited.result.limit, limited.result.ended_by) == ("calls", "limit")
        assert limited.result.answer == str(40 + (calls - 1) // 3)
        assert limited.result.confidence == 0.0


@pytest.mark.claim("mc2-eq-07")
def test_what_cannot_be_read_is_asked_once_more() -> None:
    said = {
        "reasoner": [solved("5"), solved("6")],
        "monitor": ["hm", audited("NO"), "hm", "hm again"],
        "controller": ["hm", "still hm", "hm", accepted("9")],
    }
    ran = episode(said)
    reports = [(fact.flag, fact.parse) for fact in ran.of(MonitorReported)]
    decisions = [(fact.action, fact.parse) for fact in ran.of(ControllerActed)]
    assert reports == [("NO", "reparsed"), (None, "fallback")]
    assert decisions == [("restart", "fallback"), ("accept", "reparsed")]
    assert [fact.role for fact in ran.of(ReplyReparsed)] == [
        "monitor", "controller", "monitor", "controller",
    ]  # fmt: skip
    mended = ran.asks("controller")[1].messages()
    assert [speaker for speaker, _ in mended] == ["system", "user", "assistant", "user"]
    assert "Action" in mended[-1][1]
    assert ran.result.answer == "6", "the Reasoner's answer counts after an accept"


@pytest.mark.claim("mc2-eq-07")
@pytest.mark.parametrize(
    ("played", "ended_by", "confidence"),
    [
        ([("NO", 1)], "accepted", 1.0),
        ([("YES", 3), ("NO", 1)], "accepted", 0.5),
        ([("YES", 2)], "corrected", 1.0),
        ([("YES", 3), ("YES", 2)], "corrected", 0.5),
        ([("YES", 3)] * 3, "max_rounds", 0.0),
    ],
)
def test_what_an_end_claims_is_its_grade(
    played: list[tuple[str, int]], ended_by: str, confidence: float
) -> None:
    ended = rounds(*played).result
    assert (ended.ended_by, ended.confidence) == (ended_by, confidence)
    assert (ended.confidence_source, ended.limit) == ("value", None)


def test_a_limit_is_named_and_a_reasoner_alone_claims_nothing() -> None:
    said = {"reasoner": [solved("5")], "monitor": [audited("YES")]}
    ended = episode(said, calls=2).result
    assert (ended.answer, ended.ended_by, ended.limit) == ("5", "limit", "calls")
    assert (ended.confidence, ended.confidence_source) == (0.0, "value")
    alone = setting(roles="R")
    for calls, ended_by, answer in ((0, "limit", None), (1, "answered", "5")):
        one = episode({"reasoner": [solved("5")]}, alone, calls=calls).result
        assert (one.answer, one.ended_by) == (answer, ended_by)
        assert (one.confidence, one.confidence_source) == (None, None)


def test_an_accept_of_no_answer_is_asked_for_again_and_then_stands_for_a_restart() -> None:
    nothing = "Fine.\nAction: 1\nJustification: sound"
    said = {"reasoner": ["no idea"], "monitor": [audited("YES")], "controller": [nothing] * 2}
    ran = episode(said, setting(max_rounds=1))
    [acted] = ran.of(ControllerActed)
    assert (acted.action, acted.answer, acted.parse) == ("restart", None, "fallback")
    assert (ran.result.answer, ran.result.ended_by) == (None, "max_rounds")
    given = {**said, "controller": [nothing, accepted("24")]}
    mended = episode(given, setting(max_rounds=1))
    assert (mended.result.answer, mended.of(ControllerActed)[0].parse) == ("24", "reparsed")


SENT_BACK, UNREAD = [decided(3)], ["hm", "still hm"]


@pytest.mark.parametrize(
    ("solves", "decides", "confidence"),
    [
        (["40"], UNREAD, None),
        (["40"], SENT_BACK, 0.0),
        (["40", "41"], [*UNREAD, *SENT_BACK], 0.0),
        (["40", "41"], [*SENT_BACK, *UNREAD], None),
        (["40", None], [*SENT_BACK, *UNREAD], 0.0),
        (["40", None], [*UNREAD, *SENT_BACK], None),
    ],
)
def test_an_answer_that_no_readable_decision_was_about_is_of_unknown_confidence(
    solves: list[str | None], decides: list[str], confidence: float | None
) -> None:
    """Nobody judged it: that is not to say that it was judged to be wrong. The paper knows no such case."""
    said = {
        "reasoner": ["no idea" if each is None else solved(each) for each in solves],
        "monitor": [audited("YES")] * len(solves),
        "controller": decides,
    }
    played = {"max_rounds": len(solves), "ask_again": False}
    ended = episode(said, setting(unjudged="unknown", **played)).result
    assert ended.ended_by == "max_rounds"
    source = None if confidence is None else "value"
    assert (ended.confidence, ended.confidence_source) == (confidence, source)
    assert episode(said, setting(**played)).result.confidence == 0.0
    assert (PAPER.grades_unjudged, Mc2Settings.resolve("service", {}).grades_unjudged) == (
        True,
        False,
    )


@pytest.mark.parametrize(
    ("calls", "answer", "confidence"),
    [(0, None, None), (1, "40", None), (2, "40", None), (3, "40", 0.0), (4, "41", None)],
)
def test_so_is_one_that_a_limit_left_unjudged(
    calls: int, answer: str | None, confidence: float | None
) -> None:
    said = {
        "reasoner": [solved("40"), solved("41")],
        "monitor": [audited("YES")] * 2,
        "controller": SENT_BACK * 2,
    }
    ended = episode(said, setting(unjudged="unknown"), calls=calls).result
    assert (ended.answer, ended.confidence, ended.ended_by) == (answer, confidence, "limit")
