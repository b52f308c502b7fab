"""The dashboard of a log on a real broker: what moves, what waits, and what came of it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.live.kafka_here import Cluster, broker, ended, eventually, frozen, missing
from tests.pace import soon
from tests.streams.dashboard.serving import Site, serving

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
WORK = ("--backbone", "rehearsal:seed=7,latency_ms=300", "--until-idle", "--settle")
SERIES = ("produce", "game24:901-920", "--policy", "mc2")


def behind(site: Site) -> dict[str, float]:
    """How much waits before each stage."""
    families = text_string_to_metric_families(site.get("/metrics").text)
    return {
        sample.labels["stage"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "metalogue_stage_lag"
    }


def moving(site: Site) -> set[str]:
    """What is seen at work just now."""
    running = "/episode?id=p" in site.get("/episodes?state=running").text
    signs = {
        "an edge": "edge moving" in drawn(site, "edge"),
        "an episode": running,
        "the driver": behind(site)["driver"] > 0,
    }
    return {name for name, holds in signs.items() if holds}


def drawn(site: Site, name: str) -> set[str]:
    """Edges or boxes of the flow that are drawn as being in some state."""
    return set(re.findall(rf'class="({name}[^"]*)"', site.get("/").text))


def test_it_follows_workers_from_the_first_problem_to_the_last_answer(cluster: Cluster) -> None:
    cluster.out(*SERIES)
    with serving(cluster.url, METALOGUE_HOME=str(cluster.home)) as site:
        assert eventually(lambda: behind(site)["intake"] == 20)
        worker = cluster.worker(*WORK)
        seen = set[str]()
        while worker.poll() is None:
            seen |= moving(site)
            time.sleep(0.2)  # looked at now and then, as browsers do
        assert ended(worker) == [0]
        assert seen == {"an edge", "an episode", "the driver"}
        assert eventually(lambda: set(behind(site).values()) == {0})
        for page in ("/", "/answers", "/learning", "/items", "/episode?id=n905", "/dead-letters"):
            assert site.get(page).status == 200, page
        answered = site.get("/answers").text
        rows = re.findall(r'<th scope="row">\s*<a href="/episode', answered)
        assert len(rows) == cluster.stats()["answers"] == 20


OLD = "These figures are old"


def test_it_says_that_its_figures_are_old_while_brokers_are_frozen_or_away(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    cluster.out(*SERIES)
    with serving(cluster.url, METALOGUE_HOME=str(cluster.home)) as site:
        assert eventually(lambda: behind(site)["intake"] == 20)
        assert OLD not in site.get("/").text
        with frozen(node[1]):
            page = eventually(lambda: OLD in (page := site.get("/")).text and page.text)
            assert "no answer for" in page
            assert age(site) > 5
        eventually(lambda: OLD not in site.get("/").text)
        broker(node[1], "stop")
        try:
            assert eventually(lambda: OLD in site.get("/episodes").text)
            assert site.get("/answers").status == 200
        finally:
            broker(node[1], "start")
        eventually(lambda: OLD not in site.get("/").text)
        eventually(lambda: age(site) < 5)


def age(site: Site) -> float:
    """Seconds since the log was read to its end."""
    found = re.search(
        r"^metalogue_log_read_age_seconds (\S+)$", site.get("/metrics").text, re.MULTILINE
    )
    assert found is not None
    return float(found[1])


def test_it_ends_when_told_though_the_broker_says_nothing(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    with serving(cluster.url, METALOGUE_HOME=str(cluster.home)) as site, frozen(node[1]):
        eventually(lambda: OLD in site.get("/").text)
        limit_s, began = soon(10), time.monotonic()
        site.end()
        assert time.monotonic() - began < limit_s
