"""Prompts in other words, from a file to what a model is asked and to a log that needs no file any more."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.settings import PROMPTS
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, Endpoint, serving, whole
from tests.streams.cli.calling import Called, call, command, environment
from tests.streams.cli.conftest import folder as folder

SUM = "What is 17 * 3?"
WORDS = "Count on your fingers, then solve the problem below."
REHEARSED = ("--backbone", "rehearsal:seed=7", "--log", "a.db")


def answered(asked: Asked) -> Answer:
    return whole("Score: 0.5\nFeedback: fine\nFinal_answer: \\boxed{51}")


def edited(name: str, old: str, new: str, folder: str = "prompts") -> Path:
    """A prompt's file with one text in other words."""
    path = Path(folder) / f"{name}.yaml"
    assert call("prompts", "edit", name, "--out", folder).code == 0
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def mine(folder: str = "prompts") -> Path:
    return edited("chain", "Solve the problem below.", WORDS, folder)


def systems(endpoint: Endpoint) -> list[str]:
    return [each.body["messages"][0]["content"] for each in endpoint.asked]


def solve(endpoint: Endpoint, *more: object) -> Called:
    words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "a.db")
    called = call("solve", SUM, "--json", *words, *more)
    assert called.code == 0, called.err
    return called


def opened(episode: str, path: str = "a.db") -> EpisodeOpened:
    with closing(SqliteLog(path)) as log:
        found = log.find(episode, "opened")
    assert isinstance(found, EpisodeOpened)
    return found


def versions(path: str = "a.db") -> set[str]:
    with closing(SqliteLog(path)) as log:
        events = [each.event for each in log.records(kinds=("episode.opened",))]
    return {each.policy_version for each in events if isinstance(each, EpisodeOpened)}


# ── One episode ──────────────────────────────────────────────────────────────────────────────────


def test_a_model_is_asked_in_these_words_by_another_version_and_the_log_needs_no_file(
    folder: Path,
) -> None:
    file = mine()
    with serving(answered) as endpoint:
        plain = solve(endpoint).json["episode"]
        other = solve(endpoint, "--prompts", file).json["episode"]
        assert [WORDS in said for said in systems(endpoint)] == [False, True]
        assert plain != other, "the same problem in other words is another episode"
        before, after = opened(plain).policy_version, opened(other).policy_version
        assert after.startswith(f"{before}~")
        file.unlink()
        verified = call("verify", "--log", "a.db")
        assert (verified.code, verified.lines[-1]) == (
            0,
            "verified 2 episodes, 2 facts, 0 model calls",
        )
        assert WORDS in call("show", other, "--at", "0", "--log", "a.db").out
        assert WORDS not in call("show", plain, "--at", "0", "--log", "a.db").out
        assert len(endpoint.asked) == 2


def test_a_part_of_a_log_is_verified_with_its_words_alone(folder: Path) -> None:
    file = mine()
    with serving(answered) as endpoint:
        episode = solve(endpoint, "--prompts", file).json["episode"]
    file.unlink()
    assert call("export", "evidence", episode, "--out", "e.zip", "--log", "a.db").code == 0
    Path("a.db").rename("gone.db")
    alone = call("verify", "e.zip")
    assert alone.code == 0, alone.err
    assert "0 model calls" in alone.out


def test_diff_shows_both_sides(folder: Path) -> None:
    file = mine()
    with serving(answered) as endpoint:
        plain, other = solve(endpoint), solve(endpoint, "--prompts", file)
    pair = (plain.json["episode"], other.json["episode"])
    said = call("diff", *pair, "--log", "a.db")
    assert "first difference at 0: prompt of reasoner" in said.out
    assert "[-Solve-] the problem below." in said.out
    assert "[+Count on your fingers, then solve+] the problem below." in said.out


def test_verify_shows_both_sides_where_a_problem_names_other_words_than_were_asked(
    folder: Path,
) -> None:
    with serving(answered) as endpoint:
        episode = solve(endpoint, "--prompts", mine()).json["episode"]
    with closing(SqliteLog("a.db")) as log:
        body = "select body from records where episode = ? and address = 'admitted'"
        (said,) = log.db.execute(body, (episode,)).fetchone()
        forged = said.replace("fingers", "toes")
        assert forged != said
        update = "update records set body = ? where episode = ? and address = 'admitted'"
        log.db.execute(update, (forged, episode))
        log.db.commit()
    found = call("verify", "--log", "a.db")
    assert found.code == 3
    assert "prompts changed" in found.err
    assert "[-fingers,-]" in found.err
    assert "[+toes,+]" in found.err


def test_a_fork_goes_on_in_its_parent_s_words_and_in_others_where_it_is_told(folder: Path) -> None:
    file = mine()
    with serving(answered) as endpoint:
        plain = solve(endpoint).json["episode"]
        other = solve(endpoint, "--prompts", file).json["episode"]
        fork = ("--at", "0", "--backbone", "openai:other", "--base-url", endpoint.url)
        told = call("fork", plain, *fork, "--prompts", file, "--log", "a.db")
        assert told.code == 0, told.err
        file.unlink()
        assert call("fork", other, *fork, "--log", "a.db").code == 0
        assert call("fork", plain, *fork, "--log", "a.db").code == 0
        assert [WORDS in said for said in systems(endpoint)] == [False, True, True, True, False]
    assert call("verify", "--log", "a.db").code == 0


def test_an_unedited_file_is_the_product_s_own_prompt(folder: Path) -> None:
    assert call("prompts", "edit", "chain").lines == ["prompts/chain.yaml"]
    with serving(answered) as endpoint:
        first = solve(endpoint).json
        again = solve(endpoint, "--prompts", "prompts").json
    assert (again["episode"], again["known"]) == (first["episode"], True)


def test_a_prompt_changes_only_policies_that_ask_with_it(folder: Path) -> None:
    edited("monitor", "You monitor", "You audit")
    with serving(answered) as endpoint:
        solve(endpoint, "--policy", "cot", "--prompts", "prompts")
    assert versions() == {_version("cot")}


def _version(policy: str) -> str:
    rows = call("policies", "list", "--json").rows
    return next(str(each["version"]) for each in rows if each["name"] == policy)


# ── Workers, series and what is learned ──────────────────────────────────────────────────────────


def test_a_worker_that_starts_again_without_the_file_goes_on_in_the_recorded_words(
    folder: Path,
) -> None:
    edited("critic.feedback", "You ", "Above all, you ")
    Path("q.jsonl").write_text(json.dumps({"id": "q", "problem": SUM}) + "\n", encoding="utf-8")
    produced = ("produce", "q.jsonl", "--policy", "self_refine", "--prompts", "prompts")
    assert call(*produced, "--log", "a.db").code == 0
    with serving(answered) as endpoint:
        model = ("--backbone", "openai:check", "--base-url", endpoint.url)
        work = ("worker", *model, "--no-tables", "--until-idle", "--log", "a.db")
        assert call(*work, "--total-calls", 1).code == 4, "it stopped in the middle of the episode"
        assert len(endpoint.asked) == 1
        for file in Path("prompts").iterdir():
            file.unlink()
        assert call(*work).code == 0
        assert len(endpoint.asked) > 1
        assert any("Above all, you " in said for said in systems(endpoint)[1:])
    assert call("verify", "--log", "a.db").code == 0


def test_a_worker_s_words_hold_for_problems_that_leave_their_policy_to_it(folder: Path) -> None:
    mine()
    rows: list[dict[str, Any]] = [
        {"id": "open", "problem": SUM},
        {"id": "named", "problem": SUM, "policy": "cot"},
        {"id": "set", "problem": SUM, "policy": "cot", "settings": {PROMPTS: {"chain": {"closing": "Now."}}}},
    ]  # fmt: skip
    Path("q.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    assert call("produce", "q.jsonl", "--log", "a.db").code == 0
    work = ("worker", "--policy", "cot", "--prompts", "prompts", "--until-idle", "--no-tables")
    assert call(*work, *REHEARSED).code == 0
    with closing(SqliteLog("a.db")) as log:
        events = [each.event for each in log.records(kinds=("problem.admitted",))]
    said = {e.problem.id: e.problem.settings for e in events if isinstance(e, ProblemAdmitted)}
    assert said == {
        "open": {PROMPTS: {"chain": {"instructions": WORDS}}},
        "named": {},
        "set": {PROMPTS: {"chain": {"closing": "Now."}}},
    }
    assert len(versions()) == 3
    assert call("verify", "--log", "a.db").lines[-1].startswith("verified 3 episodes")


def test_what_is_learned_in_other_words_is_kept_apart_and_rebuilt_without_them(
    folder: Path,
) -> None:
    edited("consolidator.reasoner.six", "You keep", "As an archivist you keep")
    plain = ("produce", "game24:901-904", "--policy", "mc2", "--set", "batch_size=2")
    assert call(*plain, "--log", "a.db").code == 0
    assert call(*plain, "--prompts", "prompts", "--log", "a.db").code == 0
    assert call("worker", *REHEARSED, "--until-idle", "--no-tables").code == 0
    Path("prompts/consolidator.reasoner.six.yaml").unlink()
    with closing(SqliteLog("a.db")) as log:
        query = "select count(*) from records where episode like 't/%' and body like ?"
        assert log.db.execute(query, ("%As an archivist you keep%",)).fetchone()[0] > 0
    scopes = call("knowledge", "show", "--json", "--log", "a.db").json["scopes"]
    assert len(scopes) == 2
    known = _version("mc2")
    assert {each.partition("~")[0] for each in versions()} == {known}
    assert len(versions()) == 2
    verified = call("verify", "--log", "a.db")
    assert verified.code == 0, verified.err
    assert "not verifiable" not in verified.out
    state = call("state", "hash", "--log", "a.db").out
    assert call("rebuild", "--log", "a.db").lines[-1] == state.strip()


def test_two_words_of_one_policy_are_compared(folder: Path) -> None:
    mine()
    rows = [{"id": f"q{at}", "problem": f"What is 17 * {at}?", "answer": 17 * at} for at in (2, 3)]
    Path("q.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    compared = call(
        *("compare", "q.jsonl", "--policies", "plain=cot,mine=cot", "--prompts", "mine=prompts"),
        *("--backbone", "rehearsal:seed=7", "--plots", "none"),
    )
    assert compared.code == 0, compared.err
    assert WORDS in compared.out
    assert "--prompts mine=prompts" in compared.out
    assert len(versions("compare.db")) == 2


def test_a_configuration_names_them_too(folder: Path) -> None:
    mine("words")
    Path("metalogue.yaml").write_text("prompts: words\n", encoding="utf-8")
    with serving(answered) as endpoint:
        solve(endpoint)
        assert WORDS in systems(endpoint)[0]


# ── The commands ─────────────────────────────────────────────────────────────────────────────────


def test_show_tells_all_parts_and_what_a_file_changes(folder: Path) -> None:
    said = call("prompts", "show", "monitor").out
    for part in (
        "You monitor the reasoning",
        "### Trajectory\n{trajectory}",
        "Error_found (choice)",
    ):
        assert part in said
    edited("monitor", "You monitor", "You audit")
    other = call("prompts", "show", "monitor", "--prompts", "prompts").out
    assert "You audit the reasoning" in other
    assert "[-monitor-]" in other
    assert "[+audit+]" in other
    told = call("prompts", "show", "monitor", "--json").json
    assert told["roles"] == ["monitor"]
    assert [each["name"] for each in told["variables"]][:2] == ["problem", "candidate"]


def test_a_role_of_several_prompts_is_asked_which(folder: Path) -> None:
    found = call("prompts", "show", "thinker")
    assert found.code == 2
    assert "thinker.direct" in found.err
    assert call("prompts", "show", "conductr").code == 2


def test_list_tells_what_a_policy_asks_with(folder: Path) -> None:
    rows = call("prompts", "list", "--policy", "self_refine", "--json").rows
    assert [each["prompt"] for each in rows] == ["chain", "critic.feedback", "reasoner.revise"]
    assert len(call("prompts", "list").lines) > 80


def test_edit_keeps_what_was_edited_and_opens_the_editor_of_a_terminal(folder: Path) -> None:
    path = mine()
    before = path.read_text(encoding="utf-8")
    assert call("prompts", "edit", "chain").code == 0
    assert path.read_text(encoding="utf-8") == before
    editor = Path("editor.sh")
    editor.write_text('#!/bin/sh\nsed -i s/fingers/toes/ "$2"\n', encoding="utf-8")
    editor.chmod(0o755)
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            command("prompts", "edit", "chain"),
            env=environment(EDITOR=f"{editor.absolute()} --wait", VISUAL=""),
            stdin=theirs,
            stdout=theirs,
            timeout=60,
            check=False,
        )
    finally:
        os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "1 text changed" in said
    assert "Count on your toes" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  problem: ''\n", "", "sections.problem: missing: the role needs this variable"),
        ("  problem: ''\n", "  problm: ''\n", "sections.problm: no such variable"),
        ("  Final_answer: ", "  Final: ", "reply.Final_answer: missing"),
        ("prompt: chain", "prompt: chian", "no prompt 'chian'; did you mean 'chain'"),
        ("closing: ''", "closing: 3", "closing: expected a text"),
        ("closing: ''", "closing: ''\nclosing: ''", "closing: stands twice"),
        ("closing: ''", "closng: ''", "'closng': no such key"),
    ],
)
def test_what_is_wrong_is_named_by_file_role_and_place(
    folder: Path, old: str, new: str, said: str
) -> None:
    edited("chain", old, new)
    for words in (("prompts", "check"), ("solve", SUM, *REHEARSED, "--prompts", "prompts")):
        found = call(*words)
        assert found.code == (1 if words[0] == "prompts" else 2)
        assert "prompts/chain.yaml" in found.err
        assert said in found.err
        assert (
            ": missing" not in said or "prompt chain (role fallback, reasoner, strong)" in found.err
        )
    assert not Path("a.db").exists()


def test_check_says_what_is_changed_and_what_was_written_from_an_earlier_prompt(
    folder: Path,
) -> None:
    path = mine()
    said = call("prompts", "check")
    assert (said.code, said.lines[0]) == (0, "prompts/chain.yaml: chain: 1 text changed")
    text = path.read_text(encoding="utf-8")
    at = text.index("made_from: ") + len("made_from: ")
    path.write_text(text[:at] + "'000000000000'" + text[at + 12 :], encoding="utf-8")
    old = call("prompts", "check", "--json")
    assert old.json["old"] is True
    assert old.json["changed"] == {"instructions": WORDS}
