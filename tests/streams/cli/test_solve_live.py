"""`solve --display full` says each step as `show` does, while it comes."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from schemas.identity import address_order, is_numbered
from streams.interfaces.cli.solving import told
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call


def test_each_step_is_a_line_of_words_and_no_pairs(tmp_path: Path) -> None:
    """It printed fields as they are held: seconds=1.345884106000085."""
    log = tmp_path / "a.db"
    model = ("--backbone", "rehearsal:seed=7", "--domain", "game24", "--policy", "mc2")
    solved = call("solve", "4 5 6 10", *model, "--log", log, "--json")
    assert solved.code == 0, solved.err
    with closing(SqliteLog(log)) as opened:
        journal = opened.journal(solved.json["episode"])
    steps = sorted(
        ((at, event) for at, event in journal.items() if is_numbered(at)),
        key=lambda step: address_order(step[0]),
    )
    lines = [told(steps[: at + 1]) for at in range(len(steps))]
    assert not [line for line in lines if re.search(r"\w=\S|\d\.\d{4}", line)]
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert any(
        re.search(r"reasoner +replied  [\d,]+ in  \d+ out  \d+\.\d s$", line) for line in lines
    )
    assert any(re.search(r"monitor +(YES|NO)", line) for line in lines)
    shown = call("show", solved.json["episode"], "--log", log).out
    for line in lines:
        who, what = line.split(maxsplit=2)[1:]
        assert "replied" in what or what[:20] in shown, (who, what)
