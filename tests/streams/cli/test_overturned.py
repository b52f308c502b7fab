"""What was learned under an outcome that is turned around leaves memory, says why, and comes back with the outcome."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from schemas.events.learning import BatchClosed
from schemas.identity import canonical
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.engine.scopes import Scope
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import LogRecords
from streams.runtime.embedded.regrading import Regrading
from tests.streams.cli.calling import call

LOG = ("--log", "a.db")
GRADERS = """
from handlers.answers.own import Given, Grader

opposite = Grader(name="mine", version="1", grade=lambda given: given.answer not in given.references)
exact = Grader(name="mine", version="2", grade=lambda given: given.answer in given.references)
nobody = Grader(name="mine", version="3", grade=lambda given: None)
first = Grader(name="mine", version="4", grade=lambda given: given.references == ("4",))
always = Grader(name="always", version="1", grade=lambda given: True, unlabelled=True)
"""
"""The simulator's sums are wrong more often than not: graded by the opposite they are right."""
TWO = ("--set", "batch_size=2")
MODEL = ("--backbone", "rehearsal:seed=7,malformed=0,truncated=0,empty=0")


@pytest.fixture(autouse=True)
def graders(folder: Path) -> None:
    Path("mine.py").write_text(GRADERS)


def taught(*sums: int, policy: str, grader: str, more: tuple[str, ...] = ()) -> None:
    """A series of sums that one policy works on and learns from, two in a batch."""
    lines = [
        canonical({"id": f"s{at}", "problem": f"What is {at} + 4?", "answer": str(at + 4)})
        for at in sums
    ]
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    words = ("--policy", policy, "--series", f"from-{sums[0]}", *(more or TWO))
    assert call("produce", "in.jsonl", *words, *LOG).code == 0
    idle = ("--until-idle", "--settle", "--no-tables")
    called = call("worker", *MODEL, *idle, *LOG, "--grader", f"mine.py:{grader}")
    assert called.code == 0, called.err


def regraded(grader: str) -> dict[str, Any]:
    called = call("regrade", *LOG, "--grader", f"mine.py:{grader}", "--json")
    assert called.code == 0, called.err
    return dict(called.json)


def live() -> dict[str, str]:
    """Lessons that prompts may hold, with their sides."""
    return {row["id"]: row["polarity"] for row in call("lessons", "list", "--json", *LOG).rows}


def outcomes() -> dict[str, str]:
    with closing(sqlite3.connect("a.db")) as db:
        found = db.execute("select episode, outcome from outcomes").fetchall()
    return {episode.split("/")[2]: outcome for episode, outcome in found}


def agrees() -> None:
    """The log derives, and a rebuild from nothing comes to what is kept."""
    verified = call("verify", *LOG)
    assert verified.code == 0, verified.out + verified.err
    rebuilt = call("rebuild", *LOG, "--tables", "none")
    assert rebuilt.lines[-1] == call("state", "hash", *LOG).out.strip()


def worked() -> None:
    called = call("worker", *MODEL, "--until-idle", "--settle", "--no-tables", *LOG)
    assert called.code == 0, called.err


def shown(*problems: str) -> set[str]:
    """Everything that prompts of these problems had of a memory."""
    query = "select episode, json_extract(body, '$.items') from records where kind = 'reflected'"
    with closing(sqlite3.connect("a.db")) as db:
        found = [
            (episode.split("/")[2], json.loads(said or "[]")) for episode, said in db.execute(query)
        ]
    return {name for problem, names in found if problem in problems for name in names}


def test_a_trajectory_leaves_with_its_outcome_and_comes_back_with_it() -> None:
    taught(0, 1, 2, 3, policy="direct_trajectory", grader="opposite")
    sides, before = live(), call("state", "hash", *LOG).out
    assert len(sides) == 4
    calls = completions()
    done = regraded("exact")
    assert [*done["overturned"].values()] == [[*sides]]
    assert (done["stays"], done["back"], done["reasoning_calls"]) == ({}, {}, 0)
    assert live() == {}
    agrees()
    again = regraded("exact")
    assert (again["new"], again["overturned"], again["closed_again"]) == (0, {}, [])
    done = regraded("opposite")
    assert [*done["back"].values()] == [[*sides]]
    assert (done["stays"], done["overturned"]) == ({}, {})
    assert live() == sides
    assert call("state", "hash", *LOG).out == before
    assert completions() == calls
    agrees()


def completions() -> int:
    with closing(sqlite3.connect("a.db")) as db:
        return int(db.execute("select count(*) from calls").fetchone()[0])


def test_screens_say_that_it_left_and_why() -> None:
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    assert {*live().values()} == {"do", "both"}
    told = call("regrade", *LOG, "--grader", "mine.py:exact")
    assert "out of prompts, since its outcome was turned around: default/mc2" in told.out
    listed = call("lessons", "list", *LOG).out
    assert "0 live, 10 overturned of 10 lessons, version 2.1" in listed
    assert "overturned: L1.R1 L1.R2" in listed
    lesson = call("lessons", "show", "L1.R1", *LOG)
    assert "overturned   in no prompt while the outcomes that it was learned under" in lesson.out
    assert "from  p/default/s0/" in lesson.out
    said = call("lessons", "show", "L1.R1", "--json", *LOG).json
    assert (said["overturned"], said["retired"], bool(said["text"])) == (True, True, True)
    rules = call("knowledge", "show", *LOG)
    assert "0 rules, version 2.1" in rules.out
    assert "overturned  C1 C2" in rules.out
    [scope] = call("knowledge", "show", "--json", *LOG).json["scopes"]
    assert "R1" in scope["overturned"]
    assert "overturned   in no prompt" in call("lessons", "show", "R1", *LOG).out
    batch = call("show", f"b/{scope['scope']}/1.1", *LOG).out
    assert "closed again for outcomes that were graded anew; nobody was asked" in batch
    assert "overturned, and in no prompt since: L1.C1 L1.M1" in batch


def test_what_comes_after_learns_without_it() -> None:
    """Later problems are not shown what was overturned, and the rules are written anew without it."""
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    gone = {*live()}
    regraded("exact")
    taught(10, 11, 12, 13, policy="mc2", grader="exact")
    assert shown("s2", "s3") & gone
    assert not shown("s10", "s11", "s12", "s13") & gone
    assert {name.partition(".")[0] for name in live()} == {"L3", "L4"}
    assert "0 rules" not in call("knowledge", "show", *LOG).out
    agrees()
    regraded("opposite")
    assert {name for name in gone if name.startswith("L2.")} < {*live()}
    agrees()


def test_a_lesson_that_its_outcome_speaks_for_stays() -> None:
    """Who repeats what a right answer did was learned from an answer that was taken for wrong: it may go on."""
    taught(0, 1, 2, 3, policy="mc2", grader="exact")
    sides = live()
    done = regraded("opposite")
    assert len(done["changed"]) == 4
    assert {*sides.values()} == {"do", "both"}
    assert (live(), done["overturned"]) == (sides, {})
    agrees()


def test_of_several_only_what_was_turned_around_leaves() -> None:
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    done = regraded("first")  # the other three are wrong
    assert len(done["changed"]) == 3
    assert {*live()} == {"L1.R1", "L1.M1", "L1.C1"}
    # Rules that the first one's lesson had a part in stay; those of the second batch rest on it too.
    [scope] = call("knowledge", "show", "--json", *LOG).json["scopes"]
    assert [rule["id"] for rule in scope["rules"]]
    agrees()


def test_a_lesson_of_several_leaves_with_any_of_them_unless_it_was_written_anew() -> None:
    """Nobody can say which of its words came from whom; one that was written under the new outcomes stands."""
    together = (*TWO, "--set", "distil=per_batch")
    taught(0, 1, 2, 3, policy="mc2", grader="opposite", more=together)
    assert {name.partition(".")[0] for name in live()} == {"L1", "L2"}
    regraded("first")
    assert "L1.R1" not in live()
    agrees()
    forgot = call("forget", "--problem", "s0", "--yes", *MODEL, *LOG)
    assert forgot.code == 0, forgot.err
    assert "L1.2.R1" in live()
    agrees()


def test_what_nobody_can_tell_any_more_stays() -> None:
    taught(0, 1, 2, 3, policy="direct_trajectory", grader="opposite")
    sides = live()
    done = regraded("nobody")
    assert {*outcomes().values()} == {"unknown"}
    assert (live(), done["overturned"]) == (sides, {})
    assert [*done["stays"].values()] == [[*sides]], "they are named, since their outcome changed"
    regraded("exact")
    assert live() == {}, "what they were learned under counts, not what was between"
    agrees()


def test_in_paper_a_method_that_learns_without_labels_stays_one() -> None:
    paper = (*TWO, "--profile", "paper")
    taught(0, 1, 2, 3, policy="mc2", grader="exact", more=paper)
    sides = live()
    assert "avoid" in sides.values()
    done = regraded("opposite")
    assert (live(), done["overturned"]) == (sides, {})
    agrees()


def test_a_principle_leaves_with_the_problem_that_it_was_induced_from_and_cases_stay() -> None:
    more = ("--policy", "graph_memory", "--set", "phase=build")
    assert call("produce", "game24:905-908", *more, *LOG).code == 0
    worked()
    cases = live()
    assert len(cases) == 4
    assert [*regraded("always")["overturned"].values()] == [["M2.1"]]
    [scope] = call("knowledge", "show", "--json", *LOG).json["scopes"]
    assert (scope["rules"], scope["overturned"]) == ([], ["M2.1"])
    assert live() == cases
    agrees()
    done = call("regrade", *LOG, "--json").json
    assert [*done["back"].values()] == [["M2.1"]]
    assert done["stays"] == {}
    agrees()


def learned(policy: str) -> dict[str, Any]:
    """What the only scope of a policy has in numbers."""
    with closing(SqliteLog("a.db")) as log:
        learner = Learner(find, LogRecords(log))
        for record in log.records("learning"):
            learner.feed(record.episode, record.address, record.event)
    [scope] = [each for each in learner.scopes.values() if each.policy.name == policy]
    return dict(scope.memory.latest.learned)


def test_paths_lie_on_the_side_that_their_answers_are_on_now() -> None:
    """The member's own run follows; the other run of its problem was graded when it was made."""
    more = ("--policy", "graph_memory", "--set", "phase=build", "--set", "rollouts=2")
    assert call("produce", "game24:901-904", *more, *LOG).code == 0
    worked()
    before = sides()
    given = {name: outcome == "right" for name, outcome in outcomes().items()}
    assert sum(given.values()) < len(given)
    regraded("always")
    wrong = len(given) - sum(given.values())
    assert sides() == (before[0] + wrong, before[1] - wrong)
    agrees()
    assert call("regrade", *LOG).code == 0
    assert sides() == before
    agrees()


def sides() -> tuple[int, int]:
    """Runs on the graph that were right, and that were wrong."""
    cases = learned("graph_memory")["cases"].values()
    edges = [edge for case in cases for edge in case["paths"].values()]
    return sum(edge["right"] for edge in edges), sum(edge["wrong"] for edge in edges)


def test_a_cascade_weighs_with_outcomes_of_now() -> None:
    """It counts how often the leading answer was right; of answers that were not given nobody said anything new."""
    more = ("--set", "batch_size=2", "--set", "lessons=off")
    taught(0, 1, 2, 3, policy="cascade", grader="opposite", more=more)
    before, was = learned("cascade")["leads"], outcomes()
    assert {*was.values()} == {"right"}
    regraded("exact")
    after = learned("cascade")["leads"]
    assert {name: seen for name, (_, seen) in after.items()} == {
        name: seen for name, (_, seen) in before.items()
    }
    assert sum(right for right, _ in after.values()) < sum(right for right, _ in before.values())
    agrees()
    regraded("opposite")
    assert learned("cascade")["leads"] == before
    agrees()


def test_somebody_may_put_it_back() -> None:
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    regraded("exact")
    restored = call("lessons", "restore", "L2.R1", "--by", "ada", *LOG)
    assert restored.code == 0, restored.err
    taught(10, 11, policy="mc2", grader="exact")
    assert "L2.R1" in live()
    assert "L2.R2" not in live()
    agrees()


def test_forgetting_afterwards_keeps_it_out() -> None:
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    regraded("exact")
    forgot = call("forget", "--problem", "s0", "--yes", *MODEL, *LOG)
    assert forgot.code == 0, forgot.err
    assert live() == {}
    agrees()


def test_rules_are_written_anew_without_what_is_forgotten_after_a_regrade() -> None:
    """Nobody was asked in the revision between, so what rests on the problem was said before it."""
    taught(0, 1, 2, 3, policy="mc2", grader="exact")
    told = call("forget", "--problem", "s0", "--json", *LOG).json["scopes"][0]
    regraded("opposite")  # it overturns nothing here
    again = call("forget", "--problem", "s0", "--json", *LOG).json["scopes"][0]
    assert (again["calls"], again["rules"]) == (told["calls"], told["rules"])
    assert told["calls"]
    forgot = call("forget", "--problem", "s0", "--yes", *MODEL, *LOG)
    assert forgot.code == 0, forgot.err
    agrees()


@pytest.mark.parametrize("next_is", ["command", "worker"])
def test_whoever_goes_on_after_a_crash_sets_it_aside(
    monkeypatch: pytest.MonkeyPatch, next_is: str
) -> None:
    """The grades are on the log, and then nothing more: who comes next knows from them what has to leave."""
    taught(0, 1, 2, 3, policy="direct_trajectory", grader="opposite")

    class Killed(BaseException):
        pass

    async def dies(regrading: Regrading, name: str) -> None:
        raise Killed

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(Regrading, "close_again", dies)
        regraded("exact")
    assert len(live()) == 4
    if next_is == "worker":
        worked()
    else:
        assert [len(names) for names in regraded("exact")["overturned"].values()] == [4]
    assert live() == {}
    agrees()


def as_it_was(scope: Scope, closed: BatchClosed) -> BatchClosed:
    """A closing of a build that set nothing aside, and left to facts the outcomes that they were stated with."""
    return structs.replace(closed, retold=None)


def test_what_an_earlier_build_closed_again_verifies_as_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It set nothing aside. Its versions stay so until somebody has the answers graded once more."""
    taught(0, 1, 2, 3, policy="mc2", grader="opposite")
    sides = live()
    with monkeypatch.context() as patched:
        patched.setattr("streams.engine.learner.marked", as_it_was)
        regraded("exact")
    assert live() == sides
    agrees()
    told = call("verify", *LOG).out
    assert "an earlier build closed them again and set nothing aside" in told
    assert "an earlier build closed them again and retold no fact" in told
    regraded("nobody")
    regraded("exact")
    assert live() == {}
    agrees()


@pytest.mark.parametrize(
    "change",
    [
        "json_remove(body, '$.overturned')",
        *(f"json_set(body, '$.overturned', json('{said}'))" for said in ("[]", '["L1.R1"]')),
    ],
)
def test_what_is_changed_on_the_record_is_found(change: str) -> None:
    taught(0, 1, policy="mc2", grader="opposite")
    regraded("exact")
    with closing(sqlite3.connect("a.db")) as db:
        db.execute(f"update records set body = {change} where body like '%overturned%'")
        db.commit()
    assert call("verify", *LOG).code == 3
