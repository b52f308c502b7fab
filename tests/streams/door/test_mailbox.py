"""A client's view of a log: what it awaits is found, whatever came between."""

from __future__ import annotations

from contextlib import closing

import metalogue
import pytest

from streams.interfaces.cli.opening import open_log
from streams.interfaces.door.mailbox import Mailbox
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
