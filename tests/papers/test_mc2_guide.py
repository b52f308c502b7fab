"""MC² eq. (13), (16), § C.3: whose guidance reaches whom, and what is checked.

Source: design/mc2.md D3, D4, D5.
"""

from __future__ import annotations

import pytest
from msgspec import structs

from handlers.answers.stated import stated
from handlers.learning.cosine import cosine
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings, RoleName
from handlers.policies.mc2.trace import turns
from handlers.roles.composer import COACHES, read_bullets
from handlers.roles.reasoner import REASONER
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import KnowledgeReached
from schemas.questions import Complete
from tests.papers.mc2_says import (
    HEADERS,
    PROBLEM,
    ROLES,
    answering,
    audited,
    decided,
    episode,
    full_memory,
    guided,
    item,
    knowing,
    restarted,
    setting,
    solved,
)
from tests.scripted import CutOff, shown

# ── Whose guidance reaches whom ──────────────────────────────────────────────────────────────


@pytest.mark.claim("mc2-eq-13")
def test_guidance_stands_in_its_roles_prompt_alone() -> None:
    ran = episode(answering, memory=full_memory())
    assert ran.roles == ["composer", "reasoner", "composer", "monitor", "composer", "controller"]
    for role in ROLES:
        prompt = shown(ran.asks(role)[0])
        assert f"### Guidance\n- note for the {role}" in prompt
        others = set(ROLES) - {role}
        assert not any(f"note for the {other}" in prompt for other in others)


@pytest.mark.claim("mc2-eq-13")
def test_no_role_sees_anothers_lessons() -> None:
    ran = episode(answering, memory=full_memory())
    for composer, role in zip(ran.asks("composer"), ROLES, strict=True):
        seen = shown(composer)
        assert f"{role} rule one" in seen
        assert f"{role} lesson one" in seen
        for other in set(ROLES) - {role}:
            assert f"{other} rule" not in seen
            assert f"{other} lesson" not in seen
    facts = ran.of(KnowledgeReached)
    assert [fact.role for fact in facts] == list(ROLES)
    assert facts[0].items == ("R1", "R2", "R3", "R4", "R5", "R6", "L1.R1")


@pytest.mark.claim("mc2-eq-13")
def test_what_each_composer_sees() -> None:
    """R the last report and decision, M an excerpt of τ, C excerpts of τ and the report (D3)."""
    long = "Step 1: " + "so " * 4_000
    script: dict[str, list[str]] = {
        "reasoner": [solved("1", long), solved("2")],
        "monitor": [audited("YES", "7", "seventh line"), audited("NO")],
        "controller": [restarted("count the factors"), decided(1)],
        "composer": [guided(HEADERS[role]) for role in ROLES] * 2,
    }
    ran = episode(script, memory=full_memory())
    first, monitors, controllers, second, *_ = ran.asks("composer")
    assert "### Recent feedback" not in shown(first)
    assert "seventh line" in shown(second)
    assert "count the factors" in shown(second)
    for composer in (monitors, controllers):
        excerpt = dict(composer.variables)["trajectory"]
        assert len(excerpt) <= 4_000
        assert excerpt.startswith("Step 1")
        assert excerpt.endswith("\\boxed{1}")
    assert "seventh line" in dict(controllers.variables)["report"]
    assert dict(ran.asks("monitor")[0].variables)["trajectory"] == solved("1", long)


@pytest.mark.claim("mc2-eq-13")
@pytest.mark.parametrize(("advice", "fed"), [("both", True), ("composer", True), ("direct", False)])
def test_whether_the_composer_sees_the_advice(advice: str, fed: bool) -> None:
    def reply(question: Complete) -> str:
        if question.role == "controller":
            return restarted("count the factors")
        return answering(question)

    ran = episode(reply, setting(advice=advice, max_rounds=2), memory=full_memory())
    assert ("count the factors" in shown(ran.asks("composer")[3])) is fed


# ── Without a composer ───────────────────────────────────────────────────────────────────────


def test_without_a_composer_each_role_is_shown_its_rules_and_lessons_in_their_own_words() -> None:
    ran = episode(answering, setting(composer="off"), memory=full_memory())
    assert ran.roles == list(ROLES)
    for role, facts in zip(ROLES, ran.of(ExperienceShown), strict=True):
        prompt, first = shown(ran.asks(role)[0]), role[0].upper()
        said = dict(ran.asks(role)[0].variables)["guidance"]
        assert said.split("\n") == [
            *(f"- {role} rule {word}" for word in ("one", "two", "three", "four", "five", "six")),
            "",
            f"{role} lesson one",
        ]
        assert "was learned from other problems" in prompt, "nobody wrote it for this one"
        assert "was written for this problem" not in prompt
        assert (facts.sort, facts.items) == (
            role,
            (*(f"{first}{at}" for at in range(1, 7)), f"L1.{first}1"),
        )
    assert ran.result.answer == "24"
    assert not ran.of(KnowledgeReached), "nothing was composed"


def test_without_composers_half_of_the_calls_and_more_are_spared_at_most() -> None:
    """Three rounds of three roles, each asked twice at most; a composer is asked twice as well."""
    most = {
        on: MC2.most_calls(Mc2Settings.resolve("service", {"composer": on})) for on in ("on", "off")
    }
    assert most == {"on": 36, "off": 18}
    alone = Mc2Settings.resolve("service", {"composer": "off", "roles": "R"})
    assert MC2.most_calls(alone) == 2


def test_without_a_composer_and_without_memory_nothing_is_said_of_guidance() -> None:
    ran = episode(answering, setting(composer="off"))
    assert ran.roles == list(ROLES)
    assert not ran.of(ExperienceShown)
    assert all("Guidance" not in shown(asked) for asked in ran.requests)


def test_rules_are_shown_before_lessons_as_far_as_there_is_room() -> None:
    """The record names those that were shown, and no other."""
    [bare] = episode(answering, setting(composer="off", roles="R")).requests
    lines = [f"- reasoner rule {word}" for word in ("one", "two", "three")]
    whole = sum(len(text) for _, text in bare.messages()) + len("\n".join(lines))
    for room, most in ((whole, 3), (whole - 1, 2), (0, 0)):
        settings = setting(composer="off", roles="R", context_chars=max(room, 1))
        ran = episode(answering, settings, memory=full_memory())
        [asked] = ran.requests
        assert dict(asked.variables)["guidance"] == "\n".join(lines[:most])
        assert [fact.items for fact in ran.of(ExperienceShown)] == [("R1", "R2", "R3")[:most]][
            :most
        ]


def test_a_restarted_reasoner_is_told_why_where_no_composer_could_tell_it() -> None:
    def reply(question: Complete) -> str:
        if question.role == "controller":
            return restarted("count the factors")
        return answering(question)

    settings = setting(composer="off", advice="composer", max_rounds=2)
    ran = episode(reply, settings, memory=full_memory())
    first, second = ran.asks("reasoner")
    assert "count the factors" not in shown(first)
    assert "count the factors" in shown(second)


@pytest.mark.claim("mc2-eq-16")
def test_cosine() -> None:
    question = (1.0, 0.0)
    assert [cosine(question, lesson) for lesson in ((2.0, 0.0), (3.0, 4.0), (0.0, 1.0))] == [
        1.0, 0.6, 0.0,
    ]  # fmt: skip
    assert cosine(question, (0.0, 0.0)) == 0.0


# ── Checks, regeneration, fallback ───────────────────────────────────────────────────────────


def _composing(
    *composed: str, settings: Mc2Settings | None = None
) -> list[Complete | KnowledgeReached]:
    """Requests and guidance facts of an episode in which only the Reasoner has knowledge."""
    memory = knowing(item("R1", "reasoner", "Old rule one.", kind="rule"))
    script = {
        "composer": composed,
        "reasoner": [solved("1"), solved("2")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": [decided(3), decided(1)],
    }
    ran = episode(script, settings or setting(), memory=memory)
    asked = [q for q in ran.requests if q.role in ("composer", "reasoner")]
    return [*asked, *ran.of(KnowledgeReached)]


GOOD = guided("Guidance", "look at the factors")
BAD = "Look at the factors."


def test_a_note_that_computes_is_no_advice() -> None:
    """A small model's composer solved the problem, wrongly, and the Reasoner followed: its bullets with numbers go."""
    note = guided(
        "Guidance",
        "Name what is asked, as R1 says.",
        "Set up 15/4 + 15/2 t = 15.",
        "Check the sum a second way.",
    )
    kept = "### Guidance\n- Name what is asked, as R1 says.\n- Check the sum a second way.\n\n### Problem"
    _, reasoner, *rest = _composing(note, GOOD, settings=SOFT)
    assert isinstance(reasoner, Complete)
    assert "Set up 15/4" in shown(reasoner), "the paper's composer says what it likes"
    _, reasoner, *rest = _composing(note, GOOD, settings=setting(bullets="soft", figures="drop"))
    assert isinstance(reasoner, Complete)
    assert kept in shown(reasoner)
    facts = [
        (fact.result, fact.bullets, fact.cut) for fact in rest if isinstance(fact, KnowledgeReached)
    ]
    assert facts[0] == ("composed", 2, 1)
    alone = guided("Guidance", "Take 20% of 25, which is 5.")
    _, reasoner, *_ = _composing(alone, GOOD, settings=setting(bullets="soft", figures="drop"))
    assert isinstance(reasoner, Complete)
    assert reasoner.role == "reasoner", "nobody is asked for a better note"
    assert "Guidance" not in shown(reasoner)


@pytest.mark.claim("mc2-c3", "mc2-c5")
def test_bad_guidance_is_asked_for_again_with_the_reason() -> None:
    first, second, reasoner, *rest = _composing(BAD, GOOD, GOOD)
    assert isinstance(first, Complete)
    assert isinstance(second, Complete)
    assert isinstance(reasoner, Complete)
    assert second == structs.replace(first, history=second.history)
    assert second.history[0] == ("assistant", BAD.strip())
    assert "at most 6 bullets" in second.history[1][1]
    assert "- look at the factors" in shown(reasoner)
    facts = [fact for fact in rest if isinstance(fact, KnowledgeReached)]
    assert [fact.result for fact in facts] == ["regenerated", "composed"]


@pytest.mark.claim("mc2-c3", "mc2-c5")
def test_twice_bad_guidance_falls_back_to_the_previous_prompt() -> None:
    """In the first round that is the base prompt, later this episode's last one (D4)."""
    found = _composing(BAD, BAD, GOOD)
    reasoners = [q for q in found if isinstance(q, Complete) and q.role == "reasoner"]
    assert "### Guidance" not in shown(reasoners[0])
    assert "- look at the factors" in shown(reasoners[1])
    found = _composing(GOOD, BAD, BAD)
    reasoners = [q for q in found if isinstance(q, Complete) and q.role == "reasoner"]
    assert all("- look at the factors" in shown(q) for q in reasoners)
    facts = [fact for fact in found if isinstance(fact, KnowledgeReached)]
    assert [(fact.result, fact.bullets) for fact in facts] == [("composed", 1), ("fallback", 1)]


def test_guidance_is_told_by_its_round_and_what_was_cut_of_it_once() -> None:
    """What stands for a note that could not be read was told before, with what was too long in it."""
    long = guided("Guidance", "look " + "at the factors " * 8)
    facts = [f for f in _composing(long, BAD, BAD) if isinstance(f, KnowledgeReached)]
    told = [(f.round, f.role, f.result, f.bullets, f.cut, f.items) for f in facts]
    assert told == [
        (0, "reasoner", "composed", 1, 5, ("R1",)),
        (1, "reasoner", "fallback", 1, 0, ("R1",)),
    ]
    assert len({f.source for f in facts}) == 2


@pytest.mark.parametrize("role", ["monitor", "controller"])
def test_a_plan_for_one_trajectory_is_never_used_for_another(role: RoleName) -> None:
    """The second round's trajectory is another one: without a plan of its own there is none."""
    memory = knowing(item("X1", role, "Old rule one.", kind="rule"))
    label = {"monitor": "Review plan", "controller": "Decision policy"}[role]
    script = {
        "composer": [guided(label, "look at step two"), BAD, BAD],
        "reasoner": [solved("1"), solved("2")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": [decided(3), decided(1)],
    }
    ran = episode(script, memory=memory)
    first, second = ran.asks(role)
    assert "- look at step two" in shown(first)
    assert "### Guidance" not in shown(second)
    facts = [(fact.result, fact.bullets) for fact in ran.of(KnowledgeReached)]
    assert facts == [("composed", 1), ("fallback", 0)]
    updates = [turn.updates[role] for turn in turns(ran.trace)]
    assert [(each.after, each.succeeded) for each in updates] == [
        ("- look at step two", True),
        ("", False),
    ]


@pytest.mark.claim("mc2-c3", "mc2-c5")
def test_guidance_that_does_not_fit_the_context_fails_its_check() -> None:
    roomy = guided("Guidance", *["a bullet that is rather long"] * 6)
    base = sum(
        len(text)
        for _, text in REASONER.question({"problem": stated("game24", PROBLEM)}).messages()
    )
    tight = setting(context_chars=base + len("- look at the factors"))
    facts = [
        fact
        for fact in _composing(roomy, GOOD, GOOD, GOOD, settings=tight)
        if isinstance(fact, KnowledgeReached)
    ]
    assert facts[0].result == "regenerated"


LONG = "word " * 25
BULLETS = [
    (GOOD, 1, 0, True),
    (guided("Guidance", *["a"] * 9), 6, 3, False),
    (guided("Guidance", LONG), 1, 5, False),
    (f"Here you are:\n{GOOD}", 1, 0, False),
    ("**Guidance:**\n\n- one\n- two", 2, 0, True),
    ("Guidance:", None, 0, False),
    ("- one\n- two", 2, 0, False),
    ("Here is a note:\n\n- one\n- two", 2, 0, False),
    ("### Guidance for this problem\n- one\n- two", 2, 0, False),
    ("I have nothing to say.", None, 0, False),
]  # fmt: skip


@pytest.mark.claim("mc2-c3", "mc2-c5")
@pytest.mark.parametrize(("text", "kept", "cut", "strict"), BULLETS)
def test_bullets(text: str, kept: int | None, cut: int, strict: bool) -> None:
    """D5: soft cuts and counts, strict refuses."""
    coach = COACHES["reasoner"]
    soft = read_bullets(coach, text)
    assert (soft and (len(soft.lines), soft.cut)) == (kept and (kept, cut))
    assert (read_bullets(coach, text, strict=True) is not None) is strict


# ── What a small model writes ────────────────────────────────────────────────────────────────

NOTES = """\
Guidance:
1. **Understand the relationships**: one herd is twice as large as another.
2. **Sum the herds**.

Guidance:
1. **Understand the problem**: eggs are eaten and sold.
2. **Calculate the number of eggs"""
"""The note, and then one on a problem that a lesson comes from, until the reply was cut."""
SOFT, STRICT = setting(bullets="soft"), setting(bullets="strict")


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (
            NOTES,
            "- **Understand the relationships**: one herd is twice as large as another.\n- **Sum the herds**.",
        ),
        ("Guidance:\n- look at the factors\n- then add them to wh", "- look at the factors"),
        ("- look at the factors\n- then add them to wh", "- look at the factors"),
    ],
    ids=["a second note is cut", "a bullet is cut", "a bare bullet is cut"],
)
def test_what_a_cut_note_says_as_a_whole_is_its_guidance(said: str, note: str) -> None:
    """Of a small model's first askings 10 of 23 were refused, though the first of its notes was whole."""
    first, reasoner, *rest = _composing(CutOff(said), GOOD, settings=SOFT)
    assert isinstance(first, Complete)
    assert isinstance(reasoner, Complete)
    assert reasoner.role == "reasoner", "nobody is asked again"
    assert f"### Guidance\n{note}\n\n### Problem\n" in shown(reasoner)
    facts = [fact.result for fact in rest if isinstance(fact, KnowledgeReached)]
    assert facts == ["composed", "composed"]


@pytest.mark.parametrize(
    ("said", "settings"),
    [
        ("The herds are twice as large as", SOFT),
        ("Guidance:\n- look at the fac", SOFT),
        (NOTES, STRICT),
    ],
    ids=["nothing is whole", "the only bullet is cut", "the strict form"],
)
def test_a_cut_note_that_says_nothing_whole_is_asked_for_again(
    said: str, settings: Mc2Settings
) -> None:
    first, second, reasoner, *_ = _composing(CutOff(said), GOOD, GOOD, settings=settings)
    assert isinstance(first, Complete)
    assert isinstance(second, Complete)
    assert isinstance(reasoner, Complete)
    assert second.role == "composer"
    assert "cut off" in second.history[1][1]
    assert "- look at the factors" in shown(reasoner)


def test_a_composer_is_told_last_to_solve_nothing() -> None:
    """Behind lessons of other problems a small model went on to advise on those, too."""
    ran = episode(answering, memory=full_memory())
    for composer, role in zip(ran.asks("composer"), ROLES, strict=True):
        end = composer.messages()[-1][1].rpartition("\n\n")[2]
        assert f"{HEADERS[role]} as the only heading" in end
        assert end.endswith(
            "End with the last bullet: no calculation, no solution, no other heading."
        )
