"""A schema goes along where an endpoint takes one and somebody says so; the papers' profile asks in text alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.endpoint import Answer, Asked, serving, whole
from tests.streams.cli.calling import call
from tests.streams.cli.conftest import folder as folder

LINE = '{"id": "a", "problem": "What is 20 - 4?"}\n'
RIGHT = "Analysis: it holds.\nError_found: NO\nAction: ACCEPT\nFinal_answer: \\boxed{16}"
SCHEMED = "openai:check?structured=true"


@pytest.mark.parametrize(
    ("profile", "backbone", "schemas"),
    [
        ("service", "openai:check", {False}),
        ("service", SCHEMED, {True}),
        ("paper", SCHEMED, {False}),
    ],
)
def test_a_schema_goes_along_in_a_service_where_it_is_chosen(
    folder: Path, profile: str, backbone: str, schemas: set[bool]
) -> None:
    """What is learned from the episode is asked for in the same way; nothing is asked to find out what is taken."""
    Path("in.jsonl").write_text(LINE)
    where = ("--log", "a.db")
    made = ("--policy", "mc2", "--profile", profile, "--set", "batch_size=1")
    assert call("produce", "in.jsonl", *made, *where).code == 0
    asked: list[tuple[bool, str]] = []

    def replies(question: Asked) -> Answer:
        asked.append(("response_format" in question.body, str(question.body["messages"])))
        return whole(RIGHT)

    with serving(replies) as endpoint:
        words = ("--backbone", backbone, "--base-url", endpoint.url, *where)
        assert call("worker", *words, "--until-idle", "--settle").code == 0
    assert {schema for schema, _ in asked} == schemas
    assert any("micro-lesson" in prompt for _, prompt in asked), "its batch was learned, too"
    assert all("expert at reasoning" in prompt for _, prompt in asked[:1]), "nothing was probed"
