"""The evidence page: its tables say what the logs hold, and nothing of either can change unseen."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.grade import Grade, check_game24
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from streams.research.analysis import cases
from streams.research.analysis.cases import Case
from streams.research.analysis.plots import can_draw
from streams.research.evidence.figures import Pair, banks, figures, runs_beside
from streams.research.evidence.page import NoEnd, blocks, plot_of, renewed
from streams.research.evidence.segments import Segments
from streams.runtime.embedded.log import SqliteLog
from tests.streams.bench.worlds import case
from tests.streams.cli.calling import ROOT, Called, call

RUN = "self_consistency samples=10"


@lru_cache(maxsize=1)
def evidence(place: Path) -> Path:
    """A page about one log: a vote of ten chains over six puzzles, by a simulator that breaks every fourth reply."""
    log, page = place / "run.db", place / "page.md"
    put = ("produce", "game24:901-906", "--policy", "self_consistency", "--set", "samples=10")
    assert call(*put, "--log", log).code == 0
    taught = ("produce", "game24:907-910", "--policy", "mc2")
    assert call(*taught, "--log", log).code == 0
    worked = ("--backbone", "rehearsal:seed=7,malformed=0.25", "--until-idle")
    assert call("worker", "--log", log, *worked).code == 0
    assert call("log", "pack", place / "logs" / "one", "--log", log).code == 0
    page.write_text(
        "# Votes\n\n<!-- evidence: logs/one -->\nold\n<!-- evidence: end -->\n\nProse.\n"
    )
    return page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = evidence(tmp_path_factory.mktemp("evidence"))
    assert derived(page).code == 3, "nobody has written its tables yet"
    assert derived(page, "--write").code == 0
    return page


@pytest.fixture
def page(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    copytree(made.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / made.name


def derived(page: Path, *words: object) -> Called:
    return call("evidence", page, *words)


def row(text: str, name: str) -> list[str]:
    """The cells of the first table row that begins with this name."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_reply_that_was_cut_is_no_reply_that_a_reader_refused(tmp_path: Path) -> None:
    """Neither is read at first asking; but only whole ones tell against the reader."""
    log = tmp_path / "run.db"
    put = ("produce", "game24:901-908", "--policy", "cot", "--profile", "paper")
    assert call(*put, "--log", log).code == 0
    shown = ("--backbone", "rehearsal:seed=7,malformed=0.5,truncated=0.3", "--until-idle")
    assert call("worker", "--log", log, *shown).code == 0
    with closing(SqliteLog(log)) as opened:
        replies = [record.event for record in opened.records(kinds=("completed",))]
        [reasoner] = figures(opened).roles
    cut = sum(isinstance(each, Completed) and each.finish == "length" for each in replies)
    assert 0 < cut < len(replies)
    assert reasoner.cut == cut
    assert reasoner.refused > 0
    assert reasoner.read + reasoner.refused + cut == len(replies) == reasoner.first


def test_the_page_keeps_its_prose_and_says_what_the_log_says(made: Path) -> None:
    text = made.read_text()
    assert text.startswith("# Votes\n\n<!-- evidence: logs/one -->\n- Replies")
    assert text.endswith("<!-- evidence: end -->\n\nProse.\n")
    again = derived(made)
    assert again.code == 0
    assert again.lines[-1] == f"1 log, every figure of {made} derived again, 0 model calls"
    with closing(sqlite3.connect(made.parent / "run.db")) as db:
        right, closed = db.execute(
            "select sum(outcome = 'right'), count(*) from outcomes join episodes using (episode) "
            "where policy = 'self_consistency'"
        ).fetchone()
        [replies] = db.execute("select count(*) from records where kind = 'completed'").fetchone()
        opened = db.execute(
            "select distinct json_extract(body, '$.policy') || '@' || "
            "json_extract(body, '$.policy_version') from records where kind = 'episode.opened' "
            "order by 1"
        )
        worked = ", ".join(f"`{policy}`" for (policy,) in opened)
        asked = dict(db.execute("select role, count(*) from calls group by role"))
        again_by_role = dict(
            db.execute(
                "select json_extract(body, '$.role'), count(*) from records "
                "where kind = 'reply.reparsed' group by 1"
            )
        )
    assert row(text, f"`{RUN}`")[1:5] == ["6", f"{right}", "6", f"{100 * right / closed:.1f} %"]
    assert f"Replies: {replies:,}, of" in text
    assert f"\n- Policies: {worked}\n" in text
    assert again_by_role, "the simulator broke some replies"
    for role, count in asked.items():
        _, first, read, _, again_asked, *_ = row(text, role)
        assert int(again_asked) == again_by_role.get(role, 0)
        assert int(first) == count - int(again_asked)
        assert int(read) <= int(first) - int(again_asked)


def test_a_bank_is_drawn_by_what_its_rules_took(made: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "plots"
    assert derived(made, "--plots", folder).code == 0
    files = sorted(each.name for each in folder.iterdir())
    assert files == ["one-game24-dark.svg", "one-game24-light.svg"]
    drawn = (folder / files[1]).read_text()
    assert "votes of so many chains" in drawn
    assert "tokens a problem" in drawn
    again = tmp_path / "again"
    assert derived(made, "--plots", again).code == 0
    assert (again / files[1]).read_text() == drawn

    with closing(SqliteLog(made.parent / "run.db")) as log:
        [bank] = figures(log).banks
    points = plot_of(bank).series["votes of so many chains"]
    rules = {each.rule: each for each in bank.rules}
    first = rules["vote of 1"]
    assert points[0][:2] == (first.tokens, 100 * first.right)
    assert [point[0] for point in points] == sorted(point[0] for point in points)


def test_a_place_where_nothing_can_be_drawn_is_refused_by_its_option(
    made: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    found = derived(made, "--plots", file)
    assert found.code == 2
    assert "--plots" in found.err


def test_a_figure_that_somebody_changed_is_found(page: Path) -> None:
    text = page.read_text()
    figures = list(re.finditer(r"(?<=\| )\d+\.\d+", text))
    for figure in figures[:: max(1, len(figures) // 4)]:
        at = figure.start()
        page.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
        found = derived(page)
        assert found.code == 3
        assert "1 of 1 part with other figures" in found.lines[-1]
        assert figure.group() in found.err


def test_each_of_two_places_of_one_log_is_compared(page: Path) -> None:
    text = page.read_text()
    [block] = blocks(page)
    mark = "<!-- evidence: logs/one -->\n"
    end = "<!-- evidence: end -->\n"
    page.write_text(f"{mark}another figure\n{end}{text}")
    assert derived(page).code == 3
    page.write_text(f"{mark}{block.tables}{end}{text}")
    assert derived(page).code == 0


def test_runs_of_another_log_are_held_against_the_chains_of_a_bank(page: Path) -> None:
    """A bank is paid once: what is run later, on a log of its own, is paired with its votes problem by problem."""
    log = page.parent / "later.db"
    for policy in ("cot", "mc2"):
        assert call("produce", "game24:904-909", "--policy", policy, "--log", log).code == 0
    assert call("worker", "--log", log, "--backbone", "rehearsal:seed=7", "--until-idle").code == 0
    assert call("log", "pack", page.parent / "logs" / "later", "--log", log).code == 0
    with page.open("a") as text:
        text.write("\n<!-- evidence: logs/later with logs/one -->\n<!-- evidence: end -->\n")
    assert derived(page, "--write").code == 0
    before, _, later = page.read_text().partition("logs/later with logs/one")
    assert "each paired with the vote of five chains" not in before
    assert (
        f"Runs on the problems of `{RUN}`, game24, each paired with the vote of five chains (p: McNemar"
        in later
    )
    for name in ("`cot`", "`mc2`"):
        _, problems, calls, _, right, *_ = row(later.partition("Runs on the problems")[2], name)
        assert problems == "3", "those of six that the bank has too"
        assert float(calls) >= 1
        assert 0 <= float(right) <= 100
    assert derived(page).code == 0
    if can_draw():
        assert derived(page, "--plots", page.parent / "plots").code == 0
        shown = (page.parent / "plots/later-runs-game24-light.svg").read_text()
        assert all(f">{name}<" in shown for name in ("cot", "mc2", "until some agree"))
        alone = (page.parent / "plots/one-game24-light.svg").read_text()
        assert ">cot<" not in alone
    (page.parent / "logs" / "one" / "0001.jsonl.xz").unlink()
    assert derived(page).code == 3


def test_a_later_grader_adds_what_it_says_and_changes_nothing(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text()
    assert "- Graders: `game24@2`, 10 answers\n" in text
    words = next(line for line in text.splitlines() if line.startswith(f"| `{RUN}`"))

    def stricter(problem: str, answer: str | None) -> Grade:
        said = check_game24(problem, answer)
        return replace(said, grader="game24@3", outcome="wrong")

    monkeypatch.setattr(cases, "CHECKERS", {"game24": stricter})
    now = derived(page, "--write")
    assert now.code == 0
    with closing(sqlite3.connect(page.parent / "run.db")) as db:
        [right] = db.execute("select count(*) from outcomes where outcome = 'right'").fetchone()
    said = f"the same of {10 - right}, and of {right} another thing"
    assert (
        f"- Graders: `game24@2`, 10 answers, of which `game24@3` of this build says {said}\n"
        in page.read_text()
    )
    assert words in page.read_text(), "figures are of the grades on record"


def test_runs_are_held_against_each_other_where_the_page_says_so(page: Path) -> None:
    log = page.parent / "two.db"
    for policy, problems in (("cot", "901-908"), ("io", "904-910")):
        put = ("produce", f"game24:{problems}", "--policy", policy, "--log", log)
        assert call(*put).code == 0
    assert call("worker", "--log", log, "--backbone", "rehearsal:seed=7", "--until-idle").code == 0
    assert call("log", "pack", page.parent / "logs" / "two", "--log", log).code == 0
    with page.open("a") as text:
        text.write("\n<!-- evidence: logs/two paired -->\n<!-- evidence: end -->\n")
    assert derived(page, "--write").code == 0
    before, _, later = page.read_text().partition("logs/two paired")
    assert "on the same problems" not in before
    with closing(sqlite3.connect(log)) as db:
        right = {
            policy: {domain for (domain,) in db.execute(RIGHT, (policy,))}
            for policy in ("cot", "io")
        }
    shared = {f"n{number}" for number in range(904, 909)}
    mine, theirs = (right[policy] & shared for policy in ("cot", "io"))
    _, against, problems, one, other, difference, spread, p, found = row(
        later.partition("Runs on the same problems")[2], "`cot`"
    )
    assert (against, problems) == ("`io`", "5")
    assert (int(one), int(other)) == (len(mine - theirs), len(theirs - mine))
    assert float(difference) == pytest.approx(20 * (len(mine) - len(theirs)))
    assert " to " in spread
    assert float(p) == 1.0, "five problems show nothing"
    assert found == "–", "nor could they"

    page.write_text(page.read_text().replace("logs/two paired", "logs/two paired to cot"))
    assert derived(page, "--write").code == 0
    _, _, below = page.read_text().partition("Runs on the same problems")
    assert row(below, "`io`")[1:5] == ["`cot`", "5", other, one], "signed towards the one named"


RIGHT = """
select json_extract(a.body, '$.problem.id') from records a join outcomes o using (episode)
  join episodes e using (episode) where a.address = 'admitted' and o.outcome = 'right' and e.policy = ?
"""


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 60))
def test_two_runs_differ_as_far_as_only_one_of_them_is_right(
    one: int, other: int, both: int
) -> None:
    pair = Pair("a", "b", one + other + both, one, other)
    assert pair.interval is not None
    assert pair.interval[0] <= pair.difference <= pair.interval[1]
    turned = Pair("b", "a", one + other + both, other, one)
    assert (turned.difference, turned.p, turned.least) == (-pair.difference, pair.p, pair.least)
    if pair.least is not None and abs(pair.difference) >= pair.least:
        assert pair.p < 0.25, "what is found in four of five runs has a small p in most of them"


def test_a_byte_of_a_log_that_somebody_changed_is_found(page: Path) -> None:
    [file] = Segments(page.parent / "logs/one").files()
    raw = file.read_bytes()
    for at in (len(raw) // 3, len(raw) // 2, len(raw) - 3):
        file.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        found = derived(page)
        assert found.code == 3
        assert file.name in found.err
    file.unlink()
    assert derived(page).code == 3, "nor can a log be taken away"


def test_a_page_that_is_none_is_named(tmp_path: Path) -> None:
    missing = derived(tmp_path / "nothing.md")
    assert missing.code == 2
    assert "no page at" in missing.err
    (tmp_path / "prose.md").write_text("# Prose\n")
    empty = derived(tmp_path / "prose.md")
    assert empty.code == 2
    assert "names no logs" in empty.err


@pytest.mark.parametrize("behind", ["", "<!-- evidence: logs/two -->\n<!-- evidence: end -->\n"])
def test_a_part_without_an_end_takes_no_place_of_others(page: Path, behind: str) -> None:
    text = page.read_text() + f"<!-- evidence: logs/one -->\n\n## Kept\n{behind}"
    page.write_text(text)
    said = derived(page, "--write")
    assert said.code == 2
    assert "logs/one has no end" in said.err
    assert "<!-- evidence: end --> ends a part" in said.err
    assert page.read_text() == text


@given(
    st.lists(
        st.sampled_from(("a\n", "<!-- evidence: x -->\n", "<!-- evidence: end -->", "| 1 |\n"))
    )
)
def test_a_page_is_changed_between_its_marks_alone(parts: list[str]) -> None:
    with TemporaryDirectory() as place:
        page = Path(place) / "page.md"
        page.write_text("".join(parts))
        marks = [part[15] for part in parts if part.startswith("<!--")]
        is_open = False
        for mark in marks:
            if is_open and mark == "x":
                break
            is_open = mark == "x"
        if is_open:
            with pytest.raises(NoEnd, match="has no end"):
                list(blocks(page))
            return
        named = list(blocks(page))
        assert renewed(page, {}) == page.read_text()
        new = renewed(page, {page.parent / "x": "NEW\n"})
        assert new.count("NEW") == len(named)
        page.write_text(new)
        assert [block.tables for block in blocks(page)] == ["NEW\n"] * len(named)
        prose = parts.count("a\n") - sum(block.tables.count("a\n") for block in named)
        assert new.count("a\n") == prose


def test_what_would_go_another_way_now_is_told(page: Path) -> None:
    """A policy that changed and kept its version: its record is no evidence of what it does now."""
    folder = page.parent / "logs/one"
    log = page.parent / "run.db"
    with closing(sqlite3.connect(log)) as db, db:
        db.execute(
            "update records set body = json_set(body, '$.answer', '99') where kind = 'generated' "
            "and offset = (select min(offset) from records where kind = 'generated')"
        )
    for file in Segments(folder).files():
        file.unlink()
    assert call("log", "pack", folder, "--log", log).code == 0
    told = derived(page, "--write")
    assert told.code == 3
    assert "would go another way now" in told.err
    assert re.search(r", [1-9] places diverge, 0 model calls$", told.lines[-1])


# It verifies every episode of them all: two minutes where other tests share the cores.
@pytest.mark.timeout(400)
def test_the_evidence_of_this_repository_holds() -> None:
    page = ROOT / "deploy/docs/evidence.md"
    held = derived(page)
    assert held.code == 0, held.err
    # One mark names no log, but the file that says what the first table repeats.
    shown = {block.folder.resolve() for block in blocks(page)} - {page.with_suffix(".yaml")}
    logs = (each for each in (ROOT / "deploy/evidence").iterdir() if each.is_dir())
    assert shown == {each.resolve() for each in logs}
    kept = sum(each.stat().st_size for each in (ROOT / "deploy/evidence").rglob("*"))
    assert kept < 30_000_000, "a checkout stays small"


# ── Chains ───────────────────────────────────────────────────────────────────────────────────


def chains(problem: str, *answers: str, tokens: int, dataset: str = "d") -> Case:
    """An episode of chains that answered so, each of so many tokens; ``x`` and what says the same is right."""
    events: list[Any] = []
    for at, answer in enumerate(answers, 1):
        asked = Completed(
            asked="Complete reasoner 0",
            text="",
            finish="stop",
            model="m",
            prompt_tokens=tokens - 1,
            completion_tokens=1,
        )
        events += [asked, Generated(answer=answer, source=f"{2 * at - 1}.0.0")]
    made = case(problem, "right", events, reference=answers[-1] if answers[-1] != "y" else "x")
    voted: Any = SimpleNamespace(**(vars(made.opened) | {"policy": "self_consistency"}))
    named = made.problem.model_copy(update={"dataset": dataset})
    return replace(made, opened=voted, problem=named)


def test_more_chains_of_known_answers() -> None:
    """All of one problem's ten are right; none of the other's is, and they take half the tokens."""
    sure, torn = chains("a", *["x"] * 10, tokens=100), chains("b", *["y"] * 10, tokens=50)
    few = chains("c", *["x"] * 3, tokens=30)
    [found] = banks([sure, torn, few])
    assert (found.problems, found.undecided) == (2, 0), "three chains are no bank"
    by_rule = {each.rule: each for each in found.rules}
    for each in found.rules:
        assert each.right == 0.5
        assert each.interval is not None
        assert 0 <= each.interval[0] < 0.5 < each.interval[1] <= 1
    assert by_rule["vote of 10"].tokens == pytest.approx(10 * (100 + 50) / 2)
    assert by_rule["until 2 agree, at most 10"].chains == 2
    assert list(banks([few])) == []


def test_answers_that_say_the_same_vote_together_and_sets_are_told_apart() -> None:
    spelt = chains("a", *["3", "4", "5", "1/2", "0.5"] * 2, tokens=10)
    other = chains("b", *["y"] * 10, tokens=10, dataset="e")
    whole, one, two = banks([spelt, other])
    assert (whole.dataset, one.dataset, two.dataset) == (None, "d", "e")
    assert (whole.problems, one.problems, two.problems) == (2, 1, 1)
    votes = {each.rule: each.right for each in one.rules}
    assert votes["vote of 10"] == 1, "four of ten say one half; two each say 3, 4 and 5"
    assert {each.rule: each.right for each in two.rules}["vote of 10"] == 0


@pytest.mark.parametrize(
    ("solved", "sets"), [("ab", [None, "d", "e"]), ("a", ["d"]), ("b", ["e"]), ("", [])]
)
def test_a_run_on_one_set_of_a_bank_is_held_against_it_once(
    solved: str, sets: list[str | None]
) -> None:
    bank = [
        chains("a", *["x"] * 10, tokens=10),
        chains("b", *["y"] * 10, tokens=10, dataset="e"),
    ]
    runs = [case(each, "right", []) for each in solved]
    assert [each.dataset for each in runs_beside(runs, bank)] == sets


def test_a_problem_with_an_answer_that_nobody_can_judge_is_counted_and_in_no_figure() -> None:
    odd = chains("a", *["y", "z", "w", "1/2", "0.5"] * 2, tokens=10)
    [found] = banks([odd, chains("b", *["x"] * 10, tokens=10)])
    assert (found.problems, found.undecided) == (1, 1)
    assert all(each.right == 1 for each in found.rules)


def test_answers_of_a_run_that_has_not_ended_are_in_no_figure(tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    assert call("produce", "game24:901-903", "--policy", "cot", "--log", log).code == 0
    stopped = ("--backbone", "rehearsal:seed=7", "--until-idle", "--total-calls", 1)
    call("worker", "--log", log, *stopped)
    with closing(SqliteLog(log)) as opened:
        [one] = figures(opened).rows
    assert one.closed + one.unfinished <= 3
    assert one.graded == one.closed >= 1
    assert cast("float", one.calls) == 1
