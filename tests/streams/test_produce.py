"""Producing: what is taken, what is known, what is refused, where it stands."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.events.learning import SeriesOpened
from streams.producing.sources import LINE_BYTES
from streams.runtime.embedded.log import SqliteLog
from tests.live.thinking import IDLE, reading
from tests.streams.cli.calling import Called, call

ALL = ("worker", "--backbone", "rehearsal", *IDLE)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "a.db"


def produce(log: Path, source: object, *more: object, given: bytes = b"") -> Called:
    return call("produce", source, "--policy", "cot", "--log", log, *more, given=given)


def line(id: str, problem: str = "1 + 1", **more: Any) -> bytes:
    return json.dumps({"id": id, "problem": problem, **more}).encode()


def file(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def problems(log: Path) -> list[dict[str, Any]]:
    """What is on the problems topic."""
    return list(
        reading(log, lambda it: [json.loads(value) for *_, value in it.messages("problems")])
    )


def letters(log: Path) -> list[tuple[bytes, dict[str, Any]]]:
    """The dead letters: bytes and headers."""
    return list(
        reading(log, lambda it: [(raw, about) for _, _, about, raw in it.messages("dead-letters")])
    )


def series(log: Path) -> list[SeriesOpened]:
    def opened(it: SqliteLog) -> Iterator[SeriesOpened]:
        for record in it.records("learning", kinds=["series.opened"]):
            assert isinstance(record.event, SeriesOpened)
            yield record.event

    return list(reading(log, lambda it: list(opened(it))))


def answered(log: Path) -> list[str]:
    return sorted(row["problem_id"] for row in call("consume", "--json", "--log", log).rows)


# ── What is refused ──────────────────────────────────────────────────────────────────────────

DEEP = b'{"id":"deep","problem":"1","answer":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BAD = {
    "cut short": (b'{"id": "a", "problem": "4 5 6 10"', ":1:34: not JSON: "),
    "no comma": (b'{"id": "a" "problem": "x"}', ":1:12: not JSON: "),
    "a list": (b"[]", ":1:1: expected an object, found a list"),
    "null": (b"null", ":1:1: expected an object, found null"),
    "a number": (b"7", ":1:1: expected an object, found a number"),
    "a string": (b'"x"', ":1:1: expected an object, found a string"),
    "not UTF-8": (b'{"id":"a","problem":"\xff\xfe"}', ":1:22: not UTF-8: "),
    "zero bytes": (b"\x00\x01", ":1:1: not JSON: "),
    "no problem": (line("a").replace(b"problem", b"problen"), "problem: is missing"),
    "no id": (b'{"problem":"x"}', "id: is missing"),
    "many digits": (b'{"id":"a","seed":' + b"9" * 5_000 + b"}", "value has 5000 digits ["),
    "an empty id": (line(""), ":1:2: id: "),
    "a blank problem": (line("a", "  "), "problem: is blank"),
    "a number for an id": (b'{"id":3,"problem":"x"}', ":1:2: id: "),
    "a number for a problem": (b'{"id":"a","problem":7}', ":1:11: problem: "),
    "an unknown field": (line("a", surprise=1), "surprise: unknown field"),
    "five megabytes": (line("a", "x" * 5_000_000), "problem: 5,000,000 characters; "),
    "a lone surrogate": (b'{"id":"a","problem":"\\ud800"}', ":1:11: problem: "),
    "a lone surrogate in an id": (b'{"id":"\\udfff","problem":"x"}', ":1:2: id: "),
    "a surrogate in an answer": (b'{"id":"a","problem":"x","answer":["\\ud83d"]}', "answer: "),
    "NaN": (b'{"id":"a","problem":"x","answer":NaN}', "not JSON: NaN is no JSON number"),
    "Infinity": (b'{"id":"a","problem":"x","answer":-Infinity}', "-Infinity is no JSON number"),
    "1e400": (b'{"id":"a","problem":"x","answer":1e400}', "answer: must be a finite number"),
    "1e400 in an unknown field": (b'{"id":"a","problem":"x","u":1e400}', "u: must be a finite"),
    "an object for an answer": (
        b'{"id":"a","problem":"x","answer":{}}',
        "answer: is an object, which is the answer of an answer_type json alone",
    ),
    "a deep answer": (
        b'{"id":"a","problem":"x","answer":' + b"[" * 820 + b"]" * 820 + b"}",
        "answer: ",
    ),
    "1e400 inside": (b'{"id":"a","problem":"x","answer":[[1e400]]}', "answer: "),
    "1e400 in settings": (b'{"id":"a","problem":"x","settings":{"x":1e400}}', "settings"),
    "a huge integer": (b'{"id":"a","problem":"x","answer":' + b"9" * 5_000 + b"}", "not JSON: "),
    "a huge seed": (line("a", seed=1 << 70), "seed: "),
    "a negative seed": (line("a", seed=-1), "seed: "),
    "a seed that is true": (b'{"id":"a","problem":"x","seed":true}', "seed: "),
    "a long answer": (
        line("a", answer="1" * 65_537),
        "answer: must have at most 65,536 characters",
    ),
    "a long list": (
        line("a", answer=["1"] * 30_000),
        "answer: must have at most 65,536 characters",
    ),
    "a long problem": (line("a", problem="x" * 262_145), "problem: 262,145 characters"),
    "too deep": (DEEP, "nested too deep"),
    "an unknown policy": (line("a", policy="no-such"), "policy: no policy 'no-such'"),
    "a policy that is no text": (line("a", policy=["cot"]), "policy: "),
    "an unknown setting": (line("a", settings={"nope": 1}), "nope"),
    "a setting of a wrong type": (line("a", settings={"output_cap": "many"}), "output_cap"),
    "no settings": (line("a", settings=[]), "settings: "),
    "a limit below zero": (line("a", limits={"calls": -1}), "limits.calls: "),
    "an unknown limit": (line("a", limits={"patience": 1}), "limits.patience: unknown field"),
    "a domain with a slash": (line("a", domain="a/b"), "domain: "),
    "a long domain": (line("a", domain="a" * 3000), "domain: "),
    "a long id": (line("a" * 3000), "id: "),
    "an id of two lines": (line("a\nb"), "id: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_kept_and_the_rest_goes_on(log: Path, name: str) -> None:
    raw, message = BAD[name]
    source = file(log.parent / "in.jsonl", line("before"), raw, line("after"))
    done = produce(log, source)
    assert (done.code, done.lines) == (1, ["produced 2 known 0 refused 1"])
    said = done.err.splitlines()
    assert said[0].startswith(f"{source}:2:"), said[0][:200]
    assert message.replace(":1:", ":2:", 1) in said[0], said[0][:300]
    assert len(said[0]) < 600, "a bad line is not repeated in full"
    assert "Kept as dead letter 1, bytes unchanged" in said[1]
    assert "Traceback" not in done.err
    ((kept, about),) = letters(log)
    assert kept == raw
    assert about["__metalogue.errors.offset"] == 2
    assert call(*ALL, "--log", log).code == 0
    assert answered(log) == ["after", "before"]


def test_many_bad_lines_lose_none_of_the_good_ones(log: Path) -> None:
    lines: list[bytes] = []
    for number, (raw, _) in enumerate(BAD.values()):
        lines += [line(f"g{number}"), raw]
    done = produce(log, file(log.parent / "in.jsonl", *lines), "--json")
    assert done.code == 1
    figures = {"produced": len(BAD), "known": 0, "refused": len(BAD)}
    assert done.json | figures == done.json
    assert [raw for raw, _ in letters(log)] == [raw for raw, _ in BAD.values()]
    errors = [json.loads(each) for each in done.err.splitlines() if each.startswith("{")]
    assert [error["where"].split(":")[-2] for error in errors] == [
        str(2 * at + 2) for at in range(len(BAD))
    ]
    assert all(error["exit"] == 1 and error["detail"] and error["hint"] for error in errors)
    assert call(*ALL, "--log", log).code == 0
    assert answered(log) == sorted(f"g{number}" for number in range(len(BAD)))


def test_odd_but_good_lines_are_taken_as_they_are(log: Path) -> None:
    odd = [
        line("ünï-çødé 🧠", "Was ist 1 + 1? 🧮"),
        line("b6/../../etc", "1 1 1 1"),
        line("big", "x" * 262_144),
        b'{"id":"pair","problem":"\\ud83d\\ude00"}',
        b'{"id":"spaces" , "problem" : "1"}   ',
        b'\t{"id":"tab","problem":"1"}\r',
        line("percent%2F", "100 %"),
        line("labels", answer=[1, 2.5, "x", None, True]),
    ]
    done = produce(log, file(log.parent / "in.jsonl", *odd, b"", b"   "))
    assert (done.code, done.err) == (0, "")
    assert done.lines == [f"produced {len(odd)} known 0 refused 0"]
    assert call(*ALL, "--log", log).code == 0
    assert len(answered(log)) == len(odd)
    assert call("verify", "--log", log).code == 0


# ── Twice ────────────────────────────────────────────────────────────────────────────────────


def test_the_same_id_with_the_same_text_is_known_and_with_another_is_refused(log: Path) -> None:
    first = file(log.parent / "in.jsonl", line("a"), line("a"), line("a", "2 + 2"), line("b"))
    done = produce(log, first)
    assert done.lines == ["produced 2 known 1 refused 1"]
    assert "'a' is already taken by another problem text [input.duplicate]" in done.err
    other = file(log.parent / "other.jsonl", line("b", "3 + 3"), line("c"))
    assert produce(log, other).lines == ["produced 1 known 0 refused 1"]
    assert call(*ALL, "--log", log).code == 0
    assert answered(log) == ["a", "b", "c"]


def test_another_domain_policy_seed_or_pass_is_another_episode(log: Path) -> None:
    source = file(log.parent / "in.jsonl", line("a"))
    for more in ((), ("--domain", "d"), ("--seed", 1), ("--pass", 2), ("--set", "output_cap=100")):
        assert produce(log, source, *more).lines == ["produced 1 known 0 refused 0"]
    again = call("produce", source, "--policy", "greedy", "--log", log)
    assert again.lines == ["produced 1 known 0 refused 0"]
    assert produce(log, source, "--pass", 2).lines == ["produced 0 known 1 refused 0"]
    assert call(*ALL, "--log", log).code == 0
    assert len(answered(log)) == 6
    query = (
        "select distinct json_extract(body, '$.seed') from records where kind = 'episode.opened'"
    )
    seeds = reading(log, lambda it: it.db.execute(query).fetchall())
    assert len(seeds) == 4, "seed, pass and domain make the episode's seed; policy and cap do not"


def test_a_mended_line_is_a_late_member_that_is_answered(log: Path) -> None:
    """The known are skipped; what was refused joins the series late."""
    good = [line(f"p{number}", f"{number} + 1") for number in range(4)]
    source = file(log.parent / "in.jsonl", *good[:2], b'{"id": "p9" "problem": "1"}', *good[2:])
    args = ("--policy", "mc2", "--set", "batch_size=2", "--set", "max_rounds=1", "--log", log)
    assert call("produce", source, *args).lines == ["produced 4 known 0 refused 1"]
    assert call(*ALL, "--log", log).code == 0
    file(source, *good[:2], line("p9", "9 + 9"), *good[2:])
    assert call("produce", source, *args).lines == ["produced 1 known 4 refused 0"]
    assert call(*ALL, "--log", log).code == 0
    assert answered(log) == ["p0", "p1", "p2", "p3", "p9"]
    (late,) = [problem for problem in problems(log) if problem["id"] == "p9"]
    assert late["series"] == series(log)[0].series
    assert "position" not in late
    assert call("verify", "--log", log).code == 0


def test_a_refused_line_holds_a_void_place_and_no_batch_waits_for_it(log: Path) -> None:
    lines = [b"{" if number % 3 == 1 else line(f"p{number}") for number in range(9)]
    args = ("--policy", "mc2", "--set", "batch_size=3", "--set", "max_rounds=1", "--log", log)
    assert call("produce", file(log.parent / "in.jsonl", *lines), *args).code == 1
    (opened,) = series(log)
    assert (opened.size, opened.window) == (9, 3)
    done = call("worker", "--backbone", "rehearsal", "--until-idle", "--log", log)
    assert done.code == 0, done.err
    assert len(answered(log)) == 6
    stats = call("log", "stats", "--json", "--log", log).json
    assert (stats["learning_episodes"], stats["dead_letters"]) == (3, 3)


# ── Series, limits, order ────────────────────────────────────────────────────────────────────


def test_a_series_is_named_by_what_was_asked_for_never_by_content(log: Path) -> None:
    source = file(log.parent / "in.jsonl", line("a"))
    first = produce(log, source, "--json").json["series"]
    file(source, line("a"), line("b"))
    again = produce(log, source, "--json")
    assert again.json == {"produced": 1, "known": 1, "refused": 0, "series": []}
    assert [each.series for each in series(log)] == first
    assert {problem["series"] for problem in problems(log)} == set(first)
    for more in (("--seed", 2), ("--pass", 2), ("--domain", "d"), ("--set", "output_cap=9")):
        (other,) = produce(log, source, *more, "--json").json["series"]
        assert other not in first
    assert produce(log, source, "--series", "mine", "--json").json["series"] == ["mine"]


def test_a_source_whose_lines_fall_into_several_scopes_opens_a_series_for_each(log: Path) -> None:
    lines = [
        line(f"p{at}", domain="ab"[at % 2], policy=("cot", "mc2")[at % 3 == 0]) for at in range(12)
    ]
    done = produce(log, file(log.parent / "in.jsonl", *lines))
    assert done.lines == ["produced 12 known 0 refused 0"]
    opened = series(log)
    assert len({each.scope for each in opened}) == len(opened) == 4
    assert sum(each.size for each in opened) == 12
    assert call(*ALL, "--log", log).code == 0
    assert len(answered(log)) == 12


def test_standard_input_is_named_by_its_bytes(log: Path) -> None:
    """The same bytes again are known; other bytes are another source."""
    given = line("a") + b"\n" + line("b") + b"\n{\n"
    done = produce(log, "-", given=given)
    assert (done.code, done.lines) == (1, ["produced 2 known 0 refused 1"])
    assert done.err.startswith("-:3:2: not JSON")
    assert produce(log, "-", given=given).lines == ["produced 0 known 2 refused 1"]
    first = {problem["series"] for problem in problems(log)}
    assert produce(log, "-", given=line("c")).lines == ["produced 1 known 0 refused 0"]
    assert len({problem["series"] for problem in problems(log)} - first) == 1


def test_a_problem_is_known_again_with_a_zero_character_in_it(log: Path) -> None:
    """Where SQLite's own texts would end."""
    source = file(log.parent / "in.jsonl", line("nul", "1 + \0 1"))
    assert produce(log, source).lines == ["produced 1 known 0 refused 0"]
    assert produce(log, source).lines == ["produced 0 known 1 refused 0"]
    other = produce(log, file(source, line("nul", "1 + \0 2")), "--seed", 1)
    assert (other.code, other.lines) == (1, ["produced 0 known 0 refused 1"])


def test_a_dry_run_keeps_nothing_and_says_so(log: Path) -> None:
    source = file(log.parent / "in.jsonl", line("a"), b"[]")
    for words in ((source,), ("-", "--follow")):
        dry = produce(log, *words, "--dry-run", given=source.read_bytes())
        assert (dry.code, dry.lines) == (1, ["produced 1 known 0 refused 1"])
        assert "A dry run: nothing is kept." in dry.err
        assert not log.exists()
    produce(log, source)
    before = problems(log), letters(log)
    assert produce(log, source, "--dry-run").lines == ["produced 0 known 1 refused 1"]
    assert (problems(log), letters(log)) == before


def test_a_refused_line_is_named_as_the_list_names_it(log: Path) -> None:
    """However often the others came before."""
    source = file(log.parent / "in.jsonl", b"[]", b"7")
    said = "Kept as dead letter {}, bytes unchanged."
    assert [said.format(n) in produce(log, source).err for n in (1, 2)] == [True, True]
    file(source, b"[]", b"{}", b"7")
    again = produce(log, source).err
    listed = call("dlq", "list", "--json", "--log", log).rows
    places = {row["place"]: row["number"] for row in listed if row["bytes"] == 2}
    assert said.format(places[f"{source}:1"]) in again
    assert all(said.format(number) in again for number in (1, 3, 4))


def test_scripts_read_nothing_but_objects(log: Path) -> None:
    source = file(log.parent / "in.jsonl", b"[]", line("a"))
    said = produce(log, source, "--json").err.splitlines()
    assert [json.loads(each)["error"] for each in said] == ["input.type"]


def test_following_opens_no_series(log: Path) -> None:
    done = produce(log, "-", "--follow", given=line("a") + b"\n[]\n" + line("b") + b"\n")
    assert (done.code, done.lines[-1]) == (1, "produced 2 known 0 refused 1")
    assert series(log) == []
    assert not any("series" in problem for problem in problems(log))
    assert call("produce", "in.jsonl", "--follow", "--log", log).code == 2


def test_limit_dry_run_and_order(log: Path) -> None:
    source = "game24:901-920"
    dry = produce(log, source, "--dry-run")
    assert (dry.code, dry.lines) == (0, ["produced 20 known 0 refused 0"])
    assert not log.exists()
    assert produce(log, source, "--limit", 5).lines == ["produced 5 known 0 refused 0"]
    released = [problem["id"] for problem in problems(log)]
    shuffled = [
        [each["id"] for each in problems(made)]
        for made, seed in (
            (log.parent / "b.db", 0),
            (log.parent / "c.db", 0),
            (log.parent / "d.db", 1),
        )
        if produce(made, source, "--order", "shuffled", "--seed", seed).code == 0
    ]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    assert sorted(shuffled[0])[:3] == sorted(shuffled[2])[:3]
    assert shuffled[0][:5] != released
    assert [each["position"] for each in problems(log.parent / "b.db")] == list(range(20))
    assert series(log.parent / "b.db")[0].order == "shuffled"


WRONG = [
    (("--policy", "no-such"), "policy.unknown"),
    (("--policy", "mc3"), "no policy 'mc3'; did you mean 'mcr' or 'mc2'"),
    (("--policy", "mc2", "--set", "max_round=1"), "did you mean 'max_rounds'?"),
    (("--set", "nope=1"), "policy.setting"),
    (("--set", "output_cap=many"), "policy.setting"),
    (("--set", "output_cap"), "NAME=VALUE"),
    (("--order", "random"), "--order: 'random' is not one of 'released', 'shuffled'"),
    (("--timing", "never"), "'barrier', 'streaming'"),
    (("--profile", "best"), "'service', 'paper'"),
    (("--call-limit", "0"), "--call-limit"),
    (("--call-limit", "many"), "--call-limit"),
    (("--pass", "0"), "--pass"),
    (("--limit", "-1"), "--limit"),
    (("--seed", "-1"), "--seed"),
    (("--seed", str(1 << 60)), "--seed"),
    (("--domain", "a/b"), "--domain"),
    (("--memory", "a b"), "--memory"),
    (("--nonsense",), "--nonsense"),
]


@pytest.mark.parametrize(("more", "says"), WRONG)
def test_a_wrong_command_line_is_said_before_anything_is_made(
    log: Path, more: tuple[str, ...], says: str
) -> None:
    done = produce(log, "game24:901-902", *more)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err
    assert not log.exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("jsonl:x.jsonl", "jsonl:x.jsonl can only be read"),
        ("x.txt", "'x.txt' names no log"),
        ("sqlite:///x.db", "Write sqlite:/x.db"),
    ],
)
def test_a_log_that_nobody_can_write_says_why(url: str, says: str) -> None:
    for command in (("produce", "game24:901"), ("worker", "--backbone", "rehearsal")):
        done = call(*command, "--log", url)
        assert done.code == 2
        assert says in done.err


@pytest.mark.parametrize(
    "source", ["nothing.jsonl", "game24:0-3", "game24:1-99999", "gsm8k:1-2", "."]
)
def test_a_source_that_is_not_there_is_a_wrong_command_line(log: Path, source: str) -> None:
    done = produce(log, source)
    assert (done.code, done.out) == (2, "")
    assert "input.source" in done.err


def test_a_worker_takes_what_a_foreign_client_put_on_the_topic_and_refuses_the_rest(
    log: Path,
) -> None:
    """Messages need not come from `produce`: the intake checks them too."""
    made = SqliteLog(log, create=True)
    good = b'{"id":"a","problem":"1 + 1","domain":"d"}'
    bad = [
        b"{",
        b"\xff",
        b'{"id":"a"}',
        b'{"id":"x","problem":"1","domain":"d","policy":"no-such"}',
    ]
    bad.append(b'{"id":"y","problem":"1","domain":"d","settings":{"nope":1}}')
    messages: list[tuple[str, str, dict[str, Any], bytes]] = [("problems", "k", {"h": 1}, good)]
    messages += [("problems", f"bad{at}", {"h": 2}, raw) for at, raw in enumerate(bad)]
    made.publish(messages)
    made.close()
    assert call(*ALL, "--log", log).code == 0
    assert answered(log) == ["a"]
    assert [raw for raw, _ in letters(log)] == bad
    assert all(about["h"] == 2 for _, about in letters(log))
    assert call(*ALL, "--log", log).code == 0
    assert len(letters(log)) == len(bad), "once"


@pytest.mark.parametrize("through", ["file", "pipe"])
def test_a_mark_of_byte_order_before_the_first_line_says_nothing(log: Path, through: str) -> None:
    lines = codecs.BOM_UTF8 + line("a") + b"\r\n" + line("b") + b"\r\n"
    source = log.parent / "in.jsonl"
    source.write_bytes(lines)
    told = (source, b"") if through == "file" else ("-", lines)
    done = produce(log, told[0], given=told[1])
    assert (done.code, done.out) == (0, "produced 2 known 0 refused 0\n")
    assert [each["id"] for each in problems(log)] == ["a", "b"]
    judged = log.parent / "judged.jsonl"
    judged.write_bytes(
        codecs.BOM_UTF8 + b'{"problem_id": "a", "domain": "default", "verdict": true}'
    )
    assert call("feedback", judged, "--log", log).code == 0


def test_a_line_that_is_too_long_is_so_behind_a_mark(log: Path) -> None:
    source = file(log.parent / "in.jsonl", codecs.BOM_UTF8 + b" " * LINE_BYTES + b"{}", line("b"))
    done = produce(log, source)
    assert done.out == "produced 1 known 0 refused 1\n"
    assert "in.jsonl:1:1: longer than 16,777,216 bytes" in done.err
