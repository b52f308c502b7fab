"""Episodes cut out of a log of either runtime are verified alone, with and without what they had learned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import orjson
import pytest

from streams.replay.cut import cut_out
from streams.replay.verify import Verifier
from streams.runtime.embedded.imported import import_jsonl
from streams.runtime.embedded.lines import lines_of
from tests.contracts.runtimes import Life, Runtime, in_one_process, on_kafka_in_memory
from tests.pupil import PUPIL, problems, publication

ENDED = "select episode from records where kind = 'episode.closed' and topic = 'events'"


@pytest.mark.parametrize("made", [in_one_process, on_kafka_in_memory])
def test_an_episode_cut_out_of_a_log_is_verified_alone(
    made: Callable[[], AbstractContextManager[Runtime]], tmp_path: Path
) -> None:
    lines = tmp_path / "one.jsonl"
    with made() as runtime:
        runtime.log().publish(*publication(problems()))
        runtime.live(Life())
        log = runtime.log()
        for (episode,) in log.db.execute(ENDED).fetchall()[::2]:
            for learned in (False, True):
                said = lines_of(log, None, cut_out(log, episode, learned=learned))
                lines.write_bytes(b"\n".join(map(orjson.dumps, said)))
                with closing(import_jsonl(str(lines))) as one:
                    done = Verifier(one, lambda name: PUPIL).run()
                assert [(e.episode, e.address, e.part, e.recorded) for e in done.diverged] == []
                assert done.unverifiable == []
                assert done.episodes >= learned
