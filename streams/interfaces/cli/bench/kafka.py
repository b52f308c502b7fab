"""`bench kafka`: on the broker that `--log` names, else on a local one that is started for it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import FAILED, UNREACHABLE, CliError
from streams.interfaces.cli.kafka_log import is_kafka, place_of, reached
from streams.interfaces.cli.opening import log_url

if TYPE_CHECKING:
    from streams.runtime.kafka.place import KafkaAddress

SCRIPT = Path(__file__).resolve().parents[4] / "deploy" / "kafka-local" / "broker.sh"


def run(log: str | None, say: Callable[[str], None]) -> dict[str, object]:
    """The figures. Raises a ``CliError`` where no broker can be had."""
    url = log_url(log)
    if is_kafka(url):
        return _measured(place_of(url), say)
    say("starting a broker of our own")
    with tempfile.TemporaryDirectory(prefix="metalogue-bench-") as folder:
        environ = {**os.environ, "KAFKA_LOCAL_DIR": folder}
        try:
            # The script may say more before: where it listens stands on its last line.
            place = place_of(_script("start", environ).strip().splitlines()[-1])
            return _measured(place, say)
        finally:
            # The broker is a process of its own and would outlive this one, even a
            # start that failed.
            _script("clean", environ)


def _measured(place: KafkaAddress, say: Callable[[str], None]) -> dict[str, object]:
    from streams.research.bench import kafka, kafka_paced

    try:
        return reached(place, lambda: kafka.run(place, say))
    except kafka_paced.Failed as error:
        raise CliError(str(error), error="bench.command", exit=FAILED) from error


def _script(verb: str, environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", str(SCRIPT), verb], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CliError(
            (done.stderr or done.stdout).strip()[-300:],
            error="broker.missing",
            exit=UNREACHABLE,
            hint="Give a broker: metalogue bench kafka --log kafka://HOST:PORT",
        )
    return done.stdout
