"""Figures as lines: the bar, the totals, and a table of batches with their accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from streams.interfaces.cli.show.page import Page, Span
from streams.telemetry.figures import BatchFigures, Figures, Spent
from streams.views.words import clean, clock, cost, cut, joined, kilo, one_line, plural, spark

HEAD = "batch  right  calls  tokens  lessons"


def board(figures: Figures, running: int, elapsed: float, width: int) -> Page:
    """What is shown while a worker works."""
    page = Page(width=min(max(width, 40), 100))
    bar(page, figures, elapsed, f"running {running}")
    totals(page, figures)
    batches = figures.worked
    if batches:
        last = batches[-1]
        said = f"{last.right}/{last.graded} right" if last.graded else f"{last.members} members"
        learned = f"batch {last.number}: {said}, {plural(last.lessons, 'lesson')}"
        rules = sum(figures.rules.values())
        so_far = f"{plural(figures.lessons, 'lesson')}, {plural(rules, 'rule')}"
        for line in joined((so_far, learned), page.width - 9):
            page.line(("learned  ", "dim"), line)
    latest(page, figures)
    waits(page, figures)
    return page


def bar(page: Page, figures: Figures, elapsed: float, note: str) -> None:
    """How far it is, since when, and a note."""
    # The bar takes what the words leave, and at least so much that it can be seen to move.
    left = f"closed {figures.closed:,}/{figures.total:,} "
    right = f" {clock(elapsed)}   {note}  failed {figures.failed}"
    room = max(page.width - len(left) - len(right), 8)
    done = room * figures.closed // max(figures.total, 1)
    failed: Span = (f"{figures.failed}", "bad" if figures.failed else "")
    page.line(
        left,
        ("━" * done, "good"),
        ("─" * (room - done), "dim"),
        right.removesuffix(failed[0]),
        failed,
    )


def totals(page: Page, figures: Figures) -> None:
    """Calls, tokens and cost of solving, and of learning apart."""
    # Apart, since papers count the calls of solving alone, and whoever pays counts both.
    solving, learning = figures.solving, figures.learning
    calls, tokens = f"calls {solving.calls:,}", f"tokens {kilo(solving.known_tokens)}"
    if learning.calls:
        calls += f" + {learning.calls:,} learning"
        tokens += f" + {kilo(learning.known_tokens)}"
    parts = [calls, tokens]
    parts.append(cost((figures.solving + figures.learning).known_cost))
    parts.append(f"repeated calls {figures.repeated}")
    if figures.probing.calls:
        parts.append(f"probes {plural(figures.probing.calls, 'call')}")
    if figures.parked:
        parts.append(f"parked {figures.parked}")
    for line in joined(parts, page.width, "  "):
        page.line(line)


def latest(page: Page, figures: Figures) -> None:
    """The answer that came last."""
    # What came last is enough to see that work goes on; a list would scroll
    # away what else is shown.
    found = figures.latest
    if found is not None:
        said = one_line(found.answer) if found.answer is not None else found.status
        name = clean(found.episode.split("/")[2])
        calls = plural(found.calls, "call")
        shown = cut(f"{name} → {said}", page.width - 12 - len(calls))
        page.line(("latest   ", "dim"), f"{shown}   ", (calls, "dim"))


def waits(page: Page, figures: Figures) -> None:
    """Why calls wait, an endpoint each."""
    for said in figures.waits:
        page.line(("waits    ", "dim"), cut(said, page.width - 9))


def plain_line(figures: Figures, running: int) -> str:
    """The same on one line, for logs."""
    spent = figures.solving + figures.learning
    said = (
        f"closed {figures.closed}/{figures.total}  running {running}  failed {figures.failed}  "
        f"calls {spent.calls}  tokens {kilo(spent.known_tokens)}  batches {figures.versions}  "
        f"lessons {figures.lessons}  repeated {figures.repeated}"
    )
    learning = [f"learning batch {each.number} of {each.scope}" for each in figures.learnt_from]
    return "  ".join((said, *learning, *(f"waits: {each}" for each in figures.waits)))


# ── The table of batches ─────────────────────────────────────────────────────────────────────


def table(page: Page, found: Sequence[BatchFigures]) -> None:
    """Batches in two columns, their sum, and accuracy as a line of bars."""
    half = max(-(-len(found) // 2), 1)
    page.line((f"{HEAD}  │  {HEAD}", "dim"))
    for at in range(half):
        left = _row(found[at]) if at < len(found) else " " * len(HEAD)
        beside = _row(found[at + half]) if at + half < len(found) else ""
        page.line(left, ("  │  ", "dim"), beside)
    spent = sum((one.spent for one in found), Spent())
    right, graded = sum(one.right for one in found), sum(one.graded for one in found)
    lessons = sum(one.lessons for one in found)
    everything = _line("all", f"{right}/{graded}", spent, lessons)
    page.line((everything, "strong"), ("  │  ", "dim"), *trend(found))


def trend(found: Sequence[BatchFigures]) -> list[str | Span]:
    """Accuracy from batch to batch, and of the first half against the second."""
    graded = [one for one in found if one.graded]
    if not graded:
        return [("accuracy unknown", "dim")]
    bars = spark([one.right / one.graded for one in graded])
    # By half and not by batch: the bars of small batches jump about, and a trend is asked for.
    half = len(graded) // 2
    if not half:
        return ["accuracy ", (bars, "good")]
    first, second = _share(graded[:half]), _share(graded[half:])
    # A share leaves out what nobody graded, and says how many that are: else
    # it would seem to be of all.
    left = sum(one.members - one.graded for one in found)
    said = " by half" + (f", {left} not graded" if left else "")
    return ["accuracy ", (bars, "good"), f"  {first:.0%} → {second:.0%}", (said, "dim")]


def _share(found: Sequence[BatchFigures]) -> float:
    return sum(one.right for one in found) / sum(one.graded for one in found)


def _row(one: BatchFigures) -> str:
    return _line(str(one.number), f"{one.right}/{one.graded}", one.spent, one.lessons)


def _line(name: str, right: str, spent: Spent, lessons: int) -> str:
    return f"{name:>5}{right:>7}{spent.calls:>7,}{kilo(spent.known_tokens):>8}{lessons:>9}"
