"""Facts in a few words: who spoke, what was said, in which tone. Unknown facts are shown by field."""

# `rows` asks `says` about every fact of an episode, and so do the demo, the dashboard and the live
# screen: one sentence for a fact, wherever it is read. The families of facts (search, strategies,
# monitoring, cascades) have a module each, as they have in `schemas.events`. Whatever a model or a
# person wrote passes `one_line` first, because it could hold codes that steer a terminal.

from __future__ import annotations

from handlers.roles.controller import decision_of
from handlers.roles.monitor import report_of
from schemas.events.base import Event
from schemas.events.codec import plain
from schemas.events.episode import Completed
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled, LessonDropped
from schemas.events.reasoning import (
    ControllerActed,
    Generated,
    KnowledgeOmitted,
    KnowledgeReached,
    MonitorReported,
    ReplyReparsed,
    Voted,
)
from schemas.spoken import spoken
from streams.views.monitored import monitored
from streams.views.searched import searched
from streams.views.steered import steered, weighed
from streams.views.words import one_line, plural, ranges

Saying = tuple[str, str, str]
"""Who, what, and the tone of it."""
_HIDDEN = frozenset({"kind", "version", "source", "round", "role"})


def says(fact: Event, reply: Completed | None) -> Saying:
    """A fact in words, with what its reply adds where there is one."""
    match fact:
        case Generated(role="step", answer=None, parse="ok"):
            return "step", "not solved yet", ""
        case Generated(role="thinker" | "repairer", answer=None, parse="ok"):
            return fact.role, "still open: no answer yet", ""
        case Generated():
            mark = "" if fact.parse == "ok" else f"   ({fact.parse})"
            return fact.role, _answer(fact.answer) + mark, "" if fact.answer else "warn"
        case MonitorReported(flag=None):
            return "monitor", f"no flag that can be read ({fact.parse})", "dim"
        case MonitorReported():
            fault = (
                f", step {one_line(fact.step)}" if fact.step and fact.step.upper() != "NONE" else ""
            )
            # A Monitor that finds nothing still fills in its form; only a fault is worth quoting.
            found = fact.flag == "YES" and reply and report_of(spoken(reply.text).text).description
            quoted = f': "{one_line(found)}"' if found else ""
            return (
                "monitor",
                f"{fact.flag}{fault}{quoted}",
                "warn" if fact.flag == "YES" else "good",
            )
        case ControllerActed():
            return _controller(fact, reply)
        case ReplyReparsed():
            return fact.role, f"could not be read: {one_line(fact.reason)}; asked again", "warn"
        case Voted():
            unread = f", {fact.unreadable} unreadable" if fact.unreadable else ""
            return "vote", f"{_answer(fact.answer)}   {fact.votes} of {fact.of}{unread}", ""
        case _:
            return _learned(fact)


def _learned(fact: Event) -> Saying:
    """Facts of memory: what was drawn from episodes, and what guided this one. Then the families of facts."""
    match fact:
        case KnowledgeReached(result="fallback"):
            return f"guide {fact.role[:1].upper()}", "kept the previous guidance", "warn"
        case KnowledgeReached():
            again = " again" if fact.result == "regenerated" else ""
            made = f"{plural(fact.bullets, 'bullet')}{again}, from {ranges(fact.items)}"
            return f"guide {fact.role[:1].upper()}", made, "dim"
        case KnowledgeOmitted():
            return f"guide {fact.role[:1].upper()}", f"does without {ranges(fact.items)}", "dim"
        case LessonDistilled():
            line = f"{fact.id} {fact.polarity.upper()}: {headline(fact.text)}"
            return f"lesson {fact.role[:1].upper()}", line, ""
        case LessonDropped():
            return f"lesson {fact.role[:1].upper()}", f"dropped: {one_line(fact.reason)}", "warn"
        case KnowledgeConsolidated():
            made = f"{plural(len(fact.rules), 'rule')}, {fact.new} new"
            read = plural(len(fact.lessons), "lesson")
            tone = "warn" if fact.result == "fallback" else ""
            return f"rules {fact.role[:1].upper()}", f"{fact.result}: {made}, from {read}", tone
        case _:
            if said := searched(fact) or steered(fact) or monitored(fact) or weighed(fact):
                return said
            # A kind that no screen has words for is shown by its fields, rather than left out.
            values = {k: v for k, v in plain(fact).items() if k not in _HIDDEN}
            words = " ".join(f"{name}={one_line(str(value))}" for name, value in values.items())
            return str(getattr(fact, "role", "") or fact.kind.partition(".")[0]), words, ""


def _answer(answer: str | None) -> str:
    return "no answer that can be read" if answer is None else one_line(answer)


def _controller(fact: ControllerActed, reply: Completed | None) -> Saying:
    tone = {"accept": "good", "patch": "note", "restart": "warn"}[fact.action]
    # A Monitor without a fault settles the round. The Controller that acts here was then never
    # asked, so the words name the Monitor, whose reply this is.
    if is_settled(reply):
        return "monitor", f"NO, so ACCEPT {one_line(fact.answer or '')}".rstrip(), tone
    words = fact.action.upper()
    if fact.parse == "fallback":
        return "controller", f"{words} (its reply could not be read)", tone
    if fact.action == "restart":
        advice = decision_of(spoken(reply.text).text).advice if reply is not None else None
        return "controller", words + (f' "{one_line(advice)}"' if advice else ""), tone
    return "controller", words + (f" {one_line(fact.answer)}" if fact.answer else ""), tone


def is_settled(reply: Completed | None) -> bool:
    """Whether what decided is a report without a fault, so that no Controller was asked."""
    return reply is not None and role_of(reply) == "monitor"


def role_of(reply: Completed) -> str:
    """Whose reply it is."""
    return reply.asked.split(" ")[1]


def headline(text: str) -> str:
    """A lesson's first line of content, without its label."""
    # A lesson is written under labels ("Polarity: …", "Action_taken: …"), each of one word; a
    # sentence that merely holds a colon stays whole.
    lines = [line for line in text.splitlines() if line.strip()]
    content = next((line for line in lines if not line.startswith("Polarity:")), "")
    label, colon, rest = content.partition(":")
    return one_line(rest if colon and rest.strip() and " " not in label else content)
