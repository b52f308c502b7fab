"""The review queue on the dashboard: a person finds what waits for him, judges it, and his word becomes a label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.streams.cli.calling import call, process, work
from tests.streams.dashboard.conftest import SHOTS
from tests.streams.dashboard.serving import serving
from tests.streams.dashboard.test_browser import opened

pytestmark = pytest.mark.slow
TOKEN = "open sesame"
PROBLEMS = (
    {"id": "sum-1", "problem": "What is 7 * 8?"},
    {"id": "sum-2", "problem": "What is 8 * 9?"},
    {"id": "sum-6", "problem": "What is 12 * 13?"},
)
"""The rehearsal's votes on the first and the last settle nothing."""


def produced(folder: Path, policy: str) -> Path:
    """A log of problems that nobody has worked on."""
    path, source = folder / "a.db", folder / "q.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in PROBLEMS), encoding="utf-8")
    assert call("produce", source, "--policy", policy, "--log", path).code == 0
    return path


def waiting(folder: Path) -> Path:
    """A log of two answers that a vote of five did not settle."""
    path = produced(folder, "self_consistency")
    work(path)
    return path


def queued(path: Path) -> list[str]:
    return [each["problem_id"] for each in call("review", "list", "--log", path, "--json").rows]


def judge(page: Page, word: str, **fields: str) -> None:
    """Fill the form as a person does, and send it."""
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label(word, exact=True).check()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ")).fill(value)
    page.get_by_role("button", name="Say so").click()


@pytest.mark.live
def test_a_person_empties_the_queue_in_a_browser_and_each_word_becomes_a_label(
    browser: Browser, tmp_path: Path
) -> None:
    path = waiting(tmp_path)
    assert queued(path) == ["sum-6", "sum-1"]
    with serving(path, METALOGUE_DASHBOARD__TOKEN=TOKEN) as site, opened(browser) as page:
        page.goto(site.url)
        page.get_by_role("link", name="Review", exact=True).click()
        expect(page.locator("#list tbody tr")).to_have_count(2)
        expect(page.locator("#list")).to_contain_text("disputed")
        page.screenshot(path=SHOTS / "reviews.png", full_page=True)
        page.get_by_role("link", name="sum-6").click()
        expect(page.locator("#state")).to_contain_text("1 of 5 votes for this answer")
        page.screenshot(path=SHOTS / "review.png", full_page=True)
        judge(page, "wrong")
        expect(page.get_by_role("status").filter(has_text="recorded")).to_be_visible()
        page.get_by_role("link", name="sum-1").click()
        judge(page, "to be compared with the right one, below", The_right_answer="56")
        expect(page.locator("main")).to_contain_text("Nobody else is waited for.")
        page.get_by_role("link", name="Review", exact=True).first.click()
        expect(page.locator("#list")).to_contain_text("Nobody is waited for.")
        work(path)
        page.goto(f"{site.url}/review?id=sum-6")
        expect(page.locator(".facts")).to_contain_text("wrong by Ada")
    assert queued(path) == []
    graded = [
        (each["event"]["outcome"], each["event"]["source"])
        for each in call("log", "cat", "--topic", "learning", "--log", path).rows
        if each["kind"] == "graded"
    ]
    assert graded == [("wrong", "Ada"), ("wrong", "Ada")]
    assert call("verify", "--log", path).code == 0


@pytest.mark.live
def test_an_episode_waits_through_a_kill_for_a_person_who_answers_it_in_a_browser(
    browser: Browser, tmp_path: Path
) -> None:
    path = produced(tmp_path, "reviewed")
    words = ("worker", "--backbone", "rehearsal:seed=7", "--no-tables", "--log", path)
    with serving(path, METALOGUE_DASHBOARD__TOKEN=TOKEN) as site, opened(browser) as page:
        page.goto(f"{site.url}/reviews")
        expect(page.locator("#live")).to_have_text("live")
        with process(*words, cwd=tmp_path) as worker:
            expect(page.locator("#list tbody tr")).to_have_count(2, timeout=60_000)
            worker.kill()
        expect(page.locator("#list")).to_contain_text("asked")
        page.get_by_role("link", name="sum-1").click()
        expect(page.locator("main")).to_contain_text("settles nothing. Is that answer right?")
        page.screenshot(path=SHOTS / "review-asked.png", full_page=True)
        judge(page, "the one below", The_right_answer="56")
        page.get_by_role("link", name="sum-6").click()
        judge(page, "right")
        expect(page.locator("main")).to_contain_text("Nobody else is waited for.")
        with process(*words, cwd=tmp_path) as worker:
            page.goto(f"{site.url}/answers")
            expect(page.locator("#list tbody tr")).to_have_count(3, timeout=60_000)
            worker.kill()
        page.get_by_role("link", name="sum-1").click()
        expect(page.locator("main")).to_contain_text("Ada: 56")
    answers = {each["problem_id"]: each for each in call("consume", "--json", "--log", path).rows}
    assert [answers[name]["answer"] for name in ("sum-1", "sum-6")] == ["56", "319"]
    assert call("verify", "--log", path).code == 0


@pytest.mark.live
@pytest.mark.parametrize("width", [390, 820, 1440])
def test_the_queue_and_its_form_fit_every_screen(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    path = waiting(tmp_path)
    with serving(path, METALOGUE_DASHBOARD__TOKEN=TOKEN) as site:
        for scheme in ("light", "dark"):
            with opened(browser, scheme, width) as page:
                for name, address in (("reviews", "/reviews"), ("review", "/review?id=sum-1")):
                    page.goto(site.url + address)
                    page.screenshot(path=SHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
                    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert wide <= 0, f"{address} at {width}"


def test_nobody_judges_without_the_token_and_a_wrong_word_records_nothing(tmp_path: Path) -> None:
    path = waiting(tmp_path)
    form = {"id": "sum-1", "by": "Ada", "word": "right"}
    with serving(path) as site:
        assert site.post("/review/answer", token="", **form).status == 403
        assert "Only reading is allowed here" in site.get("/review?id=sum-1").text
    with serving(path, METALOGUE_DASHBOARD__TOKEN=TOKEN) as site:
        assert site.post("/review/answer", token="guess", **form).status == 403
        for word, status in (("fine", 400), ("reference", 422), ("", 400)):
            said = site.post("/review/answer", token=TOKEN, **(form | {"word": word}))
            assert said.status == status, word
        assert site.post("/review/answer", token=TOKEN, **(form | {"id": "nobody"})).status == 404
        assert queued(path) == ["sum-6", "sum-1"]
        assert site.post("/review/answer", token=TOKEN, **(form | {"word": "pass"})).status == 200
        assert TOKEN not in site.get("/review?id=sum-1").text
    assert queued(path) == ["sum-6"]


def test_a_right_answer_of_another_form_than_its_type_is_refused_by_the_field(
    tmp_path: Path,
) -> None:
    path, source = tmp_path / "a.db", tmp_path / "q.jsonl"
    problem = PROBLEMS[0] | {"answer_type": "yes_no"}
    source.write_text(json.dumps(problem), encoding="utf-8")
    call("produce", source, "--policy", "self_consistency", "--log", path)
    work(path)
    assert queued(path) == ["sum-1"]
    form = {"id": "sum-1", "by": "Ada", "word": "reference", "token": TOKEN}
    with serving(path, METALOGUE_DASHBOARD__TOKEN=TOKEN) as site:
        said = site.post("/review/answer", **form, reference="perhaps")
        assert said.status == 422
        assert "reference: is neither yes nor no, and the answer type is yes_no" in said.text
        assert queued(path) == ["sum-1"]
        assert site.post("/review/answer", **form, reference="no").status == 200
    assert queued(path) == []


@pytest.mark.live
def test_a_list_that_is_open_renews_itself(browser: Browser, tmp_path: Path) -> None:
    path = waiting(tmp_path)
    with serving(path) as site, opened(browser) as page:
        page.goto(f"{site.url}/reviews")
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#list tbody tr")).to_have_count(2)
        words = ("review", "answer", "sum-1", "--right", "--by", "Bob", "--log", path)
        with process(*words, cwd=tmp_path) as said:
            assert said.wait(60) == 0
        expect(page.locator("#list tbody tr")).to_have_count(1)
