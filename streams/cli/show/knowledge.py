"""The `knowledge show` command: the rules of a memory version."""

from __future__ import annotations

from typing import Any

from schemas.memory import Memory, MemoryItem
from streams.cli.common import out_json
from streams.cli.errors import OK
from streams.cli.show.library import Library, Shelf
from streams.cli.show.page import Page
from streams.cli.show.paste import command
from streams.cli.show.words import one_line, plural, wrap


def knowledge(log: str | None, *, scope: str | None, at: int | None, json: bool) -> int:
    """Print the rules of each scope that is meant; ``--json`` gives one object."""
    library = Library.of(log)
    shelves = library.chosen(scope)
    if json:
        out_json({"scopes": [_as_json(library, shelf, shelf.version(at)) for shelf in shelves]})
        return OK
    page = Page()
    for shelf in shelves:
        _rules(page, library, shelf, shelf.version(at))
    if not shelves:
        page.line("nothing learned yet")
    rule = next((r for shelf in shelves for r in rules_of(shelf.version(at))), None)
    if rule is not None:
        page.line()
        page.line(("one of them  ", "dim"), command("lessons", "show", rule.id, log=log))
    page.show()
    return OK


def rules_of(memory: Memory) -> list[MemoryItem]:
    """The rules of a memory version, in order."""
    return [item for item in memory.items if item.kind == "rule"]


def _rules(page: Page, library: Library, shelf: Shelf, memory: Memory) -> None:
    rules = rules_of(memory)
    page.line((shelf.scope, "strong"), f"   {plural(len(rules), 'rule')}, version {memory.number}")
    for role in dict.fromkeys(rule.role for rule in rules):
        page.rule(role)
        for rule in memory.of(role, "rule"):
            _rule(page, library, shelf, rule, memory.number)


def _rule(page: Page, library: Library, shelf: Shelf, rule: MemoryItem, version: int) -> None:
    lines = wrap(one_line(rule.text), page.width - 6)
    page.line((f"{rule.id:>4}  ", "strong"), lines[0])
    for line in lines[1:]:
        page.line("      ", line)
    uses = shelf.uses_of(rule)
    right = library.outcomes(uses).get("right", 0)
    used = f"in {plural(len(uses), 'episode')}, {right} right" if uses else "not used yet"
    read = plural(len(shelf.backing(rule, version)), "lesson")
    page.line("      ", (f"since version {shelf.since(rule, version)}, from {read}; {used}", "dim"))


def _as_json(library: Library, shelf: Shelf, memory: Memory) -> dict[str, Any]:
    rules = rules_of(memory)
    return {
        "scope": shelf.scope,
        "version": memory.number,
        "state": memory.state(),
        "rules": [
            {
                "id": rule.id,
                "role": rule.role,
                "text": rule.text,
                "since": shelf.since(rule, memory.number),
                "lessons": list(shelf.backing(rule, memory.number)),
                "used": len(uses := shelf.uses_of(rule)),
                "outcomes": library.outcomes(uses),
            }
            for rule in rules
        ],
    }
