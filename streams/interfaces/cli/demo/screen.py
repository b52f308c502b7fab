"""The demo's last screen. Every figure on it is computed from the log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.memory import MemoryItem
from streams.interfaces.cli.demo.tree import Branch, branches, examples
from streams.interfaces.cli.show.board import bar, table, totals
from streams.interfaces.cli.show.library import Library, ScopeHistory
from streams.interfaces.cli.show.page import Page, outcome
from streams.interfaces.cli.show.paste import command, hint
from streams.runtime.embedded.queries import counts, episodes
from streams.telemetry.figures import Figures, Reader
from streams.views.sheet import EpisodeView, read
from streams.views.words import cells, counted, cut, one_line, plural

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

SIMULATED = " (SIMULATED)"


@dataclass(frozen=True, slots=True)
class Ran:
    """The figures of a finished log."""

    figures: Figures
    models: list[str]
    resumed: int
    elapsed: float
    answers: int
    """How many were consumed."""


def screen(log: SqliteLog, url: str, answers: int) -> Page:
    """The whole screen, after so many answers were consumed."""
    page = Page()
    reader = Reader(log.path)
    figures = reader.read_all()
    reader.close()
    resumed = max(counts.workers(log) - 1, 0)
    ran = Ran(figures, episodes.models(log), resumed, counts.worked_s(log), answers)
    library = Library.read(log)
    _title(page, ran, url)
    _figures(page, ran)
    _learned(page, figures, library)
    shown, other = _examples(log, library)
    if shown is not None:
        _tree(page, shown)
    _next(page, ran, other or shown, url)
    return page


def _title(page: Page, ran: Ran, url: str) -> None:
    problems = plural(ran.figures.total, "problem")
    page.line((f"Metalogue demo: {problems} of Game of 24, policy mc2, log {url}", "strong"))
    for model in ran.models:
        name = one_line(model.removesuffix(SIMULATED))
        if model.endswith(SIMULATED):
            words = name.replace("(", ", ").replace(")", "").replace("=", " ")
            said = f"The model is SIMULATED ({words}): this accuracy says nothing of MC2."
            page.line((said, "alarm"))
        else:
            page.line(f"The model is {name}.")


def _figures(page: Page, ran: Ran) -> None:
    note = f"answers {ran.answers}"
    if ran.resumed:
        times = {1: "once", 2: "twice"}.get(ran.resumed, f"{ran.resumed} times")
        note = f"resumed {times}  {note}"
    bar(page, ran.figures, ran.elapsed, note)
    totals(page, ran.figures)
    page.line()
    table(page, list(ran.figures.batches.values()))
    page.line()


# ── What was learned ─────────────────────────────────────────────────────────────────────────


def _learned(page: Page, figures: Figures, library: Library) -> None:
    rules = sum(figures.rules.values())
    words = f"learned {plural(figures.lessons, 'lesson')}, {plural(rules, 'rule')}."
    found = _telling(library)
    if found is None:
        page.line(words)
        page.line()
        return
    shelf, rule = found
    version = shelf.memory.latest.number
    backed = plural(len(shelf.backing(rule, version)), "lesson")
    seen = plural(len(shelf.uses_of(rule)), "episode")
    right = library.right_of(shelf.uses_of(rule))
    page.wrapped(f"{words} {rule.id}, from {backed}, in {seen}, {right}:")
    page.wrapped(f'"{one_line(rule.text)}"', indent=2, style="note")
    page.line()


def _right(library: Library, shelf: ScopeHistory, rule: MemoryItem) -> int:
    return library.outcomes(shelf.uses_of(rule)).get("right", 0)


def _telling(library: Library) -> tuple[ScopeHistory, MemoryItem] | None:
    """The reasoner's rule that was in most right episodes; ties go to the lower id."""
    found = [
        (-_right(library, shelf, rule), rule.id, shelf, rule)
        for shelf in library.shelves.values()
        for rule in shelf.memory.latest.of("reasoner", "rule")
    ]
    if not found:
        return None
    _, _, shelf, rule = min(found, key=lambda one: one[:2])
    return shelf, rule


# ── One answer, and what to do next ──────────────────────────────────────────────────────────


def _examples(log: SqliteLog, library: Library) -> tuple[EpisodeView | None, EpisodeView | None]:
    found = examples(log, library)
    sheets = [read(log, episode) for episode in found[:2]]
    return (sheets[0] if sheets else None), (sheets[1] if len(sheets) > 1 else None)


def _tree(page: Page, sheet: EpisodeView) -> None:
    closed, admitted = sheet.closed, sheet.admitted
    if closed is None or admitted is None:
        return
    graded = outcome(sheet.known, closed.answer is not None)
    value, how = counted(closed.confidence, closed.calibrated)
    sure = "confidence unknown" if value is None else f"confidence {value:.2f} {how}"
    name, asked = admitted.problem.id, cut(one_line(admitted.problem.problem), 24)
    tail = f"  {sure}  {plural(closed.usage.calls, 'call')}"
    room = page.width - len(name) - cells(asked) - cells(graded[0]) - len(tail) - 8
    given = cut(one_line(closed.answer or "no answer"), room)
    page.line((name, "strong"), f' "{asked}" → {given}  ', graded, tail)
    found = branches(sheet)
    for branch in found:
        _branch(page, branch, last=branch is found[-1])
    page.line()


def _branch(page: Page, branch: Branch, *, last: bool) -> None:
    room = page.width - 3
    whole = branch.text + branch.guided
    text = whole if cells(whole) <= room else cut(branch.text, room)
    page.line((f" {'└' if last else '├'} ", "dim"), text)


def _next(page: Page, ran: Ran, sheet: EpisodeView | None, url: str) -> None:
    if sheet is not None and sheet.admitted is not None:
        name = sheet.admitted.problem.id
        hint(page, "another answer", command("show", name, log=url), "every step of it")
    hint(page, "prove the log", command("verify", log=url), "0 model calls")
    if any(model.endswith(SIMULATED) for model in ran.models):
        made = (
            "make demo BACKBONE=" if Path("Makefile").exists() else command("demo") + " --backbone "
        )
        hint(page, "a real model", f"{made}openai:gpt-4o-mini", "any endpoint: OPENAI_BASE_URL")
