"""One answer as a tree: a line for each try, and which answers are worth showing so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.events.episode import Completed
from schemas.events.learning import Reflected
from schemas.events.reasoning import ControllerActed, KnowledgeReached
from streams.interfaces.cli.show.library import Library
from streams.views.facts import is_settled, says
from streams.views.rows import Row, rows
from streams.views.sheet import EpisodeView
from streams.views.words import ranges

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

QUOTED, SAID = ' "', ': "'
"""Where a quotation begins in what a fact says."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One try of an episode."""

    text: str
    guided: str
    """By which memory item, where there is room for it."""


def branches(sheet: EpisodeView) -> list[Branch]:
    """The tries of an episode, oldest first."""
    tries: dict[int, list[Row]] = {}
    for row in rows(sheet.numbered):
        if row.called and row.round is not None:
            tries.setdefault(row.round, []).append(row)
    found: list[Branch] = []
    for number, steps in tries.items():
        words: list[str] = []
        guide = ""
        for at, fact in ((step.at, fact) for step in steps for _, fact in step.said):
            if not isinstance(fact, KnowledgeReached):
                reply = sheet.journal.get(at)
                heard = reply if isinstance(reply, Completed) else None
                who, what, _ = says(fact, heard)
                # What a model wrote is left out: the tree has a line a try.
                short = f"{who} {what.partition(SAID)[0].partition(QUOTED)[0]}"
                if isinstance(fact, ControllerActed) and fact.action == "accept":
                    # Where the report found no fault, no controller was asked, and none is named.
                    short = "ACCEPT" if is_settled(heard) else f"{who} ACCEPT"
                words.append(short)
            elif fact.role == "reasoner" and fact.items and not guide:
                # A lesson says more of a try than a range of rules, which every try has.
                guide = next((item for item in fact.items if "." in item), ranges(fact.items))
        guided = f"  by {guide}" if guide else ""
        found.append(Branch(f"{number + 1} " + "  ".join(words), guided))
    return found


def examples(log: SqliteLog, library: Library) -> list[str]:
    """Episodes worth showing, best first: put right by advice, under guidance, late in the run."""
    found: list[tuple[Any, str]] = []
    for record in log.records("learning", kinds=("reflected",)):
        event = record.event
        if isinstance(event, Reflected):
            right = library.known(record.episode).outcome == "right"
            # It was found wrong, tried again and found right: what the method is for.
            summary = event.summary
            mended = summary.get("flags") == ["YES", "NO"] and summary.get("actions") == [3, 1]
            lessons = any("." in item for item in event.items)
            worth = (right, mended, lessons, bool(event.items), event.position or 0)
            found.append((worth, record.episode))
    return [episode for _, episode in sorted(found, reverse=True)]
