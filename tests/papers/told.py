"""An episode as one would tell it: who was asked what, and what was stated, in order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from textwrap import dedent, shorten, wrap
from typing import Any, cast

from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.registry import find
from schemas.asking import Ask
from schemas.events.base import Event
from schemas.events.codec import encode
from schemas.events.episode import Checked, Completed, Embedded, LimitReached, Recalled
from schemas.events.graph import ToolCalled
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Complete, Embed, Sampling
from state.folds.memory import Learned, next_memory
from tests.reflections import reflected
from tests.scripted import NO_MEMORY, Ran, Script, run

TASK = Task("q1", "What is six times four?", "arithmetic", seed=1)
WIDE, LONG = 112, 40
ANSWERS = (Checked, Completed, Embedded, LimitReached, Recalled, ToolCalled)


def served(
    name: str,
    script: Script,
    memory: Memory = NO_MEMORY,
    *,
    task: Task = TASK,
    calls: int | None = None,
    logprob: float | None = -0.5,
    **values: Any,
) -> Ran[Conclusion]:
    """An episode of a policy as a service runs it, over a script."""
    policy = find(name)
    task = replace(task, memory_version=memory.number)
    settings = policy.settings.resolve("service", values)
    return run(policy.solve(task, settings), script, calls=calls, memory=memory, logprob=logprob)


def member(name: str, outcome: Outcome = "unknown", **summary: Any) -> Member:
    """A problem of a batch, and what its episode left."""
    about = f"What is six times {name}?"
    left = reflected(problem_id=name, domain="arithmetic", problem=about, summary=summary)
    return Member(f"p/arithmetic/{name}/run", left, outcome)


def graded(question: Check) -> Outcome:
    """24 is right, whatever is asked."""
    return "right" if question.answer == "24" else "wrong"


def learnt(
    name: str, members: Sequence[Member], script: Script, memory: Memory = NO_MEMORY, **values: Any
) -> tuple[Memory, Ran[None]]:
    """The memory after a batch, and the episode in which a policy learned from it."""
    policy = find(name)
    batch = Batch("s", memory.number + 1, tuple(members), memory, seed=7)
    calls = values.pop("calls", None)
    settings = policy.settings.resolve("service", values)
    ran = run(policy.learn(batch, settings), script, memory=memory, calls=calls, label=graded)
    kept = Learned()
    for address, event in ran.events:
        kept.feed(address, event)
    return next_memory(memory, kept, batch.number, 1), ran


def thought(text: str, answer: str | None = None) -> str:
    """What a thinker says."""
    state = "OPEN" if answer is None else f"ANSWERED\nFinal_answer: ### {answer} ###"
    return f"Thought: {text}\nState: {state}"


def told(ran: Ran[Any]) -> str:
    """Each question with what it shows, each fact with its figures, behind its address; then what it came to.

    A text that a question shows just as it was last told under this name is told by its name alone, in
    ``(... as before)``, and so are the turns with which the last talk began and a long list of a fact. Whom a
    fact is about is told where that changes. Left out is what is empty, the version of a fact that is the
    first, and how long a reply is waited for.
    """
    asked, telling = dict(ran.asked), Telling()
    said = [f"{at} {telling.line(asked.get(at), event)}" for at, event in ran.events]
    end = [] if ran.result is None else [f"= {_plain(ran.result)}"]
    return wrapped("\n".join([*said, *end]))


def wrapped(text: str) -> str:
    """The lines of a text, each as wide as a page at most."""
    return "\n".join(
        "\n".join(wrap(line, WIDE, subsequent_indent=" " * 8, break_long_words=False))
        for line in text.split("\n")
    )


def lines(text: str) -> str:
    """What a test expects to be told, without the indentation that its place gives it."""
    return dedent(text).strip()


@dataclass
class Telling:
    """What was told so far: the last text of each name, the turns of the last talk, whom the last fact was about."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    turns: tuple[tuple[str, str], ...] = ()
    subject: str = "nobody"

    def line(self, question: Ask[Any] | None, event: Event) -> str:
        """A question and how it ended, or a fact."""
        if question is None or not isinstance(event, ANSWERS):
            return self.fact(event)
        match question:
            case Complete():
                said = self.completion(question)
            case Embed():
                said = _below("embed", *map(_plain, question.texts))
                said = said.replace("\n    ", ": ") if len(question.texts) == 1 else said
            case _:
                values = (
                    (f.name, getattr(question, f.name)) for f in fields(cast("Any", question))
                )
                said = " ".join([type(question).__name__.lower(), *_pairs(values)])
        said += f"\n    no {event.which} are left" if isinstance(event, LimitReached) else ""
        return said + (f": {event.outcome}" if isinstance(event, Checked) else "")

    def fact(self, event: Event) -> str:
        """A fact with its figures."""
        values: dict[str, Any] = json.loads(encode(event))
        kept = {
            name: value for name, value in values.items() if name not in ("kind", "asked", "vector")
        }
        for name, value in kept.items():
            if isinstance(value, list) and self.known(name, _plain(value)):
                kept[name] = "as before"
        if hasattr(event, "subject"):
            subject = kept.pop("subject", None) or "nobody"
            if subject != self.subject:
                kept["subject"] = self.subject = subject
        return " ".join([event.kind, *_pairs(kept.items(), but={("version", 1)})])

    def completion(self, question: Complete) -> str:
        """Who is asked, how, and what is shown that was not told yet."""
        sampling = ((f.name, getattr(question.sampling, f.name)) for f in fields(Sampling))
        own = _pairs(sampling, but=[("timeout_s", question.sampling.timeout_s)])
        draw = f"#{question.draw}" if question.draw else ""
        shown = [(name, _plain(text)) for name, text in question.variables if text]
        known = [name for name, text in shown if self.texts.get(name) == text]
        self.texts.update(shown)
        new = [f"{name}: {text}" for name, text in shown if name not in known]
        talk, before = question.history, len(self.turns)
        if before and talk[:before] == self.turns:
            known.append(f"{before} turns")
        else:
            before = 0
        self.turns = talk
        turns = [f"{who}: {shorten(_plain(text), 90)}" for who, text in talk[before:]]
        same = [f"({', '.join(known)} as before)"] if known else []
        first = " ".join([question.role, question.template.name + draw, *own, *same])
        return _below(first, *new, *turns)

    def known(self, name: str, text: str) -> bool:
        """Whether this long text was the last told under its name, which it is from now on."""
        before, self.texts[name] = self.texts.get(name), text
        return len(text) > LONG and text == before


def _below(first: str, *others: str) -> str:
    return "\n    ".join((first, *others))


def _pairs(values: Iterable[tuple[str, Any]], but: Iterable[tuple[str, Any]] = ()) -> list[str]:
    shown = ((name, value) for name, value in values if (name, value) not in list(but))
    return [
        f"{name}={_plain(v)}"
        for name, v in shown
        if v is not None and v is not False and v not in ("", (), [])
    ]


def _plain(value: Any) -> str:
    match value:
        case str():
            return value.replace("\n", " / ")
        case float():
            return f"{value:.4g}"
        case list() | tuple():
            return f"[{' '.join(map(_plain, cast('list[object]', value)))}]"
        case dict():
            return f"({' '.join(_pairs(cast('dict[str, Any]', value).items()))})"
        case _ if is_dataclass(value):
            return f"({' '.join(_pairs((f.name, getattr(value, f.name)) for f in fields(value)))})"
        case _:
            return str(value)
