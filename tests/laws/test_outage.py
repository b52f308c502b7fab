"""Laws of an outage's lines: one when it begins, one when it ends, in turns, whatever is found between."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.outage import Outage, Trouble

LOOKS = st.lists(st.tuples(st.booleans(), st.integers(1, 60), st.integers(0, 9_999)), max_size=50)


@given(LOOKS)
def test_lines_come_in_pairs_and_the_second_knows_for_how_long(
    looks: list[tuple[bool, int, int]],
) -> None:
    outage, now_s, said = Outage("kafka://b:1"), 1_000, list[tuple[int, bool, str]]()
    for away, wait_s, waiting in looks:
        now_s += wait_s
        found = Trouble("brokers away", now_s - 10) if away else None
        line = outage.look(found, now_s, f"{waiting} calls wait")
        if line is not None:
            said.append((now_s, away, line))
            assert f"; {waiting} calls wait" in line
    assert [away for _, away, _ in said] == [index % 2 == 0 for index in range(len(said))]
    for (went_s, _, _), (back_s, _, line) in zip(said[::2], said[1::2], strict=False):
        assert re.search(r"back after (\d+) s", line)
        assert f"back after {back_s - (went_s - 10)} s" in line
    changes = [away for away, _, _ in looks]
    edges = sum(now != before for before, now in zip([False, *changes], changes, strict=False))
    assert len(said) == edges
