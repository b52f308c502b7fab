"""The dashboard of a log on a real broker: what moves, what waits, and what came of it."""

from __future__ import annotations

import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.live.kafka_here import Cluster, ended, eventually, missing
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
