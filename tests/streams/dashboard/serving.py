"""A dashboard as a process of its own, and plain requests to it."""

from __future__ import annotations

import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from tests.streams.cli.calling import command, environment

READY = re.compile(rb"^ready: (\S+)/", re.MULTILINE)
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Answer:
    """What a page answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Site:
    """A dashboard that listens."""

    url: str
    process: subprocess.Popen[bytes]

    def end(self) -> None:
        """Tell it to end, and see that it does."""
        self.process.terminate()
        assert self.process.wait(PATIENCE_S) == 0

    def get(self, path: str, **headers: str) -> Answer:
        return self._ask(urllib.request.Request(self.url + path, headers=headers))

    def post(self, path: str, **fields: str) -> Answer:
        return self._ask(urllib.request.Request(self.url + path, urlencode(fields).encode()))

    def _ask(self, request: urllib.request.Request) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as said:
                return Answer(said.status, dict(said.headers), said.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read().decode())

    def caught_up(self) -> None:
        """Wait until the whole log was read."""
        deadline = time.monotonic() + PATIENCE_S
        while self.get("/readyz").status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@contextmanager
def serving(
    log: Path | str, *more: str, hasty: tuple[str, ...] = (), **env: str
) -> Generator[Site]:
    """The dashboard of a log, on a port of its own; one that is ``hasty`` has other deadlines, as code."""
    words = command("dashboard", "--log", log, "--listen", "127.0.0.1:0", *more)
    words[2] = "\n".join((*hasty, words[2]))
    with subprocess.Popen(
        words,
        cwd=Path(__file__).parent,
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as served:
        try:
            assert served.stderr is not None
            found, said = None, b""
            while found is None and (line := served.stderr.readline()):
                said += line
                found = READY.search(said)
            assert found is not None, said
            # A page that fails leaves its trace there: unread, it would fill the pipe and stop the server.
            threading.Thread(target=served.stderr.read, daemon=True).start()
            site = Site(found[1].decode(), served)
            site.caught_up()
            yield site
        finally:
            served.terminate()
            assert served.wait(PATIENCE_S) == 0
