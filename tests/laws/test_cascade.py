"""Laws of what a cascade learns: however batches are cut, whatever was graded, the state is one, and plain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cascade import after
from handlers.learning.measured import Measured
from handlers.policies.cascade.settings import CascadeSettings, constants
from schemas.events.cascade import CandidatesGraded
from schemas.outcome import Outcome

CONSTANTS = constants(CascadeSettings(arms=("more", "check"), cases_kept=4))
OUTCOMES: Sequence[Outcome] = ("right", "wrong", "unknown")


@st.composite
def stages(draw: st.DrawFn, candidates: int) -> list[dict[str, Any]]:
    """The weighings of one episode over so many candidates; chains come first."""
    place = st.none() if not candidates else st.none() | st.integers(0, candidates - 1)
    found: list[dict[str, Any]] = []
    for arm in (None, *draw(st.lists(st.sampled_from(("more", "check", "gone")), max_size=4))):
        votes = arm in (None, "more")
        leads = draw(place)
        found.append(
            {
                "arm": arm,
                "votes": votes,
                "key": draw(st.sampled_from(("2:0:2", "1:1:2"))) if votes else arm,
                "margin": draw(st.integers(0, 4)),
                # Episodes of before version 4 do not have it.
                **draw(st.sampled_from(({}, {"raises": 0.1}))),
                "said": leads if votes else draw(place),
                "leads": leads,
                "context": [1.0, draw(st.floats(0, 1)), 0.5, draw(st.floats(0, 1)), 1.0],
                "spent": draw(st.floats(0, 20)),
            }
        )
    return found


@st.composite
def episodes(draw: st.DrawFn) -> list[tuple[Measured, CandidatesGraded | None]]:
    """Finished episodes, some of which were graded."""
    found: list[tuple[Measured, CandidatesGraded | None]] = []
    for at in range(draw(st.integers(0, 7))):
        candidates = draw(st.integers(0, 3))
        summary = {"vector": None, "stages": draw(stages(candidates))}
        name, fact = f"p/d/{at}/r", None
        if candidates and draw(st.booleans()):
            told: tuple[Outcome, ...] = tuple(
                draw(st.sampled_from(OUTCOMES)) for _ in range(candidates)
            )
            fact = CandidatesGraded(episode=name, subject=f"d/{at}", by="label", outcomes=told)
        found.append((Measured(name, "unknown", summary, problem=f"What is {at}?"), fact))
    return found


def folded(
    cut: Sequence[Sequence[tuple[Measured, CandidatesGraded | None]]], state: dict[str, Any]
) -> dict[str, Any]:
    for batch in cut:
        facts = [fact for _, fact in batch if fact is not None]
        state = after(state, [member for member, _ in batch], CONSTANTS, facts)
    return state


def known(
    of: list[tuple[Measured, CandidatesGraded | None]],
) -> list[tuple[dict[str, Any], bool]]:
    """The stages of whose vote or opinion it is known whether it is right."""
    found: list[tuple[dict[str, Any], bool]] = []
    for member, fact in of:
        for stage in member.summary["stages"]:
            if fact is not None and stage["said"] is not None:
                outcome: Outcome = fact.outcomes[int(stage["said"])]
                found += [(stage, outcome == "right")] if outcome != "unknown" else []
    return found


@given(episodes(), st.integers(0, 7))
def test_however_batches_are_cut_the_state_is_one_and_plain(
    of: list[tuple[Measured, CandidatesGraded | None]], place: int
) -> None:
    whole = folded([of], {})
    assert folded([of[:place], of[place:]], folded([[]], {})) == whole
    assert json.loads(json.dumps(whole)) == whole
    assert len(whole["cases"]) <= 4


@given(episodes())
def test_what_is_still_a_case_is_never_counted_again(
    of: list[tuple[Measured, CandidatesGraded | None]],
) -> None:
    newest = of[-4:]
    once = folded([newest], {})
    assert folded([newest], once) == once


@given(episodes())
def test_every_known_vote_and_opinion_is_counted_once_and_no_other(
    of: list[tuple[Measured, CandidatesGraded | None]],
) -> None:
    state = folded([of], {})
    for name, votes in (("leads", True), ("opinions", False)):
        counted: dict[str, list[int]] = {}
        for stage, right in known(of):
            if stage["votes"] is votes:
                was = counted.get(stage["key"], [0, 0])
                counted[stage["key"]] = [was[0] + right, was[1] + 1]
        assert state[name] == counted


@given(episodes())
def test_an_arm_is_credited_only_where_both_leads_are_known(
    of: list[tuple[Measured, CandidatesGraded | None]],
) -> None:
    pulls = dict.fromkeys(("more", "check"), 0)
    for member, fact in of:
        told: list[dict[str, Any]] = member.summary["stages"]
        for was, now in pairwise(told):
            leads: list[int | None] = [each["leads"] for each in (was, now)]
            if fact is not None and now["arm"] in pulls and "raises" in was:
                pulls[now["arm"]] += all(
                    at is None or fact.outcomes[at] != "unknown" for at in leads
                )
    state = folded([of], {})
    assert {arm["id"]: arm.get("pulls", 0) for arm in state["arms"]} == pulls
