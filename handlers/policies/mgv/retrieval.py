"""Retrieval: search while there is hope, wider where there is little evidence; accept less as burden grows.

Source: MGV Algorithm 3, App. B.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handlers.policies.base import Conclusion, Task
from handlers.policies.mgv.attempt import Attempt, Context, assure, end_of, execute, known, surest
from handlers.policies.mgv.feel import feel_knowing, shown_cases
from handlers.policies.mgv.knowledge import Mind, kept_rounds, remember, remind
from handlers.policies.mgv.satisfice import (
    Entry,
    Thresholds,
    decide,
    first_thresholds,
    intensity,
    lowered,
)
from handlers.policies.mgv.settings import RetrievalSettings
from handlers.policies.mgv.signals import Knowing
from handlers.roles.attempter import Way
from schemas.asking import OutOfLimit, Steps
from schemas.events.monitoring import (
    ExperienceKept,
    Intensity,
    SearchSteered,
    ThresholdsSet,
)

# ``seek`` is Algorithm 3 line by line. Memory is searched through the model: a cue is a prompt with
# cases, and what it brings up is an attempt. What a cue once brought up is found again by it, so a
# wider cue has to differ in words.

WAYS: dict[Intensity, Way] = {"standard": "direct", "intensive": "restate"}


@dataclass(slots=True)
class Search:
    """One problem being searched for an answer."""

    task: Task
    settings: RetrievalSettings
    mind: Mind
    first: Thresholds
    now: Thresholds
    entries: list[Entry] = field(default_factory=list[Entry])
    made: list[Attempt] = field(default_factory=list[Attempt])
    """Attempts that were run; a recorded answer that is used again is none."""
    by_cue: dict[str, list[Attempt]] = field(default_factory=dict[str, list[Attempt]])

    @property
    def best(self) -> Attempt | None:
        """The answer of highest confidence, the first of equals."""
        return surest(self.made)


def solve(task: Task, settings: RetrievalSettings) -> Steps[Conclusion]:
    """Searches until an answer is sure enough, none is to be hoped for, or a limit ends it."""
    mind = yield from remember(task, settings)
    recalled = [case for case, _ in mind.near(settings.calibrate_k)]
    first, rungs = first_thresholds(recalled, mind.knowledge, settings)
    yield ThresholdsSet(round=0, confidence=first.confidence, knowing=first.knowing, history=rungs)
    search = Search(task, settings, mind, first, first)
    limit: str | None = None
    try:
        ended, made = yield from seek(search)
    except OutOfLimit as reached:
        ended, limit, made = "limit", reached.which, None
    if settings.consolidation == "end":
        yield kept(search)
    if made is None and settings.on_stop == "best":
        made = search.best
    return end_of(made, ended, limit)


def seek(search: Search) -> Steps[tuple[str, Attempt | None]]:
    """Lines 3 to 29; what ended them and, if one was output, the answer."""
    width: Intensity = "standard"
    for at in range(search.settings.max_rounds):
        yield from bring_to_mind(search, at, width)
        knowing = yield from feel_knowing(search.mind, at, known(search.made))
        width = yield from steer(search, at, knowing)
        if width == "stop":
            return "omission", None
        cue, cases = attend(search, width)
        made = yield from search_auto(search, cue, cases, WAYS[width], at)
        entry = Entry(knowing, cue, made.answer, made.q, search.now.confidence)
        search.entries.append(entry)
        if search.settings.consolidation == "verify":
            yield kept(search)
        chosen = considered(search, made)
        decision = decide(chosen.answer, chosen.q, search.now.confidence, knowing)
        if decision != "continue":
            return ("output", chosen) if decision == "output" else ("omission", None)
        yield lower(search, at)
    return "max_rounds", None


def bring_to_mind(search: Search, at: int, last: Intensity) -> Steps[None]:
    """Later rounds retrieve by the problem and the last answer; more after an intensive one."""
    if at == 0:
        return
    # An intensive search uses all that is in mind: the next is only wider if more comes to mind.
    settings = search.settings
    top = settings.recall_k * (settings.intensive_factor if last == "intensive" else 1)
    answer = search.entries[-1].answer or "no answer"
    yield from remind(search.mind, at, answer, top)


def steer(search: Search, at: int, knowing: Knowing) -> Steps[Intensity]:
    """How intensely to go on; without monitoring always as usual. A service looks once."""
    threshold = search.now.knowing
    width = intensity(knowing, threshold, search.settings.tie)
    looks = at == 0 and search.settings.first_look == "on"
    if search.settings.monitor == "off" or (looks and width == "stop"):
        width = "standard"
    yield SearchSteered(
        round=at,
        intensity=width,
        known=knowing.known,
        unknown=knowing.unknown,
        threshold=threshold,
    )
    return width


def attend(search: Search, width: Intensity) -> tuple[str, str]:
    """The cue: few cases or all in mind. Its name, and the cases as the prompt shows them."""
    mind = search.mind
    most = search.settings.recall_k if width == "standard" else len(mind.held)
    cases = shown_cases(mind, most, right=search.settings.cases == "right")
    return f"{width}\n{cases}", cases


def search_auto(search: Search, cue: str, cases: str, way: Way, at: int) -> Steps[Attempt]:
    """The answer that a cue leads to: an equal cue gives the recorded one, or the next draw of it."""
    # The paper's retrieval is automatic: a cue finds what it found. A model's next sample may be
    # another one, and so a service draws it, for the price of a call (design/mgv.md D15).
    earlier = search.by_cue.setdefault(cue, [])
    if earlier and search.settings.search == "automatic":
        return earlier[-1]
    made = yield from execute(search.mind, way, Context(cases), round=at, draw=len(earlier))
    if made.limit is not None:
        raise OutOfLimit(made.limit)
    earlier.append(made)
    search.made.append(made)
    yield from assure(search.mind, made, at)
    return made


def considered(search: Search, made: Attempt) -> Attempt:
    """The answer up for decision: the best so far, or the last one."""
    # Thresholds fall with every round: what was refused as unsure may be sure enough by now.
    best = search.best if search.settings.reconsider == "on" else None
    return made if best is None else best


def lower(search: Search, at: int) -> ThresholdsSet:
    """Satisficing: the thresholds of the next round."""
    search.now, factor = lowered(search.first, search.now, at, search.entries, search.settings)
    return ThresholdsSet(
        round=at + 1,
        confidence=search.now.confidence,
        knowing=search.now.knowing,
        factor=factor,
    )


def kept(search: Search) -> ExperienceKept:
    """Which rounds of Ω outlast the episode (line 30)."""
    rounds: Sequence[int] = range(len(search.entries))
    return ExperienceKept(
        rounds=kept_rounds(search.task, rounds, search.settings.keep), of=len(rounds)
    )
