"""The screen of an episode: who it was, how it ended, what it cost, and every step of it."""

from __future__ import annotations

from schemas.identity import address_order
from streams.core.judgements import words as judged
from streams.interfaces.cli.show.page import Page, Span, outcome, spread
from streams.interfaces.cli.show.paste import command, hint
from streams.interfaces.cli.show.tree import draw
from streams.views.rows import Row, grouped, items_of, rows
from streams.views.sheet import EpisodeView
from streams.views.words import (
    cells,
    clean,
    cut,
    joined,
    one_line,
    pad,
    plural,
    spent,
    sure,
    wrap,
)

PROBLEM_LINES = 8
ANSWER_CELLS = 200
TIMES = ("never", "once", "twice")


def page_of(sheet: EpisodeView, log: str | None, name: str, others: int = 0) -> Page:
    """The whole screen. ``name`` means this episode; ``others`` are of the same problem."""
    page = Page()
    found = rows(sheet.numbered)
    _header(page, sheet)
    page.line(*_ending(sheet))
    _origin(page, sheet)
    page.line()
    _steps(page, found)
    draw(page, sheet)
    _after(page, sheet, others)
    _next(page, sheet, found, name, log)
    return page


# ── Who, how it ended, what it cost ──────────────────────────────────────────────────────────


def _header(page: Page, sheet: EpisodeView) -> None:
    """Which problem or batch it was, and at the right end by what it was worked on."""
    closed, opened = sheet.learned_from, sheet.opened
    if closed is not None:
        policy = f"{closed.policy}@{closed.policy_version}"
        right = f"{policy}  {plural(len(closed.members), 'member')}"
        batch: list[str | Span] = [(f"batch {sheet.batch}", "strong"), f"  {closed.scope}"]
        page.line(*spread(batch, right, page.width))
        if closed.regraded:
            page.wrapped("closed again for outcomes that were graded anew; nobody was asked")
        if closed.overturned:
            # Rules are marked by their texts, which name nothing to anybody.
            ids = [mark for mark in closed.overturned if "~" not in mark]
            rules = plural(len(closed.overturned) - len(ids), "rule")
            page.wrapped(f"overturned, and in no prompt since: {' '.join([*ids, 'and', rules])}")
        return
    assert sheet.admitted is not None
    right = "not opened yet"
    if opened is not None:
        batch_name = f"batch {sheet.batch}" if sheet.batch is not None else ""
        priced = "" if opened.price_list is None else f"prices {one_line(opened.price_list)}"
        policy = f"{opened.policy}@{opened.policy_version}"
        right = "  ".join(filter(None, (policy, batch_name, one_line(opened.backbones), priced)))
    problem = sheet.admitted.problem
    named: list[str | Span] = [(clean(problem.id), "strong"), f"  {problem.domain}"]
    quoted = f'"{one_line(problem.problem)}"'
    # A short problem stands on the line of its name; a long one gets lines of its own beneath.
    room = page.width - cells(problem.id) - len(problem.domain) - 6 - cells(right)
    if cells(quoted) <= room:
        page.line(*spread([*named, "  ", quoted], right, page.width))
        return
    page.line(*spread(named, right, page.width))
    lines = [
        line for raw in clean(problem.problem).split("\n") for line in wrap(raw, page.width - 2)
    ]
    for line in lines[:PROBLEM_LINES]:
        page.line("  ", line)
    if len(lines) > PROBLEM_LINES:
        page.line(("  … the whole text: --json", "dim"))


def _ending(sheet: EpisodeView) -> list[str | Span]:
    """How it ended or why it has not, what it answered, and how sure that is."""
    closed, parked = sheet.closed, sheet.parked
    # What keeps an episode from going on comes first: it may have an answer
    # from before it was parked.
    if parked is not None:
        return [("parked", "alarm"), f"   {one_line(parked.reason)}"]
    if (out := sheet.cancelled) is not None:
        by = "" if out.by is None else f" by {one_line(out.by)}"
        why = "" if out.reason is None else f"   {one_line(out.reason)}"
        return [(f"cancelled{by}", "alarm"), why]
    if sheet.waits:
        told = cut(one_line(sheet.waits[0].question), ANSWER_CELLS)
        return [(sheet.state, "alarm"), f"   {told}"]
    if closed is None:
        return [("open", "note"), "   no answer yet"]
    if sheet.learning:
        return [(sheet.state, "strong")]
    tone = {"answered": "strong", "failed": "bad"}.get(closed.status, "warn")
    said = "no answer" if closed.answer is None else cut(one_line(closed.answer), ANSWER_CELLS)
    graded = outcome(sheet.known, closed.answer is not None)
    certain = sure(closed.confidence, closed.confidence_source, closed.calibrated)
    return [(closed.status, tone), " ", said, "   ", graded, f"   {certain}"]


def _origin(page: Page, sheet: EpisodeView) -> None:
    """What was done with it since, of what it is a branch, and what it cost."""
    opened = sheet.opened
    if (gone := sheet.forgotten) is not None:
        by = "" if gone.by is None else f" by {one_line(gone.by)}"
        why = "" if gone.reason is None else f": {one_line(gone.reason)}"
        page.line((f"forgotten{by}{why}; no later memory rests on it", "warn"))
    if opened is not None and opened.parent is not None:
        made = f"a {opened.purpose} of {opened.parent}"
        page.line(made if opened.at is None else f"{made}, its own from {opened.at} on")
    parts = spent(sheet.usage, None if opened is None else opened.limits.calls)
    if opened is not None:
        parts.append(f"memory {opened.memory_version}")
    elif sheet.learned_from is not None:
        parts.append(f"memory {sheet.learned_from.previous} → {sheet.batch}")
    if sheet.closed is not None and not sheet.learning:
        parts.append(f"ended by {one_line(sheet.closed.ended_by)}")
    if sheet.resumed:
        times = TIMES[sheet.resumed] if sheet.resumed < 3 else f"{sheet.resumed} times"
        parts.append(f"resumed {times}")
    for line in joined(parts, page.width):
        page.line(line)
    # Often it is something that the reader can mend, such as a grader that is not installed.
    if (undecided := sheet.undecided_for) is not None:
        page.line((f"undecided: {one_line(undecided)}", "warn"))
    # That replies could not be read is no fault of an episode, but it explains many an odd answer.
    if (unread := judged(sheet.judged)) and not sheet.learning:
        page.line((unread, "warn"))


# ── The steps ────────────────────────────────────────────────────────────────────────────────


def _steps(page: Page, found: list[Row]) -> None:
    """A line for each step; what was answered gets the width that addresses and names leave."""
    at = max([3, *(len(row.at) for row in found)])
    who = min(max([10, *(len(row.asked) for row in found)]), 14)
    room = page.width - at - who - 2 - 19
    head = f"{'at':>{at}}  {pad('asked', who)} {pad('answered', room)}{'in':>6}{'out':>6}{'s':>6}"
    page.line((head, "dim"))
    tries, last = grouped(found), None
    for row in found:
        if tries and row.round is not None and row.round != last:
            last = row.round
            page.rule(f"try {row.round + 1}")
        # Without numbers behind it, what was said may run on to the edge.
        numbers, said = "", cut(row.answered, room + 18)
        if row.called:
            counts = (row.prompt_tokens, row.completion_tokens)
            took = "–" if row.seconds is None else f"{row.seconds:.1f}"
            columns = (*("–" if n is None else f"{n:,}" for n in counts), took)
            numbers = "".join(f"{each:>6}" for each in columns)
            tried = f" ×{row.attempts}" if row.attempts > 1 else ""
            said = pad(row.answered, room - len(tried)) + tried
        page.line(
            (f"{row.at:>{at}}", "dim"),
            f"  {pad(row.asked, who)} ",
            (said, row.tone),
            (numbers, "dim"),
        )


# ── What followed, and what to do next ───────────────────────────────────────────────────────


def _after(page: Page, sheet: EpisodeView, others: int) -> None:
    """What was learned from it, and what else was made of the same problem."""
    graded = sheet.summary.get("grade")
    words = [f"grade {graded}"] if isinstance(graded, str) and graded else []
    if sheet.taught:
        lessons = plural(len(sheet.taught), "lesson")
        words.append(f"taught {lessons}: {' '.join(lesson.id for lesson in sheet.taught)}")
    elif sheet.taught is not None:
        # A policy that distils no lessons may still leave counts to its batch,
        # such as pulls of arms.
        left = ", ".join(plural(*each) for each in sheet.counted)
        words.append(f"left {left} to batch" if left else "taught nothing to batch")
        words[-1] += f" {sheet.batch}"
    if others:
        words.append(f"{plural(others, 'other episode')} of this problem")
    page.line()
    for line in joined(words, page.width):
        page.line((line, "dim"))


def _next(page: Page, sheet: EpisodeView, found: list[Row], name: str, log: str | None) -> None:
    """Commands to paste: a step in full, another way from there, a lesson, its batch."""
    called = [row for row in found if row.called]
    if not called:
        return
    # The step in the middle shows best what the commands do: there is something before it that a
    # fork keeps, and something after it that the fork does anew.
    step = called[len(called) // 2].at
    one = command("show", name, "--at", step, log=log)
    hint(page, "step", one, "the prompt, in full", column=8)
    if not sheet.learning and sheet.opened is not None and sheet.opened.parent is None:
        kept = sum(address_order(row.at) < address_order(step) for row in called)
        what = command("fork", name, "--at", step, "--backbone", "openai", log=log)
        hint(page, "what if", what, f"keeps {plural(kept, 'call')}", column=8)
    lessons = [item for item in items_of(found) if "." in item]
    lessons += [lesson.id for lesson in sheet.taught or ()]
    if lessons:
        used = command("lessons", "show", lessons[0], log=log)
        hint(page, "lesson", used, "where it was used", column=8)
    if sheet.learned_in is not None:
        learned = command("show", sheet.learned_in, log=log)
        hint(page, "batch", learned, "what was learned", column=8)
