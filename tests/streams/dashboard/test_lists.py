"""Lists of episodes: every filter that stands above a list holds for it."""

from __future__ import annotations

from pathlib import Path

from streams.interfaces.dashboard.listing import NEWEST
from streams.runtime.embedded.queries import lists
from streams.runtime.embedded.reading import reading
from tests.streams.cli.calling import call, copied


def listed(path: Path, **wanted: str) -> list[str]:
    with reading(path) as log:
        return [each.episode for each in lists.episodes(log, wanted, NEWEST, 100)]


def test_probes_are_those_of_what_is_looked_for(worked: Path, tmp_path: Path) -> None:
    """All of them stood under filters that were filled in, whatever these said."""
    path = copied(worked, tmp_path / "a.db")
    words = ("--at", "1", "--backbone", "rehearsal:seed=7", "--log", path)
    assert call("fork", *listed(path, text="n905"), *words).code == 0
    every = listed(path, state="probes")
    assert len(every) == 1
    assert listed(path, state="probes", domain="game24", policy="mc2", text="n905") == every
    for other in ({"domain": "game"}, {"policy": "mc"}, {"text": "n906"}, {"text": "no such text"}):
        assert listed(path, state="probes", **other) == []


def test_batches_are_those_with_a_member_that_is_looked_for(worked: Path) -> None:
    every = listed(worked, state="learning")
    assert len(every) > 1
    assert listed(worked, state="learning", domain="game24", policy="mc2") == every
    assert 0 < len(listed(worked, state="learning", text="n905")) < len(every)
    for other in ({"domain": "game"}, {"policy": "mc"}, {"text": "no such text"}):
        assert listed(worked, state="learning", **other) == []
