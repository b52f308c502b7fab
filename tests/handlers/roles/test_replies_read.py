"""What each role's reply is read as: calls of tools, votes on insights, reports, decisions, excerpts."""

from __future__ import annotations

import pytest

from handlers.roles.agent import Call, Move, call_of, move_of
from handlers.roles.between import Marks
from handlers.roles.controller import FALLBACK, Decision, decision_of, in_words, needs_answer
from handlers.roles.excerpt import excerpt
from handlers.roles.insighter import Vote, votes_of
from handlers.roles.monitor import Report, report_of

# ── An agent's turn ──────────────────────────────────────────────────────────────────────────

NO_QUERY = Call("", fault="the call has no query")
NO_NUMBER = Call("x", fault="topk must be a positive whole number")


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ('{"query": "x"}', Call("x", 3, "search")),
        ('{"query": "x", "topk": 1}', Call("x", 1, "search")),
        ('{"query": "x", "topk": " 12 "}', Call("x", 12, "search")),
        ('{"query": "x", "topk": "99999"}', Call("x", 99_999, "search")),
        ('{"query": "x", "topk": "100000"}', NO_NUMBER),
        ('{"query": "x", "topk": "0"}', NO_NUMBER),
        ('{"query": "x", "topk": "two"}', NO_NUMBER),
        ('{"query": "x", "topk": 0}', NO_NUMBER),
        ('{"query": "x", "topk": true}', NO_NUMBER),
        ('{"query": "x", "topk": 2.0}', NO_NUMBER),
        (r'"{\"query\": \"x\"}"', Call("x", 3, "search")),
        ('{"query": " "}', NO_QUERY),
        ('{"query": 3}', NO_QUERY),
        ('"x"', NO_QUERY),
    ],
)
def test_a_call_s_arguments(arguments: str, call: Call) -> None:
    assert call_of(f' {{"name": "search", "arguments": {arguments}}} ') == call


def test_a_call_may_leave_out_its_tool_or_name_another_and_is_an_object() -> None:
    assert call_of('{"arguments": {"query": "x"}}') == Call("x")
    assert call_of('{"name": "open", "arguments": {"query": "x"}}') == Call("x", tool="open")
    assert call_of('{"name": "search"}') == NO_QUERY
    assert call_of("[1]") == Call("", fault="the call is no JSON object")


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "search", "parameters": {"query": "x"}}',
        '{"name": "search", "query": "x"}',
        "{'name': 'search', 'arguments': {'query': 'x'}}",
        '```json\n{"name": "search", "arguments": {"query": "x"}}\n```',
    ],
)
def test_a_call_in_the_words_of_other_protocols(call: str) -> None:
    assert call_of(call) == Call("x")
    assert move_of(f"I look it up.\n<tool_call>{call}") == Move(
        None if call.startswith("`") else Call("x")
    )


def called(query: str) -> str:
    return f'<tool_call>{{"name": "search", "arguments": {{"query": "{query}"}}}}</tool_call>'


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        (f"{called('a')} and {called('b')}", Move(Call("b"))),
        (f"{called('a')} so <answer>7</answer>", Move(answer="7")),
        (f"<answer>7</answer> or {called('a')}", Move(Call("a"))),
        ("<answer> 7 </answer> no, <answer> 8\n</answer>", Move(answer="8")),
        ("<answer> </answer> \\boxed{9}", Move()),
        ("<answer>\\boxed{Lima}</answer>", Move(answer="Lima")),
        ("<answer>**Lima**.</answer>", Move(answer="Lima")),
        ("Move: SEARCH\nQuery: six", Move(Call("six"))),
        ("Move: ANSWER\nFinal_answer: \\boxed{7}", Move(answer="7")),
        ("so it is \\boxed{9}", Move(answer="9")),
        ("<answer>7", Move()),
        ("Hm.", Move()),
    ],
)
def test_the_last_of_call_and_answer_counts_then_the_fields_then_what_is_marked(
    reply: str, move: Move
) -> None:
    assert move_of(reply) == move


def test_parts_between_marks_do_not_overlap_and_end_with_what_is_never_closed() -> None:
    marks = Marks.tag("a")
    text = "<a>one<a>two</a>three</a> <a>four</a><a>five"
    assert list(marks.each(text)) == [(0, "one<a>two"), (26, "four")]
    assert marks.first(text) == (0, "one<a>two")
    assert marks.first("<A>one</A>") is None


# ── Votes on insights ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "votes"),
    [
        ("ADD: Count twice.", [Vote("ADD", None, "Count twice.")]),
        ("- upvote 2", [Vote("UPVOTE", 2, "")]),
        ("ADD: 2 times the base is enough", [Vote("ADD", None, "2 times the base is enough")]),
        ("ADD 3: Check units.", [Vote("ADD", None, "Check units.")]),
        ("EDIT 1234: Look twice.", []),
        ("- **EDIT** 4 - Look twice.", [Vote("EDIT", 4, "Look twice.")]),
        ("DOWNVOTE #3: it misleads", [Vote("DOWNVOTE", 3, "it misleads")]),
        ("EDIT 12: Count thrice. ", [Vote("EDIT", 12, "Count thrice.")]),
        (" Rather an insight.", [Vote("ADD", None, "Rather an insight.")]),
        ("ADDRESS the units", [Vote("ADD", None, "ADDRESS the units")]),
        ("EDIT: of nothing that is named", []),
        ("EDIT 4:", []),
        ("ADD — Count twice.", [Vote("ADD", None, "Count twice.")]),
        ("**EDIT #4** → Look twice.", [Vote("EDIT", 4, "Look twice.")]),
        ("UPVOTE [2]", [Vote("UPVOTE", 2, "")]),
        ("DOWNVOTE insight 2", [Vote("DOWNVOTE", 2, "")]),
        ("operation=EDIT, number=4, text=Look twice.", [Vote("EDIT", 4, "Look twice.")]),
        ("operation=UPVOTE, insight=2", [Vote("UPVOTE", 2, "")]),
        ("UPVOTE", []),
        ("ADD", []),
    ],
)
def test_operations_on_insights(line: str, votes: list[Vote]) -> None:
    found = votes_of(("DOWNVOTE 1", line, "UPVOTE 9"))
    assert found == [Vote("DOWNVOTE", 1, ""), *votes, Vote("UPVOTE", 9, "")]


# ── Reports and decisions ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "report"),
    [
        (
            "In words.\nAnalysis: one holds\ntwo does not\nError_description: the sum\nis off\n"
            "Error_step: 2\nError_found: YES",
            Report("YES", "2", "the sum", "In words.\none holds\ntwo does not"),
        ),
        ("Error_found: NO", Report("NO", None, None, "")),
        (
            "Error_description: NONE\nError_step: NONE\nError_found: NONE",
            Report("NO", "NONE", "NONE", ""),
        ),
        (" All seems well. ", Report(None, None, None, "All seems well.")),
        (
            "Analysis: a\nError_found: maybe",
            Report(None, None, None, "Analysis: a\nError_found: maybe"),
        ),
    ],
)
def test_reports(reply: str, report: Report) -> None:
    assert report_of(reply) == report
    assert report_of(reply, readable=False) == Report(None, None, None, reply.strip())


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        ("Action: ACCEPT\nFinal_answer: 24", Decision("accept", answer="24")),
        (
            "Justification: so\nAction: 2\nCorrected_reasoning: 6 * 4\nFinal_answer: 24",
            Decision("patch", "so", "6 * 4", "24"),
        ),
        ("Action: REVISE\nFinal_answer: 24", Decision("patch", answer="24")),
        (
            "Justification: so\nAction: RESTART\nSuggestions: - look again\n",
            Decision("restart", "so", advice="look again"),
        ),
        ("Hm.", FALLBACK),
        ("Action: RESTART", FALLBACK),
    ],
)
def test_decisions(reply: str, decision: Decision) -> None:
    assert decision_of(reply) == decision
    assert decision_of(reply, needs_answer(None)) == decision


def test_who_accepts_needs_an_answer_only_where_there_is_none_and_who_patches_always() -> None:
    assert decision_of("Action: ACCEPT", needs_answer("24")) == Decision("accept")
    assert decision_of("Action: ACCEPT", needs_answer(None)) == FALLBACK
    assert decision_of("Action: PATCH", needs_answer("24")) == FALLBACK
    assert decision_of("Action: PATCH") == Decision("patch")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Action 1", "ACCEPT"),
        ("take Action 3 (restart) now", "take RESTART now"),
        ("accept (Action 1), or revise ( action 2 )", "ACCEPT, or PATCH"),
        ("action 12 and reaction 1 and Action 4", "action 12 and reaction 1 and Action 4"),
    ],
)
def test_actions_are_called_by_name(said: str, words: str) -> None:
    assert in_words(said) == words


@pytest.mark.parametrize(
    ("chars", "cut"),
    [
        (20, "01234567890123456789"),
        (19, "012345\n[...]\n456789"),
        (12, "012\n[...]\n89"),
        (8, "0\n[...]\n"),
        (3, "\n[."),
        (0, ""),
        (-1, ""),
    ],
)
def test_an_excerpt_has_the_head_and_the_tail(chars: int, cut: str) -> None:
    assert excerpt("01234567890123456789", chars) == cut
