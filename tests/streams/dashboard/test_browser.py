"""The dashboard in a real Chromium without a screen: live, inert to attacks, quick, and usable by all."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pace import soon
from tests.streams.cli.calling import call, copied, process, work
from tests.streams.dashboard.conftest import SHOTS
from tests.streams.dashboard.logs import IMAGE, SCRIPT, hostile, many
from tests.streams.dashboard.serving import Site, serving
from tests.streams.dashboard.test_pages import EACH, SCOPE

pytestmark = [pytest.mark.live, pytest.mark.slow]

MANY = 10_000
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
OURS = '[src^="/progress.svg?"]'
"""The one picture of pages, by its address."""
MENU = (
    "Overview",
    "Episodes",
    "Answers",
    "Review",
    "Learning",
    "Arms",
    "Graph memory",
    "Dead letters",
)


@contextmanager
def opened(
    browser: Browser, scheme: Literal["light", "dark"] = "light", width: int = 1280
) -> Generator[Page]:
    """A page that reports whatever the browser complains of, and whatever leaves this machine."""
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 860}, reduced_motion="reduce"
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda asked: None if "//127.0.0.1:" in asked.url else wrong.append(asked.url)
    )
    yield page
    context.close()
    assert wrong == []


def loaded(page: Page, address: str) -> float:
    """Seconds until a page is there with all that it loads."""
    page.goto(address)
    return float(page.evaluate(LOADED)) / 1000


def quickest(page: Page, address: str) -> float:
    """The best of at most five loads, in seconds of a desk: others use this machine too, and make it slower."""
    best = float("inf")
    for _ in range(5):
        if best >= 1.0:
            best = min(best, loaded(page, address) / soon(1.0))
    return best


def test_every_page_is_visited_while_a_worker_runs_and_updates_arrive(
    browser: Browser, tmp_path: Path
) -> None:
    log = ("--log", tmp_path / "a.db")
    assert call("produce", "game24:901-920", "--policy", "mc2", *log).code == 0
    work = (
        "worker",
        "--backbone",
        "rehearsal:seed=7,latency_ms=200",
        "--until-idle",
        "--no-tables",
    )
    with serving(tmp_path / "a.db") as site, opened(browser) as page:
        page.goto(site.url)
        page.evaluate("window.untouched = true")
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#tiles")).to_contain_text("0 of 20")
        with process(*work, *log, cwd=tmp_path) as worker:
            expect(page.locator("#running tbody tr").first).to_be_visible(timeout=60_000)
            expect(page.locator("#flow .edge.moving").first).to_be_attached(timeout=60_000)
            page.screenshot(path=SHOTS / "live.png")
            expect(page.locator("#latest tbody tr").first).to_be_visible(timeout=60_000)
            assert page.evaluate("window.untouched"), "the page was never loaded again"
            for name in MENU:
                page.get_by_role("link", name=name, exact=True).click()
                expect(page.get_by_role("heading", level=1)).to_contain_text(name)
            page.goto(f"{site.url}/episodes?state=running")
            page.locator("#list tbody a").first.click()
            expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
            assert worker.wait(60) == 0
        page.goto(site.url)
        expect(page.locator("#tiles")).to_contain_text("20 of 20", timeout=60_000)


def test_an_effect_appears_where_its_lesson_is_read(
    browser: Browser, worked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    with serving(path) as site, opened(browser) as page:
        page.goto(f"{site.url}/items?scope={quote(SCOPE, safe='')}&order=uses")
        lesson = str(page.locator("#items tbody a").first.text_content())
        page.locator("#items tbody a").first.click()
        expect(page.locator("#item")).to_contain_text("Not measured.")
        expect(page.locator("#live")).to_have_text("live")
        probes = ("effect", "lesson", lesson, "--backbone", "rehearsal:seed=7", "--log", path)
        with process(*probes, cwd=tmp_path) as measuring:
            assert measuring.wait(60) == 0
        expect(page.locator("#item .whisker")).to_be_visible(timeout=60_000)
        expect(page.locator("#item")).to_contain_text("right without it")
        page.get_by_text("Each episode, with it and without").click()
        page.get_by_role("table").get_by_role("link").last.click()
        expect(page.locator(".crumbs")).to_contain_text("/effect/")


def test_updates_can_be_paused_and_nothing_moves_where_somebody_is(
    browser: Browser, tmp_path: Path
) -> None:
    log = ("--log", tmp_path / "a.db")
    assert call("produce", "game24:901-902", "--policy", "cot", *log).code == 0
    with serving(tmp_path / "a.db") as site, opened(browser) as page:
        page.goto(site.url)
        expect(page.locator("#live")).to_have_text("live")
        button = page.get_by_role("button", name="Pause updates")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert call("produce", "game24:903-905", "--policy", "cot", *log).code == 0
        time.sleep(2.5)  # two rounds of updates, neither of which may come
        expect(page.locator("#tiles")).to_contain_text("0 of 2 problems")
        button.click()
        expect(page.locator("#tiles")).to_contain_text("0 of 5 problems")


def test_a_script_in_a_problem_or_a_reply_is_inert(browser: Browser, tmp_path: Path) -> None:
    path = hostile(tmp_path)
    episode = call("consume", "--log", path, "--json").rows[0]["episode"]
    name = quote(episode, safe="")
    pages = (
        "/",
        "/episodes",
        "/answers",
        f"/episode?id={name}",
        "/dead-letters",
        "/dead-letter?n=1",
    )
    with serving(path) as site, opened(browser) as page:
        for path_ in (*pages, f"/episode/at?id={name}&at=0", f"/episodes?text={quote(SCRIPT)}"):
            page.goto(site.url + path_)
            assert page.evaluate("window.hacked") is None, path_
            assert page.locator(f"main script, main img:not({OURS})").count() == 0, path_
        page.goto(f"{site.url}/episode?id={name}")
        expect(page.locator(".problem")).to_contain_text(f"{SCRIPT} {IMAGE}")
        page.goto(f"{site.url}/episode/at?id={name}&at=0")
        expect(page.locator(".reply")).to_contain_text(SCRIPT)


def test_a_text_runs_from_right_to_left_where_it_is_written_so(
    browser: Browser, tmp_path: Path
) -> None:
    path, source = tmp_path / "hebrew.db", tmp_path / "in.jsonl"
    asked = "\u05db\u05de\u05d4 \u05d4\u05dd 17 + 25?"
    source.write_text(json.dumps({"id": "p", "problem": asked}))
    assert call("produce", source, "--policy", "cot", "--log", path).code == 0
    work(path)
    # Where the first letter of a text stands, and where the sign that ends it.
    ends = """(each) => [0, 14].map((at) => {
      const range = document.createRange();
      range.setStart(each.firstChild, at);
      range.setEnd(each.firstChild, at + 1);
      return range.getBoundingClientRect().left;
    })"""
    with serving(path) as site, opened(browser) as page:
        page.goto(f"{site.url}/episode?id=p")
        first, last = page.locator(".problem").evaluate(ends)
        assert last < first
        page.goto(f"{site.url}/episodes")
        first, last = page.locator("td.text").first.evaluate(ends)
        assert last < first


def test_ten_thousand_episodes_stay_responsive(
    browser: Browser, worked: Path, tmp_path: Path
) -> None:
    path = many(worked, tmp_path / "many.db", MANY)
    with serving(path) as site, opened(browser) as page:
        seconds: dict[str, float] = {}
        for address in ("/", "/episodes", "/episodes?text=m77", "/answers", "/learning", "/items",
                        "/episode?id=m77", "/episodes?state=running"):  # fmt: skip
            seconds[address] = quickest(page, site.url + address)
        print({address: round(each, 3) for address, each in seconds.items()})
        assert max(seconds.values()) < 1.0, seconds
        page.goto(f"{site.url}/episodes")
        expect(page.locator("#list tbody tr")).to_have_count(50)
        expect(page.locator("#totals")).to_contain_text(f"{MANY + 20:,} admitted")
        first = page.locator("#list tbody a").first.text_content()
        page.get_by_role("link", name="Older episodes").click()
        expect(page.locator("#list tbody tr")).to_have_count(50)
        assert page.locator("#list tbody a").first.text_content() != first


AXE: Any = import_module("axe_playwright_python.sync_playwright")
EVERYTHING: dict[str, Any] = {}
CONTRAST: dict[str, Any] = {"runOnly": ["color-contrast"]}


@pytest.mark.parametrize(("scheme", "rules"), [("light", EVERYTHING), ("dark", CONTRAST)])
def test_axe_finds_no_serious_fault(
    browser: Browser, site: Site, scheme: Literal["light", "dark"], rules: dict[str, Any]
) -> None:
    """All rules once; what hangs on colours in both schemes."""
    with opened(browser, scheme) as page:
        faults: list[str] = []
        for address in EACH:
            page.goto(site.url + address)
            found: Any = AXE.Axe().run(page, options=rules).response
            faults += [
                f"{address}: {each['id']} {each['impact']} {each['nodes'][0]['html'][:80]}"
                for each in found["violations"]
                if each["impact"] in ("serious", "critical")
            ]
        assert faults == []


def test_a_keyboard_reaches_everything_and_small_screens_hold_it(
    browser: Browser, site: Site
) -> None:
    with opened(browser, width=390) as page:
        for address in EACH:
            page.goto(site.url + address)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{address} is {wide} px wider than the screen"
        page.goto(f"{site.url}/episodes")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        reached: set[str] = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.add(str(page.evaluate("document.activeElement.tagName")))
        assert {"A", "INPUT", "BUTTON"} <= reached


SHOWN = {
    "overview": "/",
    "episode": "/episode?id=n915",
    "step": "/episode/at?id=n915&at=0",
    "learning": "/learning",
    "lessons": f"/items?scope={quote(SCOPE, safe='')}",
    "answers": "/answers",
}


WIDTHS = (390, 820, 1440)
"""A phone, a tablet and a desk."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_are_kept(browser: Browser, site: Site, scheme: Literal["light", "dark"]) -> None:
    for width in WIDTHS:
        with opened(browser, scheme, width) as page:
            for name, address in SHOWN.items():
                page.goto(site.url + address)
                fits(page, f"{address} at {width}")
                taken = page.screenshot(path=SHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
                assert taken.startswith(b"\x89PNG")
                assert re.search(r"Metalogue$", page.title())


def fits(page: Page, what: str) -> None:
    """Nothing is wider than the screen but what scrolls by itself, with every detail opened."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, f"{what} is {wide} px wider than the screen"
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = false)")


@pytest.mark.parametrize(
    ("width", "scheme", "file"),
    [(390, "dark", "narrow.*dark|dark.*narrow"), (1440, "light", "wide.*light|light.*wide")],
)
def test_the_central_claim_is_drawn_for_this_screen(
    browser: Browser, site: Site, width: int, scheme: Literal["light", "dark"], file: str
) -> None:
    with opened(browser, scheme, width) as page:
        page.goto(site.url)
        drawing = page.locator("#batches img")
        expect(drawing).to_be_visible()
        assert drawing.evaluate("each => each.complete && each.naturalWidth") > 0
        assert re.search(file, str(drawing.evaluate("each => each.currentSrc")))
        flow = page.locator("#flow").bounding_box()
        place = drawing.bounding_box()
        assert place is not None
        assert flow is not None
        assert place["y"] < flow["y"], "it is above how things move"
        assert place["width"] > 0.8 * (width if width < 1000 else 900)


@pytest.mark.parametrize("width", [390, 820])
def test_on_a_phone_the_pages_are_one_row_that_shows_where_one_is(
    browser: Browser, site: Site, width: int
) -> None:
    """It took three rows, a fifth of the screen."""
    with opened(browser, width=width) as page:
        page.goto(f"{site.url}/dead-letters")
        box = page.locator(".top nav").bounding_box()
        assert box is not None
        assert box["height"] < 50
        here = page.locator(".top nav [aria-current]").bounding_box()
        assert here is not None
        assert here["x"] >= 0
        assert here["x"] + here["width"] <= width


def test_on_a_phone_tables_begin_with_what_matters(browser: Browser, site: Site) -> None:
    """Hashes and domains came before answers, which lay beyond the edge."""
    with opened(browser, width=390) as page:
        for address, cell in (("/answers", ".text"), ("/episodes", ".text + .text")):
            page.goto(site.url + address)
            box = page.locator(f"#list tbody td{cell}").first.bounding_box()
            assert box is not None
            assert box["x"] + 60 < 390, f"{address}: the answer is beyond the edge"
            tabs = page.locator(".tabs").bounding_box()
            assert tabs is not None
            assert tabs["height"] < 60, "one row"
        page.goto(f"{site.url}/learning")
        expect(page.locator(".scope .digest").first).to_be_hidden()
        scope = page.locator("tbody .scope").first.bounding_box()
        assert scope is not None
        assert scope["height"] < 30, "a name is on one line"


def test_lists_begin_with_what_was_used_and_fold_the_rest(browser: Browser, site: Site) -> None:
    with opened(browser) as page:
        page.goto(f"{site.url}/items?scope={quote(SCOPE, safe='')}")
        shown = page.locator("#items > .scroll tbody tr")
        uses = [int(each) for each in shown.locator("td.n:nth-last-child(2)").all_text_contents()]
        assert uses == sorted(uses, reverse=True)
        assert all(uses)
        idle = page.locator("#idle")
        expect(idle.locator("summary")).to_contain_text("no prompt has had yet")
        expect(idle.locator("table")).to_be_hidden()
        page.get_by_label("Order").select_option("learned")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#idle")).to_have_count(0)


def test_lanes_stand_under_each_other_in_time_and_a_wrong_way_is_not_green(
    browser: Browser, tmp_path: Path
) -> None:
    log = ("--log", tmp_path / "a.db")
    assert call("produce", "game24:901-903", "--policy", "cot2_meta", *log).code == 0
    ran(tmp_path, "worker", "--backbone", "rehearsal:seed=7,latency_ms=60", "--until-idle", *log)
    with serving(tmp_path / "a.db") as site, opened(browser) as page:
        page.goto(f"{site.url}/episode?id=n901")
        lanes = page.locator(".lanes tbody tr")
        assert lanes.count() > 2
        first, second = (
            lanes.filter(has_text=name).locator(".call").first.bounding_box()
            for name in ("lane 1.1", "lane 1.2")
        )
        assert first is not None
        assert second is not None
        assert first["x"] < second["x"] + second["width"]
        assert second["x"] < first["x"] + first["width"], "they were asked at the same time"
        colour = "getComputedStyle(each.querySelector('circle')).fill"
        wrong = page.locator(".drawn g.wrong")
        right = page.evaluate(
            "getComputedStyle(document.documentElement).getPropertyValue('--good')"
        )
        assert wrong.count() + page.locator(".drawn g.right").count() > 0
        for node in wrong.all():
            expect(node).to_contain_text("wrong")
            assert str(node.evaluate(f"each => {colour}")) != right
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            fits(page, f"a search at {width}")
            page.screenshot(path=SHOTS / f"search-{width}.png", full_page=True)
        page.locator(".lanes a").first.click()
        expect(page.locator("h1")).to_contain_text("n901 at ")


def ran(folder: Path, *words: str | Path) -> None:
    """A command as a process of its own: while a browser is driven, the event loop of this thread is taken."""
    with process(*words, cwd=folder) as working:
        assert working.wait(120) == 0


def reports(worked: Path, folder: Path) -> dict[str, str]:
    """Pages that commands write, by name."""
    assert call("analyse", "--log", worked, "--out", folder).code == 0
    source = folder / "mine.jsonl"
    source.write_text('{"id": "a", "problem": "4 5 6 10", "domain": "game24"}\n', encoding="utf-8")
    log = ("--log", folder / "a.db")
    assert call("produce", source, "--policy", "cot2_meta", *log).code == 0
    ran(folder, "worker", "--backbone", "rehearsal:seed=7", "--until-idle", *log)
    assert call("show", "a", "--tree", folder / "tree.html", *log).code == 0
    bench = ("bench", "run", "cot2-tab-17", "--reduced", "--backbone", "rehearsal:seed=7")
    ran(folder, *bench, "--log", folder / "b.db", "--out", folder)
    names = {"analysis": "analysis.html", "bench": "cot2-tab-17.html", "tree": "tree.html"}
    return {name: (folder / file).read_text(encoding="utf-8") for name, file in names.items()}


def test_what_commands_write_has_the_design_of_the_dashboard(
    browser: Browser, worked: Path, tmp_path: Path
) -> None:
    """They were white in dark mode, 719 px wide on a phone of 390, and a bare serif page."""
    made = reports(worked, tmp_path)
    for scheme, ground in (("light", "rgb(248, 247, 244)"), ("dark", "rgb(18, 21, 25)")):
        for width in WIDTHS:
            with opened(browser, scheme, width) as page:  # type: ignore[arg-type]
                for name, text in made.items():
                    page.set_content(text)
                    fits(page, f"{name} at {width}")
                    assert (
                        page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
                    )
                    shot = SHOTS / f"report-{name}-{width}-{scheme}.png"
                    page.screenshot(path=shot, full_page=name != "bench")
                    wide = page.locator("img").evaluate_all(
                        "all => all.filter(each => each.complete && !each.naturalWidth).length"
                    )
                    assert wide == 0, f"{name}: a drawing is broken"
