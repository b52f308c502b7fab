"""Replies of a log as a recording: whoever asks the same again is answered from it, and nobody is paid."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call
from tests.streams.cli.learned import change

MODEL = ("--backbone", "rehearsal:seed=7")


def worked(log: str, policy: str, *more: str, backbone: tuple[str, ...] = MODEL) -> None:
    """Eight puzzles by a policy, worked on to the end."""
    put = ("produce", "game24:901-908", "--policy", policy, *more, "--log", log)
    assert call(*put).code == 0
    assert call("worker", "--until-idle", "--settle", *backbone, "--log", log).code == 0


def answers(path: Path) -> dict[str, tuple[str | None, str]]:
    """Answer and status by problem."""
    with closing(SqliteLog(str(path))) as log:
        rows = log.db.execute(
            "select episode, json_extract(body, '$.answer'), json_extract(body, '$.status') from records"
            " where kind = 'episode.closed'"
        ).fetchall()
    return {episode.split("/")[2]: (answer, status) for episode, answer, status in rows}


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ("self_consistency", ("--set", "samples=4")),
        # It learns, and what it is shown hangs on all that was said before.
        ("cascade", ("--set", "batch_size=4")),
        ("cot2_meta", ()),
    ],
)
def test_the_same_policy_comes_to_the_same_answers(
    folder: Path, policy: str, more: tuple[str, ...]
) -> None:
    worked("a.db", policy, *more)
    done = call("export", "replies", "a.jsonl", "--log", "a.db", "--json")
    assert done.code == 0
    assert (done.json["unclear"], done.json["left_out"]) == (0, 0)
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert done.json["replies"] == len(lines) > 8
    assert {line["model"] for line in lines} == {"rehearsal"}
    # Those of batches stand in learning episodes, which no recording holds: another run learns for itself.
    backbone: tuple[str, ...] = ("--backbone", "recorded:a.jsonl")
    backbone += ("--role", "distiller=rehearsal:seed=7")
    worked("b.db", policy, *more, backbone=backbone)
    assert answers(folder / "b.db") == answers(folder / "a.db")


def test_another_policy_is_answered_as_far_as_it_asks_the_same(folder: Path) -> None:
    worked("a.db", "self_consistency", "--set", "samples=4")
    assert call("export", "replies", "a.jsonl", "--log", "a.db").code == 0
    worked("b.db", "cot", backbone=("--backbone", "recorded:a.jsonl"))
    assert len(answers(folder / "b.db")) == 8
    put = ("produce", "game24:901-902", "--policy", "tot", "--log", "c.db")
    assert call(*put).code == 0
    other = call("worker", "--until-idle", "--backbone", "recorded:a.jsonl", "--log", "c.db")
    assert other.code != 0
    assert "no reply to prompt" in other.err


def test_of_two_replies_to_one_prompt_nobody_guesses(folder: Path) -> None:
    worked("a.db", "cot")
    worked("a.db", "cot", "--seed", "1")
    refused = call("export", "replies", "a.jsonl", "--log", "a.db")
    assert refused.code == 2
    assert "had different replies to the same prompt" in refused.err
    assert "[replies.twice" in refused.err
    assert not (folder / "a.jsonl").exists()
    one = call("export", "replies", "-", "--log", "a.db", "--seed", 1)
    assert (one.code, len(one.lines)) == (0, 8)
    assert call("export", "replies", "-", "--log", "a.db", "--of", "mc2").lines == []
    worked("a.db", "self_consistency", "--set", "samples=2")
    both = call("export", "replies", "-", "--log", "a.db", "--of", "self_consistency")
    assert (both.code, len(both.lines)) == (0, 16)


def test_what_one_episode_was_told_in_two_ways_is_in_no_recording(folder: Path) -> None:
    """Rounds of MC² may ask the same again, word for word: another reply to it would be taken for this one."""
    worked("a.db", "mc2", "--set", "max_rounds=2")
    done = call("export", "replies", "a.jsonl", "--log", "a.db", "--json")
    assert (done.code, done.json["unclear"] > 0) == (0, True)
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    asked = {(json.dumps(line["messages"]), line["draw"]) for line in lines}
    assert len(asked) == len(lines) == done.json["replies"]
    assert f"left out: {done.json['unclear']} prompt" in done.err


def test_what_this_build_cannot_run_again_is_counted(folder: Path) -> None:
    worked("a.db", "cot")
    change(
        folder / "a.db",
        "update records set body = json_set(body, '$.policy_version', ?) where kind = 'episode.opened'"
        " and episode like 'p/game24/n90_/%'",
        "0",
    )
    done = call("export", "replies", "a.jsonl", "--log", "a.db")
    assert done.code == 0
    assert "left out: 8 episodes that this build cannot run again" in done.err


def test_what_belongs_to_other_exports_is_refused(folder: Path) -> None:
    worked("a.db", "cot")
    for given, field in ((("--sign", "k.pem"), "--sign"), (("--reward", "f1"), "--reward")):
        refused = call("export", "replies", "a.jsonl", *given, "--log", "a.db")
        assert (refused.code, field in refused.err) == (2, True)
    for kind in ("grpo", "folder"):
        refused = call("export", kind, "--seed", 1, "--log", "a.db")
        assert (refused.code, "--seed" in refused.err) == (2, True)
