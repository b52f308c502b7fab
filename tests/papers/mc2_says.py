"""What the roles of MC² say in scripts, and short runs over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from handlers.roles.controller import NUMBERED
from schemas.events.learning import Reflected
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.usage import Usage
from schemas.vectors import pack
from tests.scripted import NO_MEMORY, Ran, Script, hashed, run

PROBLEM = "Make twenty-four of the numbers 4 5 6 10, each used once."
TASK = Task("r938", PROBLEM, "game24", seed=7)
EMPTY = Memory("s", 0)
PAPER = Mc2Settings.resolve("paper", {})


def setting(**values: Any) -> Mc2Settings:
    """The paper's profile with some settings changed."""
    return Mc2Settings.resolve("paper", values)


def solved(answer: str, work: str = "Step 1: try.") -> str:
    return f"{work}\nFinal_answer: \\boxed{{{answer}}}"


def audited(flag: str, step: str = "2", description: str = "the total is off") -> str:
    found = (step, description) if flag == "YES" else ("NONE", "NONE")
    return (
        f"I read each step.\n\nError_found: {flag}\n"
        f"Error_step: {found[0]}\nError_description: {found[1]}"
    )


def accepted(answer: str = "") -> str:
    ending = f"\nFinal_answer: ### {answer} ###" if answer else ""
    return f"All is well.\nAction: 1\nJustification: sound{ending}"


def patched(answer: str) -> str:
    return (
        "A slip.\nAction: 2\nJustification: one slip\n"
        f"Corrected_reasoning: done again\nFinal_answer: ### {answer} ###"
    )


def restarted(advice: str) -> str:
    return f"Badly off.\nAction: 3\nJustification: wrong track\nSuggestions: {advice}"


def decided(action: int, advice: str = "start from the target") -> str:
    return {1: accepted("1"), 2: patched("2"), 3: restarted(advice)}[action]


def guided(label: str = "Guidance", *bullets: str) -> str:
    lines = bullets or ("look at the factors first",)
    return "\n".join((f"{label}:", *(f"- {line}" for line in lines)))


HEADERS = {"reasoner": "Guidance", "monitor": "Review plan", "controller": "Decision policy"}


def coached(question: Any, *bullets: str) -> str:
    """A composer's reply under the header that its prompt asks for."""
    role = question.template.name.partition(".")[2]
    return guided(HEADERS[role], *(bullets or (f"note for the {role}",)))


# ── Lessons and rules ────────────────────────────────────────────────────────────────────────


REASONER_LESSON = """Descriptor: factor pairs before sums
Applicable_when: the target has few divisors
Execution_recipe:
1) List divisors. 2) Pick a pair.
3) Build both sides.
Key_checks:
- every number is used
- the total is right
Worked_snippet:
10 - 4 = 6
6 * 5 = 30
30 - 6 = 24
Failure_mode_to_avoid:
- stopping at a near miss"""

MONITOR_LESSON = """Descriptor: a total that nothing computes
Red_flags_seen:
- a sum is only claimed
- a number is used twice
Where_to_check_first:
- the last line
Diagnostic_procedure:
1) Recompute.
2) Count the numbers.
3) Compare.
Minimal_countercheck:
4 * 6 + 10 - 5 is 29
Good_error_report_example:
Error_found: YES
Error_step: 2
Error_description: The total is claimed and not computed."""

CONTROLLER_LESSON = """Descriptor: a flagged total without repair
Signals_observed:
- the report names a step
- the answer changes each round
Decision_rule_used: IF the report names a step THEN {action} BECAUSE the answer hangs on it.
Action_taken: {action}
If_RESTART_advice_example:
- Begin from the target and work backwards."""

LESSONS = {"reasoner": REASONER_LESSON, "monitor": MONITOR_LESSON}


def lesson(role: str, action: int = 1) -> str:
    return LESSONS.get(role) or CONTROLLER_LESSON.format(action=NUMBERED[str(action)])


def rules(letter: str, *said: str) -> str:
    words = said or ("early", "often", "twice", "slowly", "last", "aloud")
    return "\n".join(
        f"{letter}{number}: Check the parts {word} before the whole."
        for number, word in enumerate(words, 1)
    )


def learned(question: Any) -> str:
    """A good reply of the distiller or consolidator to this question."""
    kind, _, role = question.template.name.partition(".")
    if kind == "consolidator":
        return rules(role[0].upper())
    variables = dict(question.variables)
    action = 3 if variables["polarity"].startswith("AVOID") else 1
    return lesson(role, action)


def answering(question: Any) -> str:
    """A cooperative model: every role replies well, and the first answer is accepted."""
    match question.role:
        case "reasoner":
            return solved("24")
        case "monitor":
            return audited("NO")
        case "controller":
            return accepted("24")
        case "composer":
            return coached(question)
        case _:
            return learned(question)


# ── Runs ─────────────────────────────────────────────────────────────────────────────────────


def episode(
    script: Script,
    settings: Mc2Settings = PAPER,
    *,
    memory: Memory = NO_MEMORY,
    task: Task = TASK,
    calls: int | None = None,
) -> Ran[Conclusion]:
    """One episode of MC² over a script, pinned to a memory version."""
    pinned = Task(task.id, task.problem, task.domain, task.seed, memory.number)
    return run(MC2.solve(pinned, settings), script, memory=memory, calls=calls)


def rounds(*played: tuple[str, int], settings: Mc2Settings = PAPER) -> Ran[Conclusion]:
    """An episode whose rounds have these flags and actions; answers and advice are numbered."""
    script = {
        "reasoner": [solved(f"{40 + k}") for k, _ in enumerate(played)],
        "monitor": [audited(flag) for flag, _ in played],
        "controller": [
            decided(action, f"advice number {k}") for k, (_, action) in enumerate(played)
        ],
    }
    return episode(script, settings)


def reflected(ran: Ran[Conclusion], settings: Mc2Settings = PAPER) -> dict[str, Any]:
    """The reflection of a run."""
    return MC2.reflect(ran.trace, ran.result, settings)


def member(name: str, summary: dict[str, Any], outcome: str = "unknown") -> Member:
    """A finished episode with this reflection."""
    problem = f"The problem called {name}."
    event = Reflected(
        scope="s",
        policy="mc2@1",
        problem_id=name,
        domain="game24",
        problem=problem,
        problem_digest=text_digest(problem),
        profile="paper",
        learning={},
        labelled=outcome != "unknown",
        status="answered",
        usage=Usage(),
        memory_version=0,
        summary=summary,
    )
    return Member(f"p/game24/{name}/run", event, outcome)


def best(name: str, outcome: str = "unknown") -> Member:
    """A member of S⁺."""
    return member(name, reflected(rounds(("NO", 1))), outcome)


def worst(name: str, outcome: str = "unknown") -> Member:
    """A member of S⁻."""
    return member(name, reflected(rounds(("YES", 3), ("YES", 3), ("YES", 3))), outcome)


def batch(members: Iterable[Member], number: int = 1, memory: Memory = EMPTY) -> Batch:
    """A batch to learn from."""
    return Batch("s", number, tuple(members), memory, seed=7)


def learn(
    given: Batch, script: Script = learned, settings: Mc2Settings = PAPER, calls: int | None = None
) -> Ran[None]:
    """The learning episode of a batch."""
    return run(MC2.learn(given, settings), script, memory=given.memory, calls=calls)


def item(
    name: str,
    role: str,
    text: str,
    *,
    kind: str = "lesson",
    number: int = 1,
    subject: str = "d/x",
    vector: Sequence[float] | None = None,
) -> MemoryItem:
    """A memory item as the fold makes it; its vector is that of its words, unless another one is told."""
    return MemoryItem(
        id=name,
        kind=kind,
        role=role,
        text=text,
        text_digest=text_digest(text),
        batch=number,
        subject="" if kind == "rule" else subject,
        vector=pack(vector or hashed(text)) if kind == "lesson" else None,
    )


def near_to(vector: Sequence[float], cosine: float) -> tuple[float, ...]:
    """A vector that is so like another one."""
    length = math.sqrt(sum(each * each for each in vector))
    one = [each / length for each in vector]
    other = [0.0] * len(one)
    other[0], other[1] = -one[1], one[0]  # at right angles to it
    across = math.sqrt(sum(each * each for each in other))
    if not across:
        other, across = [0.0, 1.0, *other[2:]], 1.0
    rest = math.sqrt(1 - cosine * cosine) / across
    return tuple(cosine * a + rest * b for a, b in zip(one, other, strict=True))


def knowing(*items: MemoryItem, number: int = 1) -> Memory:
    """A memory version that holds these items."""
    return Memory("s", number, items)


ROLES = ("reasoner", "monitor", "controller")


def full_memory(lessons: Sequence[str] = ("one",), number: int = 1) -> Memory:
    """Six rules and some lessons for each role, each recognisable by its role's name."""
    kept = [
        item(f"{role[0].upper()}{at}", role, f"{role} rule {word}", kind="rule")
        for role in ROLES
        for at, word in enumerate(("one", "two", "three", "four", "five", "six"), 1)
    ]
    taught = [
        item(f"L1.{role[0].upper()}{at}", role, f"{role} lesson {word}", number=number)
        for role in ROLES
        for at, word in enumerate(lessons, 1)
    ]
    return knowing(*kept, *taught, number=number)
