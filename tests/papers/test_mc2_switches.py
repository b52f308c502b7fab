"""MC² tables 2 and 9, figure 4: ablations, warm start, and what memory is for.

Source: design/mc2.md D9.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Member
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.consolidate import warm_start
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.events.reasoning import ControllerActed
from schemas.memory import Memory
from schemas.questions import Complete, Recall
from state.folds.memory import Learned, next_memory
from tests.papers.mc2_says import (
    answering,
    audited,
    batch,
    best,
    coached,
    decided,
    episode,
    full_memory,
    item,
    knowing,
    learn,
    member,
    reflected,
    setting,
    solved,
)
from tests.scripted import Replier, shown

# ── Switches ─────────────────────────────────────────────────────────────────────────────────

ABLATIONS: list[tuple[dict[str, str], int, int, int, int]] = [
    ({"roles": "R", "guidance": "none"}, 1, 1, 0, 0),
    ({"roles": "R"}, 1, 2, 1, 1),
    ({"guidance": "none"}, 3, 3, 0, 0),
    ({"guidance": "lessons"}, 3, 6, 3, 0),
    ({}, 3, 6, 3, 3),
]


@pytest.mark.claim("mc2-ablations", "mc2-warm-start")
@pytest.mark.parametrize(("values", "cold", "warm", "distilled", "consolidated"), ABLATIONS)
def test_calls_of_each_ablation(
    values: dict[str, str], cold: int, warm: int, distilled: int, consolidated: int
) -> None:
    """Only R; R + updates; R + M + C; + lessons; full."""
    settings = setting(**values)
    memory = full_memory()
    assert len(episode(answering, settings).requests) == cold
    ran = episode(answering, settings, memory=memory)
    assert len(ran.requests) == warm
    given = batch([_taught(settings)], 2, memory)
    learned = learn(given, settings=settings)
    assert len(learned.asks("distiller")) == distilled
    assert len(learned.asks("consolidator")) == consolidated
    if values.get("guidance") == "lessons":
        assert "### Rules" not in shown(ran.asks("composer")[0])


def _taught(settings: Mc2Settings) -> Member:
    return member("a", reflected(episode(answering, settings), settings))


@pytest.mark.claim("mc2-ablations", "mc2-warm-start")
def test_the_reasoner_alone_learns_from_every_parsed_episode_or_a_donor() -> None:
    """D9."""
    alone = setting(roles="R")
    readable = member("a", reflected(episode(answering, alone), alone))
    unreadable = member("b", reflected(episode({"reasoner": ["no idea"]}, alone), alone))
    ran = learn(batch([readable, unreadable]), settings=alone)
    assert [one.evidence for one in ran.of(LessonDistilled)] == [("p/game24/a/run",)]
    assert learn(batch([readable]), settings=setting(roles="R", learn_from="donor")).requests == []
    # A scope holds episodes of both kinds, and its settings do not say which: their records do.
    shared = learn(batch([readable]))
    assert {one.role for one in shared.of(LessonDistilled)} == {"reasoner"}
    assert {one.role for one in shared.of(KnowledgeConsolidated)} == {"reasoner"}
    assert learn(batch([best("a")]), settings=setting(learn_from="donor")).requests == []
    assert episode(answering, alone).result.ended_by == "answered"


@pytest.mark.claim("mc2-ablations", "mc2-warm-start")
def test_whose_answer_counts_after_an_accept() -> None:
    def reply(question: Complete) -> str:
        if question.role == "controller":
            return "Action: 1\nFinal_answer: ### 25 ###"
        return answering(question)

    assert episode(reply).result.answer == "24"
    assert episode(reply, setting(accept_answer="controller")).result.answer == "25"


@pytest.mark.claim("mc2-ablations", "mc2-warm-start")
def test_warm_start() -> None:
    """K_0 is the source's rules of all roles, without lessons; the first request holds them."""
    source = full_memory()
    learned = Learned()
    for at, fact in enumerate(warm_start(source)):
        assert fact.result == "warm"
        learned.feed(str(at), fact)
    zero = next_memory(Memory("target", 0), learned, 0, 1)
    assert len(zero.items) == 18
    assert {i.kind for i in zero.items} == {"rule"}
    ran = episode(answering, setting(warm_start="game24/mc2/main/0"), memory=zero)
    assert ran.requests[0].role == "composer"
    assert "R1: reasoner rule one" in shown(ran.requests[0])
    assert len([q for _, q in ran.asked if isinstance(q, Recall)]) == 1
    later = learn(batch([best("a")], 1, zero)).of(KnowledgeConsolidated)
    assert {one.result for one in later} == {"consolidated"}


@pytest.mark.claim("mc2-ablations", "mc2-warm-start")
def test_settings_separate_scopes() -> None:
    assert "guidance" in Mc2Settings.learning
    assert "output_cap" not in Mc2Settings.learning
    assert setting(guidance="lessons,rules").guidance == ("rules", "lessons")
    assert MC2.live_batches(setting(lesson_window=5)) == 5


@pytest.mark.parametrize(("chars", "whole"), [(200, False), (4_000, True)])
def test_composers_and_distillers_are_shown_so_much_of_what_was_said(
    chars: int, whole: bool
) -> None:
    """Head and tail of a long attempt; whoever judges it reads all of it."""
    work = f"Step 1: {'try ' * 100}the middle {'and try ' * 100}"

    def reply(question: Complete) -> str:
        return solved("24", work) if question.role == "reasoner" else answering(question)

    settings = setting(excerpt_chars=chars)
    ran = episode(reply, settings, memory=full_memory())
    read = [dict(q.variables).get("trajectory", "") for q in ran.asks("composer")[1:]]
    assert [("the middle" in each) for each in read] == [whole] * len(read)
    assert len(read) == 2, "of the Monitor and of the Controller"
    assert all("the middle" in shown(ran.asks(role)[0]) for role in ("monitor", "controller"))
    taught = learn(batch([member("a", reflected(ran, settings))]), settings=settings)
    told = [dict(q.variables)["trajectory"] for q in taught.asks("distiller")]
    assert told
    assert {"the middle" in each for each in told} == {whole}


# ── What memory is for ───────────────────────────────────────────────────────────────────────


@pytest.mark.claim("mc2-fig-04")
def test_memory_mends_an_error_and_guidance_is_the_first_difference() -> None:
    """The same problem with and without memory: all is alike up to the composer's call."""
    hint = "make a factor of the target first"

    def model(question: Complete) -> str:
        if question.role == "composer":
            return coached(question, hint if hint in shown(question) else "take care")
        if question.role == "reasoner":
            return solved("(10-4)*5-6" if hint in shown(question) else "4*6+10-5")
        return answering(question)

    memory = knowing(item("R1", "reasoner", f"Always {hint}.", kind="rule"))
    with_memory = episode(model, memory=memory)
    without = episode(model, memory=knowing(number=1))
    assert with_memory.result.answer == "(10-4)*5-6"
    assert without.result.answer == "4*6+10-5"
    pairs = zip(with_memory.requests, without.requests, strict=False)
    first, other = next((one, two) for one, two in pairs if one != two)
    assert (first.role, first.template.name) == ("composer", "composer.reasoner")
    assert other.role == "reasoner"
    guided_one = with_memory.asks("reasoner")[0]
    changed = [
        name
        for (name, now), (_, before) in zip(guided_one.variables, other.variables, strict=True)
        if now != before
    ]
    assert changed == ["guidance"]


# ── Laws ─────────────────────────────────────────────────────────────────────────────────────


def _anything(seed: str) -> Replier:
    def reply(question: Complete) -> str:
        return seed

    return reply


@pytest.mark.claim("mc2-c3", "mc2-c5")
@given(said=st.text(max_size=200), calls=st.integers(1, 30))
def test_whatever_a_model_says_an_episode_concludes(said: str, calls: int) -> None:
    """Any text from every role, any limit: a conclusion, a reflection, and at most N decisions."""
    said = said.encode("utf-8", "replace").decode()
    ran = episode(_anything(said), memory=full_memory(), calls=calls)
    assert ran.result.ended_by in ("accepted", "corrected", "max_rounds", "limit")
    assert len(ran.of(ControllerActed)) <= 3
    assert MC2.reflect(ran.trace, ran.result, setting())["rounds"] <= 3


def test_a_reasoner_without_an_answer_is_asked_again_where_that_is_set() -> None:
    """Otherwise the Monitor goes through work without an answer, as the paper's does."""
    script = {"monitor": [audited("NO")], "controller": [decided(1, "24")]}
    asked = episode(
        {"reasoner": ["It comes to something.", solved("24")], **script}, setting(ask_again=True)
    )
    assert asked.roles[:3] == ["reasoner", "reasoner", "monitor"]
    assert "could not be read" in shown(asked.requests[1])
    once = episode({"reasoner": ["It comes to something."], **script}, setting(ask_again=False))
    assert once.roles[:2] == ["reasoner", "monitor"]
