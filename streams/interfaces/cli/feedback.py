"""Feedback from a file: each line is checked and published; what is refused is kept as it came."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from schemas.identity import canonical, digest
from schemas.letters import errors_of
from schemas.problem import Feedback
from schemas.written import feedback_of
from streams.interfaces.cli.dead_letters import option
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.letters import kept_as
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import flush, out, out_json, say
from streams.interfaces.cli.refusals import Refusals
from streams.producing.sources import BadLine, NoSource, SourceLine, built_in, lines_of, parse_as
from streams.producing.subjects import UNREAD, Subjects
from streams.producing.typed import need_fit
from streams.runtime.embedded.queries.problems import is_put
from streams.runtime.room import need_room

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TOPIC = "feedback"
BATCH = 1_000
SHOWN = 3


@dataclass(slots=True)
class Told:
    """Counts of what became of the lines."""

    refusals: Refusals
    published: int = 0
    known: int = 0
    refused: int = 0
    refusing: list[tuple[SourceLine, BadLine]] = field(
        default_factory=list[tuple[SourceLine, BadLine]]
    )
    waiting: list[Feedback] = field(default_factory=list[Feedback])
    verdicts: dict[str, Feedback] = field(default_factory=dict[str, Feedback])
    """Verdicts that were known, by their names."""
    episodes: set[str] = field(default_factory=set[str])
    problems: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Episodes that were named, and problems by domain and id."""


def message(feedback: Feedback) -> tuple[str, str, dict[str, Any], bytes]:
    """Feedback as a message, keyed by its content: saying it twice is saying it once."""
    value = feedback.model_dump(mode="json", exclude_none=True)
    return TOPIC, digest(value), {}, canonical(value)


def feedback(source: str, *, log: str | None, json: bool) -> int:
    """Publish a file of judgements, or standard input (``-``); the exit code."""
    if built_in(source):
        raise usage(f"{source}: no such file", field="FILE", error="input.source")
    opened = open_log(log, writes=True)
    kept = f"Each is a dead letter: metalogue dlq list{option(log)}"
    told = Told(Refusals(source, kept))
    try:
        # Line by line and not as a whole, since standard input may be a pipe that lasts: what was
        # read is on the log after a batch.
        for line in lines_of(source, None):
            try:
                said = parse_as(Feedback, line.raw)
                if said.mark is not None:
                    raise BadLine(1, "mark", "is made by the log itself", "input.field")
                Subjects(opened).need_key(line.raw)
                need_room(opened.room, label=said)
                need_fit(opened, said)
                told.waiting.append(said)
            except BadLine as error:
                told.refused += 1
                told.refusing.append((line, error))
            if len(told.waiting) + len(told.refusing) >= BATCH:
                _publish(opened, source, told)
        _publish(opened, source, told)
        told.refusals.sum_up(taken=bool(told.published or told.known))
        # A judgement may come before its episode, but a misspelt name would wait for ever.
        known = opened.holding(told.episodes, "admitted") | opened.holding(told.episodes, "taken")
        if unknown := sorted(told.episodes - known):
            named = ", ".join(unknown[:SHOWN]) + (", …" if len(unknown) > SHOWN else "")
            say(f"{len(unknown)} of the episodes that are named are not on this log: {named}")
            say("  What was said of them is kept, and counts once they are.")
        _say_what_is_unknown(opened, told)
        _say_what_is_overruled(opened, told)
    except NoSource as error:
        raise usage(str(error), field="FILE", error="input.source") from error
    finally:
        opened.close()
    figures = {name: getattr(told, name) for name in ("published", "known", "refused")}
    if json:
        out_json(figures)
    else:
        out(" ".join(f"{name} {number}" for name, number in figures.items()))
    flush()
    return FAILED if told.refused else OK


def _say_what_is_unknown(log: SqliteLog, told: Told) -> None:
    """Say of which problems nobody has heard here: labels may come first, but a misspelt id would wait for ever."""
    unknown = sorted(id for domain, id in told.problems if not is_put(log, domain, id))
    if unknown:
        named = ", ".join(unknown[:SHOWN]) + (", …" if len(unknown) > SHOWN else "")
        say(f"{len(unknown)} of the problems that are named are not on this log: {named}")
        say("  What was said of them is kept, and counts once they are.")


def _publish(log: SqliteLog, source: str, told: Told) -> None:
    subjects = Subjects(log)
    keys: list[str] = []
    letters: list[tuple[str, str, dict[str, Any], bytes]] = []
    for line, error in told.refusing:
        name, raw = subjects.letter(line.raw, None)
        # The place and the content together: the same file given again makes no second letter, and
        # another line at the same place does.
        keys.append(f"{TOPIC}:{source}:{line.number}:{name}")
        # Of a line that nobody could read it is unknown whom it is about. What is wrong with it
        # would quote it in the clear, where no erasure reaches: only the code is kept.
        headers = errors_of(
            TOPIC,
            source=source,
            offset=line.number,
            exception=error.code,
            message=error.code if name == UNREAD else str(error),
        )
        letters.append(("dead-letters", keys[-1], headers, raw))
    # Kept before any is told of, in one commit: what is told names the letter's number.
    if letters:
        log.publish(letters)
    for key, (line, error) in zip(keys, told.refusing, strict=True):
        if told.refusals.counts(error):
            hint = "Mend the line, then give the file again: what is known is skipped."
            told.refusals.tell(
                error, f"{source}:{line.number}", f"{kept_as(log, key, line)} {hint}"
            )
    told.refusing.clear()
    messages = [message(each) for each in told.waiting]
    for each, (_, name, _, _) in zip(told.waiting, messages, strict=True):
        # Asked before publishing, for afterwards every name is known.
        if each.judges(None) and each.reference is None and log.has_message(TOPIC, name):
            told.verdicts[name] = each
        if each.episode is not None:
            told.episodes.add(each.episode)
        else:
            told.problems.add((each.domain or "", each.problem_id or ""))
    new = log.publish(messages)
    told.published += new
    told.known += len(messages) - new
    told.waiting.clear()


def _say_what_is_overruled(log: SqliteLog, told: Told) -> None:
    """A verdict that was known before says nothing new, although another came after it."""
    if not told.verdicts:
        return
    # The log is read from its beginning, and only where there is doubt: verdicts are few.
    newest: dict[tuple[str | None, ...], str] = {}
    for _, name, _, value in log.messages(TOPIC):
        with suppress(ValidationError):
            said = feedback_of(value)
            if said.reference is None and said.judges(None):
                newest[_subject(said)] = name
    overruled = sum(newest.get(_subject(each)) != name for name, each in told.verdicts.items())
    if overruled:
        say(f"{overruled} known, and a later verdict on the same answer stands.")
        say('  To overrule it give the line again with "at", the time when it was judged.')


def _subject(said: Feedback) -> tuple[str | None, ...]:
    return said.domain, said.problem_id, said.episode
