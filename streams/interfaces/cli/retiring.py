"""The `lessons retire` and `lessons restore` commands: a person's word on a memory item or an arm."""

from __future__ import annotations

from contextlib import closing
from typing import Literal

from handlers.learning.bandits import mark_of
from schemas.events.learning import KnowledgeRevised
from schemas.identity import digest
from streams.interfaces.cli.errors import OK, CliError, usage
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.show.arms import arm_of, arms_in
from streams.interfaces.cli.show.library import Library, ScopeHistory

Change = Literal["retired", "restored"]


def revise(
    log: str | None,
    wanted: str,
    change: Change,
    *,
    scope: str | None,
    reason: str | None,
    by: str | None,
    json: bool,
) -> int:
    """Put the word on record; the next memory version heeds it. The exit code."""
    by, reason = text_of(by, "--by"), text_of(reason, "--reason")
    with closing(open_log(log, writes=True)) as opened:
        shelf = Library.read(opened).one(scope)
        latest = shelf.memory.latest
        mark = _arm(shelf, wanted, change)
        if mark is None:
            live = [item for item in latest.items if item.id == wanted]
            aside = [item for _, item in latest.aside if item.id == wanted]
            found, other = (live, aside) if change == "retired" else (aside, live)
            if not found:
                where = f" in version {latest.name}"
                raise (
                    _said_already(wanted, change) if other else shelf.no_such(wanted, where=where)
                )
            mark = found[-1].mark
        event = KnowledgeRevised(
            scope=shelf.scope, item=wanted, name=mark, change=change, by=by, reason=reason
        )
        # Each word is an event of its own. Without the count, who retires what was restored would
        # repeat the address of the first word, and nothing would be put on record.
        records = opened.records("learning", kinds=("knowledge.revised",))
        words = [each.event for each in records if isinstance(each.event, KnowledgeRevised)]
        said = sum(each.scope == shelf.scope and each.name == mark for each in words)
        address = f"revised.{digest(opened.keyed(shelf.scope, [mark, said]))}"
        opened.publish(commands=[(f"n/{shelf.scope}/-", address, event)])
    if json:
        out_json({"scope": shelf.scope, "item": wanted, "change": change, "version": latest.name})
    else:
        out(f"{wanted} {change} in {shelf.scope}, from the version after {latest.name} on")
    return OK


def _arm(shelf: ScopeHistory, wanted: str, change: Change) -> str | None:
    """The name of an arm in the newest version. Raises a usage error where the word would say nothing.

    What was said since that version counts already: the last arm in service is not retired.
    """
    latest = shelf.memory.latest
    if arm_of(latest, wanted) is None:
        return None
    words = {word.name: word.change for word in shelf.memory.words.values()}
    out = {
        arm["id"]
        for arm in arms_in(latest)
        if words.get(mark_of(arm["id"]), "retired" if arm.get("retired") else "") == "retired"
    }
    if (wanted in out) == (change == "retired"):
        raise _said_already(wanted, change)
    # A bandit without an arm could not choose, and every later episode would fail.
    if change == "retired" and len(out) + 1 == len(arms_in(latest)):
        detail = f"{wanted} is the last arm in service: restore another one first"
        raise usage(detail, field="ID", error="lesson.revised")
    return mark_of(wanted)


def _said_already(wanted: str, change: Change) -> CliError:
    detail = f"{wanted} is {'retired already' if change == 'retired' else 'not retired'}"
    return usage(detail, field="ID", error="lesson.revised")
