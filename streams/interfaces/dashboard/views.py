"""Views of pages: each turns the live view and a request into the values that a template shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from starlette.exceptions import HTTPException

from schemas.asking import Diverged
from schemas.identity import address_order
from schemas.questions import Complete, Embed, Recall
from schemas.settings import BadSetting
from streams.engine.episode import PolicyChanged
from streams.engine.policies import NoPolicy
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.show.moment import StepView, moment
from streams.interfaces.dashboard import (
    cases,
    episode,
    items,
    learning,
    letters,
    listing,
    numbers,
    overview,
    reviewing,
)
from streams.interfaces.dashboard.live_log import LiveLog
from streams.interfaces.dashboard.words import number_in
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.conditions import UNREADABLE
from streams.runtime.embedded.reading import reading
from streams.views.rows import rows
from streams.views.sheet import EpisodeView, read
from streams.views.states import ASKING

# A view gets what stands behind the question mark of an address, which anybody may have
# typed: what it cannot read it takes for unsaid, and what it does not find is a page with
# status 404, never a defect. It looks under `live_log.looking()`, while no fold moves.
Asked: TypeAlias = Mapping[str, str]
Look: TypeAlias = Callable[[LiveLog, Asked], dict[str, Any]]
STATES: Final = (
    ("", "all"),
    ("running", "running"),
    ("waiting", "waiting"),
    ("asking", ASKING),
    ("parked", "parked"),
    ("cancelled", "cancelled"),
    ("closed", "closed"),
    ("failed", "failed"),
    ("exhausted", "exhausted"),
    ("abstained", "abstained"),
    ("learning", "learning"),
    ("probes", "forks and probes"),
)
STATUSES: Final = ("answered", "abstained", "exhausted", "failed", UNREADABLE)


def before(asked: Asked) -> int:
    """Where a page of a list begins: at the newest unless it is said."""
    found = number_in(asked.get("before", ""))
    return listing.NEWEST if found is None else found


def overview_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """The first page."""
    with live_log.looking() as log:
        return overview.page(live_log, log)


def episodes_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """Episodes, newest first."""
    wanted = {name: asked.get(name, "").strip() for name in ("state", "policy", "domain", "text")}
    with live_log.looking() as log:
        leaf = listing.episodes(log, live_log.state, wanted, before(asked))
        found = live_log.counts.figures
        return {"leaf": leaf, "states": STATES, "wanted": wanted, "figures": found}


def answers_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """Answers, newest first."""
    status = asked.get("status", "")
    with live_log.looking() as log:
        leaf = listing.answers(log, live_log.state, status, before(asked))
        counted = dict(live_log.counts.answers)
    return {"leaf": leaf, "status": status, "statuses": STATUSES, "counted": counted}


def sheet_of(log: SqliteLog, asked: Asked) -> EpisodeView:
    """The episode that is asked for. Raises what is shown as a page of its own."""
    # Commands and pages find an episode by the same words, so that a name can
    # be taken from one to the other.
    sheet = read(log, find_episode(log, asked.get("id") or None))
    if sheet.admitted is None and sheet.learned_from is None:
        raise HTTPException(404, f"{sheet.episode} is no episode")
    return sheet


def title_of(sheet: EpisodeView) -> str:
    """What people call an episode."""
    return listing.name_of(sheet.episode) if sheet.admitted is None else sheet.admitted.problem.id


def episode_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """One episode."""
    with live_log.looking() as log:
        sheet = sheet_of(log, asked)
        return episode.page(log, live_log.state, sheet) | {"title": title_of(sheet)}


def moment_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """One step in full: its policy runs over its record once more, so no lock is held meanwhile."""
    # The log is read through a connection of its own. What is on record of an
    # episode never changes, so nothing is lost without the lock, and a policy
    # that takes seconds holds up no other page.
    at = asked.get("at", "")
    with reading(live_log.path) as log:
        sheet = sheet_of(log, asked)
        found, why = _derived(live_log, log, sheet, at)
    steps = sorted((row.at for row in rows(sheet.numbered)), key=address_order)
    # An address without a step, such as that of a question that waits, has neighbours as well.
    here = address_order(at)
    around = {
        "earlier": next((step for step in reversed(steps) if address_order(step) < here), None),
        "later": next((step for step in steps if address_order(step) > here), None),
    }
    answer = sheet.journal.get(at)
    texts = {} if found.memory is None else {item.id: item for item in found.memory.items}
    return {
        "sheet": sheet,
        "at": at,
        "moment": found,
        "why": why,
        "made": [] if found.row is None else [each for each in found.row.said if each[0] != at],
        "answer": answer,
        "asked_for": _question(found),
        "texts": texts,
        "title": f"{title_of(sheet)} at {at}",
        **around,
    }


def _derived(
    live_log: LiveLog, log: SqliteLog, sheet: EpisodeView, at: str
) -> tuple[StepView, str]:
    """The step with its question, or without and why this build cannot derive it."""
    # Memories that are folded already spare a pass over the log; a fold that is behind, or that
    # failed, may lack the version that the episode pinned.
    scope = "" if sheet.admitted is None else sheet.admitted.scope
    fold = (
        live_log.state.memories.get(scope) if live_log.caught_up and not live_log.failed else None
    )
    try:
        return moment(log, sheet, at, None if fold is None else fold.versions), ""
    # The reply is on record whatever the policy asks by now: the page is
    # shown with it, and says why not more.
    except Diverged as error:
        why = f"the policy asks something else here now: {error}"
    except (PolicyChanged, NoPolicy, BadSetting) as error:
        why = str(error)
    return StepView(at, None, sheet.journal.get(at), None, None), why


def _question(found: StepView) -> list[tuple[str, str]]:
    """The texts of a question, each with who speaks."""
    match found.question:
        case Complete() as question:
            return list(question.messages())
        case Recall() as question:
            return [(f"recall, top {question.top} a role", question.query)]
        case Embed() as question:
            return [(f"text {n}", text) for n, text in enumerate(question.texts, 1)]
        case _:
            return []


def learning_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """Scopes and their versions."""
    with live_log.looking():
        figures = live_log.counts.figures
        return learning.overview(live_log.state, figures, asked.get("scope", ""))


def items_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """Lessons or rules of a scope."""
    with live_log.looking() as log:
        # Whoever comes from the menu has named no scope: the first is as good as
        # any, and never empty-handed.
        scope = asked.get("scope") or next(iter(sorted(live_log.state.memories)), "")
        batches = live_log.counts.figures.batches
        measured = live_log.effects.measured(log, live_log.state, scope)
        return items.items(live_log.state, batches, measured, scope, asked)


def item_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """One lesson or rule."""
    scope, key = asked.get("scope", ""), asked.get("key", "")
    with live_log.looking() as log:
        batches = live_log.counts.figures.batches
        measured = live_log.effects.measured(log, live_log.state, scope)
        found = items.item(live_log.state, log, batches, measured, scope, key)
    if found is None:
        raise HTTPException(404, f"no lesson or rule {key!r} in {scope or 'any scope'}")
    return found | {"title": found["life"].item.id}


def arms_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """Arms and beliefs."""
    with live_log.looking():
        return {"scopes": numbers.arms_page(live_log.state), "spark": numbers.SPARK}


def graph_page(live_log: LiveLog, asked: Asked) -> dict[str, Any]:
    """The graph memory."""
    with live_log.looking():
        return {"scopes": numbers.graph_page(live_log.state)}


PAGES: Final[Mapping[str, Look]] = {
    "overview": overview_page,
    "episodes": episodes_page,
    "episode": episode_page,
    "moment": moment_page,
    "case": cases.case_page,
    "answers": answers_page,
    "learning": learning_page,
    "items": items_page,
    "item": item_page,
    "arms": arms_page,
    "graph": graph_page,
    "reviews": reviewing.reviews_page,
    "review": reviewing.review_page,
    "letters": letters.letters_page,
    "letter": letters.letter_page,
}
