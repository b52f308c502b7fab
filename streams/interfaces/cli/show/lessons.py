"""The `lessons` commands: a list, one lesson, and what two memory versions do not share."""

from __future__ import annotations

from typing import Any

from handlers.learning.retire import OVERTURNED, alike
from schemas.identity import learning_id
from schemas.memory import Memory, MemoryItem
from schemas.settings import meant
from streams.interfaces.cli.errors import OK, sentence, usage
from streams.interfaces.cli.finding import one_of
from streams.interfaces.cli.output import out_json
from streams.interfaces.cli.show.arms import arm_of, arms_in, as_json, list_arms, single_arm
from streams.interfaces.cli.show.library import Library, ScopeHistory, Use
from streams.interfaces.cli.show.page import Page
from streams.interfaces.cli.show.paste import command
from streams.views.facts import headline
from streams.views.trials import by_itself, trial_line
from streams.views.words import clean, count, one_line, pad, plural

USES_SHOWN = 8
OUT = {
    "retired": "in no prompt until it is restored",
    "overturned": "in no prompt while the outcomes that it was learned under are turned around",
}
"""What it means for an item to be out of service."""
TONES = {"do": "good", "avoid": "warn", "both": "note"}


def listed(
    log: str | None, *, scope: str | None, role: str | None, at: int | None, json: bool
) -> int:
    """Print the live lessons and the arms of each scope that is meant."""
    library = Library.of(log)
    shelves = library.chosen(scope)
    _check_role(shelves, role)
    if json:
        for shelf in shelves:
            for item in _live(shelf.version(at), role):
                out_json(_as_json(library, shelf, item))
            for arm in () if role else arms_in(shelf.version(at)):
                out_json(as_json(shelf.scope, arm))
        return OK
    page = Page()
    for shelf in shelves:
        memory = shelf.version(at)
        if shelf.lessons or not arms_in(memory):
            _list(page, library, shelf, memory, role)
        if arms_in(memory) and not role:
            list_arms(page, shelf, memory)
    if not shelves:
        page.line("no lessons yet")
    elif (first := next(iter(_live(shelves[0].version(at), role)), None)) is not None:
        page.line()
        page.line(("one of them  ", "dim"), command("lessons", "show", first.id, log=log))
    page.show()
    return OK


def _check_role(shelves: list[ScopeHistory], role: str | None) -> None:
    """Raises a usage error where no lesson was ever learned for a role that is wanted."""
    # A role without a lesson now is an empty list; one that never had any is a slip of the pen.
    ever = {event.role for shelf in shelves for _, event in shelf.lessons.values()}
    if role is not None and ever and role not in ever:
        raise usage(f"no lessons for {role!r}", field="--role", hint=sentence(meant(role, ever)))


def _live(memory: Memory, role: str | None) -> list[MemoryItem]:
    return [i for i in memory.items if i.kind == "lesson" and role in (None, i.role)]


def _list(
    page: Page, library: Library, shelf: ScopeHistory, memory: Memory, role: str | None
) -> None:
    live = _live(memory, role)
    ever = sum(role in (None, event.role) for _, event in shelf.lessons.values())
    turned = memory.standing.get(OVERTURNED, ())
    aside = [
        item for _, item in memory.aside if item.kind == "lesson" and role in (None, item.role)
    ]
    overturned = [item.id for item in aside if item.mark in turned]
    retired = len(aside) - len(overturned)
    out = f", {retired} retired" if retired else ""
    out += f", {len(overturned)} overturned" if overturned else ""
    head = f"{len(live)} live{out} of {plural(ever, 'lesson')}, version {memory.name}"
    page.line((shelf.scope, "strong"), f"   {head}")
    if overturned:
        page.wrapped(f"overturned: {' '.join(overturned)}")
    if not live:
        return
    page.line(
        (f"{'id':<8} {'role':<10} {'kind':<5} {'from':<9} {'used':>5} {'right':>5}  says", "dim")
    )
    for item in live:
        uses = shelf.uses_of(item)
        found = library.outcomes(uses)
        # Uses that nobody graded are no wrong ones: of how many it is right stands beside it then.
        right, graded = found.get("right", 0), len(uses) - found.get("unknown", 0)
        said = count(right) if graded == len(uses) else f"{right}/{graded}"
        page.line(
            (pad(item.id, 8), "strong"),
            f" {pad(item.role, 10)} ",
            (pad(item.polarity or "", 5), TONES.get(item.polarity or "", "")),
            f" {pad(clean(item.subject.rpartition('/')[2]), 9)} {count(len(uses)):>5} ",
            f"{said if uses else '':>5}  ",
            pad(headline(item.text), page.width - 49),
        )
        for effect in library.effects(shelf, item):
            page.wrapped(effect.line, indent=9)


def _as_json(library: Library, shelf: ScopeHistory, item: MemoryItem) -> dict[str, Any]:
    uses = shelf.uses_of(item)
    return {
        "id": item.id,
        "scope": shelf.scope,
        "kind": item.kind,
        "role": item.role,
        "polarity": item.polarity,
        "batch": item.batch,
        "subject": item.subject,
        "evidence": list(item.evidence),
        "text": item.text,
        "retired": shelf.is_retired(item),
        "overturned": shelf.is_overturned(item),
        "used": len(uses),
        "outcomes": library.outcomes(uses),
        "effects": [each.as_json for each in library.effects(shelf, item)],
        "by_itself": by_itself(shelf.memory.latest, item),
    }


# ── One lesson, or one rule ──────────────────────────────────────────────────────────────────


def single(log: str | None, wanted: str, *, scope: str | None, json: bool) -> int:
    """Print one lesson, rule or arm in full."""
    library = Library.of(log)
    shelf = library.one(scope)
    wanted = one_of(wanted, shelf.ids()) or wanted
    # Arms, lessons and rules share these commands, since a person who follows an id from an episode
    # does not know which of them it names.
    arm = arm_of(shelf.memory.latest, wanted)
    if arm is not None:
        if json:
            out_json(as_json(shelf.scope, arm))
        else:
            single_arm(shelf, arm).show()
        return OK
    held = [
        (number, item)
        for number, memory in sorted(shelf.memory.versions.items())
        for item in memory.whole()
        if item.id == wanted
    ]
    if not held and wanted in shelf.lessons:
        # Of a lesson that no version holds any more the text is not shown, though the log has it:
        # somebody may have asked that it be forgotten.
        subject = shelf.lessons[wanted][1].subject
        forgot = subject in shelf.memory.forgetting.subjects.values()
        why = f"withdrawn, since {subject} was forgotten" if forgot else "in no memory version"
        raise usage(f"{wanted}: {why}", field="ID", error="lesson.withdrawn")
    if not held:
        raise shelf.no_such(wanted, log)
    # A rule keeps its id when it is rewritten: shown is its newest text, and where that stands.
    item = held[-1][1]
    found = [number for number, other in held if other.text == item.text]
    if json:
        episodes = [
            {
                "episode": use.episode,
                "memory_version": use.version,
                "outcome": library.known(use.episode).outcome,
                "graded": library.standing(use.episode),
            }
            for use in shelf.uses_of(item)
        ]
        versions = {"live_from": found[0], "live_to": found[-1]}
        out_json(_as_json(library, shelf, item) | versions | {"uses": episodes})
        return OK
    _single(library, shelf, item, found[0], found[-1], log).show()
    return OK


def _single(
    library: Library, shelf: ScopeHistory, item: MemoryItem, first: int, last: int, log: str | None
) -> Page:
    """The screen: what it says, where it came from, who used it, what it was found to be worth."""
    page = Page()
    kind = item.kind if item.polarity is None else f"{item.kind}, {item.polarity.upper()}"
    newest = shelf.memory.latest.number
    until = "now" if last == newest else str(last)
    page.line((item.id, "strong"), f"  {kind} for the {item.role}   in versions {first} to {until}")
    page.line((shelf.scope, "dim"))
    if shelf.is_retired(item):
        word = "overturned" if shelf.is_overturned(item) else "retired"
        page.line((word, "warn"), f"   {OUT[word]}")
    page.line()
    for line in clean(item.text).split("\n"):
        page.wrapped(line, indent=2)
    page.line()
    for episode in item.evidence:
        page.line(("from  ", "dim"), f"{episode}   ", library.outcome(episode))
    if item.kind == "rule":
        backing = " ".join(shelf.backing(item, last)) or "no lessons"
        page.wrapped(f"written after batch {shelf.since(item, last)} from {backing}")
    _uses(page, library, shelf.uses_of(item))
    effects = library.effects(shelf, item)
    tried = trial_line(shelf.memory.latest, item)
    worth = [effect.line for effect in effects] + ([] if tried is None else [tried])
    for line in worth:
        page.wrapped(line)
    if not worth:
        # Right answers stand beside a lesson whether or not it helped, so no use of it is evidence.
        page.line(("effect  ", "dim"), "not measured: that it was shown says nothing of its worth")
    # Lessons that say the same have one standing: retiring one of them retires the others as well.
    again = alike(shelf.memory.latest.standing, item.mark)
    if again:
        page.wrapped(f"says the same as {' '.join(again)}: judged and measured as one")
    page.line()
    if item.evidence:
        page.line(("its episode  ", "dim"), command("show", item.evidence[0], log=log))
    taught = learning_id(shelf.scope, item.batch)
    page.line(("learned in   ", "dim"), command("show", taught, log=log))
    # Measuring takes calls: it is offered where nobody has paid for it yet.
    if not effects:
        page.line(("its effect   ", "dim"), command("effect", "lesson", item.id, log=log))
    return page


def _uses(page: Page, library: Library, uses: list[Use]) -> None:
    """In which episodes it was, and what became of them."""
    if not uses:
        page.line(("used  ", "dim"), "in no episode yet")
        return
    counted = ", ".join(f"{number} {name}" for name, number in library.standings(uses).items())
    page.line(("used  ", "dim"), f"in {plural(len(uses), 'episode')}: {counted}")
    for use in uses[:USES_SHOWN]:
        named = f"      {use.episode}   version {use.version}   "
        page.line(named, library.outcome(use.episode))
    if len(uses) > USES_SHOWN:
        page.line((f"      and {len(uses) - USES_SHOWN} more: --json lists them", "dim"))


# ── Two versions ─────────────────────────────────────────────────────────────────────────────


def difference(log: str | None, old: int, new: int, *, scope: str | None, json: bool) -> int:
    """Print what was added, withdrawn and rewritten between two memory versions."""
    library = Library.of(log)
    shelf = library.one(scope)
    before = {i.id: i for i in shelf.version(old, "V1").items}
    after = {i.id: i for i in shelf.version(new, "V2").items}
    added = [item for name, item in after.items() if name not in before]
    gone = [item for name, item in before.items() if name not in after]
    # Items of the same id and another text are rewritten; what only moved in
    # the list is no difference.
    changed = [(before[n], i) for n, i in after.items() if n in before and before[n].text != i.text]
    if json:
        rewritten = [{"id": b.id, "role": b.role, "old": a.text, "new": b.text} for a, b in changed]
        sides = {name: [_as_json(library, shelf, i) for i in items] for name, items in
                 (("added", added), ("gone", gone))}  # fmt: skip
        out_json({"scope": shelf.scope, "old": old, "new": new, **sides, "changed": rewritten})
        return OK
    page = Page()
    page.line((shelf.scope, "strong"), f"   version {old} → {new}")
    for sign, tone, items in (("+", "good", added), ("-", "bad", gone)):
        for item in items:
            said = headline(item.text) if item.kind == "lesson" else one_line(item.text)
            page.line(
                (f"{sign} {pad(item.id, 8)}", tone),
                f" {pad(item.role, 10)} ",
                pad(said, page.width - 22),
            )
    for past, now in changed:
        page.line((f"~ {pad(now.id, 8)}", "warn"), f" {now.role}")
        for sign, tone, text in (("-", "bad", past.text), ("+", "good", now.text)):
            page.line("    ", (f"{sign} ", tone), pad(one_line(text), page.width - 6))
    if not (added or gone or changed):
        page.line("no difference")
    page.show()
    return OK
