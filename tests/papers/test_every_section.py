"""Each section of each role's prompt is shown in an episode, and holds what it is for: whose words, or which of ours.

Short series of every policy run on the simulator, whose sentences are signed by the role that says them. A section
that none of them shows is named here, with the test that asserts it, or with the reason why nothing ever fills it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from handlers.policies.answer_judge import JudgeSettings, solve
from handlers.policies.base import Task
from handlers.policies.cascade.arms import AVOID
from handlers.policies.meta_reasoner.strategies import BIRTHS
from handlers.policies.registry import POLICIES
from streams.answering.backbones.rehearsal import Options
from tests.architecture.pages import ROOT
from tests.handlers.roles.every import roles
from tests.papers.sections import Seen, Series, prompts
from tests.scripted import run

REQUESTS = Path(__file__).with_name("requests.txt")
CUT, SURE = Options(seed=7, truncated=0.4), Options(seed=7, specificity=1.0, insight=1.0)
MODEST = {"confidence_wording": "B", "stop_threshold": 1.0, "health_threshold": 0.9}
DEEP = {"expose_meta": True, "prune_threshold": 0.0, "stop_threshold": 1.0, "health_threshold": 0.9}
TOLD = {"assess": "verbal", "min_labels": 1}
LONG = {"confidence_threshold": 1.0, "max_rounds": 8, "abandon": "off"}
RUNS = (
    *map(Series, POLICIES),
    Series("mc2", {"distil": "per_batch"}, "game24:1-8", options=SURE),
    Series("mc2", {"distil": "per_batch", "clean_reports": "ask"}, "game24:901-908"),
    Series("mc2", {"distil": "per_batch", "clean_reports": "ask"}, "game24:1-8", options=SURE),
    Series("mc2", problems="game24:901-910"),
    Series("mc2", {"composer": "off", "max_rounds": 2}, "game24:901-910", options=SURE),
    Series("mc2", {"outcome_tag": "on", "learned_form": "strict", "clean_reports": "ask"}),
    Series("cot2_meta", {**MODEST, **DEEP}),
    Series("cot2_meta", {"confidence_wording": "C"}),
    Series("cot2_meta", {**DEEP, "strategies": ["decompose"], "primary_calls": 40}, calls=60),
    Series("meta_reasoner", {"choice": "direct"}),
    Series("meta_reasoner", {"reward": "B", "max_rounds": 2}),
    Series("meta_reasoner", {"reward": "scalar"}, calls=7),
    Series("meta_reasoning", problems="game24:905-940"),
    Series("hiar_icl", {"rollouts": 24, "depth": 4}, "game24:1301-1316", calls=200),
    Series("mgv_flavell", {**TOLD, **LONG}, "game24:901-908"),
    Series("mgv_flavell", {**TOLD, "monitor_view": "features", "relevance_floor": None}),
    Series("mgv_flavell", problems="game24:901-908", options=CUT),
    Series("mgv_retrieval", {"confidence_threshold": 1.0, "fok_threshold": 3.0}),
    Series("graph_memory", {"phase": "build", "rollouts": 2, "grounding": "model"}, calls=60),
)

SPOKEN: Mapping[str, frozenset[str]] = {
    name: frozenset(whose.split())
    for name, whose in {
        "trajectory": "reasoner thinker repairer step",
        "oracle.trajectory": "thinker repairer",
        "judge.trajectory": "thinker",
        "reporter.trajectory": "step",
        "judge.A.trajectory": "step",
        "judge.B.trajectory": "step",
        "judge.scalar.trajectory": "step",
        "step.trajectory": "step",
        "composer.controller.trajectory": "reasoner",
        "composer.monitor.trajectory": "reasoner",
        "monitor.trajectory": "reasoner",
        "monitor.uncomposed.trajectory": "reasoner",
        "controller.trajectory": "reasoner",
        "controller.uncomposed.trajectory": "reasoner",
        "report": "monitor",
        "meta_reasoner.report": "reporter",
        "meta_reasoner.pick.report": "reporter",
        "guidance": "composer",
        "agent.guidance": "reasoner consolidator distiller",
        "reasoner.uncomposed.guidance": "consolidator distiller",
        "monitor.uncomposed.guidance": "consolidator distiller",
        "controller.uncomposed.guidance": "consolidator distiller",
        "rules": "consolidator",
        "lessons": "distiller",
        "recent_feedback": "monitor",
        "decision": "controller",
        "rejected_attempt": "reasoner",
        "do": "reasoner",
        "avoid": "reasoner",
        "mended": "reasoner",
        "finding": "monitor",
        "advice": "controller monitor",
        "step.advice": "meta_reasoner",
        "judgement": "judge",
        "assessment": "oracle",
        "rejected_steps": "thinker repairer",
        "solution": "reasoner",
        "checks": "verifier",
        "feedback": "critic",
        "attempt": "reasoner",
        "reflections": "reflector",
        "earlier_reflections": "reflector",
        "groundwork": "reasoner",
        "chains": "reasoner",
        "objective": "thinker",
        "known_conditions": "thinker",
        "new_condition": "thinker",
        "essentials": "distiller",
        "insights": "consolidator",
        "new_note": "distiller",
        "earlier_notes": "distiller",
        "strategy": "meta_reasoner",
        "transcript": "reasoner",
    }.items()
}
"""Whose sentences a section holds; under a template's own name where it differs there."""
COPIED: Mapping[str, frozenset[str]] = {
    "candidate": frozenset({"reasoner"}),
    "earlier_answer": frozenset({"reasoner"}),
    "last_result": frozenset({"reasoner"}),
    "fault": frozenset({"oracle"}),
    "scores": frozenset({"oracle"}),
    "trajectories": frozenset({"reasoner"}),
    "task": frozenset({"conductor"}),
}
"""Whose very lines it holds, which are no sentences."""
WORDS: Mapping[str, str] = {
    "features": r"\d+ words, \d+ quantities, \d+ clauses",
    "similar_cases": r"\nAnswer given: .+ \((right|wrong|unknown)\)",
    "goal": r"An answer of the type asked for",
    "polarity": r"(DO|AVOID|BOTH)\b",
    "outcome": r"(success|failure|unknown)$",
    "course": r"Round 1: [^\n]+(\nRound [^\n]+)*\nHow each role did: reasoner (good|ok|poor), monitor",
    "steps_to_score": r"Step \d+(, Step \d+)*$",
    "steps_made": r"\d+$",
    "weights": r"w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8",
    "steps_left": r"This is the last step\.",
    "instruction": r"\w+.*",
    "first_instruction": r"\w+.*",
    "second_instruction": r"\w+.*",
    "thought_template": r"\w+.*",
    "methods": r"cot: chain of thought",
    "strategies": r"a1: when: .+ Do: ",
    "opening": r"\w+",
    "transitions": r"GS \(GoalSetting",
}
"""What is ours in a section."""

ARMS = tuple(strategy.text for strategy in BIRTHS)
"""What a step is advised where an arm of the start set is chosen."""

CASES = "only a search shows similar cases, and it goes straight or restates"
CHECKS = "only a search restates, and nothing is checked in one"
FORMS = "the judge's forms share their sections, and this one needs it not"
NEVER: Mapping[str, str] = {
    **{
        f"attempt.{way}.similar_cases": CASES
        for way in ("decompose", "define", "example", "plan", "simplify")
    },
    **dict.fromkeys(("attempt.restate.earlier_answer", "attempt.restate.finding"), CHECKS),
    **dict.fromkeys(("judge.A.strategy", "judge.B.weights"), FORMS),
    **dict.fromkeys(("judge.scalar.strategy", "judge.scalar.weights"), FORMS),
}
"""Sections that no episode fills."""
INDUCER = "tests/papers/test_graph_says.py::test_every_analysis_is_told_the_machine_the_principles_and_what_was_said"
PATHS = "tests/papers/test_graph_says.py::"
SUCCESS, FAILURE = (
    f"{PATHS}test_a_contrast_shows_the_success_as_success_and_the_failure_as_failure",
    f"{PATHS}test_a_neighbours_success_is_not_shown_as_the_problems_own",
)
REPAIR = (
    "tests/papers/test_cot2_lines.py::"
    "test_repair_rewrites_the_suffix_and_leaves_the_nodes_before_it_alone"
)
SCORED = "tests/papers/test_cot2_variants.py::test_switches_of_the_decisions"
TAUGHT = "tests/papers/test_mc2_teaching.py::test_a_restart_that_helped_teaches_every_role_from_both_attempts"
HARMED = "tests/papers/test_mc2_soft.py::test_a_consolidator_is_told_which_rules_of_its_role_were_retired"
ELSEWHERE: Mapping[str, str] = {
    "inducer": INDUCER,
    "inducer.path_that_succeeded": SUCCESS,
    "inducer.path_that_failed": FAILURE,
    "inducer.path_that_succeeded_on_a_similar_problem": FAILURE,
    "inducer.work_that_failed": f"{PATHS}test_the_inducer_sees_excerpts_of_both_runs_where_it_is_set",
    "inducer.work_that_succeeded": f"{PATHS}test_the_inducer_sees_excerpts_of_both_runs_where_it_is_set",
    "distiller.rejected_attempt": TAUGHT,
    "consolidator.withdrawn": HARMED,
    "repairer.trajectory": REPAIR,
    "thinker.scores": SCORED,
    "answer_judge": "tests/papers/test_every_section.py::test_the_judge_of_answers_sees_problem_references_and_answer",
}
"""Sections that the simulator does not come to, by role or by role and section: the tests that assert them."""


@cache
def everything() -> dict[str, list[Seen]]:
    """Every prompt of all runs, by its template."""
    found: dict[str, list[Seen]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        for one in RUNS:
            for seen in prompts(one, Path(folder)):
                found[seen.template].append(seen)
    return found


def requests() -> str:
    """Each template's fullest request, behind the instructions that ``prompts.txt`` shows.

    A template that the simulator does not come to has each section's name for what it holds.
    """
    said: dict[str, str] = {}
    for role in roles():
        template = role.template
        turns = [
            (-len(seen.sections), len(seen.turn), seen.turn) for seen in everything()[template.name]
        ]
        names = {section.variable: f"({section.variable})" for section in template.sections}
        said[template.name] = min(turns)[2] if turns else template.user(names)
    rule = "=" * 100
    return "\n".join(f"{rule}\n{name}\n{rule}\n{turn}\n" for name, turn in sorted(said.items()))


def sections() -> set[str]:
    """Every section of every role, by its template and variable."""
    return {f"{r.template.name}.{s.variable}" for r in roles() for s in r.template.sections}


def shown() -> set[str]:
    """Every section that was shown."""
    return {
        f"{name}.{each}" for name, all_ in everything().items() for s in all_ for each in s.sections
    }


def holds(name: str, variable: str, text: str, seen: Seen) -> bool:
    """Whether a section holds what it is for."""
    if variable == "problem":
        return re.search(r"\d+ \d+ \d+ \d+", text) is not None
    if f"{name}.{variable}" == "step.advice" and text.startswith(ARMS):
        return True
    if f"{name}.{variable}" == "reasoner.advice":  # ours, and behind it what the check found
        text = text.removeprefix(AVOID.partition("{")[0])
    if variable == "last_result" and text == "no answer":
        return True
    whose = SPOKEN.get(f"{name}.{variable}") or SPOKEN.get(variable)
    if whose is not None:
        return any(f"({role})" in text for role in whose) or copied(text, whose, seen)
    if variable in COPIED:
        return copied(text, COPIED[variable], seen)
    return re.search(WORDS[variable], text) is not None


def copied(text: str, whose: frozenset[str], seen: Seen) -> bool:
    """Whether a line of it is one of theirs."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return any(line in said for role in whose for said in seen.said.get(role, ()) for line in lines)


def elsewhere(section: str) -> str | None:
    """The test that asserts a section which the simulator does not come to."""
    role, variable = section.partition(".")[0], section.rpartition(".")[2]
    return ELSEWHERE.get(f"{role}.{variable}", ELSEWHERE.get(role))


@pytest.mark.timeout(300)
def test_every_section_of_every_role_is_shown() -> None:
    missing = sections() - shown() - set(NEVER)
    assert sorted(each for each in missing if elsewhere(each) is None) == [], "nobody shows these"
    assert not shown() & set(NEVER), "what is never filled was"
    assert set(NEVER) <= sections()


@pytest.mark.timeout(300)
def test_every_section_holds_what_it_is_for() -> None:
    wrong: dict[str, str] = {}
    for name, prompts_ in everything().items():
        for seen in prompts_:
            for variable, text in seen.sections.items():
                if not holds(name, variable, text, seen):
                    wrong.setdefault(f"{name}.{variable}", text[:200])
    assert wrong == {}


@pytest.mark.timeout(300)
def test_requests_are_as_they_were_last_read() -> None:
    """After a change: ``python -m tests.papers.test_every_section``, then read the diff."""
    assert requests() == REQUESTS.read_text(encoding="utf-8")


def source_of(test: str) -> str:
    """The text of a test; ``FILE::NAME``. Raises where there is none."""
    page, _, name = test.partition("::")
    code = (ROOT / page).read_text(encoding="utf-8")
    (found,) = (
        node
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return ast.get_source_segment(code, found) or ""


SHOWN_AS = {"trajectory": "[Step 1]", "rejected_attempt": "### Rejected attempt"}
"""How a test asserts a section by its heading, or by the mark that what it holds begins with."""


def test_what_is_asserted_elsewhere_is_asserted_there() -> None:
    named = {each: test for each in sections() if (test := elsewhere(each)) is not None}
    assert {each.partition(".")[0] for each in named} == {
        each.partition(".")[0] for each in ELSEWHERE
    }
    for each, test in named.items():
        variable = each.rpartition(".")[2]
        assert SHOWN_AS.get(variable, f'"{variable}"') in source_of(test), (each, test)


def test_the_judge_of_answers_sees_problem_references_and_answer() -> None:
    task = Task("a", "Who wrote it?", "d", seed=7)
    settings = JudgeSettings(answer="P. B. Shelley", references=("Percy Shelley", "Shelley"))
    ran = run(
        solve(task, settings), {"answer_judge": ["Comparison: they name one poet.\nVerdict: SAME"]}
    )
    [question] = ran.requests
    seen = dict(question.variables)
    assert seen["problem"] == "Who wrote it?"
    assert seen["references"] == "- Percy Shelley\n- Shelley"
    assert seen["given_answer"] == "P. B. Shelley"
    assert ran.result.answer == "right"


if __name__ == "__main__":
    REQUESTS.write_text(requests(), encoding="utf-8")
