"""The papers' profiles from one end to the other on a worker, and what each of them comes to know.

All roles are SCRIPTED, each by what its prompt shows it: it shows that the parts fit, and says nothing of any model.
The graph memory's is in ``test_graph_paper.py``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from handlers.policies.registry import find
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened
from schemas.events.learning import Graded, LessonDistilled
from schemas.events.monitoring import StrategyMatched
from schemas.events.search import NodePruned, NodeRepaired, SearchDecided
from schemas.events.strategy import StrategyChosen
from schemas.fence import sections_of
from schemas.memory import Memory
from state.folds.state import State
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.worker import Worker
from tests.papers.cot2_says import scores, thought
from tests.papers.mc2_says import (
    HEADERS,
    accepted,
    audited,
    guided,
    lesson,
    restarted,
    rules,
    solved,
)
from tests.papers.mgv_says import checked, sure
from tests.papers.mr_says import judged, noted, reported, stepped
from tests.streams.cli.calling import call

E = TypeVar("E", bound=Event)
Sections = Mapping[str, str]
Says = Callable[[Sections, ModelRequest], str]
_NUMBER = re.compile(r"number (\d+)")


@dataclass
class Role:
    """Plays one role by the sections that it is shown; notes what it saw."""

    says: Says
    saw: list[Sections] = field(default_factory=list[Sections])
    name: str = "scripted"
    simulated: bool = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        seen = dict(sections_of(request.messages[1][1]))
        self.saw.append(seen)
        return ModelReply(text=self.says(seen, request), finish="stop", model="scripted")

    async def close(self) -> None:
        pass


@dataclass
class Lived:
    """What a series left, and what its roles saw."""

    events: list[tuple[str, Event]]
    roles: Mapping[str, Role]
    memory: Memory | None

    def of(self, kind: type[E]) -> list[E]:
        return [event for _, event in self.events if isinstance(event, kind)]

    def by_problem(self, kind: type[E]) -> dict[int, list[E]]:
        """Facts by the number of their problem."""
        found: dict[int, list[E]] = {}
        for episode, event in self.events:
            if isinstance(event, kind) and episode.startswith("p/"):
                found.setdefault(int(episode.split("/")[2][1:]), []).append(event)
        return found


def lived(
    folder: Path, policy: str, problems: Mapping[int, str], parts: Mapping[str, Says], *values: str
) -> Lived:
    """A labelled series under the paper's profile: the answer to a problem is its number."""
    log, file = folder / "a.db", folder / "a.jsonl"
    lines = [{"id": f"n{n}", "problem": text, "answer": str(n)} for n, text in problems.items()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = [part for value in values for part in ("--set", value)]
    said = call(
        *("produce", file, "--domain", "lists", "--policy", policy, "--profile", "paper"),
        *words,
        *("--log", log),
    )
    assert said.code == 0, said.err
    roles = {name: Role(says) for name, says in parts.items()}
    with closing(SqliteLog(log)) as opened:
        world = World({"*": Role(unforeseen), **roles}, HashedEmbedder())
        asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))
        done = Verifier(opened, find).run()
        assert (done.diverged, done.unverifiable) == ([], [])
        memories = [*fold(opened, State()).memories.values()]
        events = [(record.episode, record.event) for record in opened.records()]
    return Lived(events, roles, memories[0].latest if memories else None)


def unforeseen(seen: Sections, request: ModelRequest) -> str:
    raise AssertionError(f"nobody plays this role: {request.messages[0][1][:80]}")


def number_in(seen: Sections) -> str:
    return str(_NUMBER.findall(seen["Problem"])[-1])


def asked(
    numbers: Sequence[int], text: str = "What is said to be number {} of the list?"
) -> dict[int, str]:
    return {number: text.format(number) for number in numbers}


# ── MC² ──────────────────────────────────────────────────────────────────────────────────────

EARLY = "Check the parts early before the whole."


def mc2_reasoner(seen: Sections, request: ModelRequest) -> str:
    """Right by itself where the number is even; otherwise only where its guidance says what to do."""
    number = number_in(seen)
    knows = int(number) % 2 == 0 or EARLY in seen.get("Guidance", "")
    return solved(number if knows else "0")


def mc2_monitor(seen: Sections, request: ModelRequest) -> str:
    return audited("NO" if seen["Candidate"] == number_in(seen) else "YES")


def mc2_controller(seen: Sections, request: ModelRequest) -> str:
    clean = "Error_found: NO" in seen["Report"]
    return accepted(number_in(seen)) if clean else restarted("begin with the parts")


def whose(request: ModelRequest) -> str:
    """Which role a composer, distiller or consolidator works for."""
    text = request.messages[0][1]
    found = re.search(r"(?:coach the|lesson for a|knowledge of the) (\w+)", text)
    assert found is not None
    return found[1].lower()


def mc2_composer(seen: Sections, request: ModelRequest) -> str:
    """The first rule as guidance."""
    return guided(HEADERS[whose(request)], seen["Rules"].split("\n")[0].partition(": ")[2])


def mc2_distiller(seen: Sections, request: ModelRequest) -> str:
    return lesson(whose(request), 3 if seen["Polarity"].startswith("AVOID") else 1)


def mc2_consolidator(seen: Sections, request: ModelRequest) -> str:
    return rules(whose(request)[0].upper())


def test_mc2_learns_lessons_and_rules_that_mend_what_failed(tmp_path: Path) -> None:
    ran = lived(
        tmp_path, "mc2", asked(range(1, 13)),
        {
            "reasoner": mc2_reasoner, "monitor": mc2_monitor, "controller": mc2_controller,
            "composer": mc2_composer, "distiller": mc2_distiller, "consolidator": mc2_consolidator,
        },
        "batch_size=4",
    )  # fmt: skip
    taught = [(each.role, each.polarity) for each in ran.of(LessonDistilled)][:12]
    for role in ("reasoner", "monitor", "controller"):
        assert taught.count((role, "do")) == taught.count((role, "avoid")) == 2
    assert ran.memory is not None
    kept = [item for item in ran.memory.items if item.kind == "rule"]
    assert len(kept) == 18, "six rules a role, as the paper has them"
    guidance = [seen.get("Guidance", "") for seen in ran.roles["reasoner"].saw]
    cold = 2 * 1 + 2 * 3  # two that are right at once, two that are sent back in all three rounds
    assert set(guidance[:cold]) == {""}
    assert set(guidance[cold:]) == {f"- {EARLY}"}
    outcomes = [each.outcome for each in ran.of(Graded)]
    assert sorted(outcomes[:4]) == ["right", "right", "wrong", "wrong"]
    assert set(outcomes[4:]) == {"right"}
    closed = ran.of(EpisodeClosed)
    assert sum(each.ended_by == "max_rounds" for each in closed) == 2, (
        "failed ones of the first batch"
    )
    shown = "\n".join(seen["Lessons"] for seen in ran.roles["composer"].saw)
    assert "Polarity: DO" in shown
    assert "Polarity: AVOID" in shown


# ── Meta-Reasoner ────────────────────────────────────────────────────────────────────────────

LOOK = "Look at what the list itself says before you guess."
STEPS = 4


def mr_step(seen: Sections, request: ModelRequest) -> str:
    """A step that follows its advice; the last one solves the problem."""
    at = seen.get("Trajectory", "").count("[Step ") + 1
    done = "I look" if LOOK in seen.get("Advice", "") else "I guess"
    return stepped(f"{done}, at {at}", number_in(seen) if at == STEPS else None)


def mr_judge(seen: Sections, request: ModelRequest) -> str:
    last = seen["Trajectory"].rpartition("[Step ")[2]
    return judged(0.9, 0.9) if "I look" in last else judged(0.2, 0.2)


def mr_reporter(seen: Sections, request: ModelRequest) -> str:
    return reported("steps were made")


def mr_adviser(seen: Sections, request: ModelRequest) -> str:
    return noted(LOOK, LOOK)


def test_meta_reasoner_learns_a_strategy_and_comes_to_choose_it(tmp_path: Path) -> None:
    ran = lived(
        tmp_path, "meta_reasoner", asked(range(1, 13)),
        {"step": mr_step, "judge": mr_judge, "reporter": mr_reporter, "meta_reasoner": mr_adviser},
        "window=3",
    )  # fmt: skip
    assert ran.memory is not None
    arms = {arm["text"]: arm for arm in ran.memory.learned["arms"]}
    assert len(arms) == 4, "the start arms, and the one that was proposed again and again"
    learned = arms[LOOK]
    assert learned["origin"] == "proposed"
    assert learned["pulls"] == max(arm.get("pulls", 0) for arm in arms.values())
    chosen = ran.by_problem(StrategyChosen)
    assert all(len(each) == STEPS - 1 for each in chosen.values())
    later = [choice for number in range(7, 13) for choice in chosen[number]]
    assert {(choice.arm, choice.how) for choice in later} == {(learned["id"], "ucb")}
    assert {"explore"} <= {choice.how for choice in chosen[1]}, "for being new, at first"
    assert {each.outcome for each in ran.of(Graded)} == {"right"}


# ── MGV ──────────────────────────────────────────────────────────────────────────────────────

EASY = "A shop sells number {} pens. How many pens is that?"
HARD = (
    "A farmer with number {} fields, each of which has 12 rows, first harvests 3 rows a day, then, after 5 days of "
    "rain, which cost him 20 rows, hires 4 people, who harvest 7 rows each; if 2 of them leave on day 9, and 15 "
    "rows are lost, on which day is he done, and how many rows has each of them harvested?"
)


def mgv_reasoner(seen: Sections, request: ModelRequest) -> str:
    """Easy ones are solved straight, hard ones by parts, and neither the other way."""
    number = _NUMBER.findall(seen["Problem"])[0]
    split = "sub-goals" in request.messages[0][1]
    return solved(number if split == ("farmer" in seen["Problem"]) else "0")


def mgv_monitor(seen: Sections, request: ModelRequest) -> str:
    return checked("FAIL" if seen["Candidate"] == "0" else "PASS")


def mgv_confidence(seen: Sections, request: ModelRequest) -> str:
    return sure(0.2 if r"\boxed{0}" in seen["Trajectory"] else 0.9)


def test_mgv_learns_which_strategy_is_for_which_difficulty(tmp_path: Path) -> None:
    problems = {at: (HARD if at % 2 else EASY).format(at) for at in range(1, 31)}
    ran = lived(
        tmp_path, "mgv_flavell", problems,
        {"reasoner": mgv_reasoner, "monitor": mgv_monitor, "confidence": mgv_confidence},
        "confidence=verbal",
    )  # fmt: skip
    first = {
        number: next(each.strategy for each in facts if each.level == "cognitive")
        for number, facts in ran.by_problem(StrategyMatched).items()
    }
    assert {first[at] for at in range(1, 11)} == {"direct"}, "nothing is known yet"
    assert {first[at] for at in range(21, 31) if at % 2} == {"decompose"}
    assert {first[at] for at in range(21, 31) if at % 2 == 0} == {"direct"}
    assert ran.memory is not None
    solved_by = {key for key, each in ran.memory.learned["beliefs"].items() if each["solved"]}
    assert any("complex" in key and "decompose" in key for key in solved_by)
    pinned = {
        number: facts[0].memory_version for number, facts in ran.by_problem(EpisodeOpened).items()
    }
    assert (pinned[1], pinned[30]) == (0, 2)
    attempts = len([seen for seen in ran.roles["reasoner"].saw if "farmer" in seen["Problem"]])
    assert attempts < 15 * 2, "hard ones are no longer tried straight first"


# ── CoT2-Meta ────────────────────────────────────────────────────────────────────────────────


def cot2_thinker(seen: Sections, request: ModelRequest) -> str:
    """Straight on it errs; by parts it is right, after a slip."""
    number = number_in(seen)
    text = request.messages[0][1]
    if "Go straight" in text:
        return thought(f"a mere guess {request.draw}", "0")
    if "sub-goals" in text:
        return thought(f"a slip on the way to {number}, {request.draw}")
    return thought(f"it holds, {request.draw}")


def cot2_repairer(seen: Sections, request: ModelRequest) -> str:
    return thought(f"counted again with care, {request.draw}", number_in(seen))


def cot2_oracle(seen: Sections, request: ModelRequest) -> str:
    worth = {"guess": (0.1, 0.1, 0.1), "slip": (0.6, 0.4, 0.3), "care": (1, 1, 1)}
    steps = re.split(r"\[Step \d+\]", seen["Trajectory"])[1:]
    return scores(
        *(next((worth[w] for w in worth if w in step), (0.5, 0.5, 0.5)) for step in steps)
    )


def cot2_confidence(seen: Sections, request: ModelRequest) -> str:
    return sure(0.95 if "care" in seen["Trajectory"] else 0.3)


def test_cot2_meta_prunes_repairs_and_stops_and_learns_how_sure_it_may_be(tmp_path: Path) -> None:
    ran = lived(
        tmp_path, "cot2_meta", asked(range(1, 4)),
        {
            "thinker": cot2_thinker, "repairer": cot2_repairer,
            "oracle": cot2_oracle, "confidence": cot2_confidence,
        },
    )  # fmt: skip
    assert len(ran.by_problem(NodePruned)) == 3, "guesses are pruned"
    repaired = ran.by_problem(NodeRepaired)
    assert [each[0].kept for each in repaired.values()] == ["new"] * 3
    assert {each.action for each in ran.of(SearchDecided)} == {"stop"}
    assert {each.outcome for each in ran.of(Graded)} <= {"right"}
    assert {each.answer for each in ran.of(EpisodeClosed)} == {"1", "2", "3"}
    assert all("Rejected steps" not in seen for seen in ran.roles["repairer"].saw), (
        "the paper's is blind"
    )
    assert not [e for e, event in ran.events if e.startswith("b/") and isinstance(event, Completed)]
    assert ran.memory is not None
    assert ran.memory.items == ()
    known = [(label.confidence, label.right) for label in ran.memory.labels or ()]
    assert known == [(0.95, True)] * 3, "how far what it states is to be trusted"
