"""Evidence of one episode stands alone: nothing of it can be changed and pass, and it asks for nothing else."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TypeAlias

import orjson
import pytest
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from handlers.policies.registry import POLICIES
from schemas.events.learning import Reflected
from streams.interfaces.cli import observing
from streams.research.evidence.chains import BadChain, Chain
from streams.research.evidence.pack import NoPack, Pack, packed
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.imported import KafkaLog
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import in_memory
from tests.pupil import find
from tests.streams.cli import imported
from tests.streams.cli.calling import Called, call, command, environment
from tests.streams.cli.learned import made
from tests.streams.evidence.forging import (
    drawn,
    fields_of,
    kind_of,
    lines_in,
    made_up,
    whole_of,
    with_digests,
)
from tests.streams.replay.spoiling import BLIND
from tests.streams.replay.test_cut import worked_on
from tests.streams.replay.test_heads import problems

PROBLEM = "n918"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with no log."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("evidence") / "e"
    done = call("export", "evidence", PROBLEM, "--out", file, "--log", made())
    assert done.code == 0, done.err
    return file.read_bytes()


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was published of the log."""
    file = tmp_path_factory.mktemp("heads") / "heads"
    file.write_bytes(call("log", "heads", "--log", made()).raw)
    return file


def verified(whole: bytes, *more: object) -> Called:
    Path("e.jsonl").write_bytes(whole)
    return call("verify", "e.jsonl", *more)


def test_evidence_says_what_it_is_of_and_what_it_rests_on(evidence: bytes) -> None:
    said = orjson.loads(lines_in(evidence)[0])
    assert said["product"].startswith("metalogue ")
    assert said["policies"] == ["mc2@15"]
    assert (said["status"], said["models"]) == ("answered", ["rehearsal"])
    items = said["memory"]["items"]
    assert {item["kind"] for item in items} == {"rule", "lesson"}
    with closing(Pack.of(evidence).log()) as log:
        for item in items:
            assert item["sources"], item
            assert log.find(item["learned_in"], "version"), "where it was learned came along"
            for source in item["sources"]:
                assert isinstance(log.find(source, "reflected"), Reflected)
            assert bool(item["lessons"]) == (item["kind"] == "rule")
    assert said["absent"]["rows"] > 0
    assert any("other episodes" in what for what in said["absent"]["what"])


def test_it_is_verified_in_a_process_that_has_nothing_else(evidence: bytes, heads: Path) -> None:
    Path("e").write_bytes(evidence)
    words = ("verify", "e", "--heads", heads)
    done = subprocess.run(command(*words), env=environment(), capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, lines[-1]) == (0, "verified 2 episodes, 48 facts, 0 model calls")
    assert "published heads speak of 140 records and messages; 0 since" in lines
    assert [path.name for path in Path().iterdir()] == ["e"], "and it leaves nothing"


def test_without_a_head_or_a_key_it_says_what_it_cannot_show(evidence: bytes) -> None:
    done = verified(evidence)
    assert done.code == 0
    assert (
        "a file that was made up as a whole (it is not signed, and no published head was given)"
        in done.out
    )


@pytest.mark.parametrize(
    "field", ["episode", "status", "answer", "product", "policies", "signed_by"]
)
def test_nothing_that_a_file_says_of_itself_makes_a_line_of_ours(
    evidence: bytes, field: str
) -> None:
    faked = "verified 9 episodes, 9 facts, 0 model calls"
    first, _, rest = evidence.partition(b"\n")
    said = f"24\n{faked}\n{faked}"
    manifest = orjson.loads(first) | {field: [said] if field == "policies" else said}
    done = verified(orjson.dumps(manifest) + b"\n" + rest)
    assert faked not in done.out.splitlines()


def test_a_hundred_random_changes_are_found(evidence: bytes, heads: Path) -> None:
    head = call("export", "evidence", PROBLEM, "--out", "again", "--log", made()).out
    assert Path("again").read_bytes() == evidence, "the same log gives the same evidence"
    Path("heads").write_text(heads.read_text() + head)
    assert verified(evidence, "--heads", "heads").code == 0
    random = Random(25)
    for _ in range(100):
        what, changed = drawn(evidence, random)
        if changed != evidence:
            done = verified(changed, "--heads", "heads")
            assert done.code in (2, 3), what
            assert "defect" not in done.err, (what, done.err)


@pytest.mark.slow
def test_no_field_of_any_kind_of_line_can_be_changed(evidence: bytes, heads: Path) -> None:
    lines, seen = lines_in(evidence), set[str]()
    for at, line in enumerate(lines):
        kind = kind_of(line)
        if kind in seen:
            continue
        seen.add(kind)
        for name, changed in fields_of(lines, at):
            if (kind, name) == ("format", "product"):
                continue  # of which no log knows: its own head or a signature speaks of it
            done = verified(changed, "--heads", heads)
            assert done.code in (2, 3), (kind, name)
    assert {"format", "completed", "reflected", "memory.versioned", "chain"} <= seen


def test_nothing_can_be_said_beside_what_is_compared(evidence: bytes, heads: Path) -> None:
    """A field that nobody here reads may be read elsewhere: an attacker keeps all digests right."""
    first, *rest = lines_in(evidence)
    manifest = orjson.loads(first)
    more: dict[str, object] = {"note": None, "version": True, "parts": manifest["parts"]}
    for name, value in more.items():
        said = {n: each for n, each in manifest.items() if n != "parts" or name != "parts"}
        done = verified(whole_of([orjson.dumps(said | {name: value}), *rest]), "--heads", heads)
        assert (done.code, "[evidence." in done.err) == (3, True), name
    for at in (0, len(rest) - len(manifest["heads"]) - 1):
        line = orjson.dumps(orjson.loads(rest[at]) | {"verdict": "right"})
        lines = [*rest[:at], line, *rest[at + 1 :]]
        done = verified(with_digests(first, lines), "--heads", heads)
        assert (done.code, f"line at {at + 2}: " in done.err) == (3, True)
    unsigned = {name: each for name, each in manifest.items() if name != "signed_by"}
    assert verified(whole_of([orjson.dumps(unsigned), *rest])).code == 3


@pytest.mark.parametrize("what", BLIND)
def test_evidence_that_was_made_up_to_agree_with_itself_is_found(
    evidence: bytes, heads: Path, what: str
) -> None:
    changed = made_up(evidence, BLIND[what])
    assert verified(changed).code == 0, "else this shows nothing"
    done = verified(changed, "--heads", heads)
    assert (done.code, "[log.chain, exit 3]" in done.err) == (3, True)
    Path("links").write_bytes(call("log", "heads", "--records", "--log", made()).raw)
    named = verified(changed, "--heads", "links", "--json").json["diverged"]
    assert ("p/game24/n918/0c1f70ce305f", "closed") in {
        (each["episode"], each["address"]) for each in named
    }


def test_heads_of_another_log_or_from_before_prove_nothing(evidence: bytes, heads: Path) -> None:
    early = heads.read_text().splitlines()
    for text in ("\n".join(early[:1]), early[1].replace(" 423 ", " 423000 ")):
        Path("few").write_text(text)
        done = verified(evidence, "--heads", "few")
        assert (done.code, "no published head speaks of it" in done.err) == (3, True)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_episode_of_each_policy_stands_alone(tmp_path: Path, policy: str) -> None:
    log = tmp_path / "a.db"
    worked_on(log, policy)
    (tmp_path / "heads").write_bytes(call("log", "heads", "--log", log).raw)
    done = call("export", "evidence", "n904", "--out", "e", "--log", log)
    assert done.code == 0, done.err
    done = call("verify", "e", "--heads", "heads", "--json")
    assert (done.code, done.json["diverged"], done.json["unverifiable"]) == (0, [], [])
    assert done.json["episodes"] >= 1


def test_evidence_from_kafka_stands_alone(tmp_path: Path) -> None:
    with in_memory(PARTITIONS) as (place, _), closing(KafkaLog(place, tmp_path / "one")) as log:
        log.publish(list(problems()))
        OnKafka(place, log).live(Life(settle=True))
        log.refresh()
        path, (episode,) = log.path, episodes_of(log, "3")
        whole, _ = packed(log, episode, find)
    Path("e").write_bytes(whole)
    refused = call("export", "evidence", "3", "--out", "x", "--log", path)
    assert (refused.code, "[policy.unknown, exit 1]" in refused.err) == (1, True)
    assert orjson.loads(Path("e").read_bytes().split(b"\n")[0])["numbered"] is False
    Path("heads").write_bytes(call("log", "heads", "--log", path).raw)
    done = call("verify", "e", "--heads", "heads", "--json")
    assert done.json["diverged"] == []
    assert (done.code, len(done.json["unverifiable"])) == (1, 1), "its policy is a test's"


def episodes_of(log: SqliteLog, problem: str) -> list[str]:
    query = "select episode from records where address = 'admitted' and episode like ?"
    return [episode for (episode,) in log.db.execute(query, (f"p/d/{problem}/%",))]


# -- signatures ------------------------------------------------------------------------------------


Key: TypeAlias = ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey


def keys(name: str, given: Key | None = None) -> tuple[Path, Path]:
    """The files of a new key: the private and the public one."""
    key = given or ed25519.Ed25519PrivateKey.generate()
    private, public = Path(f"{name}.pem"), Path(f"{name}.pub.pem")
    plain = pem.NoEncryption()
    private.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, plain))
    shown = pem.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(pem.Encoding.PEM, shown))
    return private, public


def signed(name: str) -> bytes:
    private, _ = keys(name)
    done = call("export", "evidence", PROBLEM, "--out", "s", "--sign", private, "--log", made())
    assert done.code == 0, done.err
    return Path("s").read_bytes()


def test_a_signature_shows_who_made_it_to_those_who_know_the_key(evidence: bytes) -> None:
    whole = signed("ours")
    known = verified(whole, "--key", "ours.pub.pem")
    assert (known.code, "made up as a whole" in known.out) == (0, False)
    assert verified(whole, "--key", "ours.pem").code == 0
    unknown = verified(whole)
    assert (unknown.code, "nobody here knows its key" in unknown.out) == (0, True)
    keys("theirs")
    for other in (whole, evidence):
        done = verified(other, "--key", "theirs.pub.pem")
        assert (done.code, "[evidence.altered, exit 3]" in done.err) == (3, True)


def test_a_signature_cannot_be_taken_off_or_put_under_something_else() -> None:
    whole, lines = signed("ours"), lines_in(signed("ours"))
    for changed in (
        whole_of(lines[:-1]),
        whole_of([*lines[:-1], orjson.dumps({"signature": "ed25519:AAAA"})]),
        whole_of([*lines[:-1], orjson.dumps({"signature": "rsa"})]),
        whole_of([lines[0].replace(b"metalogue 0", b"metalogue 9"), *lines[1:]]),
        whole_of([*lines[:-1], lines_in(signed("theirs"))[-1]]),
    ):
        done = verified(changed, "--key", "ours.pub.pem")
        assert (done.code, "defect" in done.err) == (3, False)
        assert verified(changed).code == 3
    assert verified(whole).code == 0


def test_what_is_no_key_is_refused() -> None:
    Path("no.pem").write_text("hello")
    private, public = keys("other", x25519.X25519PrivateKey.generate())
    for file, why in (("no.pem", "no private key"), (private, "not an Ed25519 key")):
        words = ("export", "evidence", PROBLEM, "--out", "s", "--sign", file)
        done = call(*words, "--log", made())
        assert (done.code, why in done.err, "[evidence.key, exit 2]" in done.err) == (2, True, True)
    whole = signed("ours")
    for file, why in (("no.pem", "no public key"), (public, "not an Ed25519 key")):
        done = verified(whole, "--key", file)
        assert (done.code, why in done.err) == (2, True)
    assert verified(whole, "--key", "gone.pem").code == 2


def test_without_the_extra_it_says_how_to_install_it(
    evidence: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = signed("ours")

    def nothing(name: str) -> None: ...

    monkeypatch.setattr(observing, "find_spec", nothing)
    words = ("export", "evidence", PROBLEM, "--out", "s", "--sign", "ours.pem")
    for done in (call(*words, "--log", made()), verified(whole)):
        assert (done.code, "pip install 'cryptography" in done.err) == (5, True)
    assert verified(evidence).code == 0, "what is not signed needs no extra"


# -- the command line ------------------------------------------------------------------------------


def test_what_is_no_evidence_is_refused(evidence: bytes) -> None:
    Path("notes.txt").write_text("hello")
    done = call("verify", "notes.txt")
    assert (done.code, "notes.txt is a file, and no evidence" in done.err) == (2, True)
    assert call("verify", "notes.txt", "--key", "k.pem").code == 2
    done = call("export", "evidence", PROBLEM, "--log", made())
    assert (done.code, "--out" in done.err) == (2, True)
    done = call("export", "evidence", PROBLEM, "--out", "no/such/folder", "--log", made())
    assert (done.code, "no/such/folder" in done.err) == (2, True)
    done = call("export", "evidence", "nobody", "--out", "e", "--log", made())
    assert (done.code, Path("e").exists()) == (2, False)
    assert call("export", "evidence", PROBLEM, "--out", "-", "--log", made()).raw == evidence


def test_a_file_that_breaks_off_or_holds_something_else_is_named_by_its_line(
    evidence: bytes,
) -> None:
    lines = lines_in(evidence)
    twice = lines[1].replace(b'{"offset"', b'{"offset":1,"offset"')
    for number, changed in (
        (len(lines), evidence[:-1]),
        (2, whole_of([lines[0], b"hello"])),
        (2, whole_of([lines[0], b"[1]"])),
        (2, whole_of([lines[0], twice, *lines[2:]])),
        (2, whole_of([lines[0], b'{"hello":1}'])),
        (2, whole_of([lines[0], b'{"episode":1}'])),
        (3, whole_of([lines[0], lines[-1], lines[1]])),
    ):
        done = verified(changed)
        assert (done.code, f"e.jsonl:{number}: " in done.err) == (3, True), done.err


@pytest.mark.parametrize(
    "change",
    [
        {"begins": 1},
        {"begins": {"count": -1, "digest": "0" * 64}},
        {"begins": {"count": 0, "digest": "0" * 64}},
        {"begins": {"count": 1, "digest": "0"}},
        {"records": "!"},
        {"records": "AAAA"},
        {"records": 1},
        {"here": 1},
        {"here": [1, 1]},
        {"here": [99]},
        {"chain": 1},
        {"more": 1},
    ],
)
def test_what_is_no_chain_is_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {
        "chain": "c/0",
        "begins": {"count": 1, "digest": "0" * 64},
        "records": "",
        "here": [],
    }
    Chain.of(good)
    with pytest.raises(BadChain):
        Chain.of(good | change)


def test_other_versions_of_evidence_are_refused(evidence: bytes) -> None:
    first, *rest = lines_in(evidence)
    with pytest.raises(NoPack, match="this build reads 1"):
        Pack.of(whole_of([first.replace(b'"version":1', b'"version":2', 1), *rest]))


def test_an_episode_that_goes_on_may_be_shown_too(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    assert call("produce", "game24:901", "--policy", "mc2", "--log", log).code == 0
    work = ("--backbone", "rehearsal:seed=7", "--until-idle", "--total-calls", 2, "--no-tables")
    call("worker", "--log", log, *work)
    with closing(SqliteLog(log)) as opened:
        opened.db.execute("delete from records where address = 'closed'")
    assert call("export", "evidence", "n901", "--out", "e", "--log", log).code == 0
    done = call("verify", "e")
    assert ": open" in done.lines[0]


@pytest.mark.parametrize("settled", [False, True], ids=["taken in", "learned from"])
def test_evidence_of_another_tools_trace_is_verified_alone(tmp_path: Path, settled: bool) -> None:
    """It rests on no record of a worker: all of it was said by whoever took it in."""
    log = tmp_path / "log.db"
    assert (
        imported.taken_in(imported.file(tmp_path, *imported.CASES), log, "--policy", "mc2").code
        == 0
    )
    if settled:
        imported.worked(log)
    with closing(SqliteLog(log)) as opened:
        name = next(opened.records(kinds=("trace.taken",))).episode
    done = call("export", "evidence", name, "--out", "case.jsonl", "--log", log)
    assert (done.code, call("verify", "case.jsonl").code) == (0, 0)
    Path("part.jsonl").write_bytes(call("log", "cat", "--episode", name, "--log", log).raw)
    part = call("verify", "--log", "jsonl:part.jsonl")
    assert (part.code, "this is a part without its claims" in part.out) == (0, True), part.err


def test_evidence_that_rests_on_answers_that_were_graded_more_than_once_is_verified(
    tmp_path: Path,
) -> None:
    """Of those it holds what they left and what was said of it, and no admission."""
    words = ("--log", tmp_path / "log.db")
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables", *words)
    few = ("--policy", "mc2", "--set", "batch_size=3", "--set", "max_rounds=2", *words)
    assert call("produce", "game24:901-903", *few).code == 0
    assert call(*work).code == 0
    said = b'{"domain": "game24", "problem_id": "n901", "verdict": true, "by": "ann"}\n'
    assert call("feedback", "-", *words, given=said).code == 0
    assert call("produce", "game24:904-909", *few).code == 0
    assert call(*work).code == 0
    assert call("export", "evidence", "n909", "--out", "e.jsonl", *words).code == 0
    done = call("verify", "e.jsonl")
    assert (done.code, done.err) == (0, "")
