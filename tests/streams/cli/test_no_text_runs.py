"""A text that names a file runs nothing: not a line, not a message, not a log, not a folder's configuration."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.registry import POLICIES
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from streams.engine import policies
from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.projecting import child_of
from streams.runtime.embedded.log import SqliteLog
from streams.support.child import variables
from tests.streams.cli.calling import Called, call, log_of
from tests.streams.dashboard.serving import serving

LOG = ("--log", "a.db")
QUICK = ("--backbone", "rehearsal:latency_ms=0", "--until-idle", "--no-tables")
EVIL = """
from dataclasses import replace
from pathlib import Path
from handlers.policies.registry import POLICIES

with Path({ran!r}).open("a") as ran:
    ran.write("ran\\n")
X = replace(POLICIES["cot"], about={about!r})
TEACHES = replace(POLICIES["mc2"])
"""


class Evil:
    """A policy's file, and whether it was run."""

    def __init__(self, folder: Path) -> None:
        self.file, self.ran = folder / "evil.py", folder / "ran"
        self.write("ours")

    @property
    def name(self) -> str:
        return f"{self.file}:X"

    def write(self, about: str) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(EVIL.format(ran=str(self.ran), about=about))

    def has_run(self) -> bool:
        """Whether it ran since this was asked last."""
        here = self.ran.exists()
        self.ran.unlink(missing_ok=True)
        return here


@pytest.fixture
def evil(folder: Path) -> Evil:
    return Evil(folder)


def line(**said: Any) -> str:
    return json.dumps({"problem": "2 3 4 4", "domain": "game24", **said}) + "\n"


def worked(*more: str) -> Called:
    return call("worker", *QUICK, *more, *LOG)


def stats() -> Any:
    return call("log", "stats", "--json", *LOG).json


def checks(*more: str) -> list[Any]:
    found = call("doctor", "--json", *more, *LOG).json["checks"]
    return [each for each in found if each["name"] == "policy"]


@pytest.fixture
def foreign(evil: Evil) -> Evil:
    """A log that somebody made by a file of theirs, with all that a policy can leave on one."""
    for name in (evil.name, f"{evil.file}:TEACHES"):
        few = ("--set", "max_rounds=1") if name.endswith("TEACHES") else ()
        assert call("produce", "game24:901-902", "--policy", name, *few, *LOG).code == 0
    assert worked("--policy", evil.name, "--policy", f"{evil.file}:TEACHES").code == 0
    assert evil.has_run()
    return evil


# -- lines and messages ----------------------------------------------------------------------------


@pytest.mark.parametrize("more", [("--dry-run",), (), ("--policy", "mc2")])
@pytest.mark.parametrize("spelled", ["{}:X", "evil.py:X", "./evil.py:X", "{}:X@1+0", ".py:X"])
def test_a_line_that_names_a_file_is_refused_by_its_field(
    evil: Evil, spelled: str, more: tuple[str, ...]
) -> None:
    lines = line(id="e", policy=spelled.format(evil.file)) + line(id="ok")
    Path("in.jsonl").write_text(lines)
    called = call("produce", "in.jsonl", *more, *LOG)
    assert called.code == 1
    assert "in.jsonl:1:1: policy: " in called.err
    assert "give it on the command line, --policy FILE.py:NAME [input.policy]" in called.err
    assert called.out == "produced 1 known 0 refused 1\n"
    assert not evil.has_run()


def test_a_line_may_name_what_the_command_line_gave(evil: Evil) -> None:
    Path("in.jsonl").write_text(line(id="e", policy="evil.py:X") + line(id="f", policy=evil.name))
    Path("list").write_text("evil.py:X\n")
    called = call("produce", "in.jsonl", "--allow-policies", "list", *LOG)
    assert (called.code, called.out) == (0, "produced 2 known 0 refused 0\n")


def test_a_message_that_names_a_file_is_a_dead_letter(evil: Evil) -> None:
    said = json.loads(line(id="e", policy=evil.name))
    log_of(Path("a.db"), [("problems", "p/game24/e/x", {}, json.dumps(said).encode())])
    assert worked().code == 0
    (letter,) = call("dlq", "list", "--json", *LOG).rows
    assert letter["reason"].startswith("policy: ")
    assert "--policy FILE.py:NAME" in letter["reason"]
    assert not evil.has_run()


@pytest.mark.parametrize("told", ["d/evil/main/0123456789ab", "../..", 7, None, "{}/x", "{}/0"])
def test_a_told_scope_that_is_not_the_problem_s_admits_nothing(evil: Evil, told: Any) -> None:
    if isinstance(told, str):
        told = told.format(f"game24/{evil.name}/main")
    said = json.loads(line(id="e", policy=evil.name))
    message = ("problems", "p/game24/e/x", {"scope": told}, json.dumps(said).encode())
    log_of(Path("a.db"), [message])
    assert worked().code == 0
    assert (stats()["opened"], stats()["dead_letters"]) == (0, 1)
    assert not evil.has_run()


# -- logs ------------------------------------------------------------------------------------------

READERS = (
    ("verify",),
    ("doctor",),
    ("lessons", "list"),
    ("knowledge", "show"),
    ("state", "hash"),
    ("rebuild", "--tables", "none"),
    ("log", "stats"),
    ("log", "digest"),
    ("log", "cat"),
    ("show",),
    ("show", "n901"),
    ("show", "n901", "--at", "0"),
    ("analyse",),
    ("export", "grpo"),
    ("export", "evidence", "n901", "--out", "e"),
    ("log", "heads"),
    ("consume",),
    ("dlq", "list"),
    ("graph", "show"),
    ("fork", "n901", "--at", "0", "--backbone", "rehearsal"),
    ("forget", "--problem", "n901"),
    ("policies", "list"),
    ("config", "show"),
)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_no_command_runs_what_a_log_names(foreign: Evil, words: tuple[str, ...]) -> None:
    called = call(*words, *(LOG if words[0] not in ("policies", "config") else ()))
    assert not foreign.has_run(), called.err
    assert "defect" not in called.err, called.err


PAGES = ("/", "/episodes", "/episode?id=n901", "/episode/at?id=n901&at=0", "/learning", "/answers")


@pytest.mark.parametrize("given", [False, True])
def test_the_dashboard_runs_only_what_it_was_given(foreign: Evil, given: bool) -> None:
    both = ("--policy", foreign.name, "--policy", f"{foreign.file}:TEACHES")
    with serving(Path("a.db").resolve(), *(both if given else ())) as site:
        pages = {path: site.get(path) for path in PAGES}
    assert {page.status for page in pages.values()} == {200}
    assert foreign.has_run() is given
    prompt = "### Problem" in pages["/episode/at?id=n901&at=0"].text
    assert prompt is given


def test_a_worker_leaves_what_a_log_names_alone(foreign: Evil) -> None:
    produced = call("produce", "game24:903-904", "--policy", foreign.name, *LOG)
    assert produced.code == 0
    assert call("produce", "game24:905-905", "--policy", "cot", *LOG).code == 0
    assert foreign.has_run()
    done = worked()
    assert not foreign.has_run()
    assert (done.code, done.err.count(": waits")) == (1, 2), done.err
    assert stats()["answers"] == 5
    assert stats()["dead_letters"] == 0
    named = [each for each in checks() if each["detail"].startswith(f"game24/{foreign.name}/")]
    assert [each["state"] for each in named] == ["warn"]
    assert "--policy FILE.py:NAME" in named[0]["detail"]
    assert worked("--policy", "cot", "--policy", foreign.name).code == 0
    assert stats()["answers"] == 7
    assert checks("--policy", foreign.name, "--policy", f"{foreign.file}:TEACHES") == []


def test_it_is_verified_only_where_it_was_given(foreign: Evil) -> None:
    both = ("--policy", foreign.name, "--policy", f"{foreign.file}:TEACHES")
    whole = call("verify", "--json", *both, *LOG).json
    assert (whole["unverifiable"], whole["diverged"]) == ([], [])
    none = call("verify", "--json", *LOG).json
    assert (none["episodes"], none["diverged"]) == (0, [])
    assert len(none["unverifiable"]) >= whole["episodes"]
    assert all("--policy FILE.py:NAME" in each for each in none["unverifiable"])
    assert call("show", "n901", "--at", "0", *both, *LOG).code == 0


def test_the_same_file_elsewhere_is_as_good(foreign: Evil) -> None:
    """Its digest tells it, not its place; and another file of its name is another policy."""
    both = ("evil.py:X", "evil.py:TEACHES")
    there = Path("there")
    shutil.copytree(foreign.file.parent, there, ignore=shutil.ignore_patterns("there", "a.db*"))
    foreign.file.unlink()
    named = [word for each in both for word in ("--policy", f"there/{each}")]
    done = call("verify", "--json", *named, *LOG).json
    assert done["episodes"] > 0
    assert (done["unverifiable"], done["diverged"]) == ([], [])
    assert call("fork", "n901", "--at", "0", *named[2:], "--backbone", "rehearsal", *LOG).code == 0

    (there / "evil.py").write_text((there / "evil.py").read_text() + "\n# changed\n")
    done = call("verify", "--json", *named, *LOG).json
    assert (done["episodes"], done["diverged"]) == (0, [])
    assert done["unverifiable"] != []


def test_who_moved_the_file_goes_on_with_its_series(foreign: Evil) -> None:
    produced = call("produce", "game24:901-904", "--policy", foreign.name, "--series", "s", *LOG)
    assert produced.code == 0
    Path("there").mkdir()
    foreign.file.rename("there/evil.py")
    before = stats()["answers"]
    assert worked("--policy", "cot", "--policy", "there/evil.py:X").code == 0
    assert stats()["answers"] == before + 4
    scopes = set[str]()
    with closing(SqliteLog(Path("a.db"))) as log:
        for record in log.records(kinds=["problem.admitted", "episode.opened"]):
            if isinstance(record.event, ProblemAdmitted):
                scopes.add(record.event.scope)
            assert not isinstance(record.event, EpisodeOpened) or "there" not in record.event.policy
    assert len(scopes) == 2


def test_to_fork_with_the_parent_s_own_file_changes_nothing(foreign: Evil) -> None:
    words = ("fork", "n901", "--at", "0", "--backbone", "rehearsal", "--json")
    alone = call(*words, *LOG)
    assert alone.code == 2
    assert "--policy FILE.py:NAME" in alone.err
    episode = foreign_episode(f"{foreign.file}:X")
    words = ("fork", episode, *words[2:])
    given = call(*words, "--policy", foreign.name, *LOG)
    Path("list").write_text("evil.py:X\n")
    listed = call(*words, "--allow-policies", "list", *LOG)
    assert (given.code, listed.code) == (0, 0), given.err + listed.err
    assert given.json["episode"] == listed.json["episode"]


def foreign_episode(policy: str) -> str:
    with closing(SqliteLog(Path("a.db"))) as log:
        for record in log.records(kinds=["episode.opened"]):
            if isinstance(record.event, EpisodeOpened) and record.event.policy == policy:
                return record.episode
    raise AssertionError(policy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evil.py:X\nmc2\n", "'mc2' is not FILE.py:NAME"),
        ("evil.py\n", "'evil.py' is not FILE.py:NAME"),
        (None, "--allow-policies: list: No such file or directory"),
    ],
)
def test_a_list_that_is_none_is_refused(evil: Evil, text: str | None, message: str) -> None:
    if text is not None:
        Path("list").write_text(text)
    called = call("log", "stats", "--allow-policies", "list", *LOG)
    assert called.code == 2
    assert message in called.err
    assert not evil.has_run()


def test_a_recipe_names_what_was_given(evil: Evil) -> None:
    runs = {"one": {"policy": evil.name}}
    row = {"run": "one", "paper": [1.0]}
    recipe = {
        "recipe": "theirs",
        "claims": [],
        "paper": "p",
        "about": "a",
        "differs": "d",
        "seeds": [0],
        "data": {"game24": {"source": "game24:901-901"}},
        "runs": runs,
        "tables": [{"title": "t", "columns": {"x": {"metric": "accuracy"}}, "rows": {"r": row}}],
    }
    Path("theirs.yaml").write_text(json.dumps(recipe))
    words = ("bench", "run", "theirs.yaml", "--backbone", "rehearsal", *LOG)
    refused = call(*words)
    assert (refused.code, evil.has_run()) == (2, False)
    assert "names a file, and no recipe may name what runs [policy.unknown, exit 2]" in refused.err
    given = call(*words, "--policy", evil.name)
    assert (given.code, evil.has_run()) == (0, True), given.err
    assert f"--policy {evil.name}" in Path("bench/theirs.md").read_text()


# -- the working directory -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("metalogue.yaml", "log: a.db\npolicy: evil.py:X\n", "metalogue.yaml:2: policy: "),
        (".env", "METALOGUE_POLICY=evil.py:X\n", ".env:1: METALOGUE_POLICY: "),
        ("metalogue.yaml", "tools: 'mcp:python evil.py'\n", "metalogue.yaml:1: tools: "),
        (".env", "METALOGUE_TOOLS=mcp:./evil.py\n", ".env:1: METALOGUE_TOOLS: "),
    ],
)
@pytest.mark.parametrize(
    "words", [("worker", *QUICK), ("produce", "game24:901-901"), ("solve", "1+1"), ("log", "stats")]
)
def test_a_folder_s_configuration_runs_nothing(
    evil: Evil, file: str, text: str, place: str, words: tuple[str, ...]
) -> None:
    log_of(Path("a.db"))
    Path(file).write_text(text)
    called = call(*words)
    assert called.code == 5
    assert called.err.startswith(place)
    assert "[config.runs, exit 5]" in called.err
    assert "command line, --" in called.err
    assert not evil.has_run()


def test_the_environment_and_a_file_that_it_names_may(
    evil: Evil, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("solve", "1+1", "--backbone", "rehearsal")
    monkeypatch.setenv("METALOGUE_POLICY", "evil.py:X")
    assert call(*words, *LOG).code == 0
    assert evil.has_run()
    monkeypatch.delenv("METALOGUE_POLICY")
    Path("mine.yaml").write_text("policy: evil.py:X\n")
    monkeypatch.setenv("METALOGUE_CONFIG", "mine.yaml")
    assert call(*words, "--domain", "other", *LOG).err.count(" known: ") == 0
    assert evil.has_run()


KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
ASK = ("solve", "1+1", "--backbone", "openai:m?max_attempts=1", *LOG)


def test_a_folder_s_address_is_not_told_the_environment_s_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-of-the-user")
    Path(".env").write_text(f"\n{URL}=http://127.0.0.1:9/v1\n")
    for words in (ASK, ("worker", *QUICK, "--role", "embedder=openai:e", *LOG)):
        called = call(*words)
        assert called.code == 5
        assert f"not sent there: {URL} in .env:2" in called.err
        assert "--base-url" in called.err
        assert "sk-of" not in called.err
    for more in (("--base-url", "http://127.0.0.1:9/v1"),):
        assert call(*ASK, *more).code == 6
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    assert call(*ASK).code == 6
    monkeypatch.delenv(URL)
    monkeypatch.delenv(KEY)
    assert call(*ASK).code == 6
    Path(".env").write_text(f"{KEY}=sk-of-the-folder\n{URL}=http://127.0.0.1:9/v1\n")
    assert call(*ASK).code == 6


@pytest.mark.parametrize("quoted", ["{}", "'{}'", '"{}"'])
def test_a_folder_s_values_take_nothing_from_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, quoted: str
) -> None:
    monkeypatch.setenv("SECRET", "s3cr3t")
    address = quoted.format("http://127.0.0.1:9/${SECRET}")
    Path(".env").write_text(f"{KEY}=k\n{URL}={address}\nOTHERS=${{SECRET}}\n")
    called = call(*ASK)
    assert (called.code, called.err[: called.err.index(" [")]) == (
        5,
        f".env:2: {URL}: ${{...}} is not filled in: a file of the working directory takes nothing "
        "from the environment",
    )
    Path(".env").write_text("METALOGUE_LOG=${HOME}/a.db\n")
    assert call("log", "stats").err.startswith(".env:1: METALOGUE_LOG: ${...}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log: kafka://127.0.0.1:9\n", ()),
        ("kafka:\n  security_protocol: SASL_PLAINTEXT\n", ("--log", "kafka://127.0.0.1:9")),
        ("kafka:\n  ssl_ca: theirs.pem\n", ("--log", "kafka://127.0.0.1:9")),
        ("kafka:\n  sasl_mechanism: PLAIN\n", ("--log", "kafka://127.0.0.1:9")),
    ],
)
def test_a_folder_does_not_choose_who_is_told_the_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("METALOGUE_KAFKA__SASL_PASSWORD", "s3cr3t")
    Path("metalogue.yaml").write_text(text)
    called = call("log", "stats", *words)
    assert called.code == 5
    assert "[config.secret, exit 5]" in called.err
    assert called.err.startswith("metalogue.yaml:")
    assert "s3cr3t" not in called.err


def test_a_projector_takes_no_module_from_the_folder(folder: Path) -> None:
    """A worker starts one by itself, in the folder that it works in."""
    log_of(Path("a.db"))
    for name in ("json", "typing", "streams", "lancedb"):
        Path(f"{name}.py").write_text("open('ran', 'w').close()\n")
    done = subprocess.run(
        child_of("a.db"), env=variables(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not Path("ran").exists()


# -- installed policies ----------------------------------------------------------------------------


class Entry:
    """An entry point, and how often it was loaded."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value, self.loaded = name, f"somewhere:{name}", 0
        self.what = value

    def load(self) -> object:
        self.loaded += 1
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


def test_what_is_installed_is_chosen_by_whoever_installed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of it is loaded together and once, be its name the one that was looked for or another."""
    mine = replace(POLICIES["cot"], name="mine")
    entries = [Entry("mine", mine), Entry("broken", ImportError("no such")), Entry("none", 3)]

    def entry_points(group: str) -> list[Entry]:
        return entries

    monkeypatch.setattr(policies, "entry_points", entry_points)
    policies.installed.cache_clear()
    try:
        for name, why in (("other", "no policy 'other'"), ("broken", "ImportError: no such")):
            with pytest.raises(NoPolicy, match=why):
                find(name)
        with pytest.raises(NoPolicy, match="expected a Policy, found int"):
            find("none")
        assert find("mine") is mine
        assert [entry.loaded for entry in entries] == [1, 1, 1]
    finally:
        policies.installed.cache_clear()


@pytest.mark.parametrize("place", ["metalogue.yaml", ".env"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("listen", "0.0.0.0:8797"), ("allowed_hosts", "evil.example"), ("token", "x")],
)
def test_no_file_of_a_folder_lets_others_at_a_private_log(
    folder: Path, place: str, name: str, value: str
) -> None:
    """Whoever wrote it would point his name at this machine, and read what is served to it."""
    log_of(Path("a.db"))
    said = f"METALOGUE_DASHBOARD__{name.upper()}={value}\n"
    (folder / place).write_text(f"dashboard: {{{name}: {value}}}\n" if place[0] == "m" else said)
    called = call("dashboard", "--log", "a.db")
    assert called.code == 5
    assert "[config.opens, exit 5]" in called.err
    assert f"METALOGUE_DASHBOARD__{name.upper()}" in called.err
