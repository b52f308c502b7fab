"""A real Apache Kafka broker for the live tests: one for the whole test session, shared by its processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.interfaces.cli.logs import counts
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "deploy" / "kafka-local" / "broker.sh"
SESSION_MS = "6000"
QUICK_START = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""Java's second compiler is not worth its work for a broker that lives for minutes."""


def missing() -> str | None:
    """Why there can be no broker here, if so."""
    if os.environ.get("CI"):
        return None  # there it is never skipped: what is missing fails
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"no {tool} on this machine, so Apache Kafka cannot be started"
    return None


def broker(folder: Path, verb: str, **environ: str) -> str:
    """Run the script on a broker of the tests' own."""
    with open(folder / "broker.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["bash", str(SCRIPT), verb],
            env={**os.environ, **QUICK_START, "KAFKA_LOCAL_DIR": str(folder / "node"), **environ},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr or done.stdout)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def pid_of(node: Path) -> int:
    """The process of a running node, by its folder."""
    return int((node / "pid").read_text())


@contextmanager
def frozen(node: Path) -> Generator[None]:
    """The broker while it is stopped where it stands: its connections are open and say nothing."""
    pid = pid_of(node / "node")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Cluster:
    """A log of its own on the broker, and the command line to use it with."""

    def __init__(self, base: str, name: str, home: Path) -> None:
        self.base, self.name, self.home = base, name, home
        self.started: list[subprocess.Popen[bytes]] = []
        self.opened: KafkaLog | None = None

    @property
    def url(self) -> str:
        return f"{self.base}/{self.name}"

    @property
    def said(self) -> Path:
        """What its workers said."""
        return self.home / f"{self.name}.log"

    @property
    def server(self) -> str:
        return self.base.removeprefix("kafka://")

    def environ(self) -> dict[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("METALOGUE_", "OPENAI_"))}
        return ours | {
            "METALOGUE_HOME": str(self.home),
            "METALOGUE_KAFKA__SESSION_MS": SESSION_MS,
            "PYTHONPATH": str(ROOT),
        }

    def command(self, *arguments: object) -> list[str]:
        return [
            sys.executable,
            "-m",
            "streams.interfaces.cli.main",
            *map(str, arguments),
            "--log",
            self.url,
        ]

    def call(self, *arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environ(),
            input=given,
            capture_output=True,
            timeout=110,
            check=False,
        )

    def out(self, *arguments: object) -> str:
        done = self.call(*arguments)
        assert done.returncode == 0, (arguments, done.stderr.decode()[-800:])
        return done.stdout.decode().strip()

    def log(self) -> KafkaLog:
        """The log as it is now, read in this process."""
        if self.opened is None:
            self.opened = KafkaLog(KafkaAddress.of(self.url), self.home)
        self.opened.refresh()
        return self.opened

    def stats(self) -> dict[str, int]:
        """What `log stats` prints."""
        return counts(self.log())

    def worker(self, *arguments: object, **environ: str) -> subprocess.Popen[bytes]:
        said = open(self.said, "ab")  # noqa: SIM115 - lives as long as it does
        process = subprocess.Popen(
            self.command("worker", *arguments),
            env=self.environ() | environ,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        said.close()
        self.started.append(process)
        return process

    def topic(self, noun: str) -> str:
        return f"{self.name}.metalogue.{noun}.v1"

    def dead(self, noun: str) -> str:
        """The topic of its dead letters."""
        return f"{self.name}.dlq.metalogue.{noun}.v1"

    def kcat(self, *arguments: str, given: bytes = b"") -> bytes:
        done = subprocess.run(
            ["kcat", "-b", self.server, *arguments], input=given, capture_output=True, check=True
        )
        return done.stdout

    def send(self, given: bytes) -> None:
        """Problems as a foreign client sends them: a key, a tab and a value a line."""
        self.kcat("-P", "-t", self.topic("problems"), "-K", "\t", given=given)

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()
        for each in self.started:
            if each.poll() is None:
                each.kill()
            each.wait()
        if self.said.exists():
            print(self.said.read_text()[-4000:])  # shown where a test failed


class Flat(Cluster):
    """A log in one file, used in the same way."""

    def __init__(self, home: Path) -> None:
        super().__init__("", "flat", home)

    @property
    def url(self) -> str:
        return f"sqlite:{self.home}/flat.db"

    def worker(self, *arguments: object, **environ: str) -> subprocess.Popen[bytes]:
        """Without a projector beside it, as there is none on a broker."""
        return super().worker("--no-tables", *arguments, **environ)


def ended(*workers: subprocess.Popen[bytes], limit_s: float = 120) -> list[int]:
    """The exit codes of processes that end by themselves."""
    return [each.wait(limit_s) for each in workers]


def eventually(holds: Callable[[], Any], limit_s: float = 90.0) -> Any:
    """Wait for something; it is asked again and again, seldomer the longer it takes."""
    end, pause_s = time.monotonic() + limit_s, 0.05
    while not (found := holds()):
        assert time.monotonic() < end, "it never came"
        time.sleep(pause_s)
        pause_s = min(0.5, 1.5 * pause_s)
    return found
