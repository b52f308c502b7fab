"""Pages as a program sees them: whole without scripts, closed to strangers, and unable to write."""

from __future__ import annotations

import hashlib
import re
import socket
import sqlite3
import threading
import time
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from streams.core.topology import STAGES, TOPICS
from streams.interfaces.cli.errors import CliError
from streams.interfaces.dashboard import app, flow, listing, words
from streams.interfaces.dashboard.guard import may_change
from streams.interfaces.dashboard.live_log import OLD_S, LiveLog, Turns
from streams.interfaces.dashboard.rates import Rates
from streams.runtime.embedded.reading import reading
from streams.support.web.hosts import is_loopback
from tests.streams.cli.calling import call, copied
from tests.streams.dashboard.serving import PATIENCE_S, Site, serving

SCOPE = "game24/mc2/main/44136fa355b3"
PAGES = (
    "/",
    "/episodes",
    "/episodes?state=closed&policy=mc2&domain=game24",
    "/episodes?text=n905",
    "/episodes?state=learning",
    "/episodes?state=probes",
    "/episode?id=n905",
    f"/episode?id={quote(f'b/{SCOPE}/1', safe='')}",
    "/episode/at?id=n905&at=1",
    f"/episode/at?id={quote(f'b/{SCOPE}/1', safe='')}&at=0",
    "/answers",
    "/answers?status=answered",
    "/learning",
    f"/items?scope={quote(SCOPE, safe='')}&order=uses",
    f"/items?scope={quote(SCOPE, safe='')}&kind=rule&at=1&role=monitor",
    f"/item?scope={quote(SCOPE, safe='')}&key=L1.R1",
    "/arms",
    "/graph",
    "/reviews",
    "/review?id=n905",
    "/dead-letters",
    "/dead-letter?n=1",
)


EACH = tuple({page.partition("?")[0]: page for page in PAGES}.values())
"""One of every kind."""


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_whole_and_carries_no_code_of_its_own(site: Site, page: str) -> None:
    found = site.get(page)
    assert found.status == 200, found.text
    tags = Tags(found.text).tags
    assert [a for tag, a in tags if tag == "script"] == [{"src": "/static/live.js", "defer": None}]
    assert not [tag for tag, _ in tags if tag in ("style", "iframe", "object", "embed", "base")]
    assert not [a for _, a in tags if "style" in a or any(name.startswith("on") for name in a)]
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    regions = [a for _, a in tags if "data-region" in a]
    assert all("id" in a for a in regions)
    targets = [str(a.get("href") or a.get("src") or "") for _, a in tags]
    assert not [target for target in targets if target and target[0] not in "/#"], "all is ours"


@pytest.mark.parametrize("page", ["/", "/episode?id=n905", "/nonsense", "/static/live.js", "/live"])
def test_a_browser_is_told_to_load_nothing_else(site: Site, page: str) -> None:
    if page == "/live":
        return
    headers = site.get(page).headers
    policy = dict(
        each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_links_on_every_page_lead_somewhere(site: Site) -> None:
    targets = {
        str(a["href"])
        for page in PAGES
        for tag, a in Tags(site.get(page).text).tags
        if tag == "a" and str(a.get("href", "")).startswith("/")
    }
    assert len(targets) > 60
    broken = {target: status for target in targets if (status := site.get(target).status) != 200}
    assert broken == {}


def test_an_episode_shows_its_steps_its_tree_its_budget_and_what_guided_it(site: Site) -> None:
    page = site.get("/episode?id=n915").text
    for heading in ("Budget", "Timeline", "Tree", "Guided by"):
        assert f"<h2>{heading}</h2>" in page
    assert "L1.R" in page
    assert "ACCEPT" in page or "RESTART" in page
    step = site.get("/episode/at?id=n915&at=0").text
    assert "Memory version 1" in step


def test_a_step_shows_the_prompt_derived_again_and_the_reply(site: Site) -> None:
    page = site.get("/episode/at?id=n905&at=0").text
    assert 'class="said system"' in page
    assert "Solve the problem" in page
    assert 'class="said reply"' in page
    assert "\\boxed{" in page


def test_a_measured_effect_is_drawn_with_its_interval_its_cost_and_its_episodes(
    worked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    listed = call("lessons", "list", "--json", "--log", path).rows
    lesson = max(listed, key=lambda row: row["used"])["id"]
    said = measured(path, lesson)
    with serving(path) as site:
        page = site.get(f"/item?scope={quote(SCOPE, safe='')}&key={lesson}").text
        listed_page = site.get(f"/items?scope={quote(SCOPE, safe='')}&order=effect&all=1").text
    drawn = drawing(said)
    assert drawn in page
    assert drawn in listed_page
    assert f"{said['episodes']} of {said['episodes']} use" in page
    assert f"{said['cost']['calls']} call" in page
    assert "(SIMULATED)" in page
    for pair in said["pairs"]:
        assert quote(pair["probe"], safe="") in page
    assert listed_page.count('class="whisker') == 1, "of no other item is it known"
    assert listed_page.index(drawn) < listed_page.index(">–</span></td></tr>"), "known ones first"


def measured(path: Path, item: str) -> dict[str, Any]:
    """What the command says that measures an effect."""
    probes = ("effect", "lesson", item, "--backbone", "rehearsal:seed=7", "--json")
    said = call(*probes, "--log", path)
    assert said.code == 0, said.err
    found: dict[str, Any] = said.json
    return found


def drawing(said: dict[str, Any]) -> str:
    """How a page describes that effect's drawing to who cannot see it."""
    effect, low, high = (words.points(each) for each in (said["effect"], *said["interval"]))
    return f'aria-label="effect {effect} points, 95 % {low} to {high}"'


def test_a_fact_s_step_leads_on_and_shows_its_values_as_they_are_on_record(site: Site) -> None:
    page = site.get("/episode/at?id=n905&at=3").text
    assert 'rel="prev"' in page
    assert 'rel="next"' in page
    assert "What was made of it" not in page
    assert not re.search(r"<code>\[&#39;|<code>(None|True|False)<", page)


@pytest.mark.parametrize(
    ("episode", "name"),
    [
        ("p/game24/n905/48d2416d2f7a", "n905"),
        ("b/game24/mc2/main/44136fa355b3/2", "batch 2"),
        ("q/p/game24/n905/48d2416d2f7a/3.0/effect/654c5ae3caea", "n905 at 3.0, effect"),
        ("q/x", "q/x"),
    ],
)
def test_people_s_name_of_an_episode(episode: str, name: str) -> None:
    assert listing.name_of(episode) == name


def test_what_is_not_there_is_said_so(site: Site) -> None:
    for path in (
        "/nonsense",
        "/episode?id=nobody",
        "/episode/at?id=n905&at=99999",
        "/episode/at?id=n905&at=../../x",
        "/item?scope=x&key=y",
        "/review?id=nobody",
        "/dead-letter?n=99",
        "/dead-letter?n=x",
        "/graph/drawn?scope=x",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
    ):
        assert site.get(path).status == 404, path
    for path in ("/episodes?before=x", "/items?at=-1&from=x", "/answers?status=%00", "/?%ff=%fe"):
        assert site.get(path).status == 200, path
    # It said how one comes by an answer, where no answer had failed.
    assert "No such answer." in site.get("/answers?status=failed").text


def test_only_names_of_this_machine_are_answered(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    assert site.get("/", Host=f"localhost:{port}").status == 200
    for name in ("evil.example", "127.evil.example", "localhost.evil.example", "127.0.0.1@evil"):
        assert site.get("/", Host=f"{name}:{port}").status == 421, name
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")


def test_who_listens_everywhere_answers_for_the_names_that_it_was_given(worked: Path) -> None:
    given = ("--listen", "0.0.0.0:0", "--allow-host", "pages.example.org")
    with serving(worked, *given) as site:
        for name in ("pages.example.org", "Pages.Example.org.:80", "localhost", "192.0.2.7"):
            assert site.get("/livez", Host=name).status == 200, name
        for name in ("evil.example", "pages.example.org.evil.example", "127.evil.example"):
            assert site.get("/livez", Host=name).status == 421, name


def test_a_name_that_is_none_is_refused_before_anything_listens(worked: Path) -> None:
    said = call("dashboard", "--log", worked, "--allow-host", "http://pages.example.org")
    assert said.code == 2
    assert "no name or address of a host" in said.err


def test_looking_changes_nothing(worked: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with serving(path) as site:
        for page in PAGES:
            assert site.get(page).status == 200
        assert site.post("/", n="1").status == 405
        assert site.post("/dead-letter/replay", n="1", token="").status == 403
        assert site.post("/dead-letter/replay", n="1", token="guess").status == 403
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    with reading(path) as log, pytest.raises(sqlite3.OperationalError, match="readonly"):
        log.publish([("problems", "x", {}, b"{}")])


def test_a_dead_letter_is_sent_on_with_the_token(worked: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    mended = '{"id": "x", "problem": "1 + 1"}'
    with serving(path, METALOGUE_DASHBOARD__TOKEN="open sesame") as site:
        assert site.post("/dead-letter/replay", n="1", text=mended, token="wrong").status == 403
        assert site.post("/dead-letter/replay", n="1", token="open sesame").status == 422
        done = site.post("/dead-letter/replay", n="1", text=mended, token="open sesame")
        assert (done.status, "sent on" in done.text) == (200, True)
        assert "live.js" not in done.text, "a browser would ask for it again by GET"
        assert site.post("/dead-letter/replay", n="1", text="x" * (5 << 20)).status == 413
        assert "open sesame" not in site.get("/dead-letter?n=1").text
    assert call("dlq", "list", "--log", path, "--json").rows[0]["replayed"] is True
    assert call("log", "stats", "--log", path, "--json").json["problems"] == 21
    assert "open sesame" not in call("config", "show").out


def test_no_token_opens_nothing() -> None:
    assert not may_change(None, "")
    assert not may_change("", "")
    assert not may_change("a", "b")
    assert may_change("a", "a")


def test_metrics_are_those_of_the_log(site: Site, worked: Path) -> None:
    families = text_string_to_metric_families(site.get("/metrics").text)
    found = {sample.name: sample.value for family in families for sample in family.samples}
    stats = call("log", "stats", "--log", worked, "--json").json
    assert found["metalogue_episodes_closed_total"] == stats["closed"]
    assert site.get("/livez").text == "ok\n"


def test_nothing_is_ever_marked_as_safe() -> None:
    for template in sorted((app.HERE / "templates").glob("*.html")):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup", text), template.name


def test_the_drawing_has_a_place_for_every_stage_and_topic() -> None:
    names = [each.name for each in (*STAGES, *TOPICS)]
    assert set(flow.PLACES) == set(names)
    assert len(set(flow.PLACES.values())) == len(names)
    drawn = {(edge.source, edge.target) for edge in flow.edges({}, {})}
    assert ("problems", "intake") in drawn
    assert ("relay", "answers") in drawn


def test_a_line_moves_while_something_comes_and_its_stage_is_at_work() -> None:
    rates, lags = {"events": 3.0, "learning": 1.0}, {"driver": 2, "relay": 0}
    moving = {(e.source, e.target) for e in flow.edges(rates, lags) if e.moving}
    assert {("driver", "events"), ("events", "relay"), ("relay", "learning")} <= moving
    assert not {("produce", "learning"), ("events", "projector"), ("relay", "answers")} & moving


def test_a_rate_is_what_came_lately() -> None:
    rates = Rates(span_s=10)
    rates.see(0.0, {"a": 0})
    assert rates.of("a") is None
    for second in range(1, 61):
        rates.see(float(second), {"a": 5 * second})
    assert rates.of("a") == pytest.approx(5.0)
    for second in range(61, 80):
        rates.see(float(second), {"a": 300})
    assert rates.of("a") == 0.0


def test_a_log_that_nobody_writes_to_grows_by_nothing_however_long_it_takes_to_read(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.telemetry.figures.SPAN", 50)
    monkeypatch.setattr("streams.interfaces.dashboard.live_log.STRETCH", 20)
    live_log = LiveLog(worked)
    while live_log.look():
        pass
    live_log.look()
    assert live_log.caught_up
    assert {live_log.rates.of(topic) for topic in live_log.topics()} == {0.0}


def test_another_log_at_the_same_path_is_read_anew(worked: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    copied(worked, path)
    assert call("produce", "game24:901-903", "--log", other).code == 0
    live_log = LiveLog(path)
    while live_log.refresh():
        pass
    assert live_log.counts.figures.closed == 20
    other.replace(path)
    while live_log.refresh():
        pass
    assert live_log.counts.figures.closed == 0
    assert live_log.topics()["problems"] == 3
    with closing(live_log.log), closing(live_log.counts):
        assert live_log.caught_up


def test_a_log_that_cannot_be_read_is_not_ready_and_goes_on_once_it_can(
    worked: Path, tmp_path: Path
) -> None:
    """One byte of one record had ended the reader for good, and nothing said so."""
    path = tmp_path / "a.db"
    copied(worked, path)
    last = "select max(offset) from records where kind = 'episode.closed'"
    spoilt = f"update records set body = 'x' || substr(body, 2) where offset = ({last})"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(spoilt)
    live_log = LiveLog(path)
    with closing(live_log.log), closing(live_log.counts):
        assert not live_log.caught_up, "nothing was read yet"
        for _ in range(3):
            assert not live_log.look()
            assert not live_log.caught_up
        assert live_log.away is not None
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("update records set body = '{' || substr(body, 2) where body like 'x%'")
        while live_log.look():
            pass
        assert (live_log.caught_up, live_log.counts.figures.closed) == (True, 20)


def test_a_page_that_waits_comes_before_the_next_stretch_of_a_long_log() -> None:
    lock, got, waits = Turns(), list[str](), threading.Event()

    def page() -> None:
        waits.set()
        with lock:
            got.append("page")

    with lock:
        got.append("stretch")
        looking = threading.Thread(target=page)
        looking.start()
        waits.wait(PATIENCE_S)
        # Until it has asked for its turn and waits for it, which takes as long as it takes.
        while not lock.is_asked_for:
            time.sleep(0.001)
    for _ in range(100):
        with lock:
            got.append("stretch")
    looking.join(PATIENCE_S)
    assert got[:3] == ["stretch", "page", "stretch"]


def test_a_source_that_is_away_is_said_and_followed_again(worked: Path) -> None:
    away = CliError("no broker answered", error="log.unreachable", exit=6, where="kafka://b:1")
    found: list[CliError | None] = [None, away, None]

    def catch_up() -> None:
        error = found.pop(0)
        if error is not None:
            raise error

    live_log = LiveLog(worked, catch_up)
    said: list[str | None] = []
    with closing(live_log.log), closing(live_log.counts):
        for _ in range(3):
            before = live_log.version
            live_log.caught()
            said.append(live_log.away)
            assert (live_log.version > before) == (len(said) > 1), (
                "browsers are told when it changes"
            )
        assert said == [None, "kafka://b:1: no broker answered", None]


def test_a_source_that_says_nothing_at_all_makes_figures_old(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a broker that is frozen: whoever asks it waits, and no error tells."""

    class Source:
        steps = 0

        def __call__(self) -> None: ...

    source, now = Source(), [time.monotonic()]
    live_log = LiveLog(worked, source)
    monkeypatch.setattr("streams.interfaces.dashboard.live_log.time.monotonic", lambda: now[0])
    with closing(live_log.log), closing(live_log.counts):
        live_log.look()
        live_log.tick()
        version, said = live_log.version, list[str | None]()
        now[0] += OLD_S + 1
        said.append(live_log.away)
        live_log.tick()
        assert live_log.version > version, "browsers are told"
        source.steps += 1  # what comes in pieces comes
        said.append(live_log.away)
        now[0] += OLD_S + 1
        live_log.look()
        said.append(live_log.away)
        assert said == [f"no answer for {OLD_S + 1:.0f} s", None, None]


def test_a_log_that_is_gone_is_no_page_without_a_word_and_is_read_again(
    worked: Path, tmp_path: Path
) -> None:
    path, beside = copied(worked, tmp_path / "a.db"), tmp_path / "b.db"
    with serving(path) as site:
        assert "These figures are old" not in site.get("/").text
        path.rename(beside)
        deadline = time.monotonic() + PATIENCE_S
        while "These figures are old" not in (page := site.get("/learning")).text:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert page.status == site.get("/answers").status == 503
        assert "No such file" in page.text
        assert "metalogue_episodes_closed_total 20" in site.get("/metrics").text
        beside.rename(path)
        while "These figures are old" in site.get("/").text:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert site.get("/answers").status == 200


def test_a_log_that_is_not_there_or_a_port_that_is_taken_is_told_at_once(
    worked: Path, tmp_path: Path
) -> None:
    assert call("dashboard", "--log", tmp_path / "none.db").code == 2
    assert call("dashboard", "--log", worked, "--listen", "nonsense").code == 2
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        taken = call("dashboard", "--log", worked, "--listen", place)
    assert taken.code == 6
    assert taken.err.startswith(f"{place}: Address already in use [web.taken, exit 6]")


@pytest.mark.parametrize("said", ["", "x", "-1", "1" * 19, "9" * 5_000])
def test_what_is_no_number_of_a_page_is_none(said: str) -> None:
    assert words.number_in(said) is None
    assert words.number_in("1" * 18) == int("1" * 18)
