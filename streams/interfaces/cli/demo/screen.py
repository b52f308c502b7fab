"""The demo's last screen. Every figure on it is computed from the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.demo.tree import branches, examples
from streams.interfaces.cli.show.board import bar, table, totals
from streams.interfaces.cli.show.library import Library
from streams.interfaces.cli.show.page import Page, outcome
from streams.interfaces.cli.show.paste import command, hint
from streams.runtime.embedded.queries import counts, episodes
from streams.telemetry.figures import Figures, Reader
from streams.views.sheet import EpisodeView, read
from streams.views.words import cells, counted, cut, one_line, plural

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

SIMULATED = " (SIMULATED)"


def screen(log: SqliteLog, url: str, answers: int) -> Page:
    """The whole screen, after so many answers were consumed."""
    page = Page()
    reader = Reader(log.path)
    figures = reader.read_all()
    reader.close()
    models, library = episodes.models(log), Library.read(log)
    problems = plural(figures.total, "problem")
    page.line((f"Metalogue demo: {problems} of Game of 24, policy mc2, log {url}", "strong"))
    # That a simulator answered stands above all figures: nobody should quote them without it.
    for model in models:
        name = one_line(model.removesuffix(SIMULATED))
        if model.endswith(SIMULATED):
            words = name.replace("(", ", ").replace(")", "").replace("=", " ")
            said = f"The model is SIMULATED ({words}): this accuracy says nothing of MC2."
            page.line((said, "alarm"))
        else:
            page.line(f"The model is {name}.")
    note = f"answers {answers}"
    if resumed := max(counts.workers(log) - 1, 0):
        times = {1: "once", 2: "twice"}.get(resumed, f"{resumed} times")
        note = f"resumed {times}  {note}"
    bar(page, figures, counts.worked_s(log), note)
    totals(page, figures)
    page.line()
    table(page, list(figures.batches.values()))
    page.line()
    _learned(page, figures, library)
    shown = [read(log, episode) for episode in examples(log, library)[:2]]
    if shown:
        _tree(page, shown[0])
    # The command leads to the other one, which is not on the screen yet.
    if shown and (admitted := shown[-1].admitted) is not None:
        line = command("show", admitted.problem.id, log=url)
        hint(page, "another answer", line, "every step of it")
    hint(page, "prove the log", command("verify", log=url), "0 model calls")
    if any(model.endswith(SIMULATED) for model in models):
        # Outside a checkout there is no Makefile, and a wheel has the demo all the same.
        in_checkout = Path("Makefile").exists()
        made = "make demo BACKBONE=" if in_checkout else command("demo") + " --backbone "
        hint(page, "a real model", f"{made}openai:gpt-4o-mini", "any endpoint: OPENAI_BASE_URL")
    return page


def _learned(page: Page, figures: Figures, library: Library) -> None:
    """How much was learned, and the reasoner's rule that was in most right episodes."""
    rules = sum(figures.rules.values())
    words = f"learned {plural(figures.lessons, 'lesson')}, {plural(rules, 'rule')}."
    candidates = [
        (-library.outcomes(shelf.uses_of(rule)).get("right", 0), rule.id, shelf, rule)
        for shelf in library.shelves.values()
        for rule in shelf.memory.latest.of("reasoner", "rule")
    ]
    if not candidates:
        page.line(words)
        page.line()
        return
    # Ties go to the lower id, so that the same log always gives the same screen.
    _, _, shelf, rule = min(candidates, key=lambda one: one[:2])
    version = shelf.memory.latest.number
    backed = plural(len(shelf.backing(rule, version)), "lesson")
    seen = plural(len(shelf.uses_of(rule)), "episode")
    right = library.right_of(shelf.uses_of(rule))
    page.wrapped(f"{words} {rule.id}, from {backed}, in {seen}, {right}:")
    page.wrapped(f'"{one_line(rule.text)}"', indent=2, style="note")
    page.line()


def _tree(page: Page, sheet: EpisodeView) -> None:
    """One episode: its problem, answer and confidence, and a line for each try."""
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
    found, room = branches(sheet), page.width - 3
    for branch in found:
        whole = branch.text + branch.guided
        text = whole if cells(whole) <= room else cut(branch.text, room)
        page.line((f" {'└' if branch is found[-1] else '├'} ", "dim"), text)
    page.line()
