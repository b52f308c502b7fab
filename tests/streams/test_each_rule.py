"""A rule that harms, on a worker: written by a batch with five others, measured by itself, and retired alone.

All roles are SCRIPTED: who is shown the harmful rule is wrong. It shows that the parts fit, and says nothing of
any model.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from handlers.learning.trials import tried_of
from handlers.policies.registry import find
from schemas.events.learning import BatchClosed, Reflected
from schemas.events.reasoning import KnowledgeOmitted
from schemas.memory import Memory
from state.folds.state import State
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelRequest
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.worker import Worker
from tests.papers.mc2_says import audited, lesson, solved
from tests.streams.cli.calling import call
from tests.streams.test_paper_profiles import Role, Says, Sections

PROBLEMS, BATCH = 100, 10
HARMFUL = "Guess before the whole problem is read."
RULES = "\n".join(
    (
        "R1: Name what is sought before the first step.",
        "R2: Check each sum by a second way.",
        f"R3: {HARMFUL}",
        "R4: Count what is used before the answer is given.",
        "R5: Draw what cannot be said in a line.",
        "R6: Read the question again before the answer.",
    )
)
_NUMBER = re.compile(r"number (\d+)")


def reasoner(seen: Sections, request: ModelRequest) -> str:
    """Right unless it is told to guess."""
    number = _NUMBER.findall(seen["Problem"])[-1]
    return solved("none" if HARMFUL in seen.get("Guidance", "") else number)


def composer(seen: Sections, request: ModelRequest) -> str:
    """Every rule that it sees, as a bullet."""
    return "Guidance:\n" + "\n".join(
        f"- {line.partition(': ')[2]}" for line in seen["Rules"].splitlines()
    )


def consolidator(seen: Sections, request: ModelRequest) -> str:
    """Six rules where there are none; later those that are there, word for word."""
    return seen.get("Rules") or RULES


ROLES: Mapping[str, Says] = {
    "reasoner": reasoner,
    "monitor": lambda seen, request: audited("NO"),
    "composer": composer,
    "distiller": lambda seen, request: lesson("reasoner"),
    "consolidator": consolidator,
}


def test_of_a_batch_s_rules_the_harmful_one_is_retired_alone_and_people_see_why(
    tmp_path: Path,
) -> None:
    log, file = tmp_path / "a.db", tmp_path / "a.jsonl"
    lines = [
        {"id": f"n{n}", "problem": f"Say the number {n}.", "answer": str(n)}
        for n in range(1, PROBLEMS + 1)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = [f"batch_size={BATCH}", "guidance=rules", "relevance_floor=-1", "roles=R"]
    settings = [part for word in words for part in ("--set", word)]
    said = call("produce", file, "--domain", "lists", "--policy", "mc2", *settings, "--log", log)
    assert said.code == 0, said.err
    with closing(SqliteLog(log)) as opened:
        withdrawn: list[str] = []

        def told_of(seen: Sections, request: ModelRequest) -> str:
            withdrawn.append(seen.get("Withdrawn", ""))
            return consolidator(seen, request)

        roles = {**ROLES, "consolidator": told_of}
        world = World({name: Role(says) for name, says in roles.items()}, HashedEmbedder())
        asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))
        done = Verifier(opened, find).run()
        assert (done.diverged, done.unverifiable) == ([], [])
        [memory] = [found.latest for found in fold(opened, State()).memories.values()]
        events = [record.event for record in opened.records()]
    assert {e.retirement for e in events if isinstance(e, BatchClosed)} == {"opportunities@3"}
    held_out = [fact for fact in events if isinstance(fact, KnowledgeOmitted)]
    told = [event.held_out for event in events if isinstance(event, Reflected)]
    assert [names for names in told if names] == [fact.items for fact in held_out]

    live = [rule.text for rule in memory.of("reasoner", "rule")]
    assert HARMFUL not in live
    assert len(live) == 5
    assert [item.text for _, item in memory.aside] == [HARMFUL]
    first = withdrawn.index(f"- {HARMFUL}")
    assert set(withdrawn[:first]) == {""}
    assert set(withdrawn[first:]) == {f"- {HARMFUL}"}, "it is told for as long as it stays retired"
    effects = of_each(memory)
    assert effects[HARMFUL] == -1.0, "right without it, wrong with it"
    assert all(abs(effect) < 0.4 for text, effect in effects.items() if text != HARMFUL), effects
    people_see_it(log)


def of_each(memory: Memory) -> dict[str, float]:
    """The effect of each rule by its text."""
    found: dict[str, float] = {}
    for rule in memory.whole():
        tried = tried_of(memory.standing, rule.mark)
        if rule.kind == "rule" and tried is not None and tried.effect is not None:
            found[rule.text] = tried.effect
    return found


def people_see_it(log: Path) -> None:
    """What both commands print, and their JSON."""
    text = " ".join(call("knowledge", "show", "--log", log).out.split())
    assert "retired R3" in text
    assert re.search(
        r"R3 by itself: 0 of \d+ right with it, (\d+) of \1 where it was held out: "
        r"effect -100\.0 points, worse by more than chance; it guided \d+%",
        text,
    )
    assert len(re.findall(r"by itself: \d+ of \d+ right with it", text)) == 6
    [scope] = call("knowledge", "show", "--json", "--log", log).json["scopes"]
    assert all(rule["by_itself"]["harms"] is False for rule in scope["rules"])
    one = call("lessons", "show", "R3", "--json", "--log", log).json
    own = one["by_itself"]
    assert one["retired"]
    assert (own["effect"], own["harms"], own["with"]["right"]) == (-100.0, True, 0)
    assert 0.6 < own["coverage"] < 0.95
    assert "by itself: 0 of" in call("lessons", "show", "R3", "--log", log).out
    [episode] = [
        row for row in call("log", "cat", "--json", "--log", log).rows
        if row.get("kind") == "knowledge.omitted"
    ][:1]  # fmt: skip
    shown = call("show", episode["episode"], "--log", log).out
    assert re.search(r"guide R +does without R\d", shown), shown
