"""A client's view of a log: what it awaits is found, whatever came between."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import metalogue
import pytest

from streams.interfaces.cli.opening import open_log
from streams.interfaces.door.asking import Asked, Way
from streams.interfaces.door.mailbox import Mailbox
from tests.streams.cli.calling import call
from tests.surroundings import Serve

LOG = "sqlite:a.db"


def test_a_look_that_breaks_off_forgets_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    solved = metalogue.solve("What is 17 + 25?", backbone="openai", log=LOG)
    with closing(open_log(LOG)) as log:
        # It counts from the log's end: the answer is found by looking for it once, or never.
        box = Mailbox(log)
        with monkeypatch.context() as away:
            away.setattr(log, "data_version", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                box.news([solved.episode])
        assert box.news([solved.episode]).answers == {solved.episode: solved}
        # Whoever waits for it again, before anybody looked, is told again.
        assert box.news([solved.episode]).answers == {solved.episode: solved}


@pytest.mark.parametrize("junk", [b"{", b"[1]", b'"x"', b"null", b'{"problem": 3}', b"\xff"])
@pytest.mark.parametrize("mine", [True, False])
def test_what_no_worker_can_read_takes_nobodys_id(folder: Path, junk: bytes, mine: bool) -> None:
    """Another client may write what it likes on the topic of problems, under our names too."""
    asked, way = Asked.of("What is 1 + 1?", "q"), Way(policy="cot")
    with closing(open_log("sqlite:named.db", create=True)) as log:
        episode = Mailbox(log).post(asked, way).episode
    with closing(open_log(LOG, create=True)) as log:
        key = episode if mine else f"{episode.rpartition('/')[0]}/000000000000"
        log.publish([("problems", key, {}, junk)])
        box = Mailbox(log)
        assert box.post(asked, way).episode == episode
        # Where the message bears its very name, its caller waits for the worker's refusal of it.
        assert (box.find(episode) is None) == mine
        if not mine:
            with pytest.raises(metalogue.Error, match="another problem text"):
                box.post(Asked.of("What is 2 + 2?", "q"), way)


def test_who_waits_for_a_name_that_bears_junk_is_told_by_the_workers_letter(folder: Path) -> None:
    asked, way = Asked.of("What is 1 + 1?", "q"), Way(policy="cot")
    with closing(open_log("sqlite:named.db", create=True)) as log:
        episode = Mailbox(log).post(asked, way).episode
    with closing(open_log(LOG, create=True)) as log:
        log.publish([("problems", episode, {}, b"{")])
        box = Mailbox(log)
        assert box.post(asked, way).episode == episode
        assert not box.news([episode]).refused
        worker = ("worker", "--backbone", "rehearsal", "--until-idle", "-q", "--no-tables")
        call(*worker, "--log", LOG)
        told = box.news([episode])
    assert not told.answers
    assert "json" in told.refused[episode].casefold()
