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
    _status(page, sheet)
    page.line()
    _table(page, found)
    draw(page, sheet)
    _after(page, sheet, others)
    _next(page, sheet, found, name, log)
    return page


# ── Who, how it ended, what it cost ──────────────────────────────────────────────────────────


def _header(page: Page, sheet: EpisodeView) -> None:
    right = "  ".join(filter(None, _standing(sheet)))
    if sheet.learned_from is not None:
        scope = sheet.learned_from.scope
        page.line(*spread([(f"batch {sheet.batch}", "strong"), f"  {scope}"], right, page.width))
        return
    assert sheet.admitted is not None
    problem = sheet.admitted.problem
    named: list[str | Span] = [(clean(problem.id), "strong"), f"  {problem.domain}"]
    quoted = f'"{one_line(problem.problem)}"'
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


def _standing(sheet: EpisodeView) -> list[str]:
    closed, opened = sheet.learned_from, sheet.opened
    if closed is not None:
        return [f"{closed.policy}@{closed.policy_version}", plural(len(closed.members), "member")]
    if opened is None:
        return ["not opened yet"]
    batch = f"batch {sheet.batch}" if sheet.batch is not None else ""
    priced = "" if opened.price_list is None else f"prices {one_line(opened.price_list)}"
    return [f"{opened.policy}@{opened.policy_version}", batch, one_line(opened.backbones), priced]


def _status(page: Page, sheet: EpisodeView) -> None:
    page.line(*_ending(sheet))
    opened = sheet.opened
    if (gone := sheet.forgotten) is not None:
        by = "" if gone.by is None else f" by {one_line(gone.by)}"
        why = "" if gone.reason is None else f": {one_line(gone.reason)}"
        page.line((f"forgotten{by}{why}; no later memory rests on it", "warn"))
    if opened is not None and opened.parent is not None:
        made = f"a {opened.purpose} of {opened.parent}"
        page.line(made if opened.at is None else f"{made}, its own from {opened.at} on")
    limit = sheet.opened.limits.calls if sheet.opened is not None else None
    parts = spent(sheet.usage, limit)
    if sheet.opened is not None:
        parts.append(f"memory {sheet.opened.memory_version}")
    elif sheet.learned_from is not None:
        parts.append(f"memory {sheet.learned_from.previous} → {sheet.batch}")
    if sheet.closed is not None and not sheet.learning:
        parts.append(f"ended by {one_line(sheet.closed.ended_by)}")
    if sheet.resumed:
        parts.append(
            f"resumed {TIMES[sheet.resumed] if sheet.resumed < 3 else f'{sheet.resumed} times'}"
        )
    for line in joined(parts, page.width):
        page.line(line)
    if (unread := judged(sheet.judged)) and not sheet.learning:
        page.line((unread, "warn"))


def _ending(sheet: EpisodeView) -> list[str | Span]:
    closed, parked = sheet.closed, sheet.parked
    if parked is not None:
        return [("parked", "alarm"), f"   {one_line(parked.reason)}"]
    if (out := sheet.cancelled) is not None:
        by = "" if out.by is None else f" by {one_line(out.by)}"
        why = "" if out.reason is None else f"   {one_line(out.reason)}"
        return [(f"cancelled{by}", "alarm"), why]
    if sheet.waits:
        told = cut(one_line(sheet.waits[0].question), ANSWER_CELLS)
        return [("waits for a person", "alarm"), f"   {told}"]
    if closed is None:
        return [("open", "note"), "   no answer yet"]
    if sheet.learning:
        return [(closed.status if closed.status != "answered" else "learned", "strong")]
    tone = {"answered": "strong", "failed": "bad"}.get(closed.status, "warn")
    said: list[str | Span] = [(closed.status, tone), " ", _answer(closed.answer), "   "]
    return [*said, outcome(sheet.known, closed.answer is not None), f"   {_confidence(sheet)}"]


def _answer(answer: str | None) -> str:
    return "no answer" if answer is None else cut(one_line(answer), ANSWER_CELLS)


def _confidence(sheet: EpisodeView) -> str:
    closed = sheet.closed
    if closed is None:
        return "confidence unknown"
    return sure(closed.confidence, closed.confidence_source, closed.calibrated)


# ── The steps ────────────────────────────────────────────────────────────────────────────────


def _table(page: Page, found: list[Row]) -> None:
    at = max([3, *(len(row.at) for row in found)])
    who = min(max([10, *(len(row.asked) for row in found)]), 14)
    room = page.width - at - who - 2 - 19
    page.line(
        (
            f"{'at':>{at}}  {pad('asked', who)} {pad('answered', room)}{'in':>6}{'out':>6}{'s':>6}",
            "dim",
        )
    )
    tries, last = grouped(found), None
    for row in found:
        if tries and row.round is not None and row.round != last:
            last = row.round
            page.rule(f"try {row.round + 1}")
        numbers = _numbers(row)
        tried = f" ×{row.attempts}" if row.attempts > 1 else ""
        said = pad(row.answered, room - len(tried)) + tried
        said = said if numbers.strip() else cut(row.answered, room + 18)
        page.line(
            (f"{row.at:>{at}}", "dim"),
            f"  {pad(row.asked, who)} ",
            (said, row.tone),
            (numbers, "dim"),
        )


def _numbers(row: Row) -> str:
    if not row.called:
        return ""
    inside, outside = (
        "–" if n is None else f"{n:,}" for n in (row.prompt_tokens, row.completion_tokens)
    )
    took = "–" if row.seconds is None else f"{row.seconds:.1f}"
    return f"{inside:>6}{outside:>6}{took:>6}"


# ── What followed, and what to do next ───────────────────────────────────────────────────────


def _after(page: Page, sheet: EpisodeView, others: int) -> None:
    graded = sheet.summary.get("grade")
    words = [f"grade {graded}"] if isinstance(graded, str) and graded else []
    if sheet.taught:
        lessons = plural(len(sheet.taught), "lesson")
        words.append(f"taught {lessons}: {' '.join(lesson.id for lesson in sheet.taught)}")
    elif sheet.taught is not None:
        left = ", ".join(plural(*each) for each in sheet.counted)
        words.append(f"left {left} to batch" if left else "taught nothing to batch")
        words[-1] += f" {sheet.batch}"
    if others:
        words.append(f"{plural(others, 'other episode')} of this problem")
    page.line()
    for line in joined(words, page.width):
        page.line((line, "dim"))


def _next(page: Page, sheet: EpisodeView, found: list[Row], name: str, log: str | None) -> None:
    called = [row for row in found if row.called]
    if not called:
        return
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
