"""Graph memory: which action each fact leads to, what a tool run's path is made of, and how runs are told to models.

Source: design/graph_memory.md#decisions (tables and machine are ours).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Conclusion
from handlers.policies.graph_memory import GraphSettings
from handlers.policies.graph_memory.grounding import (
    BY_ACT,
    action_of,
    actions,
    leading,
    path_of,
)
from handlers.policies.graph_memory.machine import Machine, collapsed
from handlers.policies.graph_memory.runs import canonical, transcript
from schemas.events.base import Act, Event
from schemas.events.episode import Completed, EpisodeClosed, Recalled
from schemas.events.graph import ToolCalled
from schemas.events.monitoring import ExperienceFelt, SearchSteered, StrategyMatched
from schemas.events.reasoning import ControllerActed, Generated, MonitorReported, Voted
from schemas.events.search import ConfidenceStated, OracleScored
from schemas.outcome import Found
from schemas.usage import Usage
from tests.architecture.generated import machine
from tests.papers.told import lines


def closed(status: Any = "answered") -> EpisodeClosed:
    return EpisodeClosed(status=status, ended_by="x", usage=Usage())


def reported(flag: Any) -> MonitorReported:
    return MonitorReported(round=0, flag=flag, source="0")


def acted(action: Any) -> ControllerActed:
    return ControllerActed(round=0, action=action, source="0")


def felt(experience: Any, value: float | None) -> ExperienceFelt:
    return ExperienceFelt(experience=experience, source="feel", value=value, round=0)


def scored(value: float | None) -> OracleScored:
    return OracleScored(node="0", steps=(), rewards=(), value=value, source="0")


def stated(value: float | None) -> ConfidenceStated:
    return ConfidenceStated(node="0", value=value, source="0")


def matched(level: Any) -> StrategyMatched:
    return StrategyMatched(level=level, strategy="s", diagnosis="d", round=0)


def steered(intensity: Any) -> SearchSteered:
    return SearchSteered(round=0, intensity=intensity, known=0, unknown=0, threshold=0)


def called(asked: str = "a", text: str = "A.", result: Found = "found") -> ToolCalled:
    return ToolCalled(asked=asked, tool="search", result=result, text=text)


def turn(answer: str | None = None) -> Generated:
    return Generated(answer=answer, source="0")


# ── One fact, one action ─────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-fsm-types")
@pytest.mark.parametrize(
    ("event", "action"),
    [
        (closed("answered"), "answer"),
        (closed("abstained"), "stop"),
        (closed("failed"), "stop"),
        (reported("YES"), "fault"),
        (reported("NO"), "check"),
        (reported(None), "check"),
        (acted("restart"), "plan"),
        (acted("patch"), "combine"),
        (acted("accept"), "check"),
        (felt("JOL", 0.499), "fault"),
        (felt("JOL", 0.5), "check"),
        (felt("JOL", None), "check"),
        (felt("difficulty", 0.1), None),
        (scored(0.0), "fault"),
        (scored(0.5), "check"),
        (scored(None), "check"),
        (stated(0.499), "fault"),
        (stated(None), "check"),
        (matched("cognitive"), "plan"),
        (matched("metacognitive"), None),
        (steered("standard"), "suffice"),
        (steered("high"), "gap"),
        (turn("1"), "reason"),
        (Voted(answer="1", votes=1, of=1), "combine"),
        (Recalled(asked="-", memory_version=0, items=()), None),
        (Completed(asked="-", text="so", finish="stop", model="m"), None),
    ],
)
def test_what_a_fact_leads_to_by_itself(event: Event, action: str | None) -> None:
    expected = () if action is None else (action,)
    assert action_of(event) == expected
    assert tuple(actions([event])) == expected


@pytest.mark.parametrize("act", sorted(BY_ACT))
def test_a_fact_that_no_table_lists_leads_to_what_its_act_does(act: Act) -> None:
    kind = type("Odd", (Recalled,), {"act": act}, tag=f"odd.{act}")
    expected = BY_ACT[act]
    fact: Event = kind(asked="-", memory_version=0, items=())
    assert action_of(fact) == (() if expected is None else (expected,))


# ── A tool run ───────────────────────────────────────────────────────────────────────────────


RUNS: dict[str, tuple[Sequence[Event], str]] = {
    "one hit": ([turn(), called(), turn("1")], "plan gap search observe suffice"),
    "nothing came": (
        [turn(), called(text="", result="empty"), turn("1")],
        "plan gap search gap reason",
    ),
    "refused": ([called(text="no", result="refused"), turn("1")], "gap search gap plan reason"),
    "failed": ([turn(), called(text="no", result="error"), turn("1")], "plan gap search fault reason"),
    "two hits": (
        [turn(), called("a", "A."), turn(), called("b", "B."), turn("1")],
        "plan gap search observe plan search observe combine",
    ),
    "the same text twice": (
        [turn(), called("a", "A."), called("b", "A."), called("c", "C."), turn("1")],
        "plan gap search observe plan search observe gap search observe combine",
    ),
    "the same query twice": (
        [turn(), called("a", "A."), called("a", "B."), called("c", "C."), turn("1")],
        "plan gap search observe gap search fault gap search observe combine",
    ),
    "a hit and then none": (
        [turn(), called("a", "A."), called("b", "", "empty"), called("c", "", "empty"), turn("1")],
        "plan gap search observe plan search gap gap search gap suffice",
    ),
    "a failed query that was asked again": (
        [turn(), called("a", "x", "error"), called("a", "A."), turn("1")],
        "plan gap search fault gap search fault suffice",
    ),
    "other facts between": (
        [turn(), reported("YES"), called(), reported("NO"), turn("1"), closed()],
        "plan fault gap search observe check suffice answer",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), RUNS.values(), ids=RUNS)
def test_what_a_tool_run_does_is_told_apart_by_what_was_asked_and_found(
    events: Sequence[Event], expected: str
) -> None:
    assert " ".join(actions(events)) == expected


def test_a_run_without_an_end_ends_without_an_answer_and_cycles_are_cut_unless_they_are_kept() -> (
    None
):
    again = [turn(), reported("NO")] * 3
    assert path_of(again) == ("GS", "IR", "SC", "NA")
    assert path_of([*again, closed()]) == ("GS", "IR", "SC", "AN")
    kept = path_of([*again, closed("abstained")], cycles=True)
    assert kept == ("GS", *("IR", "SC") * 3, "NA")
    assert path_of([]) == ("GS", "NA")


# ── Forks ────────────────────────────────────────────────────────────────────────────────────


FORKED: list[tuple[str, Event]] = [
    ("0", turn()),
    ("1.0.0", turn("31")),
    ("1.0.1", reported("NO")),
    ("1.1.0", turn("36")),
    ("1.2.0", turn()),
    ("1.2.1.0.0", turn("31")),
    ("1.2.1.1.0", turn("35")),
    ("2", Voted(answer="31", votes=2, of=3)),
]


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("31", "0 1.0.0 1.0.1 1.2.0 1.2.1.0.0 2"),
        ("36", "0 1.1.0 2"),
        ("35", "0 1.2.0 1.2.1.1.0 2"),
        ("40", "0 1.0.0 1.0.1 1.1.0 1.2.0 1.2.1.0.0 1.2.1.1.0 2"),
        (None, "0 1.0.0 1.0.1 1.1.0 1.2.0 1.2.1.0.0 1.2.1.1.0 2"),
    ],
    ids=["two lanes", "one lane", "a lane within a lane", "no lane", "no answer"],
)
def test_of_a_fork_the_lanes_stay_that_lead_to_the_answer(answer: str | None, left: str) -> None:
    kept = leading(FORKED, answer)
    assert [at for at, event in FORKED if any(event is each for each in kept)] == left.split()


# ── As models are told ───────────────────────────────────────────────────────────────────────


def run(*events: Event) -> list[tuple[str, Event]]:
    return [(str(at), event) for at, event in enumerate(events)]


def said(text: str) -> Completed:
    return Completed(asked="-", text=text, finish="stop", model="m")


ANSWERED = Conclusion(answer="31", ended_by="answered")
SILENT = Conclusion(answer=None, ended_by="tool_calls")


def test_a_transcript_tells_replies_calls_and_the_end_in_order() -> None:
    events = run(said(" I look. \n"), called(), turn(), called("b", "", "empty"), said("So."))
    assert transcript(events, ANSWERED, 8_000) == lines("""
    [reply]
    I look.

    [tool search: found]
    A.

    [tool search: empty]
    nothing

    [reply]
    So.

    [end: an answer]
    """)
    assert transcript([], SILENT, 8_000) == "[end: no answer]"


def test_up_to_four_replies_share_the_room_and_of_more_the_first_and_last_are_seen() -> None:
    """What a tool returned takes half a share."""
    for count, share in ((1, 800), (2, 400), (3, 266)):
        events = run(*[said("r" * 900)] * (count - 1), called(text="t" * 900))
        *replies, result, end = transcript(events, ANSWERED, 800).split("\n\n")
        shares = [len(each.removeprefix("[reply]\n")) for each in replies]
        assert shares == [share] * (count - 1)
        assert len(result.removeprefix("[tool search: found]\n")) == share // 2
        assert end == "[end: an answer]"
    many = transcript(run(*[said(letter * 900) for letter in "abcdef"]), ANSWERED, 800)
    assert len(many) == 800
    assert many.startswith("[reply]\naaa")
    assert many.endswith("fff\n\n[end: an answer]")
    assert not any(letter * 3 in many for letter in "cd"), "those in the middle are left out"
    events = run(said("r" * 900), called(text="t" * 900))
    short = transcript(events, ANSWERED, 60)
    assert len(short) == 60
    assert short.startswith("[reply]\nr")
    assert short.endswith("[end: an answer]")
    assert [len(transcript(events, ANSWERED, chars)) for chars in (1, 7, 9)] == [1, 7, 9]


def test_a_path_is_of_the_lanes_that_lead_to_the_answer_and_ends_as_the_run_did() -> None:
    settings = GraphSettings.resolve("service", {})
    assert canonical(FORKED, Conclusion(answer="36", ended_by="x"), settings) == "GS IR SY AN"
    assert canonical(FORKED, SILENT, settings) == "GS IR SC IR SY NA"
    again = run(*[turn(), reported("NO")] * 2)
    kept = GraphSettings.resolve("service", {"path_cycles": "keep"})
    assert canonical(again, ANSWERED, settings) == "GS IR SC AN"
    assert canonical(again, ANSWERED, kept) == "GS IR SC IR SC AN"


# ── The machine as a text ────────────────────────────────────────────────────────────────────


SMALL = Machine(
    {"GS": ("UR", "XX"), "UR": (), "XX": ("UR",), "AN": (), "NA": ()},
    {"open": "GS", "answer": "AN", "stop": "NA", "quit": "NA"},
)


def test_a_machine_is_described_state_by_state_with_what_may_follow() -> None:
    assert SMALL.described() == lines("""
    GS (GoalSetting, takes in what is asked and what an answer must be): UR XX
    UR (UngroundedReasoning, reasons or guesses although knowledge is missing): the end
    XX (XX): UR
    AN (Answer, gives an answer): the end
    NA (NoAnswer, ends without one): the end
    Every state but AN and NA may also go to AN or NA.
    """)


def test_a_machine_is_drawn_with_the_actions_that_lead_to_each_state() -> None:
    known = Machine({"GS": ("UR",), "UR": (), "AN": (), "NA": ()}, SMALL.lands)
    assert (
        machine(known)
        == lines("""
    ```mermaid
    flowchart LR
      GS(["GoalSetting<br/>open"])
      UR(["UngroundedReasoning<br/>reason in KG, UR"])
      AN(["Answer<br/>answer"])
      NA(["NoAnswer<br/>stop, quit"])
      GS --> UR
    ```
    """)
        + "\n"
    )


def test_a_machine_has_a_beginning_two_ends_and_every_state_that_it_speaks_of() -> None:
    with pytest.raises(ValueError, match=r"does not list: AN, GS, NA, UR$"):
        Machine({}, {})
    whole = {"GS": (), "UR": (), "AN": (), "NA": ()}
    with pytest.raises(ValueError, match=r"does not list: YY, ZZ$"):
        Machine({**whole, "UR": ("ZZ",)}, {"x": "YY"})


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ((), "names no state"),
        (("GS", "UR", "AN"), None),
        (("GS", "AN"), None),
        (("UR", "AN"), "it begins with UR and must begin with GS"),
        (("GS", "ZZ", "YY"), "ZZ is no state of the machine"),
        (("GS", "UR", "XX", "AN"), "UR→XX is not listed; UR may be followed by nothing"),
        (("GS", "AN", "NA"), "AN→NA is not listed; AN may be followed by nothing"),
        (("GS", "XX", "GS"), "XX→GS is not listed; XX may be followed by UR AN NA"),
        (("GS", "XX"), "it ends with XX and must end with AN, ED, NA"),
    ],
)
def test_the_first_fault_of_a_path_is_named(path: tuple[str, ...], fault: str | None) -> None:
    assert SMALL.fault(path) == fault


@pytest.mark.parametrize(
    ("state", "then", "may"),
    [
        ("GS", "UR", True),
        ("GS", "GS", False),
        ("UR", "AN", True),
        ("UR", "NA", True),
        ("AN", "NA", False),
        ("NA", "AN", False),
        ("XX", "GS", False),
    ],
)
def test_every_state_that_is_no_end_may_end(state: str, then: str, may: bool) -> None:
    assert SMALL.follows(state, then) is may


@given(st.lists(st.sampled_from("ABC"), max_size=9))
def test_what_is_collapsed_repeats_nothing_at_once_and_loses_no_state(path: list[str]) -> None:
    short = collapsed(path)
    assert collapsed(short) == short
    assert set(short) == set(path)
    for at in range(len(short)):
        for size in range(1, len(short)):
            again = short[at + size : at + 2 * size]
            assert not again or short[at : at + size] != again
    assert short[:1] == tuple(path[:1])
    assert short[-1:] == tuple(path[-1:])


def test_the_leftmost_and_shortest_cycle_goes_first() -> None:
    assert collapsed("AABAAB") == ("A", "B")
    assert collapsed("ABABCABC") == ("A", "B", "C")
    assert collapsed("ABCBCA") == ("A", "B", "C", "A")
