from __future__ import annotations

from tests.streams.bench.declared import PAGE, page


def test_metrics_are_as_they_were_last_read() -> None:
    """After a change: ``python -m tests.streams.bench.declared``, then read the diff."""
    assert page() == PAGE.read_text(encoding="utf-8")
