"""Log messages follow the flags that stand anywhere on a command line."""

from __future__ import annotations

import json
import logging

import pytest

from streams.interfaces.cli import messages
from streams.interfaces.cli.flags import FLAGS
from tests.streams.cli.calling import call


def test_messages_are_json_lines_where_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FLAGS, "log_format", "json")
    monkeypatch.setattr(FLAGS, "log_level", "info")
    messages.log_as_asked()
    logging.getLogger("here").info("said %s", "é\n")
    logging.getLogger("here").debug("not asked for")
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["level"], said["logger"], said["message"]) == ("info", "here", "said é\n")


def test_messages_are_text_otherwise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FLAGS, "log_format", "text")
    monkeypatch.setattr(FLAGS, "log_level", "warning")
    messages.log_as_asked()
    logging.getLogger("here").warning("mind this")
    assert capsys.readouterr().err.rstrip().endswith("WARNING here: mind this")


def test_a_command_that_asks_no_model_follows_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projector's warnings of a collector that is away were text, whatever was asked for."""

    def warned(url: str) -> str:
        logging.getLogger("here").warning("mind this")
        return url

    monkeypatch.setattr("streams.interfaces.cli.logs.log_path", warned)
    called = call("log", "path", "--log-format", "json", "--log", "sqlite:a.db")
    assert (called.code, json.loads(called.err)["message"]) == (0, "mind this")
