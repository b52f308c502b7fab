"""The `knowledge show` command: the rules of a memory version."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from handlers.learning.calibrate import calibrated
from handlers.learning.retire import OVERTURNED
from schemas.memory import Memory, MemoryItem
from streams.interfaces.cli.errors import OK
from streams.interfaces.cli.output import out_json
from streams.interfaces.cli.show.library import Library, ScopeHistory, has_items
from streams.interfaces.cli.show.page import Page
from streams.interfaces.cli.show.paste import command
from streams.views.trials import by_itself, trial_line
from streams.views.words import one_line, plural, wrap


def knowledge(log: str | None, *, scope: str | None, at: int | None, json: bool) -> int:
    """Print the rules of each scope that is meant; ``--json`` gives one object."""
    library = Library.of(log)
    shelves = library.chosen(scope, has_items)
    if json:
        out_json({"scopes": [_as_json(library, shelf, shelf.version(at)) for shelf in shelves]})
        return OK
    page = Page()
    for shelf in shelves:
        _scope(page, library, shelf, shelf.version(at))
    if not shelves:
        page.line("nothing learned yet")
    # A command to paste needs an id that is there: the first of what is on the screen.
    rule = next((r for shelf in shelves for r in rules_of(shelf.version(at))), None)
    if rule is not None:
        page.line()
        page.line(("one of them  ", "dim"), command("lessons", "show", rule.id, log=log))
    page.show()
    return OK


def rules_of(memory: Memory) -> list[MemoryItem]:
    """The rules of a memory version, in order."""
    return [item for item in memory.items if item.kind == "rule"]


def _scope(page: Page, library: Library, shelf: ScopeHistory, memory: Memory) -> None:
    """The rules of a scope role by role, those that are retired, and its calibrators."""
    rules, version = rules_of(memory), memory.number
    page.line((shelf.scope, "strong"), f"   {plural(len(rules), 'rule')}, version {memory.name}")
    for role in dict.fromkeys(rule.role for rule in rules):
        page.rule(role)
        for rule in memory.of(role, "rule"):
            lines = wrap(one_line(rule.text), page.width - 6)
            page.line((f"{rule.id:>4}  ", "strong"), lines[0])
            for line in lines[1:]:
                page.line("      ", line)
            uses = shelf.uses_of(rule)
            used = "not used yet"
            if uses:
                used = f"in {plural(len(uses), 'episode')}, {library.right_of(uses)}"
            read = plural(len(shelf.backing(rule, version)), "lesson")
            since = f"since version {shelf.since(rule, version)}, from {read}; {used}"
            page.line("      ", (since, "dim"))
            # That right episodes had a rule says little of it: what was tried without it says more.
            tried = trial_line(memory, rule)
            effects = [effect.line for effect in library.effects(shelf, rule)]
            for line in effects if tried is None else [tried, *effects]:
                page.wrapped(line, indent=6)
    _out_of_prompts(page, memory)
    for line in calibrators_of(memory):
        page.line(("calibrator  ", "dim"), line)


def _out_of_prompts(page: Page, memory: Memory) -> None:
    # What is out of prompts is named with the reason, as nobody restores what they do not see.
    retired = [item for _, item in memory.aside if item.kind == "rule"]
    turned = memory.standing.get(OVERTURNED, ())
    for word, overturned in (("retired", False), ("overturned", True)):
        names = [item.id for item in retired if (item.mark in turned) == overturned]
        if names:
            page.line((f"{word}  ", "dim"), " ".join(names))
    for item in retired:
        said = trial_line(memory, item)
        if said is not None:
            page.wrapped(f"{item.id} {said}", indent=6)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibrator of a version: whose confidence it calibrates, by how many labels, and a few examples."""

    policy: str
    model: str
    source: str
    labels: int
    right: int
    at: dict[str, float | None]


STATED = (0.5, 0.7, 0.9)
"""A calibrator is a curve: what it makes of a few confidences shows whether it lowers or raises them."""


def fitted(memory: Memory) -> list[Fitted]:
    """The calibrators that a memory version pins; null until fitted."""
    # A label that nobody could give counts for no side, and is left out as it is in fitting.
    known = [] if memory.labels is None else [x for x in memory.labels if x.right is not None]
    found: list[Fitted] = []
    # Policies, models and sources of confidence are not alike in how much
    # they boast: each has its own.
    for key in sorted({label.key for label in known}):
        mine = [label.right for label in known if label.key == key]
        at = {f"{c}": calibrated(memory.labels, key, c) for c in STATED}
        found.append(Fitted(key[1], key[3], key[4], len(mine), mine.count(True), at))
    return found


def calibrators_of(memory: Memory) -> list[str]:
    """A line for each."""
    lines: list[str] = []
    for each in fitted(memory):
        said = ", ".join(f"{c} → {p:.2f}" for c, p in each.at.items() if p is not None)
        known = f"{each.right} right of {plural(each.labels, 'label')}"
        lines.append(f"{each.policy} {each.source}: {known}; {said or 'too few to fit'}")
    return lines


def _as_json(library: Library, shelf: ScopeHistory, memory: Memory) -> dict[str, Any]:
    rules, turned = rules_of(memory), memory.standing.get(OVERTURNED, ())
    return {
        "scope": shelf.scope,
        "version": memory.number,
        "revision": memory.revision,
        "state": memory.state(),
        "retired": [item.id for _, item in memory.aside],
        "overturned": [item.id for _, item in memory.aside if item.mark in turned],
        "calibrators": [asdict(each) for each in fitted(memory)],
        "rules": [
            {
                "id": rule.id,
                "role": rule.role,
                "text": rule.text,
                "since": shelf.since(rule, memory.number),
                "lessons": list(shelf.backing(rule, memory.number)),
                "used": len(uses := shelf.uses_of(rule)),
                "outcomes": library.outcomes(uses),
                "effects": [each.as_json for each in library.effects(shelf, rule)],
                "by_itself": by_itself(memory, rule),
            }
            for rule in rules
        ],
    }
