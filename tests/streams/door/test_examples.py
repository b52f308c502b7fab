"""Every example in a docstring of ``metalogue`` runs as it stands, and shows what it says."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import threading
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from types import CodeType
from typing import Any

import metalogue
import pytest

from handlers.policies.registry import find
from streams.answering.backbones.rehearsal import Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.interfaces.door.client import Client
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker

PARSER = doctest.DocTestParser()
READ = {"open_log", "verify"}
"""Whose examples read a log on which one problem was solved."""


def examples_of(name: str) -> list[doctest.Example]:
    home = metalogue if name == "metalogue" else getattr(metalogue, name)
    return PARSER.get_examples(inspect.getdoc(home) or "")


SHOWN = [name for name in ("metalogue", *sorted(metalogue.__all__)) if examples_of(name)]


def test_whatever_works_on_logs_shows_an_example() -> None:
    assert {"metalogue", "Engine", "Client", *READ} <= set(SHOWN)
    told = inspect.getdoc(metalogue) or ""
    assert all(f"metalogue.{name}(" in told for name in ("solve", "asolve", "verify", "fork"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(source: str) -> CodeType:
    """An example's code, which may await as a notebook's cell may."""
    code: CodeType = compile(source, "<example>", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def shown(examples: list[doctest.Example], names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What each example says that it prints, and what it prints."""
    for each in examples:
        said, code = StringIO(), compiled(each.source)
        with redirect_stdout(said):
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(eval(code, names))
            else:
                exec(code, names)
        yield each.want, said.getvalue()


class Elsewhere(threading.Thread):
    """A worker on a file, where the example's stands on a cluster."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path, self.drained = path, threading.Event()

    def run(self) -> None:
        async def work() -> None:
            with closing(SqliteLog(self.path, create=True)) as log:
                world = World({"*": Rehearsal()}, HashedEmbedder())
                worker = Worker(log, world, find)
                task = asyncio.create_task(worker.run())
                await asyncio.to_thread(self.drained.wait)
                worker.drain()
                await task

        asyncio.run(work())


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_what_comes(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {each: getattr(metalogue, each) for each in metalogue.__all__}
    if name in READ:
        metalogue.solve("What is 17 + 25?", backbone="rehearsal", log="sqlite:my.db")
    worker = Elsewhere(folder / "cluster.db")
    if name == "Client":
        begin = Client.__init__

        def here(client: Client, log: str, **said: Any) -> None:
            begin(client, f"sqlite:{worker.path}", **said)

        monkeypatch.setattr(Client, "__init__", here)
        worker.start()
    try:
        for want, came in shown(examples_of(name), names):
            assert came == want
    finally:
        worker.drained.set()
        if worker.is_alive():
            worker.join(timeout=30)
