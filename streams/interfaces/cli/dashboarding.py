"""The `dashboard` command: which log, where to listen, and who may change anything."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import OK, CliError, usage
from streams.interfaces.cli.observing import need_extra, place_of, taken
from streams.interfaces.cli.opening import log_path, log_url, open_log
from streams.interfaces.cli.output import say

if TYPE_CHECKING:
    from streams.runtime.kafka.imported import KafkaLog
    from streams.support.web.hosts import Hosts

NOTED_S = 2.0
"""So often it is asked how far workers on Kafka have read."""


def dashboard(log: str | None, *, listen: str | None, names: Iterable[str], browser: bool) -> int:
    """Serve the dashboard of a log until told to end; the exit code."""
    from streams.interfaces.cli.config import keep_shut, load
    from streams.runtime.embedded.files import copy_to
    from streams.support.web.hosts import is_loopback

    need_extra("starlette", "web")
    said = load().dashboard
    host, port = place_of(listen or said.listen, "--listen")
    hosts = hosts_of(host, [*names] or said.allowed_hosts)
    opens = ["dashboard.token"] if said.token else []
    opens += ["dashboard.allowed_hosts"] if said.allowed_hosts and not names else []
    opens += [] if listen or is_loopback(hosts.listening) else ["dashboard.listen"]
    keep_shut(*opens)
    url = log_url(log)
    catch_up: Callable[[], object] | None = None
    if url.startswith("kafka://"):
        importing = catch_up = Importing(url)
        path = importing.path
    else:
        open_log(url).close()  # says what is wrong with it, if anything is
        # Pages ask SQL of a file, and a log of lines has none. Theirs must last as long as this
        # process, and no longer.
        if url.startswith("jsonl:"):
            folder = tempfile.TemporaryDirectory(prefix="metalogue-")
            atexit.register(folder.cleanup)
            path = Path(folder.name) / "log.db"
            with closing(open_log(url)) as read:
                copy_to(read.db, path)
        else:
            path = Path(log_path(url))
    listening = listening_at(host, port)
    from streams.interfaces.dashboard.app import Dashboard
    from streams.interfaces.dashboard.live_log import LiveLog
    from streams.interfaces.dashboard.serve import serve

    if not is_loopback(hosts.listening):
        reach = f"listening on {hosts.listening}: whoever reaches it"
        say(f"{reach} can read every problem, prompt and answer")
        if hosts.wide and not hosts.names:
            say("only addresses and localhost are answered: give other names by --allow-host NAME")
    pages = Dashboard(LiveLog(path, catch_up), url, lambda: open_log(url), said.token)
    address = f"http://{named(host)}:{listening.getsockname()[1]}/"
    serve(pages.app(hosts), listening, lambda: _ready(address, browser=browser))
    return OK


def hosts_of(listening: str, names: Iterable[str]) -> Hosts:
    """The hosts that are answered. Raises a usage error for a name that is none."""
    from streams.support.web.hosts import Hosts

    try:
        return Hosts.of(listening, names)
    except ValueError as error:
        hint = "Give the name alone, such as pages.example.org, without a scheme or port"
        raise usage(str(error), field="--allow-host", hint=hint) from error


class Importing:
    """Brings the local file of a log on Kafka up to date, in the thread that asks for it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.log: KafkaLog | None = None
        self.noted_s = 0.0
        # Opened and closed again in the thread of the command line, because SQLite lets no other
        # thread use a connection; the one that serves opens its own at the first call.
        first = open_log(url)
        self.path = first.path
        first.close()

    def __call__(self) -> None:
        """Take in what is new. Raises a ``CliError`` where the broker is away."""
        from streams.interfaces.cli.kafka_log import open_kafka, reached

        if self.log is None:
            self.log = open_kafka(self.url)
        reached(self.log.place, self.log.refresh)
        if time.monotonic() - self.noted_s >= NOTED_S:
            self.noted_s = time.monotonic()
            # A group without a coordinator hides how far workers are, and no more than that.
            with suppress(CliError):
                reached(self.log.place, self.log.note_intake)


def listening_at(host: str, port: int) -> socket.socket:
    """Listens already, so that a port that is taken is told at once. Raises a ``CliError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise taken(host, port, error, "--listen") from error


def named(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _ready(address: str, *, browser: bool) -> None:
    say(f"ready: {address}   Ctrl-C ends it")
    seen = sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    if browser and seen:
        import threading
        import webbrowser

        # A browser in a terminal would hold up whoever starts it.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
