"""llama.cpp's own scheduler in this process: calls of several threads are decoded in one batch."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from streams.answering.backbones.llamacpp.marks import marks_of
from streams.answering.backbones.llamacpp.options import Options
from streams.answering.backbones.loaded import missing
from streams.core.backbone import SetupBroken

QUIET = -1


class Engine:
    """A loaded model. Raises ``SetupBroken`` if the file is none that llama.cpp can load.

    The library opens a server beside its calls; it is bound to a socket that only this user can
    reach, in a folder that goes with the engine.
    """

    def __init__(self, path: Path, options: Options) -> None:
        library: Any = import_module("xllamacpp")
        self._folder = TemporaryDirectory(prefix="metalogue-")
        listening = Path(self._folder.name) / "llama.sock"
        wanted = library.CommonParams()
        wanted.model.path = str(path)
        # A socket in the file system and no port: nobody else on this machine may ask the model.
        wanted.hostnames = [str(listening)]
        wanted.n_threads_http, wanted.ui, wanted.endpoint_slots = 1, False, False
        wanted.verbosity, wanted.warmup = QUIET, False
        wanted.n_parallel, wanted.n_ctx = options.slots, options.slots * options.context
        threads = options.threads or idle_cores()
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
        wanted.cache_prompt = options.cache
        wanted.cache_ram_mib = options.cache_mib if options.cache else 0
        try:
            self._server: Any = library.Server(wanted)
        except RuntimeError as error:
            self._folder.cleanup()
            raise SetupBroken("model", str(path), "llama.cpp cannot load this file") from error
        self.marks = marks_of(listening)

    def chat(self, body: bytes, given_up: Callable[[], bool]) -> bytes:
        """The reply to a chat request, as the events of a stream; cut short once it is given up."""
        heard: list[bytes] = []

        def take(event: bytes) -> bool:
            heard.append(b"data: " + event + b"\n\n")
            return given_up()

        self._server.handle_chat_completions(body, take)
        return b"".join(heard)

    def close(self) -> None:
        """Free the model. No call may be under way."""
        self._server = None
        self._folder.cleanup()


def need_library() -> None:
    """Raises ``SetupBroken`` if the extra that carries llama.cpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise missing("llamacpp", "llama.cpp", "local")


def keep_signals() -> None:
    """Hand Ctrl-C and SIGTERM back to those who had them: loading a model takes both away."""
    # Only the main thread may set handlers. It is there that the loading is awaited, so it comes by
    # here.
    if threading.current_thread() is not threading.main_thread():
        return
    for each in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(each)
        if handler is not None:
            signal.signal(each, handler)
            signal.siginterrupt(each, False)


def idle_cores() -> int:
    """Cores that this process may use and that nothing else keeps busy; one at least."""
    # llama.cpp's threads wait for each other at every step, so that one which must share its core
    # slows all of them down.
    return max(1, len(os.sched_getaffinity(0)) - round(os.getloadavg()[0]))
