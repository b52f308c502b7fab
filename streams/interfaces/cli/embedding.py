"""The `lessons embed` command: another embedder for a memory that has vectors already."""

from __future__ import annotations

from contextlib import closing

from handlers.learning.embedding import Anew
from schemas.events.learning import EmbedderChanged
from schemas.identity import digest
from schemas.memory import Memory
from state.folds.remeasuring import sought_by
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.setup import Models, backbone_config, embedder_of
from streams.interfaces.cli.show.library import Library, ScopeHistory
from streams.runtime.embedded.queries import episodes
from streams.views.words import plural


def change(
    log: str | None,
    wanted: str,
    *,
    scope: str | None,
    reason: str | None,
    by: str | None,
    yes: bool,
    json: bool,
) -> int:
    """Put the choice on record; the next worker makes the vectors anew. The exit code."""
    by, reason = text_of(by, "--by"), text_of(reason, "--reason")
    name = embedder_of(wanted, backbone_config(Models())).name
    with closing(open_log(log, writes=True)) as opened:
        library = Library.read(opened)
        if scope is None and not any(map(_holds_vectors, library.shelves.values())):
            detail = "no memory of this log holds vectors yet: start a worker with any embedder"
            raise usage(detail, field="EMBEDDER", error="embedder.none")
        shelf = library.one(scope, _holds_vectors)
        memory = _changeable(shelf, name)
        open_ones = episodes.open_in(opened, shelf.scope)
        # An open episode may need a vector by the old embedder, which no worker makes from now on.
        if open_ones and not yes:
            many = plural(len(open_ones), "episode")
            detail = f"{many} of {shelf.scope} are open, {open_ones[0]} among them"
            hint = (
                "Let a worker finish them first; with --yes they are parked if they need a vector"
            )
            raise usage(detail, field="EMBEDDER", error="embedder.open", hint=hint)
        event = EmbedderChanged(scope=shelf.scope, embedder=name, by=by, reason=reason)
        # Each choice is an event of its own. Without the count a way back to an earlier embedder
        # would have the address of the first choice, and be taken for known.
        said = (each.event for each in opened.records("learning", kinds=("embedder.changed",)))
        times = sum(isinstance(e, EmbedderChanged) and e.scope == shelf.scope for e in said)
        address = f"embedder.{digest([name, times])}"
        measured = len(_measures(shelf).lacks)
        opened.publish(commands=[(f"n/{shelf.scope}/-", address, event)])
    lessons = len(memory.embedded())
    if json:
        told = {"scope": shelf.scope, "from": memory.embedder, "to": name}
        out_json(told | {"lessons": lessons, "measured": measured})
    elif name == memory.embedder:
        out(f"{shelf.scope} stays with {name}: what was begun of another change does not count")
    else:
        what = f"{plural(lessons, 'lesson')} and {plural(measured, 'measured text')}"
        out(f"{what} of {shelf.scope} leave {memory.embedder} for {name}")
        out(f"metalogue worker --role embedder={wanted} makes their vectors before anything else")
    return OK


def _holds_vectors(shelf: ScopeHistory) -> bool:
    if shelf.memory.latest.embedder is not None:
        return True
    sought = _measures(shelf)
    return bool(sought.lacks or sought.unsaid)


def _measures(shelf: ScopeHistory) -> Anew:
    """What the newest version measured on vectors: texts, and how many of them nothing says."""
    memory = shelf.memory.latest
    return sought_by(shelf.memory, memory) if memory.learned else Anew()


def _changeable(shelf: ScopeHistory, name: str) -> Memory:
    """The newest version. Raises a usage error where another embedder has nothing to do, or cannot."""
    memory = shelf.memory.latest
    if not _holds_vectors(shelf):
        detail = f"{shelf.scope} holds no vectors yet: start a worker with any embedder"
        raise usage(detail, field="EMBEDDER", error="embedder.none")
    if name == (shelf.memory.changing or memory.embedder):
        detail = f"{shelf.scope} is found by {name} already"
        raise usage(detail, field="EMBEDDER", error="embedder.same")
    # What was measured on vectors has to be measured again, and of these nobody knows on which
    # texts. To guess would change what was learned without a word.
    if memory.embedder is None or _measures(shelf).unsaid:
        what = "of what they are made" if memory.embedder else "by which embedder they are"
        detail = f"an earlier build measured vectors in {shelf.scope} and did not say {what}"
        hint = "Begin another memory: --memory NAME"
        raise usage(detail, field="EMBEDDER", error="embedder.unsaid", hint=hint)
    return memory
