"""What the review queue reads off the topic of feedback, whatever anybody put there."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import reviews

EPISODE = "p/d/a/0123456789ab"
GOOD = json.dumps({"episode": EPISODE, "review": "1", "reference": "42", "by": "ann"}).encode()


@pytest.mark.parametrize(
    "bad",
    [
        b'{"episode":"p/d/a\xff/x","review":"1","verdict":true}',
        b'{"episode":"p/d/b/x","review":"1","verdict":true,"verdict":false}',
        b'{"episode":"p/d/b/x","review":7,"verdict":true}',
        b'{"episode":7,"review":"1","verdict":true}',
        b'"episode" "review"',
        b"\xff",
    ],
)
def test_what_nobody_can_read_answers_no_question_and_stops_no_queue(
    tmp_path: Path, bad: bytes
) -> None:
    with closing(SqliteLog(tmp_path / "log.db", create=True)) as log:
        log.publish([("feedback", "bad", {}, bad), ("feedback", "good", {}, GOOD)])
        assert reviews.replied(log) == {(EPISODE, "1")}
        assert EPISODE in reviews.spoken_of(log)
        assert reviews.said_of(log, EPISODE) == [GOOD]
