"""A log of a few records as an analysis reads it: its cases, its side runs, and what was learned between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from msgspec import structs

from handlers.answers.grade import Grade
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import (
    BatchClosed,
    Graded,
    KnowledgeConsolidated,
    LessonDistilled,
)
from schemas.events.search import NodePruned
from schemas.events.strategy import StrategyProposed
from schemas.outcome import Outcome
from schemas.problem import Limits, Problem
from schemas.record import Record
from schemas.usage import Usage
from state.folds.grades import Known, Word
from streams.research.analysis.cases import (
    LINUCB,
    Case,
    Reading,
    chosen,
    judged,
    label,
    name_of,
    read,
    references,
    role_of,
)
from streams.research.analysis.figures import outcomes
from streams.research.analysis.progress import Batch
from tests.laws.series import reflected

OPENED = EpisodeOpened(
    policy="cot", policy_version="1", settings="put", limits=Limits(), seed=1, memory_version=0,
    backbones="m",
)  # fmt: skip


def posed(id: str, domain: str = "d", **more: Any) -> Problem:
    return Problem(id=id, problem=f"what is {id}?", domain=domain, policy="cot", **more)


def closed(answer: str | None = "x", calls: int = 1, tokens: int | None = 10) -> EpisodeClosed:
    usage = Usage(
        calls=calls, prompt_tokens=tokens, completion_tokens=None if tokens is None else 5
    )
    return EpisodeClosed(
        status="answered", ended_by="answered", answer=answer, usage=usage, calibrated=0.25
    )


def reply(role: str = "thinker", model: str = "m", *, reused: bool | None = None) -> Completed:
    return Completed(
        asked=f"Complete {role} x", text="t", finish="stop", model=model, prompt_tokens=7,
        completion_tokens=3, reused=reused,
    )  # fmt: skip


def episode(id: str, series: str | None = None, **opened: Any) -> dict[str, Event]:
    """The records of a closed episode."""
    problem = posed(id, **({} if series is None else {"series": series}))
    return {
        "admitted": ProblemAdmitted(problem=problem, scope=f"scope {series}", offset=0),
        "opened": structs.replace(OPENED, **opened),
        "1": reply(),
        "closed": closed(),
    }


def graded(outcome: Outcome, by: Any = "feedback", **more: Any) -> Graded:
    return Graded(scope="s", outcome=outcome, grader="exact@2", by=by, **more)


class Log:
    """Records in their order, and what was said of problems."""

    def __init__(
        self,
        journals: Mapping[str, Mapping[str, Event]],
        learning: Iterable[tuple[str, Event]] = (),
        feedback: Iterable[Mapping[str, Any]] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.said = [("events", at, each, e) for at, j in journals.items() for each, e in j.items()]
        self.said += [("learning", at, "1", event) for at, event in learning]
        self.feedback = feedback
        self.texts = texts or {}

    def records(self) -> Iterator[Record]:
        for offset, (topic, at, address, event) in enumerate(self.said):
            yield Record(offset, topic, 0, 0, at, address, 0, event)

    def messages(self, topic: str) -> Iterator[tuple[int, int, int, bytes]]:
        assert topic == "feedback"
        for said in self.feedback:
            yield 0, 0, 0, orjson.dumps(said)

    def text(self, digest: str) -> str | None:
        return self.texts.get(digest)


def reading(*said: Any, **more: Any) -> Reading:
    log: Any = Log(*said, **more)
    return read(log)


# ── Cases ────────────────────────────────────────────────────────────────────────────────────


def test_a_case_is_a_closed_episode_with_all_that_is_known_of_it() -> None:
    open_one = episode("c")
    del open_one["closed"]
    found = reading(
        {"p/d/b/r": episode("b"), "p/d/a/r": episode("a"), "p/d/c/r": open_one, "s/1": {"1": reply()}},
        [("p/d/a/r", graded("wrong")), ("p/d/a/r", graded("right"))],
        [{"domain": "d", "problem_id": "a", "reference": "42"}],
    )  # fmt: skip
    other, mine = found.cases()
    assert [each.episode for each in (other, mine)] == ["p/d/b/r", "p/d/a/r"], (
        "as they were admitted"
    )
    assert (mine.problem, mine.opened, mine.closed) == (posed("a"), OPENED, closed())
    assert mine.trace.events == (("1", reply()),)
    assert (mine.outcome, mine.standing, mine.calibrated) == ("right", "right", 0.25)
    assert (mine.reference, mine.arms, mine.verdict, mine.run) == ("42", {}, None, "r")
    assert (other.reference, other.outcome, other.standing) == (None, "unknown", "not graded")


def test_the_newest_reference_counts_and_feedback_without_one_is_none() -> None:
    log: Any = Log(
        {},
        feedback=[
            {"domain": "d", "problem_id": "a", "reference": "old"},
            {"domain": "d", "problem_id": "a", "reference": ["x", "y"]},
            {"domain": "d", "problem_id": "a", "verdict": True},
            {"domain": "d", "reference": "z"},
            {"episode": "p/d/b/r", "verdict": False},
            {"domain": "e", "problem_id": "a", "reference": 7},
            {"episode": "p/d/a/r", "reference": "by episode"},
        ],
    )
    found = references(log)
    assert {name: said for name, (_, said) in found.items()} == {
        "d/a": ("x", "y"),
        "e/a": "7",
        "p/d/a/r": "by episode",
    }
    posed = Problem(id="a", problem="p", domain="d")
    assert label(found, posed, "p/d/a/r") == "by episode", "it came last"
    assert label(found, posed, "p/d/a/other") == ("x", "y")
    assert label(found, Problem(id="b", problem="p", domain="d"), "p/d/b/r") is None
    later = {**found, "d/a": (9, "9")}
    assert label(later, posed, "p/d/a/r") == "9", "and then the other did"


def test_arms_that_an_episode_added_have_the_names_that_all_episodes_share() -> None:
    def proposed(arm: str, result: Any = "added") -> StrategyProposed:
        return StrategyProposed(round=1, arm=arm, result=result, source="1")

    journal = {**episode("a"), "2": proposed("a9"), "3": proposed("a8", "refused")}
    (case,) = reading({"p/d/a/r": journal}).cases()
    assert case.arms == {"a9": "a9 of p/d/a/r"}


def test_what_a_bandit_learned_from_is_kept_and_what_changed_vectors_is_not() -> None:
    def batch(number: int, **more: Any) -> BatchClosed:
        return structs.replace(batched(number, "p/d/a/r"), rule=LINUCB, **more)

    pulls = structs.replace(reflected(None, None, labelled=False), summary={"pulls": 3})
    none = structs.replace(pulls, summary={"other": 3})
    found = reading(
        {},
        [
            ("p/d/a/r", pulls), ("p/d/b/r", none), ("n/s", batch(2)), ("n/s", batch(1)),
            ("n/s", batch(3, embedder="e")), ("n/s", structs.replace(batch(4), rule="other")),
        ],
    )  # fmt: skip
    assert found.left == {"p/d/a/r": {"pulls": 3}}
    assert {scope: sorted(each) for scope, each in found.batches.items()} == {"s": [1, 2]}


def test_series_fall_into_scopes_and_episodes_without_one_do_not() -> None:
    other = structs.replace(episode("a", "one")["admitted"], scope="elsewhere")
    found = reading(
        {
            "p/d/a/r": episode("a", "one"),
            "p/d/b/r": episode("b", "two"),
            "p/e/a/r": {"admitted": other},
            "p/d/c/r": episode("c"),
        }
    )
    assert found.scopes == {"one": {"scope one", "elsewhere"}, "two": {"scope two"}}


# ── Side runs ────────────────────────────────────────────────────────────────────────────────


def test_what_closed_side_runs_paid_for_themselves_is_their_episode_s() -> None:
    side = {
        "opened": structs.replace(OPENED, parent="p/d/a/r"),
        "1": reply(reused=True),
        "2": reply(),
    }
    found = reading(
        {
            "p/d/a/r": episode("a"),
            "q/1": {**side, "closed": closed()},
            "q/2": {**side, "3": reply(), "closed": closed()},
            "q/3": side,
        }
    )
    assert [each.calls for each in found.probes["p/d/a/r"]] == [1, 2]
    assert list(found.probes) == ["p/d/a/r"]


def test_shadow_runs_come_in_the_order_of_their_prunes_each_with_its_whole_trace() -> None:
    def pruned(node: str) -> NodePruned:
        return NodePruned(round=1, node=node, value=0.1)

    def fork(at: str, parent: str = "p/d/a/r", **more: Event) -> dict[str, Event]:
        opened = structs.replace(OPENED, parent=parent, at=at)
        return {"opened": opened, "20": reply("oracle"), "closed": closed("y"), **more}

    parent = {**episode("a"), "10": pruned("1.1.0"), "2": pruned("1.0.0"), "3": reply("own")}
    unclosed = fork("2")
    del unclosed["closed"]
    found = reading(
        {
            "p/d/a/r": parent, "q/1": fork("10"), "q/2": fork("2"), "q/3": unclosed,
            "q/4": fork("3"), "q/5": fork("2", "p/d/b/r"), "p/d/b/r": episode("b"),
        }
    )  # fmt: skip
    first, second = found.shadows("p/d/a/r")
    assert [(each.at, each.node) for each in (first, second)] == [("2", "1.0.0"), ("10", "1.1.0")]
    assert [address for address, _ in first.trace.events] == ["1", "20"]
    assert [address for address, _ in second.trace.events] == ["1", "2", "3", "20"]
    assert first.closed == closed("y")
    assert found.shadows("p/d/b/r") == found.shadows("p/no") == []


def test_a_fork_at_a_prune_that_spares_nothing_is_no_shadow_run_and_of_several_the_newest_counts() -> (
    None
):
    parent = {**episode("a"), "2": NodePruned(round=1, node="1.0.0", value=0.1)}

    def fork(settings: str, answer: str) -> dict[str, Event]:
        opened = structs.replace(OPENED, parent="p/d/a/r", at="2", settings=settings)
        return {"opened": opened, "closed": closed(answer)}

    texts = {"plain": '{"shadow_from": null}', "spares": '{"shadow_from": "1.0.0"}'}
    journals = {
        "p/d/a/r": parent, "q/1": fork("spares", "first"), "q/2": fork("spares", "newest"),
        "q/3": fork("plain", "a person's"),
    }  # fmt: skip
    found = reading(journals, texts=texts)
    assert [each.closed.answer for each in found.shadows("p/d/a/r")] == ["newest"]


def test_a_judge_s_verdict_stands_with_the_episode_that_it_is_about() -> None:
    put = orjson.dumps({"answer": "x", "references": ["42"]}).decode()
    judge = structs.replace(OPENED, policy="answer_judge", purpose="judge", parent="p/d/a/r")
    found = reading(
        {"q/1": {"opened": judge, "closed": closed("right")}, "p/d/a/r": episode("a")},
        feedback=[{"domain": "d", "problem_id": "a", "reference": "42"}],
        texts={"put": put},
    )
    (case,) = found.cases()
    assert case.verdict is not None
    assert (case.verdict.said, case.verdict.run) == ("right", "q/1")
    assert found.reference("p/d/a/r") == "42"
    assert found.reference("q/1") is found.reference("p/no") is None


# ── What was learned ─────────────────────────────────────────────────────────────────────────


def batched(number: int, *members: str, **more: Any) -> BatchClosed:
    unknown: Outcome = "unknown"
    event = BatchClosed(
        scope="s", batch=number, series=None, members=members, outcomes=(unknown,) * len(members),
        previous=number - 1, policy="p", policy_version="1", settings="x", seed=1,
    )  # fmt: skip
    return structs.replace(event, **more)


def lesson(id: str) -> LessonDistilled:
    return LessonDistilled(
        id=id, role="r", polarity="do", text="t", subject="d/a", evidence=(), source="1"
    )


def rules(result: Any) -> KnowledgeConsolidated:
    return KnowledgeConsolidated(role="r", rules=(), result=result)


def test_batches_have_the_outcomes_and_costs_of_their_members_and_the_lessons_that_they_left() -> (
    None
):
    a, b = episode("a"), {**episode("b"), "closed": closed(None, calls=4, tokens=None)}
    found = reading(
        {"p/d/a/r": a, "p/d/b/r": b, "p/d/c/r": episode("c")},
        [
            ("n/s", batched(2, "p/d/c/r")),
            ("n/s", batched(1, "p/d/b/r", "p/d/a/r", "p/d/gone/r")),
            ("n/s", batched(1, "p/d/c/r", revision=1)),
            ("n/s", batched(3, "p/d/gone/r")),
            ("b/s/1", lesson("L1")), ("b/s/1", lesson("L2")), ("b/s/2", lesson("L3")),
            ("b/s/1.1", lesson("L4")), ("b/t/1", lesson("L5")),
            ("p/d/a/r", graded("right")),
        ],
        [{"domain": "d", "problem_id": "b", "reference": "42"}],
    )  # fmt: skip
    assert found.lessons == {("s", 1): 2, ("s", 2): 1, ("t", 1): 1}
    cases = list(found.cases())
    assert found.steps(cases) == {
        "s": [
            Batch(1, outcomes=(False, True), calls=(4, 1), tokens=(None, 15), lessons=2),
            Batch(2, outcomes=(None,), calls=(1,), tokens=(15,), lessons=1),
        ]
    }
    assert list(found.steps(cases[2:])) == ["s"]
    assert [each.number for each in found.steps(cases[2:])["s"]] == [2]


def test_what_learning_cost_by_whom_and_how_rules_came_out_is_kept_by_scope() -> None:
    found = reading(
        {"p/d/a/r": episode("a")},
        [
            ("b/s/1", reply("distiller", "m")), ("b/s/2", reply("distiller", "n")),
            ("b/t/1", reply("editor", "m")),
            ("b/s/1", rules("composed")), ("b/s/2", rules("composed")), ("b/s/2", rules("fallback")),
        ],
    )  # fmt: skip
    assert {scope: each.calls for scope, each in found.learning.items()} == {"s": 2, "t": 1}
    assert found.learning["s"].prompt_tokens == 14
    assert found.makers == {"s": {("distiller", "m"), ("distiller", "n")}, "t": {("editor", "m")}}
    assert found.consolidated == {"s": {"composed": 2, "fallback": 1}}
    assert list(found.journals) == ["p/d/a/r"], "of all else no journal is kept"


# ── Names and judgements ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("problem", "opened", "name"),
    [
        (posed("a"), {}, "cot"),
        (posed("a", settings={"b": 2, "a": "x"}), {}, "cot a=x b=2"),
        (posed("a", profile="paper"), {"limits": Limits(calls=8)}, "cot C=8 paper"),
        (
            posed("a", settings={"k": 0}),
            {"limits": Limits(calls=1), "policy": "mc2"},
            "mc2 k=0 C=1",
        ),
    ],
)
def test_a_run_is_named_by_policy_settings_and_limit(
    problem: Problem, opened: dict[str, Any], name: str
) -> None:
    assert name_of(problem, structs.replace(OPENED, **opened)) == name


def test_cases_are_chosen_by_run_policy_series_or_name() -> None:
    found = reading(
        {
            "p/d/a/abcd": episode("a", "one"),
            "p/d/b/abxy": episode("b", policy="mc2", limits=Limits(calls=8)),
            "p/d/c/zz": episode("c"),
        }
    )
    cases = list(found.cases())

    def ids(run: str | None) -> list[str]:
        return [case.problem.id for case in chosen(iter(cases), run)]

    assert ids(None) == ["a", "b", "c"]
    assert (ids("ab"), ids("abx"), ids("cot"), ids("one")) == (["a", "b"], ["b"], ["a", "c"], ["a"])
    assert (ids("mc2 C=8"), ids("mc2"), ids("no"), ids("bcd")) == (["b"], ["b"], [], [])
    # A series of its own name is meant, whatever other ids begin so.
    named = reading({"p/d/a/x1": episode("a", "ab"), "p/d/b/abxy": episode("b")})
    assert [case.problem.id for case in chosen(named.cases(), "ab")] == ["a"]


def test_the_role_that_was_asked_is_the_second_word_of_a_question() -> None:
    assert role_of(reply("oracle")) == "oracle"


def test_a_person_s_word_on_an_answer_counts_also_where_he_could_not_tell() -> None:
    game = Problem(id="g", domain="game24", problem="4 6 8 8", policy="cot")
    answer = "(8 + 8) / (4 / 6)"
    assert judged(game, answer, None, (answer, "unknown")) is True
    assert judged(game, answer, None, (answer, "unknown"), by_person=True) is None
    assert judged(game, answer, None, (answer, "wrong")) is False
    assert judged(game, answer, None, ("other", "wrong"), by_person=True) is True
    assert judged(game, "7", "24", ("other", "wrong")) is False, (
        "a checker comes before a reference"
    )


def case(answer: str | None, known: Known, **more: Any) -> Case:
    made = next(reading({"p/d/a/r": {**episode("a"), "closed": closed(answer)}}).cases())
    return replace(made, known=known, **more)


def test_other_answers_of_a_case_are_judged_as_its_own_was() -> None:
    asked: list[Any] = []

    def grade(answer: str, reference: Any, *, dataset: str, problem: str) -> Grade:
        asked.append((answer, reference, dataset, problem))
        return Grade(outcome="right" if answer == "y" else "unknown", grader="g@1")

    word = Word("right", "exact@2", person=False)
    sets = posed("a", dataset="math500")
    mine = case("x", Known(feedback=word), reference=("42",), grade=grade, problem=sets)
    assert (mine.judged("x"), mine.right("x")) == (True, True)
    assert asked == []
    assert (mine.judged("y"), mine.judged("z"), mine.judged(None)) == (True, None, False)
    assert (mine.right("y"), mine.right("z")) == (True, False)
    assert asked[0] == ("y", ("42",), "math500", "what is a?")
    plain = case("x", Known(), reference="42", grade=grade)
    assert plain.judged("y") is True
    assert asked[-1][2] == ""
    doubt = Known(verdict=Word("unknown", "ada", person=True))
    assert case("x", doubt, reference="x").judged("x") is None
    assert case("x", doubt, reference="x").judged("x ") is True


def test_a_withheld_answer_is_not_right_where_somebody_could_have_graded_one() -> None:
    """An accuracy is over those; where nobody labelled a problem it is unknown, as an answer would be."""
    graded = Known(feedback=Word("withheld", "exact@2", person=False))
    checked = posed("a").model_copy(update={"domain": "game24"})
    gradable = (
        case(None, Known(), reference="42"),
        case(None, graded),
        case(None, Known(), problem=checked),
    )
    assert {each.outcome for each in gradable} == {"withheld"}
    left = case(None, Known())
    assert (left.outcome, left.standing) == ("unknown", "withheld")
    right = case("x", Known(feedback=Word("right", "exact@2", person=False)))
    found = outcomes([right, gradable[0], left])
    assert (found["accuracy"], found["graded"], found["omission"]) == (0.5, 2, 2)


def test_the_words_of_an_answer_are_compared_where_its_data_set_is_of_questions() -> None:
    questions = posed("a", dataset="hotpotqa")
    mine = case("the red fox", Known(), reference="red fox jumps", problem=questions)
    assert mine.f1 == pytest.approx(0.8)
    assert case("the red fox", Known(), reference="red fox jumps").f1 is None
    assert case("the red fox", Known(), problem=questions).f1 is None
