"""The Agent: answers with a tool at hand; each turn is one call of it, or the answer.

A reply may use the tags of the protocol (``<tool_call>{"name": …}</tool_call>``, ``<answer>``) or the
labelled fields of the format block; both say the same.

Source: trainable graph memory, eq. (4), App. (prompt and protocol).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from handlers.answers.extract import extract, whole
from handlers.roles.between import Marks
from handlers.roles.form import Unreadable
from handlers.roles.objects import loads, objects_in
from handlers.roles.role import Role, choice
from schemas.prompt import Argument, Tool
from schemas.reply import Field

TOOL = "search"
TOPK = 3
# Models write a year or an id where the number of passages belongs; whatever has so many digits is
# refused and not asked of a tool.
DIGITS = 6

PROMPT = """\
You answer a question and may search for what you do not know, as often as you need. The tool:
<tools>
{"name": "search", "arguments": {"query": "text to look for", "topk": "how many passages, 3"}}
</tools>
Say first, in a few sentences, what you know and what is missing. Then either call the tool, with \
<tool_call>{"name": "search", "arguments": {"query": "..."}}</tool_call>, and its results come back \
in the next message between <tool_response> and </tool_response>; or give the bare answer between \
<answer> and </answer>. Instead of the tags you may use the form below."""

SEARCH = Tool(
    TOOL,
    "Looks up passages on what you do not know.",
    (
        Argument("query", "string", "text to look for"),
        Argument("topk", "integer", "how many passages; 3 where left out", required=False),
    ),
)

AGENT = Role.of(
    "reasoner",
    PROMPT,
    sections=("Problem", "Guidance?"),
    reply=[
        choice("Move", ("SEARCH", "ANSWER"), "whether to call the tool or to answer"),
        Field("Query", "text", "the search query", when=("Move", ("SEARCH",))),
        Field("Final_answer", "answer", "the bare answer", when=("Move", ("ANSWER",))),
    ],
    notes={
        "Guidance": """\
Section "Guidance" was learned from earlier questions: use what fits and ignore the rest."""
    },
    template="agent",
    mends=False,
    tools=(SEARCH,),
)

NEITHER = """\
This reply holds neither a call of the tool nor an answer. Call the tool, between <tool_call> and \
</tool_call>, or give the bare answer, between <answer> and </answer>."""

OPENS = "<tool_call>"
CALL, _ANSWER = Marks.tag("tool_call"), Marks.tag("answer")
RESPONSE = ("<tool_response>", "</tool_response>")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool and its arguments; ``fault`` says why it cannot be called."""

    query: str
    topk: int = TOPK
    tool: str = TOOL
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A call, or an answer, or neither."""

    call: Call | None = None
    answer: str | None = None


def move_of(text: str) -> Move:
    """What a reply does: the last complete tag counts, then the fields, then an answer marked anyhow."""
    # The last of call and answer counts: a model that answers after a call does not need the call,
    # and one that calls after a draft of its answer has found that it does.
    called, answered = list(CALL.each(text))[-1:], list(_ANSWER.each(text))[-1:]
    # The mark that closes a call may be missing at the end of a reply: some servers stop at it.
    begins = text.rfind(OPENS)
    unclosed = text[begins + len(OPENS) :] if begins >= 0 else ""
    if unclosed and "</" not in unclosed and loads(unclosed.strip()) is not None:
        called = [(begins, unclosed)]
    if called and not (answered and answered[0][0] > called[0][0]):
        return Move(call=call_of(called[0][1]))
    if answered:
        return Move(answer=whole(answered[0][1]) or answered[0][1].strip() or None)
    values = AGENT.read(text)
    if isinstance(values, Unreadable):
        return Move(answer=extract(text))
    if values["Move"] == "SEARCH":
        return Move(call=Call(str(values["Query"])))
    return Move(answer=str(values["Final_answer"]))


def call_of(said: str) -> Call:
    """The call in a tag's JSON; ``topk`` is 3 where it is left out."""
    said_call = loads(said.strip())
    if said_call is None:  # it may stand in a fence
        said_call = next(iter(objects_in(said)), None)
    if said_call is None:
        return Call("", fault="the call is no JSON object")
    # Arguments may be called parameters, be JSON within JSON, or stand beside the name.
    given = said_call.get("arguments", said_call.get("parameters", said_call))
    given = loads(given) if isinstance(given, str) else given
    arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    query = arguments.get("query")
    if not isinstance(query, str) or not query.strip():
        return Call("", fault="the call has no query")
    topk = arguments.get("topk", TOPK)
    if isinstance(topk, str) and topk.strip().isdecimal():  # as many a model spells a number
        topk = int(topk) if len(topk.strip()) < DIGITS else 0
    if isinstance(topk, bool) or not isinstance(topk, int) or topk < 1:
        return Call(query, fault="topk must be a positive whole number")
    return Call(query, topk, str(said_call.get("name", TOOL)))


def response(text: str) -> str:
    """What a tool returned, as the agent's conversation holds it."""
    return text.join(RESPONSE)
