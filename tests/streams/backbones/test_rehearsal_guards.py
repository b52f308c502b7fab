"""The simulator hides no defect: every part of a prompt matters, and only what it says helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pytest
from msgspec import structs

from handlers.answers.game24 import check, puzzles
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.registry import POLICIES
from handlers.roles.composer import COACHES
from handlers.roles.consolidator import CONSOLIDATORS
from handlers.roles.controller import CONTROLLER
from handlers.roles.distiller import DISTILLERS, POLARITY
from handlers.roles.form import Unreadable
from handlers.roles.monitor import MONITOR
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from streams.answering.backbones.rehearsal import Options, Rehearsal, noise
from streams.answering.backbones.rehearsal.backbone import hidden
from streams.answering.backbones.rehearsal.grounds import Latent
from streams.answering.backbones.rehearsal.hints import Hint
from streams.answering.backbones.rehearsal.noise import Dice
from streams.answering.backbones.rehearsal.stories import STORIES
from streams.core.backbone import ModelRequest
from tests.streams.backbones.loop import walk
from tests.streams.backbones.prompting import AUDIT, FAULTLESS, SOLVE, boxed, fields, reply, request

SEED = FAULTLESS.seed
PUZZLES = [" ".join(map(str, puzzle)) for puzzle in puzzles()[::2]]
CASE = {
    "subject": "game24",
    "trajectory": "I start from the target.\nStep 1: 10 - 4 = 6\nStep 2: 6 * 5 = 31\n"
    "Step 3: 30 - 6 = 24\n\nFinal_answer: \\boxed{(10 - 4) * 5 - 6}",
    "candidate": "(10 - 4) * 5 - 6",
    "report": "Step 2 is false.\n\nError_found: YES\nError_step: 2\nError_description: false",
    "decision": "Action: 3\nSuggestions: Look again.",
    "polarity": POLARITY["do"],
    "outcome": "failure",
    "course": "Round 1: answer 24; a mistake found: YES at step 2: false; RESTART\nHow each role did: reasoner ok.",
    "rejected_attempt": "Reasoning: Step 1: 4 + 5 = 9\nMonitor: Error_found: YES\nController: Action: 3",
    "recent_feedback": "Suggestions: With any problem, overshoot and subtract.",
    "guidance": "- Recompute every operation.\n- With any problem, list the factor pairs.",
    "advice": "With any problem, make a quotient early.",
    "rules": "R1: With any problem, list the factor pairs.",
    "withdrawn": "- With any problem, make a quotient early.",
    "lessons": "[L1]\nPolarity: DO\nExecution_recipe:\n- With any problem, make a quotient early.\n"
    "- With any problem, overshoot and subtract.",
}
ROLES: dict[str, Role] = {
    role.template.name: role
    for role in (
        REASONER,
        MONITOR,
        CONTROLLER,
        *(coach.role for coach in COACHES.values()),
        *(distiller.role for distiller in DISTILLERS.values()),
        *(consolidator.role for consolidator in CONSOLIDATORS.values()),
    )
}
OTHERS = ("oracle", "judge", "reporter", "cot2", "mgv", "reflexion", "tot", "bandit", "graph")
STEERING = {
    *("problem", "trajectory", "report", "guidance", "advice", "rules", "withdrawn", "lessons"),
    "polarity",
}


def asked_of(role: Role, problem: str, without: str = "") -> ModelRequest:
    wanted = {section.variable for section in role.template.sections} - {without}
    filled = {name: text for name, text in (CASE | {"problem": problem}).items() if name in wanted}
    return structs.replace(request(role.template, **filled), seed=PUZZLES.index(problem))


@pytest.mark.parametrize("name", ROLES)
def test_every_role_is_understood(name: str) -> None:
    for problem in PUZZLES[::10]:
        said = reply(asked_of(ROLES[name], problem))
        assert not isinstance(ROLES[name].read(said.text), Unreadable), said.text


SLOTS = [(name, slot.variable) for name, role in ROLES.items() for slot in role.template.sections]


@pytest.mark.parametrize(("name", "slot"), SLOTS)
def test_deleting_a_section_changes_replies(name: str, slot: str) -> None:
    whole = [reply(asked_of(ROLES[name], p)).text for p in PUZZLES[:60]]
    less = [reply(asked_of(ROLES[name], p, without=slot)).text for p in PUZZLES[:60]]
    assert whole != less


@pytest.mark.parametrize(("name", "slot"), [pair for pair in SLOTS if pair[1] in STEERING])
def test_what_a_section_says_matters_with_the_dice_held(
    name: str, slot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(asked: ModelRequest, seed: int) -> Dice:
        return Dice(str(asked.seed))

    monkeypatch.setattr(noise, "dice", held)
    test_deleting_a_section_changes_replies(name, slot)


# ── Guidance ─────────────────────────────────────────────────────────────────────────────────

Guidance = Callable[[Latent], str]


def accuracy(guidance: Guidance, draws: int = 2) -> float:
    right = 0
    for problem in PUZZLES:
        note = guidance(hidden(SEED, problem))
        for draw in range(draws):
            said = reply(structs.replace(request(SOLVE, problem=problem, guidance=note), draw=draw))
            right += check(problem, boxed(said.text))[0] == "right"
    return right / (draws * len(PUZZLES))


def naming(latent: Latent, approaches: list[int]) -> str:
    lines = [Hint(a, latent.situation, True).says(latent.ground, "solving") for a in approaches]
    return "\n".join(f"- {line}" for line in lines)


def working(latent: Latent) -> str:
    return naming(latent, sorted(latent.works)[:1])


def failing(latent: Latent) -> str:
    return naming(latent, [a for a in range(6) if a not in latent.works][:1])


def placebo(latent: Latent) -> str:
    """As long as guidance that helps, and about another kind of problem."""
    told = Hint(latent.favourite, latent.situation, True).says(STORIES, "solving")
    return f"- {told}".ljust(len(working(latent)), ".")


def test_placebo_guidance_does_nothing_and_harmful_guidance_harms() -> None:
    plain, noise_ = accuracy(lambda latent: ""), 4 * sqrt(2 * 0.25 / (2 * len(PUZZLES)))
    assert abs(accuracy(placebo) - plain) < noise_
    assert accuracy(working) > plain + 0.3
    assert accuracy(failing) < plain - 0.1


def test_guidance_for_another_situation_does_nothing() -> None:
    def elsewhere(latent: Latent) -> str:
        other = (latent.situation + 1) % 6
        return Hint(min(latent.works, default=0), other, True).says(latent.ground, "solving")

    plain, noise_ = accuracy(lambda latent: ""), 4 * sqrt(2 * 0.25 / (2 * len(PUZZLES)))
    assert abs(accuracy(elsewhere) - plain) < noise_


def test_a_wrong_approach_stays_until_another_is_named() -> None:
    again = named = 0
    for problem in PUZZLES:
        latent = hidden(SEED, problem)
        other = (latent.favourite + 1) % 6
        first = reply(request(SOLVE, problem=problem)).text.splitlines()[0]
        vague = request(SOLVE, problem=problem, advice="Look again at the last lines.")
        again += reply(structs.replace(vague, seed=1)).text.splitlines()[0] == first
        advised = reply(request(SOLVE, problem=problem, advice=naming(latent, [other])))
        named += latent.ground.approaches[other] in advised.text
    assert again / len(PUZZLES) > 0.85
    assert named / len(PUZZLES) > 0.7


# ── Assessing and learning ───────────────────────────────────────────────────────────────────


def assessed(options: Options, guidance: str = "") -> tuple[float, float]:
    """Sensitivity and specificity as measured."""
    found: dict[str, list[bool]] = {"right": [], "wrong": []}
    for problem in PUZZLES:
        attempt = reply(request(SOLVE, problem=problem)).text
        asked = request(AUDIT, problem=problem, trajectory=attempt, guidance=guidance)
        fault = fields(reply(asked, options).text)["Error_found"] == "YES"
        found[check(problem, boxed(attempt))[0]].append(fault)
    wrong, right = found["wrong"], found["right"]
    return sum(wrong) / len(wrong), 1 - sum(right) / len(right)


def test_assessing_keeps_its_rates_and_checks_named_mend_them() -> None:
    sensitivity, specificity = assessed(FAULTLESS)
    assert sensitivity == pytest.approx(FAULTLESS.sensitivity, abs=0.06)
    assert specificity == pytest.approx(FAULTLESS.specificity, abs=0.06)
    better = assessed(FAULTLESS, "- Recompute every operation.")
    assert better[0] > sensitivity
    exact = Options(malformed=0, truncated=0, empty=0, sensitivity=1, specificity=1)
    assert assessed(exact) == (1.0, 1.0)


def test_the_false_step_is_named() -> None:
    attempt = "I start from the target.\nStep 1: 10 - 4 = 6\nStep 2: 6 * 5 = 31\n\\boxed{10 - 4}"
    exact = Options(malformed=0, truncated=0, empty=0, sensitivity=1)
    said = reply(request(AUDIT, problem="4 5 6 10", trajectory=attempt), exact).text
    assert fields(said)["Error_step"] == "2"
    assert "Step 2 is false: that makes 30." in said


def test_what_was_learned_helps_later_problems() -> None:
    """The same hundred problems with and without memory; the second half must gain by it."""
    problems = PUZZLES[::6][:100]

    def right(guidance: tuple[str, ...]) -> list[bool]:
        settings = Mc2Settings.model_validate({"guidance": guidance})
        answers = walk(MC2, settings, problems, Rehearsal().reply, domain="game24").answers
        pairs = zip(problems, answers, strict=True)
        return [a is not None and check(p, a)[0] == "right" for p, a in pairs]

    learned, cold = right(("rules", "lessons")), right(())
    assert sum(learned[50:]) >= sum(cold[50:]) + 10
    assert sum(learned[50:]) >= sum(learned[:10]) * 5 * 1.2
    assert learned[:10] == cold[:10]


# ── The code itself ──────────────────────────────────────────────────────────────────────────


def test_no_role_and_no_policy_is_known_by_name() -> None:
    names = {*POLICIES, *(role.name for role in ROLES.values()), *OTHERS}
    words = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})s?\b", re.IGNORECASE)
    folder = Path(noise.__file__).parent
    for path in sorted(folder.glob("*.py")):
        assert words.findall(path.read_text(encoding="utf-8").replace("_", " ")) == [], path
