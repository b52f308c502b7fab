"""SASL and TLS as settings; a secret is nowhere to be read, whatever goes wrong."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.live.kafka_here import Cluster, broker, missing
from tests.live.secured import PASSWORD, PROTOCOLS, Secured, secured

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
IDLE = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle")


@pytest.fixture(scope="module")
def safe() -> Generator[Secured]:
    with tempfile.TemporaryDirectory(prefix="metalogue-secured-") as folder:
        yield secured(Path(folder))
        broker(Path(folder), "clean")


class Insider(Cluster):
    """The command line with credentials."""

    def __init__(self, safe: Secured, protocol: str, home: Path, password: str = PASSWORD) -> None:
        super().__init__(f"kafka://127.0.0.1:{safe.ports[protocol]}", f"t{time.time_ns()}", home)
        self.credentials = safe.environ(protocol, password)

    def environ(self) -> dict[str, str]:
        return super().environ() | self.credentials


@pytest.mark.parametrize(
    "protocol",
    [
        each if each == "SASL_SSL" else pytest.param(each, marks=pytest.mark.soak)
        for each in PROTOCOLS
    ],
)
def test_problems_are_solved_over(safe: Secured, tmp_path: Path, protocol: str) -> None:
    inside = Insider(safe, protocol, tmp_path)
    said = [inside.call("topics", "create", "--partitions", 2)]
    said.append(inside.call("produce", "game24:901-902", "--policy", "cot"))
    said.append(inside.call(*IDLE))
    said.append(inside.call("consume", "--json"))
    assert [each.returncode for each in said] == [0, 0, 0, 0], said[-1].stderr
    assert len(said[-1].stdout.splitlines()) == 2
    assert not any(PASSWORD.encode() in each.stdout + each.stderr for each in said)


def test_a_wrong_password_is_a_matter_of_credentials_and_is_not_repeated(
    safe: Secured, tmp_path: Path
) -> None:
    wrong = "not-this-one-7"
    outside = Insider(safe, "SASL_SSL", tmp_path, wrong)
    for command in (("topics", "create"), ("log", "stats"), IDLE):
        done = outside.call(*command)
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == 5, said
        assert "log.credentials" in said
        assert "METALOGUE_KAFKA__SASL_PASSWORD" in said
        assert wrong not in said


def test_a_certificate_of_nobody_we_trust_is_refused(safe: Secured, tmp_path: Path) -> None:
    outside = Insider(safe, "SSL", tmp_path)
    del outside.credentials["METALOGUE_KAFKA__SSL_CA"]
    done = outside.call("log", "stats")
    assert done.returncode in (5, 6), done.stderr
    assert b"Traceback" not in done.stderr


def test_config_show_masks_the_password(safe: Secured, tmp_path: Path) -> None:
    inside = Insider(safe, "SASL_SSL", tmp_path)
    shown = inside.call("config", "show").stdout.decode()
    assert "sasl_password" in shown.lower()
    assert PASSWORD not in shown
