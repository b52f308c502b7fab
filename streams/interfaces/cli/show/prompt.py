"""The screen of one address: the prompt, the reply and the facts drawn from it, each in full."""

from __future__ import annotations

import orjson

from schemas.events.base import Event
from schemas.events.codec import plain
from schemas.events.episode import Completed, Recalled
from schemas.questions import Complete, Embed, Recall
from streams.interfaces.cli.show.moment import StepView
from streams.interfaces.cli.show.page import Page
from streams.views.sheet import EpisodeView
from streams.views.words import clean, joined, one_line, pad


# Everything here is whole: the other screens cut, and this is where a person comes to read what was
# cut. Only what could steer a terminal is taken out of texts.
def page_of(sheet: EpisodeView, moment: StepView) -> Page:
    """The whole screen."""
    page = Page()
    _header(page, sheet, moment)
    match moment.question:
        case Complete() as question:
            for speaker, text in question.messages():
                page.rule(speaker)
                _full(page, text)
        case Recall() as question:
            page.rule("recall", f"top {question.top} lessons a role, {', '.join(question.kinds)}")
            _full(page, question.query)
        case Embed() as question:
            for number, text in enumerate(question.texts, 1):
                page.rule(f"text {number}")
                _full(page, text)
        case _:
            pass
    _reply(page, moment)
    return page


def _header(page: Page, sheet: EpisodeView, moment: StepView) -> None:
    """Whose step it was, and of a call with which template and sampling."""
    name = sheet.admitted.problem.id if sheet.admitted is not None else sheet.episode
    words: list[str] = []
    question = moment.question
    if isinstance(question, Complete):
        asked = question.sampling
        sampling = {
            "temperature": asked.temperature,
            "top_p": asked.top_p,
            "at most": None if asked.max_tokens is None else f"{asked.max_tokens:,} tokens",
        }
        words += [question.role, f"template {question.template.name} {question.template.digest}"]
        words.append(f"draw {question.draw}")
        # What is not set is the endpoint's own to choose: nothing is said of it
        # rather than a guess.
        words += [f"{each} {value}" for each, value in sampling.items() if value is not None]
    elif moment.answer is not None:
        words.append(moment.answer.kind)
    if moment.row is not None and moment.row.round is not None:
        words.insert(1, f"try {moment.row.round + 1}")
    page.line((clean(name), "strong"), f" at {moment.at}   ", "   ".join(words[:2]))
    for line in joined(words[2:], page.width):
        page.line((line, "dim"))


def _reply(page: Page, moment: StepView) -> None:
    """The answer in full, and of a call the facts that were drawn from it."""
    match moment.answer:
        case None:
            page.rule("no reply yet")
        case Completed() as answer:
            tokens = (answer.prompt_tokens, answer.completion_tokens)
            inside, outside = ("–" if n is None else f"{n:,}" for n in tokens)
            took = "" if answer.seconds is None else f", {answer.seconds:.1f} s"
            took += "" if answer.attempts < 2 else f", {answer.attempts} attempts"
            cut = ", cut at the size cap" if answer.truncated else ""
            said = f"{answer.finish}, {inside} in {outside} out{took}{cut}"
            page.rule("reply", f"{one_line(answer.model)}, {said}")
            _full(page, answer.text or answer.detail or "(nothing)")
            for at, fact in moment.row.said if moment.row is not None else ():
                page.rule(f"{fact.kind} at {at}")
                _fields(page, fact)
        case Recalled() as answer:
            page.rule("recalled", f"memory version {answer.memory_version}")
            held = () if moment.memory is None else moment.memory.items
            # The record names texts by their digests: an item that was rewritten
            # since is another one.
            texts = {(item.id, item.text_digest): item for item in held}
            for name, digest, similarity in answer.items:
                item = texts.get((name, digest))
                near = "" if similarity is None else f"cosine {similarity:.4f}"
                role = pad(item.role if item else "", 12)
                page.line((pad(name, 9), "strong"), role, (near, "dim"))
                _full(page, item.text if item else "(not in this memory)", "  ")
        case answer:
            page.rule(answer.kind)
            _fields(page, answer)


def _full(page: Page, text: str, indent: str = "") -> None:
    for line in clean(text).split("\n"):
        page.line(indent, line)


def _fields(page: Page, event: Event) -> None:
    for name, value in plain(event).items():
        if name not in ("kind", "version"):
            said = value if isinstance(value, str) else orjson.dumps(value).decode()
            page.line((pad(name, 18), "dim"), one_line(said) if "\n" not in said else "")
            if "\n" in said:
                _full(page, said, "  ")
