"""A state that nobody needs any more lets go of its snapshot's file, in whatever thread it is collected."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pytest

from state.folds.state import State
from state.snapshot import Snapshots


def test_a_state_is_collected_in_any_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", faults.append)
    kept = Snapshots(tmp_path / "kept.db", "log")
    state = State()
    state.offset = 1
    kept.save(state)
    again = Snapshots(tmp_path / "kept.db", "log").load()
    assert again.offset == 1
    ring: list[object] = [again]
    ring.append(ring)  # so that only the collector lets go of it
    gc.disable()
    try:
        del again, ring
        collector = threading.Thread(target=gc.collect)
        collector.start()
        collector.join()
    finally:
        gc.enable()
    assert faults == []
