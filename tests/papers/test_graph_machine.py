"""Graph memory: canonical paths, the tool protocol, guidance; and the memory baselines."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.around import GENERATORS
from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.baselines.expel import voted
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from handlers.policies.graph_memory.grounding import actions, listed, path_of
from handlers.policies.graph_memory.machine import ENDS, LANDS, MACHINE, MAY_GO, collapsed
from handlers.policies.registry import find
from handlers.roles.agent import AGENT, NEITHER, move_of
from handlers.roles.insighter import Vote, votes_of
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed
from schemas.events.graph import ExperienceShown, NoteLinked, ToolCalled
from schemas.events.learning import LessonDistilled
from schemas.events.reasoning import Generated
from schemas.events.union import KINDS
from schemas.memory import Memory
from schemas.outcome import Status
from schemas.questions import Complete, ToolResult, UseTool
from schemas.settings import BadSetting
from schemas.usage import Usage
from schemas.vectors import pack
from state.folds.memory import Learned, next_memory
from streams.replay.differ import first_difference
from tests.laws.events import EVENTS
from tests.papers.gm_says import rehearsed, remembering
from tests.reflections import reflected
from tests.scripted import NO_MEMORY, Ran, Script, hashed, run, shown

TASK = Task("h1", "Which river flows through the town where the author was born?", "qa", seed=7)
SEARCH = 'look <tool_call>{"name":"search","arguments":{"query":"town"}}</tool_call>'
ANSWER = "done <answer>the Aare</answer>"


def agent(
    script: Script,
    name: str = "tool_reasoning",
    memory: Memory = NO_MEMORY,
    text: str = "The town lies on the Aare.",
    **values: object,
) -> Ran[Conclusion]:
    policy = find(name)
    task = Task(TASK.id, TASK.problem, TASK.domain, TASK.seed, memory.number)

    def tool(question: UseTool) -> ToolResult:
        return ToolResult(text, "found" if text else "empty")

    settings = policy.settings.resolve("paper", values)
    return run(policy.solve(task, settings), script, memory=memory, tool=tool)


@pytest.mark.claim("gm-eq-04")
def test_the_protocol_ends_at_an_answer() -> None:
    ran = agent([SEARCH, ANSWER])
    assert (ran.result.answer, ran.result.ended_by) == ("the Aare", "answered")
    assert ran.requests[1].history == (
        ("assistant", SEARCH),
        ("user", "<tool_response>The town lies on the Aare.</tool_response>"),
    )
    [call] = [question for _, question in ran.asked if isinstance(question, UseTool)]
    assert dict(call.arguments) == {"query": "town", "topk": 3}


@pytest.mark.claim("gm-eq-04")
def test_unanswered_after_the_sixth_call() -> None:
    ran = agent([SEARCH] * 7)
    assert len(ran.of(ToolCalled)) == 6
    assert (ran.result.answer, ran.result.ended_by) == (None, "tool_calls")
    assert len(ran.requests[-1].history) == 12, "all six calls with what came back"


@pytest.mark.claim("gm-eq-04")
def test_an_unreadable_turn_is_told_so_and_a_second_in_a_row_ends_it() -> None:
    """The reasoning that held no call stays in the conversation; a call between sets the count back."""
    ran = agent(["Let me think.", SEARCH, "Hm.", ANSWER])
    assert ran.result.answer == "the Aare"
    said = [text for who, text in ran.requests[-1].history if who == "assistant"]
    assert said == ["Let me think.", SEARCH, "Hm."]
    assert ran.requests[1].history[-1] == ("user", NEITHER)
    lost = agent(["Let me think.", "Still thinking."])
    assert (lost.result.answer, lost.result.ended_by) == (None, "unreadable")


@pytest.mark.claim("gm-eq-04")
def test_the_agents_prompt_and_what_it_may_say() -> None:
    assert "<tools>" in AGENT.template.system
    assert "topk" in AGENT.template.system
    assert TASK.problem not in AGENT.template.system
    broken = move_of("<tool_call>{no json}</tool_call>").call
    assert broken is not None
    assert broken.fault
    wide = move_of('<tool_call>{"name":"search","arguments":{"query":"a","topk":5}}</tool_call>')
    assert wide.call is not None
    assert wide.call.topk == 5
    spelled = move_of(
        '<tool_call>{"name":"search","arguments":{"query":"a","topk":"5"}}</tool_call>'
    )
    assert spelled.call is not None
    assert spelled.call.topk == 5
    wrong = move_of(
        '<tool_call>{"name":"search","arguments":{"query":"a","topk":"5,"}}</tool_call>'
    )
    assert wrong.call is not None
    assert wrong.call.fault
    fields = move_of("Move: SEARCH\nQuery: the town")
    assert fields.call is not None
    assert fields.call.query == "the town"
    ran = agent(["<tool_call>{no json}</tool_call>", ANSWER])
    assert "no JSON" in ran.requests[1].history[-1][1]
    assert ran.of(ToolCalled) == []


@pytest.mark.claim("gm-eq-04")
def test_of_several_tags_the_last_whole_one_counts() -> None:
    """A model that repeated how it was to answer said "and", between the tags it spoke of."""
    named = "I put it between <answer> and </answer>. So: <answer>the Aare</answer>"
    assert agent([named]).result.answer == "the Aare"
    assert agent(["<answer>the Aare</answer>, and not <answer>"]).result.answer == "the Aare"
    changed = agent([f"<answer>the Rhine</answer>? Let me {SEARCH}", ANSWER])
    assert changed.result.answer == "the Aare"
    [called] = [question for _, question in changed.asked if isinstance(question, UseTool)]
    assert dict(called.arguments)["query"] == "town"
    settled = agent([f"{SEARCH}? No need: <answer>the Aare</answer>"])
    assert (settled.result.answer, settled.of(ToolCalled)) == ("the Aare", [])


# ── Canonical paths ──────────────────────────────────────────────────────────────────────────


def closed(status: Status = "answered") -> EpisodeClosed:
    return EpisodeClosed(status=status, ended_by="x", usage=Usage())


STATUSES = st.sampled_from(get_args(Status))
ANY = st.lists(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: EVENTS[kind]), max_size=12)


@pytest.mark.claim("gm-fsm-1")
@given(ANY, STATUSES)
def test_every_record_has_a_valid_path(events: list[Event], status: Status) -> None:
    events = [event for event in events if not isinstance(event, EpisodeClosed)]
    path = path_of([*events, closed(status)])
    assert MACHINE.fault(path) is None
    graded = [event for event in events if event.kind != "graded"]
    assert path_of([*graded, closed(status)]) == path


@pytest.mark.claim("gm-fsm-1")
def test_a_tool_run_with_one_hit() -> None:
    ran = agent([SEARCH, ANSWER])
    events = [event for _, event in ran.trace.events]
    assert " ".join(path_of([*events, closed()])) == "GS SP KG TS IA KS AN"
    empty = agent([SEARCH, ANSWER], text="")
    events = [event for _, event in empty.trace.events]
    assert " ".join(path_of([*events, closed()])) == "GS SP KG TS KG UR AN"


@pytest.mark.claim("gm-fsm-types")
def test_every_type_of_event_is_listed() -> None:
    assert [kind for kind in KINDS if not listed(kind)] == []
    assert set(MAY_GO) == {*LANDS.values(), "UR"}
    assert list(actions([Generated(source="0")])) == ["reason"]


@pytest.mark.claim("gm-fsm-2")
def test_the_papers_chain() -> None:
    assert MACHINE.fault(["GS", "SP", "IR", "KG", "UR", "ED"]) is None
    assert MACHINE.fault(["GS", "IA"]) is not None
    assert MACHINE.fault(["GS", "IA", "AN"]) is not None
    assert "ED" in ENDS
    assert MACHINE.step("KG", "reason") == "UR"
    assert MACHINE.step("GS", "observe") == "GS"


def test_users_may_give_a_machine_of_their_own() -> None:
    """The table is data: a setting, checked, shown to the Inducer and walked by paths."""
    mine = {**MAY_GO, "IR": ("SC",), "SC": ("ED",), "ED": ()}
    settings = GraphSettings.resolve("service", {"machine": mine})
    assert settings.states.path(["reason", "check", "reason", "fault"]) == ("GS", "IR", "SC", "ED")
    assert MACHINE.path(["reason", "check", "reason", "fault"]) == ("GS", "IR", "SC", "IR", "ED")
    assert "IR (InternalReasoning, reasons from what it knows): SC\n" in settings.states.described()
    with pytest.raises(BadSetting, match="does not list: XX"):
        GraphSettings.resolve("service", {"machine": {**MAY_GO, "IR": ("XX",)}})
    assert "machine" in GraphSettings.learning


@pytest.mark.claim("gm-cycles")
def test_cycles_that_repeat_at_once_collapse() -> None:
    long = ["GS", "IR", "SC", "SP", "IR", "SC", "AN"]
    assert MACHINE.fault(long) is None
    assert collapsed(long) == tuple(long)
    assert collapsed(["GS", "IR", "SC", "IR", "SC", "IR", "SC", "AN"]) == ("GS", "IR", "SC", "AN")
    assert collapsed(["GS", "IR", "SC", "SP", "IR", "SC", "SP", "AN"]) == (
        "GS",
        "IR",
        "SC",
        "SP",
        "AN",
    )


# ── Guidance ─────────────────────────────────────────────────────────────────────────────────


def principled(**weights: float) -> Memory:
    """A memory in which a similar case leads over one path to these principles."""
    similar = "Which river flows through the town where the painter was born?"
    return remembering({similar: {"GS IR AN": "right"}}, {"GS IR AN": weights})


@pytest.mark.claim("gm-aug")
def test_principles_come_by_relevance_and_none_is_the_base() -> None:
    memory = principled(a=1.0, b=2.0, c=1.0, d=0.5)
    ran = agent([ANSWER], "graph_memory", memory)
    assert dict(ran.requests[0].variables)["guidance"].split() == [
        *("advice", "b", "advice", "a", "advice", "c"),
    ]
    assert [event.items for event in ran.of(ExperienceShown)] == [("b", "a", "c")]
    none = agent([ANSWER], "graph_memory", memory, principles_shown=0)
    assert none.requests[0].messages() == agent([ANSWER]).requests[0].messages()
    assert none.asked == agent([ANSWER]).asked


@pytest.mark.claim("gm-aug")
@pytest.mark.parametrize("base", ["cot", "mc2", "tot", "meta_reasoner", "cot2_meta"])
def test_any_base_is_guided_by_the_slot_of_its_generators(base: str) -> None:
    """The words of a principle stand in what reasons, and nowhere else."""
    asked = guided_requests(base, principled(a=1.0))
    for question in asked:
        assert ("advice a" in shown(question)) == (question.role in GENERATORS)
    assert any(question.role in GENERATORS for question in asked)


def guided_requests(base: str, memory: Memory) -> list[Complete]:
    """What a base asks the simulator under guidance; its settings are those of the service."""
    settings = GraphSettings(base=base)
    task = Task("r1", "4 5 6 10", "game24", 7, memory.number)
    return run(GRAPH_MEMORY.solve(task, settings), rehearsed, memory=memory).requests


@pytest.mark.claim("gm-case-3")
def test_diff_names_where_another_principle_parts_an_episode() -> None:
    """The same memory and problem: by learned weights b is shown, by frozen ones a; then no more agrees."""
    memory = principled(a=1.0, b=2.0)
    runs = [
        agent([SEARCH, ANSWER], "graph_memory", memory, principles_shown=1, weights=weights)
        for weights in ("learned", "frozen", "learned")
    ]
    learned, frozen, again = (dict(ran.events) for ran in runs)
    found = first_difference(learned, frozen)
    assert found is not None
    assert (found.address, found.part) == ("1", "experience.shown.items")
    assert "b" in found.left
    assert "a" in found.right
    assert first_difference(learned, again) is None
    asked = [dict(ran.requests[0].variables)["guidance"] for ran in runs[:2]]
    assert asked == ["advice b", "advice a"]


def test_use_learns_nothing() -> None:
    ran = agent([SEARCH, ANSWER], "graph_memory")
    use, build = GraphSettings(), GraphSettings(phase="build")
    assert GRAPH_MEMORY.reflect(ran.trace, ran.result, use) == {}
    assert GRAPH_MEMORY.reflect(ran.trace, ran.result, build)["path"] == "GS SP KG TS IA KS AN"


# ── Memory baselines ─────────────────────────────────────────────────────────────────────────


PROBLEM = "Which river is it?"


def batch_of(outcome: str) -> Batch:
    told = reflected(
        problem_id="h1",
        domain="qa",
        problem=PROBLEM,
        summary={"trajectory": "I searched twice.", "answer": "the Aare", "ended_by": "answered"},
    )
    return Batch("s", 1, (Member("p/qa/h1/run", told, outcome),), Memory("s", 0), seed=7)


def learned(name: str, script: Script, outcome: str = "right") -> Memory:
    """The memory after a batch of one."""
    policy = find(name)
    ran = run(policy.learn(batch_of(outcome), policy.settings.resolve("paper", {})), script)
    kept = Learned()
    for address, event in ran.events:
        kept.feed(address, event)
    return next_memory(Memory("s", 0), kept, 1, 1)


@pytest.mark.claim("bl-traj")
def test_trajectories_are_kept_as_they_were_and_shown_again() -> None:
    memory = learned("direct_trajectory", [], "wrong")
    [item] = memory.items
    assert item.text == f"{PROBLEM}\nI searched twice.\nAnswer: the Aare. It was wrong."
    assert item.vector == pack(hashed(PROBLEM))
    assert item.polarity == "avoid"
    assert [each.polarity for each in learned("direct_trajectory", []).items] == ["do"]
    ran = agent([ANSWER], "direct_trajectory", memory)
    assert "I searched twice." not in dict(ran.requests[0].variables)["guidance"]
    assert ran.of(ExperienceShown) == []  # a problem is never shown its own trajectory
    other = Task("h2", PROBLEM, "qa", 7, 1)
    policy = find("direct_trajectory")
    shown = run(policy.solve(other, policy.settings.resolve("paper", {})), [ANSWER], memory=memory)
    assert "I searched twice." in dict(shown.requests[0].variables)["guidance"]


@pytest.mark.claim("bl-amem")
def test_notes_are_written_linked_and_understood_anew() -> None:
    note = "Context: a river was looked for\nKeywords:\n- river\n- town"
    memory = learned("a_mem", [note])
    [item] = memory.items
    assert item.text == "a river was looked for\nKeywords: river, town\nAnswer: the Aare"
    policy = find("a_mem")
    again = Batch("s", 2, batch_of("right").members, memory, seed=7)
    said = [note, "Link: YES\nRenewed_context: rivers are found by their towns"]
    ran = run(policy.learn(again, policy.settings.resolve("paper", {})), said, memory=memory)
    [link] = ran.of(NoteLinked)
    assert link.links == (item.id,)
    assert link.evolved == ((item.id, "rivers are found by their towns"),)
    assert [event.id for event in ran.of(LessonDistilled)] == ["N2.1", "N2.1+"]
    apart = run(
        policy.learn(again, policy.settings.resolve("paper", {})), [note, "Link: NO"], memory=memory
    )
    assert apart.of(NoteLinked)[0].links == ()


@pytest.mark.claim("bl-expel")
def test_insights_are_read_by_all_later_problems() -> None:
    memory = learned("expel", ["Insight_operations:\n- ADD: search for the town first"])
    assert [item.text for item in memory.items] == ["(2) search for the town first"]
    ran = agent([ANSWER], "expel", memory)
    assert "search for the town first" in dict(ran.requests[0].variables)["guidance"]


@pytest.mark.claim("bl-expel")
def test_insights_are_voted_up_and_down() -> None:
    operations = votes_of(("ADD: check units", "UPVOTE 1", "- DOWNVOTE 2", "EDIT 1: look twice"))
    assert [vote.operation for vote in operations] == ["ADD", "UPVOTE", "DOWNVOTE", "EDIT"]
    before = {1: (2, "look"), 2: (1, "guess")}
    assert voted(before, operations) == {1: (4, "look twice"), 2: (2, "check units")}
    assert voted({}, [Vote("UPVOTE", 3, "")]) == {}
