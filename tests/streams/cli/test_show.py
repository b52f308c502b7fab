from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from handlers.policies.mc2 import MC2
from schemas.events.episode import Completed
from schemas.identity import is_numbered
from schemas.questions import Complete
from streams.interfaces.cli.show.moment import moment
from streams.runtime.embedded.log import SqliteLog
from streams.views.sheet import read
from tests.streams.cli.calling import Called, call, environment
from tests.streams.cli.learned import PROBLEMS, change, copy_of, made, rows
from tests.streams.cli.test_show_words import steers

PROBLEM_EPISODES = "select episode from records where kind = 'episode.opened' order by offset"


def shown(*arguments: object, log: Path | None = None) -> Called:
    return call("show", *arguments, "--log", log or made())


def episodes() -> list[str]:
    return [str(row[0]) for row in rows(made(), PROBLEM_EPISODES)]


def latest() -> str:
    query = "select key from messages where topic = 'answers' order by offset desc limit 1"
    return str(rows(made(), query)[0][0])


# ── Which episode ────────────────────────────────────────────────────────────────────────────


def test_without_an_id_the_latest_answer() -> None:
    assert shown("--json").json["episode"] == latest()


@pytest.mark.parametrize("cut", [1, 4])
def test_problem_id_episode_id_and_unique_prefix_mean_the_same(cut: int) -> None:
    episode = episodes()[3]
    problem = episode.split("/")[2]
    names = (problem, episode, episode[:-cut])
    assert {shown(name, "--json").json["episode"] for name in names} == {episode}


def test_an_episode_of_mc2_is_told_as_the_paper_keeps_it_too() -> None:
    """§ C.6: a record a round. Nothing of this build gave it away."""
    told = shown(latest(), "--json").json
    history = told["history"]
    assert [each["iteration"] for each in history] == [*range(1, len(history) + 1)]
    assert {"reasoner", "monitor", "controller"} < history[0].keys()
    acted = [each["controller"]["final_answer"] for each in history if each["controller"]]
    said = [each["reasoner"]["final_answer"] for each in history]
    assert told["answer"] in (*acted, *said)


def test_an_id_that_means_nothing_or_several() -> None:
    unknown, several = shown("zzz"), shown("n9")
    assert (unknown.code, several.code) == (2, 2)
    assert "no episode 'zzz' [episode.unknown" in unknown.err
    assert f"begins {PROBLEMS} episodes" in several.err
    assert "p/game24/n901/" in several.err


def test_no_log_and_an_empty_log(folder: Path) -> None:
    assert call("show").code == 2
    SqliteLog(folder / "empty.db", create=True).close()
    called = shown(log=folder / "empty.db")
    assert called.code == 2
    assert "no episode yet" in called.err


# ── The screen ───────────────────────────────────────────────────────────────────────────────


def test_who_was_not_asked_says_nothing() -> None:
    """A report without a fault accepts by itself: no line has a Controller that was never called."""
    settled = 0
    for name in episodes():
        steps = shown(name, "--json").json["steps"]
        roles = [step["asked"].split()[1] for step in steps if step["kind"] == "completed"]
        table = shown(name).out.partition(" at  asked")[2].partition("\n\n")[0].splitlines()
        spoke = sum(line.split()[1:2] == ["controller"] for line in table)
        assert spoke == roles.count("controller")
        settled += any("monitor" in line and "NO, so ACCEPT" in line for line in table)
    assert settled


@pytest.mark.parametrize("episode", range(PROBLEMS))
def test_every_call_has_its_row_and_lines_fit(episode: int) -> None:
    name = episodes()[episode]
    called = shown(name)
    value = shown(name, "--json").json
    assert called.code == 0, called.err
    calls = [step for step in value["steps"] if step["kind"] == "completed"]
    table = called.out.partition(" at  asked")[2].partition("\n\n")[0].splitlines()
    addresses = {line.split()[0] for line in table[1:] if not line.startswith("──")}
    assert {step["at"] for step in calls} <= addresses
    assert len(calls) == value["usage"]["calls"]
    assert sum(step["prompt_tokens"] for step in calls) == value["usage"]["prompt_tokens"]
    commands = ("step", "what if", "lesson", "batch  ")
    assert all(len(line) <= 80 for line in called.lines if not line.startswith(commands))


def test_what_the_screen_says() -> None:
    name = latest()
    value = shown(name, "--json").json
    text = shown(name).out
    head, status = text.splitlines()[:2]
    assert head.split()[:2] == [value["problem_id"], "game24"]
    assert f'"{value["problem"]}"' in head
    assert f"{MC2.reference}  batch 2  rehearsal(seed=7) (SIMULATED)" in head
    assert status.startswith(
        f"{value['status']} {value['answer'] or 'no answer'}   {value['outcome']}"
    )
    assert f"ended by {value['ended_by']}" in text
    assert "── try 1 ──" in text
    assert f"{value['usage']['calls']} calls" in text
    assert "cost unknown" in text
    assert "memory 1" in text
    assert "guide R" in text


def test_advice_flags_and_actions_stand_in_the_rows() -> None:
    restarted = next(
        episode
        for episode in episodes()
        if shown(episode, "--json").json["summary"]["actions"][:1] == [3]
    )
    text = shown(restarted).out
    assert 'RESTART "' in text
    assert "── try 2 ──" in text
    assert "monitor    YES" in text or "monitor    NO" in text


def test_lessons_taught_are_those_whose_evidence_it_is() -> None:
    query = "select body from records where kind = 'lesson.distilled'"
    lessons = [json.loads(str(row[0])) for row in rows(made(), query)]
    for episode in episodes():
        drawn = [one["id"] for one in lessons if episode in one["evidence"]]
        assert shown(episode, "--json").json["taught"] == drawn


def test_commands_to_try_can_be_pasted() -> None:
    offered = [line for line in shown().lines if line.startswith(("step", "lesson", "batch  "))]
    assert len(offered) == 3
    for line in offered:
        words = line[8:].partition("   #")[0].split()
        assert call(*words[1:]).code == 0


def test_an_open_a_resumed_and_a_parked_episode(tmp_path: Path) -> None:
    path, name = copy_of(made(), tmp_path / "a.db"), episodes()[0]
    change(
        path, "update records set epoch = epoch + 1 where episode = ? and address = 'closed'", name
    )
    assert "resumed once" in shown(name, log=path).out
    change(path, "delete from records where episode = ? and address = 'closed'", name)
    assert "open   no answer yet" in shown(name, log=path).out
    assert shown(name, "--json", log=path).json["status"] == "open"
    body = '{"kind":"episode.parked","version":1,"reason":"it changed"}'
    insert = (
        "insert into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
        "values ('events', 0, 1, ?, 'parked.0', 'episode.parked', 0, ?)"
    )
    change(path, insert, name, body)
    assert "parked   it changed" in shown(name, log=path).out


def test_a_learning_episode() -> None:
    (name,) = {
        str(r[0])
        for r in rows(made(), "select episode from records where kind = 'batch.closed'")
        if str(r[0]).endswith("/2")
    }
    called = shown(name)
    assert called.code == 0, called.err
    assert called.out.startswith("batch 2  game24/mc2/main/")
    assert "memory 1 → 2" in called.out
    assert "rules R" in called.out
    assert len(shown(name, "--json").json["members"]) == 10


def test_what_a_model_wrote_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path, name = copy_of(made(), tmp_path / "a.db"), episodes()[0]
    steering = "\x1b[2J\x1b]0;owned\x07\u202e\x9b31m gone"
    for field in ("text", "answer", "description"):
        change(
            path,
            f"update records set body = json_set(body, '$.{field}', ?) where episode = ? "
            f"and json_extract(body, '$.{field}') is not null",
            steering,
            name,
        )
    called = shown(name, log=path)
    assert called.code == 0, called.err
    assert "␛[2J" in called.out
    assert not steers(called.out.replace("\n", ""))


# ── One address ──────────────────────────────────────────────────────────────────────────────


def test_every_prompt_is_derived_again() -> None:
    log = SqliteLog(made())
    learning = {
        str(r[0]) for r in rows(made(), "select episode from records where kind = 'batch.closed'")
    }
    asked = 0
    for episode in [*episodes()[::5], *sorted(learning)]:
        sheet = read(log, episode)
        for at, event in sheet.numbered:
            if isinstance(event, Completed):
                found = moment(log, sheet, at)
                assert isinstance(found.question, Complete)
                assert found.question.fingerprint() == event.asked
                asked += 1
    log.close()
    assert asked > 50


def test_prompt_and_reply_in_full() -> None:
    name = latest()
    first = next(s for s in shown(name, "--json").json["steps"] if s["kind"] == "completed")
    value = shown(name, "--at", first["at"], "--json").json
    text = shown(name, "--at", first["at"]).out
    assert [message["role"] for message in value["messages"]] == ["system", "user"]
    for message in value["messages"]:
        assert message["content"] in text
    assert first["text"] in text
    assert value["answer"]["text"] == first["text"]
    assert f"{first['prompt_tokens']:,} in {first['completion_tokens']} out" in text


def test_a_recall_says_what_it_found() -> None:
    text = shown(latest(), "--at", "0").out
    assert "memory version 1" in text
    assert "cosine" in text
    assert "Descriptor:" in text


def test_facts_and_named_records_have_no_prompt() -> None:
    name = latest()
    assert (
        "controller.acted" in shown(name, "--at", "12").out or shown(name, "--at", "12").code == 0
    )
    assert "mc2" in shown(name, "--at", "opened").out


def test_an_address_that_is_not_there() -> None:
    for at in ("999", "nowhere"):
        called = shown(latest(), "--at", at)
        assert called.code == 2
        assert f"no record at {at} [address.unknown" in called.err


def test_a_prompt_of_another_build(tmp_path: Path) -> None:
    path, name = copy_of(made(), tmp_path / "a.db"), latest()
    change(
        path,
        "update records set body = json_set(body, '$.policy_version', '0') where episode = ? "
        "and address = 'opened'",
        name,
    )
    assert shown(name, log=path).code == 0
    called = shown(name, "--at", "1", log=path)
    assert called.code == 2
    assert "cannot be derived by this build" in called.err


def test_a_changed_prompt_is_named(tmp_path: Path) -> None:
    path, name = copy_of(made(), tmp_path / "a.db"), latest()
    change(
        path,
        "update records set body = replace(body, 'Complete composer ', 'Complete composer 0') "
        "where episode = ? and address = '1'",
        name,
    )
    called = shown(name, "--at", "3", log=path)
    assert called.code == 3
    assert "[replay.diverged, exit 3]" in called.err


def test_addresses_of_the_record_are_all_known() -> None:
    steps = shown(latest(), "--json").json["steps"]
    assert all(is_numbered(step["at"]) for step in steps)


def test_declaring_the_commands_loads_nothing_heavy() -> None:
    heavy = (
        "{'pydantic', 'sqlite3', 'asyncio', 'numpy', 'orjson', 'rich.console', 'schemas.events'}"
    )
    check = f"import sys, streams.interfaces.cli.commands.show; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout == "[]\n"
