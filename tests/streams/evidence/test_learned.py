"""What the evidence page says of learning: effects of rules and lessons, walks, and a cascade's arms."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from handlers.learning.retire import ALIKE, BY_ITSELF, Standing, paired, tallied
from handlers.learning.trials import Trial, Tried, tried
from schemas.events.base import Event
from schemas.events.cascade import AnswerWeighed
from schemas.events.episode import Completed
from schemas.events.strategy import StrategyChosen
from schemas.memory import Memory, MemoryItem
from schemas.outcome import Outcome
from schemas.problem import Limits
from streams.research.analysis.cases import Case
from streams.research.analysis.intervals import share_interval, wilson
from streams.research.analysis.statistics import mcnemar
from streams.research.evidence.figures import figures
from streams.research.evidence.learned import Arm, Learned, Measured, arms, measured, walks
from streams.research.evidence.learned_page import learned_tables
from streams.runtime.embedded.log import SqliteLog
from tests.streams.bench.worlds import case
from tests.streams.cli.calling import call

SCOPE = "d/mc2/main/0"


def item(name: str, kind: str = "rule") -> MemoryItem:
    return MemoryItem(name, kind, "reasoner", f"text of {name}", name, 1)


def remembered(
    standing: Standing, items: Sequence[MemoryItem], aside: Sequence[MemoryItem] = ()
) -> Memory:
    kept = tuple(each for each in items if each not in aside)
    out = tuple((at, each) for at, each in enumerate(items) if each in aside)
    return Memory(SCOPE, 2, items=kept, aside=out, standing=standing)


def told(name: str, counts: tuple[int, int, int, int]) -> list[Trial]:
    """So many right and wrong episodes with a rule, and where it was held out."""
    mark, outcomes = f"reasoner~{name}", ("right", "wrong", "right", "wrong")
    return [
        ((), (mark,), outcome) if at > 1 else ((mark,), (), outcome)
        for at, (outcome, count) in enumerate(zip(outcomes, counts, strict=True))
        for _ in range(count)
    ]


# ── Rules and lessons ────────────────────────────────────────────────────────────────────────


def test_rules_are_counted_by_what_episodes_without_them_came_to() -> None:
    """Of six one helps for certain, one a little, one harms for certain, one does nothing, two have one side only."""
    truth = {
        "helps": (30, 2, 1, 9),
        "little": (6, 4, 2, 2),
        "harms": (2, 30, 9, 1),
        "nothing": (6, 6, 2, 2),
        "shown": (5, 5, 0, 0),
        "never": (0, 0, 0, 0),
    }
    batch = [trial for name, counts in truth.items() for trial in told(name, counts)]
    rules = [item(name) for name in truth]
    memory = remembered(tried({}, batch), rules, aside=[rules[2]])
    assert list(measured(memory, BY_ITSELF, ["mc2"])) == [
        Measured(
            runs=("mc2",),
            domain="d",
            kind="rule",
            against="held out by chance",
            items=6,
            retired=1,
            known=4,
            above=2,
            sure_above=1,
            below=1,
            sure_below=1,
            uses=32 + 10 + 32 + 12,
            without=10 + 4 + 10 + 4,
        )
    ]


def test_what_adds_up_to_nothing_over_batches_is_no_effect() -> None:
    """Shares are rounded in each batch, so that a sum may miss nothing by its last digit."""
    even = Tried(3, 3, 3, 3, excess=1e-9, variance=1.3, weight=3.0)
    standing = {"tried": {"reasoner~even": list(even)}}
    [found] = measured(remembered(standing, [item("even")]), BY_ITSELF, ["mc2"])
    assert (found.known, found.above, found.below) == (1, 0, 0)
    assert found.junk == 1


def test_junk_is_all_that_is_not_above_nothing_with_its_interval() -> None:
    found = Measured(("r",), "d", "rule", "held out by chance", 9, 0, 8, 3, 0, 4, 0, 80, 20)
    assert found.junk == 5 / 8
    assert found.interval == pytest.approx(wilson(5 / 8, 8))
    unknown = replace(found, known=0, above=0)
    assert (unknown.junk, unknown.interval) == (None, None)


def test_lessons_are_measured_by_the_others_of_their_batch_and_those_alike_as_one() -> None:
    """Both that were met did better than others; one is said twice, and what was overturned is not retired."""
    right, wrong = "right", "wrong"
    batch = [
        (("L1",), right),
        (("L1", "L2"), right),
        (("L2",), wrong),
        ((), wrong),
        ((), wrong),
    ]
    standing = tallied({}, batch) | {"same": {"L3": "L1"}, "overturned": ["L4"]}
    lessons = [item(f"L{number}", "lesson") for number in range(1, 6)]
    memory = remembered(standing, lessons, aside=[lessons[1], lessons[3]])
    # Two of two were right with L1 and none of the others, one of two with L2 and one of three others.
    for rule in (ALIKE, BY_ITSELF):
        [found] = measured(memory, rule, ["mc2"])
        assert (found.kind, found.against) == ("lesson", "others of its batch")
        assert (found.items, found.retired, found.known) == (4, 1, 2)
        assert (found.above, found.below, found.sure_above) == (2, 0, 0)
        assert (found.uses, found.without) == (4, None)


def test_a_principle_is_measured_by_runs_in_pairs() -> None:
    marks = [f"reasoner~{name}" for name in ("good", "bad", "idle")]
    standing = paired({}, [(marks[0], 1, 0), (marks[0], 1, 1), (marks[1], 0, 1), (marks[2], 1, 1)])
    memory = remembered(standing, [item(name) for name in ("good", "bad", "idle", "new")])
    [found] = measured(memory, "pairs@1", ["graph_memory"])
    assert found.against == "pairs of runs"
    assert (found.items, found.known, found.above, found.below) == (4, 3, 1, 1)
    assert (found.uses, found.without) == (4, 4), "each run with it has one without it"


def test_a_memory_of_which_nothing_was_measured_says_nothing() -> None:
    assert list(measured(remembered({}, [item("a"), item("b", "lesson")]), BY_ITSELF, [])) == []


# ── Walks ────────────────────────────────────────────────────────────────────────────────────


def walked(
    walk: int, outcomes: Mapping[str, Outcome], *, memory: str = "m", seed: int = 0
) -> list[Case]:
    found: list[Case] = []
    for name, outcome in outcomes.items():
        one = case(name, outcome, seed=seed)
        changed = {"walk": walk, "memory": memory, "seed": seed}
        found.append(replace(one, problem=one.problem.model_copy(update=changed)))
    return found


def test_walks_are_counted_each_and_paired_with_the_first() -> None:
    """Of four problems one was solved by the second walk alone, two by the first; one nobody could judge there."""
    cases = [
        *walked(1, {"a": "right", "b": "wrong", "c": "right", "d": "right", "e": "unknown"}),
        *walked(2, {"a": "right", "b": "right", "c": "wrong", "d": "withheld", "e": "right"}),
        *walked(1, {"z": "right", "y": "right"}, memory="another, gone over once"),
    ]
    first, second = walks(cases)
    assert (first.walk, first.closed, first.right, first.graded) == (1, 5, 3, 4)
    assert first.interval == pytest.approx(wilson(3 / 4, 4))
    assert first.p is None
    assert (second.walk, second.closed, second.right, second.graded) == (2, 5, 3, 5)
    assert (second.both, second.only_now, second.only_first) == (4, 1, 2)
    assert second.p == mcnemar(1, 2)
    assert list(walks(cases[:5])) == [], "one walk is none to be told of"
    [*_, apart] = walks([*walked(1, {"a": "right"}), *walked(2, {"b": "right"})])
    assert (apart.both, apart.p) == (0, None)


def test_seeds_of_one_problem_are_paired_each_and_make_no_more_problems() -> None:
    cases = [
        *walked(1, {"a": "right", "b": "wrong"}),
        *walked(1, {"a": "wrong", "b": "wrong"}, seed=1),
        *walked(2, {"a": "right", "b": "wrong"}),
        *walked(2, {"a": "right", "b": "wrong"}, seed=1),
    ]
    _, second = walks(cases)
    assert (second.right, second.graded, second.both) == (2, 4, 4)
    assert (second.only_now, second.only_first) == (1, 0)
    assert second.interval == share_interval([(2.0, 2), (0.0, 2)])


# ── Arms ─────────────────────────────────────────────────────────────────────────────────────

CASCADE: Any = SimpleNamespace(policy="cascade", limits=Limits(), backbones="m", memory_version=0)


def weighed(arm: str | None, answer: str | None) -> AnswerWeighed:
    return AnswerWeighed(
        round=0, arm=arm, answer=answer, chance=0.5, votes=1, runner_up=0, of=1, spent=1.0
    )


def replied(tokens: int | None) -> Completed:
    said: Any = {"prompt_tokens": tokens, "completion_tokens": None if tokens is None else 0}
    return Completed(asked="Complete reasoner x", text="t", finish="stop", model="m", **said)


def pulled(arm: str, answer: str | None, *tokens: int | None) -> list[Event]:
    chosen = StrategyChosen(round=0, arm=arm, how="ucb")
    return [chosen, *map(replied, tokens), weighed(arm, answer)]


def cascaded(name: str, *events: Event, reference: str | None = "7") -> Case:
    found = case(name, events=events, reference=reference)
    return replace(found, opened=CASCADE)


def test_an_arm_is_told_by_what_led_before_and_after_each_of_its_pulls() -> None:
    """Seven is right. Chains mend one and spoil one, a check repeats what was there, a guided one is as wrong."""
    first = [replied(100), replied(100)]
    cases = [
        cascaded("a", *first, weighed(None, "5"), *pulled("more", "7", 10, 20)),
        cascaded("b", *first, weighed(None, "7"), *pulled("more", "5", 10)),
        cascaded(
            "c", *first, weighed(None, None), *pulled("more", "7", 5), *pulled("check", "7", 40)
        ),
        cascaded("d", *first, weighed(None, "5"), *pulled("guided", "6", None)),
        cascaded("e", *first, weighed(None, "7"), *pulled("guided", "5", 60), reference=None),
        cascaded("f", *first, weighed(None, "5"), *pulled("guided", "5", 20), reference=None),
        cascaded("g", *first, weighed(None, "7")),
        case("h", events=[*first, weighed(None, "5"), *pulled("more", "7", 10)], reference="7"),
    ]
    run = "cascade"
    assert list(arms(cases)) == [
        Arm(run, "more", pulls=3, changed=3, put_right=2, spoilt=1, undecided=0, tokens=45 / 3),
        Arm(run, "check", pulls=1, changed=0, put_right=0, spoilt=0, undecided=0, tokens=40),
        Arm(run, "guided", pulls=3, changed=2, put_right=0, spoilt=0, undecided=1, tokens=40),
    ]


def test_a_pull_that_a_limit_ended_is_undecided_and_what_it_chose_within_is_part_of_it() -> None:
    within = StrategyChosen(round=0, arm="inner", how="direct")
    begun = StrategyChosen(round=0, arm="search", how="ucb")
    whole = [begun, replied(10), within, replied(30), weighed("search", "7")]
    cases = [
        cascaded("a", weighed(None, "5"), *whole),
        cascaded("b", weighed(None, "5"), begun, replied(8)),
        cascaded("c", weighed(None, "5"), *pulled("own", "7", 1), *pulled("more", "7", 1)),
    ]
    more, search, own = arms(cases)
    assert [each.name for each in (more, search, own)] == ["more", "search", "own"]
    assert (search.pulls, search.put_right, search.undecided, search.changed) == (2, 1, 1, 1)
    assert search.tokens == (40 + 8) / 2


# ── Tables ───────────────────────────────────────────────────────────────────────────────────


def test_each_table_stands_there_only_where_there_is_something_in_it() -> None:
    assert list(learned_tables(Learned())) == []
    arm = Arm("cascade C=8", "more", 3, 2, 1, 0, 1, None)
    [[head, _, _, _, row]] = learned_tables(Learned(arms=(arm,)))
    assert head.startswith("What the arms of a cascade did")
    assert row == "| `cascade C=8` | `more` | 3 | 2 | 1 | 0 | 1 | – |"
    rule = Measured(
        ("a", "b"), "d", "rule", "held out by chance", 9, 1, 8, 3, 1, 4, 2, 1880.0, 20.0
    )
    lesson = replace(rule, kind="lesson", against="others of its batch", without=None)
    [[_, _, _, _, *rows]] = learned_tables(Learned(measured=(rule, lesson)))
    low, high = wilson(5 / 8, 8)
    junk = f"62.5 % | {100 * low:.1f}–{100 * high:.1f} | 1,880"
    assert rows == [
        f"| `a`; `b` | d | rules | held out by chance | 9 | 1 | 8 | 3 (1) | 4 (2) | {junk} | 20 |",
        f"| `a`; `b` | d | lessons | others of its batch | 9 | 1 | 8 | 3 | 4 | {junk} | – |",
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of MC² that went over its problems twice, and of a cascade, by a simulator."""
    log = tmp_path_factory.mktemp("learned") / "run.db"
    for walk in ("1", "2"):
        put = ("produce", "game24:901-916", "--policy", "mc2", "--set", "batch_size=4")
        assert call(*put, "--pass", walk, "--log", log).code == 0
        if walk == "1":
            assert call("produce", "game24:901-908", "--policy", "cascade", "--log", log).code == 0
        worked = ("--backbone", "rehearsal:seed=7", "--until-idle")
        assert call("worker", "--log", log, *worked).code == 0
    return log


@pytest.fixture(scope="module")
def found(run: Path) -> Learned:
    with closing(SqliteLog(run)) as log:
        return figures(log).learned


def test_rules_of_a_log_are_those_that_the_product_shows(run: Path, found: Learned) -> None:
    [shown] = [
        scope
        for scope in orjson.loads(call("knowledge", "show", "--json", "--log", run).out)["scopes"]
        if "/mc2/" in scope["scope"]
    ]
    tried = [rule["by_itself"] for rule in shown["rules"]]
    effects = [each["effect"] for each in tried if each and each["effect"] is not None]
    assert effects, "rules were held out now and then"
    [rules] = [each for each in found.measured if each.kind == "rule"]
    assert rules.runs == ("mc2 batch_size=4",)
    assert rules.against == "held out by chance"
    assert rules.items == len(shown["rules"]) + rules.retired
    assert rules.known == len(effects)
    assert rules.above == sum(effect > 0 for effect in effects)
    assert rules.below == sum(effect < 0 for effect in effects)
    known = [each for each in tried if each and each["effect"] is not None]
    assert rules.uses == sum(sum(each["with"].values()) for each in known)
    assert rules.without == sum(sum(each["without"].values()) for each in known)


def test_walks_of_a_log_are_those_that_were_graded(run: Path, found: Learned) -> None:
    with closing(sqlite3.connect(run)) as db:
        right = dict(
            db.execute(
                "select json_extract(r.body, '$.problem.walk'), sum(o.outcome = 'right') "
                "from records r join outcomes o using (episode) join episodes e using (episode) "
                "where r.kind = 'problem.admitted' and e.policy = 'mc2' group by 1"
            )
        )
    assert {each.walk: each.right for each in found.walks} == right
    assert [each.run for each in found.walks] == ["mc2 batch_size=4"] * 2
    assert [each.closed for each in found.walks] == [16, 16]


def test_pulls_of_a_log_are_those_that_were_weighed(run: Path, found: Learned) -> None:
    with closing(sqlite3.connect(run)) as db:
        count = dict(
            db.execute(
                "select json_extract(body, '$.arm'), count(*) from records where kind = 'answer.weighed' "
                "and json_extract(body, '$.arm') is not null group by 1"
            )
        )
    assert count
    assert {each.name: each.pulls for each in found.arms} == count


def test_a_log_without_learning_has_none_of_these_tables(tmp_path: Path) -> None:
    log = tmp_path / "plain.db"
    assert call("produce", "game24:901-902", "--policy", "cot", "--log", log).code == 0
    assert call("worker", "--log", log, "--backbone", "rehearsal:seed=7", "--until-idle").code == 0
    with closing(SqliteLog(log)) as opened:
        assert figures(opened).learned == Learned()


def test_the_page_shows_these_tables(run: Path) -> None:
    page = run.parent / "page.md"
    page.write_text("<!-- evidence: one -->\n<!-- evidence: end -->\n")
    assert call("log", "pack", run.parent / "one", "--log", run).code == 0
    assert call("evidence", page, "--write").code == 0
    text = page.read_text()
    for head in ("Rules and lessons in the newest version", "Runs that went over the same problems",
                 "What the arms of a cascade did"):  # fmt: skip
        assert text.count(head) == 1
    assert "| `mc2 batch_size=4` | game24 | rules | held out by chance |" in text
