"""Of all that is said of an answer a person's newest verdict stands, however it is mixed with other grades."""

from __future__ import annotations

from contextlib import closing
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.grade import VERDICT
from schemas.events.learning import Graded
from schemas.outcome import Outcome
from state.folds.grades import GradesFold, Known, word_of
from state.folds.outcomes import OutcomesFold
from state.snapshot_parts import load_outcome, outcome_body
from streams.runtime.embedded.log import SqliteLog

OUTCOMES = st.sampled_from(get_args(Outcome))
WHO = st.sampled_from(["ada", "bob", "source"])


def grades(*graders: str) -> st.SearchStrategy[Graded]:
    """What these graders may say; a checker speaks for itself, the others as somebody gave feedback."""

    def made(grader: str, outcome: Outcome, who: str) -> Graded:
        if grader == "game24@1":
            return Graded(scope="s", outcome=outcome, grader=grader, by="checker")
        return Graded(scope="s", outcome=outcome, grader=grader, by="feedback", source=who)

    return st.builds(made, st.sampled_from(graders), OUTCOMES, WHO)


MACHINES = ("game24@1", "exact@1", "sympy+math-verify@1")
ALL = st.lists(grades(*MACHINES, "verdict@1", VERDICT), max_size=8)


def folded(said: list[Graded]) -> Known:
    fold = GradesFold()
    for each in said:
        fold.feed("e", each)
    return fold.of("e")


@given(ALL, grades(VERDICT), st.lists(grades(*MACHINES, "verdict@1"), max_size=8))
def test_the_newest_verdict_stands(
    before: list[Graded], verdict: Graded, after: list[Graded]
) -> None:
    known = folded([*before, verdict, *after])
    assert known.word == word_of(verdict)
    assert (known.outcome, known.by) == (verdict.outcome, verdict.source)


@given(st.lists(grades(*MACHINES, "verdict@1"), max_size=8))
def test_a_log_of_an_earlier_build_folds_as_it_did(said: list[Graded]) -> None:
    """The newest feedback of any kind, else the newest word of a checker."""
    feedback = [each.outcome for each in said if each.by == "feedback"]
    checker = [each.outcome for each in said if each.by == "checker"]
    assert folded(said).outcome == next(iter([*feedback[-1:], *checker[-1:], "unknown"]))


@given(ALL)
def test_nobody_tried_and_nobody_could_tell_are_two_things(said: list[Graded]) -> None:
    known = folded(said)
    assert (known.standing() == "not graded") == (not said)
    assert (known.standing() == "undecided") == bool(said and known.outcome == "unknown")
    assert known.standing(answered=False) == "withheld"


@given(ALL)
def test_the_view_of_a_log_says_the_same(said: list[Graded]) -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        log.publish(commands=[("e", f"graded.{at}", each) for at, each in enumerate(said)])
        found = log.db.execute("select outcome, who from outcomes where episode = 'e'").fetchall()
    word = folded(said).word
    assert found == ([] if word is None else [(word.outcome, word.who)])


@given(ALL)
def test_a_snapshot_keeps_all_of_it(said: list[Graded]) -> None:
    kept, found = OutcomesFold(), OutcomesFold()
    for offset, each in enumerate(said, 1):
        kept.take(offset, "e", each)
    body = outcome_body(kept, "e")
    if body is not None:
        load_outcome(found, "e", body)
    assert found == kept
