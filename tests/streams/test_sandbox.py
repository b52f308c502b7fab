"""Answers that are code run only where the operator said so, and shut in; elsewhere they are not measured."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from handlers.answers.grade import Grade, grade_reference
from schemas.identity import canonical
from streams.answering.grading import sandbox as module
from streams.answering.grading.grader import Grading
from streams.answering.grading.sandbox import Sandbox, code_of
from streams.support.child import ROOT
from tests.endpoint import Answer, Asked, serving, whole
from tests.streams.cli.calling import Called, call
from tests.streams.cli.conftest import folder as folder

CELL = Sandbox(cpu_s=5)
NOT_HERE = CELL.missing()
shut_in = pytest.mark.skipif(NOT_HERE is not None, reason=f"nobody can be shut in: {NOT_HERE}")
TESTS = "assert add(1, 2) == 3\nassert add(-1, 1) == 0"
GOOD, BAD = "def add(a, b):\n    return a + b", "def add(a, b):\n    return a - b"


def graded(code: str, tests: str = TESTS) -> tuple[str, str]:
    grade = CELL.grade(code, tests)
    assert grade.grader == "sandbox@1"
    return grade.outcome, grade.detail


def finding(path: str | None) -> Callable[[str], str | None]:
    """What looks for a program, and finds this one whatever it is called."""

    def find(name: str) -> str | None:
        return path

    return find


def may_shut_in() -> bool:
    """Whether this system lets us have namespaces and mounts of our own, whatever the cell makes of them."""
    release = tuple(int(each) for each in re.findall(r"\d+", os.uname().release)[:2])
    program = shutil.which("unshare")
    if program is None or release < (5, 12):  # before, no mount could be made read-only as a whole
        return False
    own = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork")
    tries = [program, *own, "mount", "-t", "tmpfs", "none", "/tmp"]
    return subprocess.run(tries, capture_output=True, check=False).returncode == 0


def test_nobody_is_missed_where_a_system_shuts_in() -> None:
    """A cell that no longer works would leave out every test of what code cannot do."""
    assert NOT_HERE is None or not may_shut_in()


# ── What passes and what does not ────────────────────────────────────────────────────────────


@shut_in
@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        (GOOD, "right", "its tests pass"),
        (f"Here it is:\n```python\n{GOOD}\n```\nDone.", "right", "its tests pass"),
        (BAD, "wrong", "its tests fail: AssertionError"),
        ("def add(a, b", "wrong", "its tests fail: SyntaxError"),
        ("raise SystemExit(0)", "wrong", "its tests fail: SystemExit"),
        ("import os\nos._exit(0)", "wrong", "its tests fail: ended before its tests"),
        ("print('passed' * 9)\n" + BAD, "wrong", "its tests fail: AssertionError"),
    ],
)
def test_tests_decide(code: str, outcome: str, detail: str) -> None:
    assert graded(code) == (outcome, detail)


# ── What code cannot do ──────────────────────────────────────────────────────────────────────


@shut_in
def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 30)"
        assert graded(code) == ("wrong", "its tests fail: OSError")


@shut_in
def test_it_is_nobody_and_sees_nothing_of_ours(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    os.environ["SECRET_OF_THE_WORKER"] = "x"
    try:
        asked = f"""
import os
assert os.getuid() == 65534
assert not os.path.exists({str(secret)!r})
assert not os.path.exists({str(ROOT / "pyproject.toml")!r})
assert not os.path.exists("/proc/1") and not os.path.exists("/etc/passwd")
assert set(os.environ) <= {{"HOME", "LANG", "LC_CTYPE"}}
"""
        assert graded("", asked) == ("right", "its tests pass")
    finally:
        del os.environ["SECRET_OF_THE_WORKER"]


@shut_in
@pytest.mark.parametrize("place", ["/usr/x", "/x", f"{os.path.realpath(sys.base_prefix)}/x"])
def test_it_writes_nowhere_but_in_its_own_folder(place: str) -> None:
    refused = f"""
try:
    open({place!r}, "w")
except OSError:
    pass
else:
    raise AssertionError
with open("/tmp/mine", "w") as file:
    file.write("x")
"""
    assert graded("", refused) == ("right", "its tests pass")
    assert not Path(place).exists()


@shut_in
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "x = bytearray(1 << 32)",
        "with open('/tmp/x', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))",
        "files = [open('/tmp/x', 'w') for _ in range(1000)]",
        "import ctypes\nif ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, b''): raise OSError",
        "import os\nos.chroot('/tmp')",
        "import os\nos.setuid(0)",
    ],
    ids=["time", "memory", "size", "files", "mount", "chroot", "root"],
)
def test_limits_end_it(code: str) -> None:
    grade = Sandbox(cpu_s=1).grade(code, "")
    assert grade.outcome == "wrong", grade.detail


@shut_in
def test_what_it_leaves_running_ends_with_it() -> None:
    """A child that holds on to the pipe would keep the grader waiting for as long as it lives."""
    forks = "import os\nif os.fork() == 0:\n    while True:\n        pass"
    assert graded(forks, "") == ("right", "its tests pass")


@shut_in
def test_what_it_sees_is_small_read_only_and_without_devices() -> None:
    """Of the system only libraries and this Python; places without set-user-id; limits that nobody can raise."""
    shown = [place for place in ("/usr", "/lib", "/lib64", "/bin") if os.path.lexists(place)]
    python = os.path.realpath(sys.base_prefix)
    roots = sorted({place.split("/")[1] for place in (*shown, python, "/tmp")})
    links = {place: os.readlink(place) for place in shown if os.path.islink(place)}
    read_only, no_programs_of_others, no_devices = os.ST_RDONLY, os.ST_NOSUID, os.ST_NODEV
    asked = f"""
import os, resource, sys
assert sorted(os.listdir("/")) == {roots!r}
assert all(os.readlink(place) == target for place, target in {links!r}.items())
assert os.getcwd() == "/tmp" == os.environ["HOME"]
assert os.environ["LANG"] == "C.UTF-8"
assert (sys.flags.isolated, sys.flags.no_site, __name__) == (1, 1, "answer")
both = {no_programs_of_others | no_devices}
for place, more in (("/", {read_only}), ("/usr", {read_only}), ({python!r}, {read_only}), ("/tmp", 0)):
    assert os.statvfs(place).f_flag & (both | {read_only}) == both | more
sizes = [os.statvfs(place).f_blocks * os.statvfs(place).f_frsize for place in ("/", "/tmp")]
assert sizes == [1 << 20, 3 << 20]
assert [os.stat(place).st_mode & 0o777 for place in ("/", "/tmp")] == [0o755, 0o777]
names = ("CPU", "AS", "FSIZE", "NOFILE", "NPROC", "CORE")
found = [resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names]
assert found == [(most, most) for most in (7, 1 << 28, 3 << 20, 64, 64, 0)]
"""
    cell = Sandbox(cpu_s=7, memory_bytes=1 << 28, file_bytes=3 << 20)
    assert cell.grade("", asked).detail == "its tests pass"


@shut_in
def test_the_name_of_an_error_is_told_as_far_as_it_is_short() -> None:
    raised = f"raise type({'X' * 200!r}, (Exception,), {{}})"
    assert graded(raised) == ("wrong", f"its tests fail: {'X' * 73}")
    assert graded("import sys\nprint(__name__, file=sys.stderr)", "x = 1")[0] == "right"


@shut_in
@pytest.mark.parametrize(
    "word",
    [
        "open('/usr/lib/os-release').read()[:60]",
        "nonce + ' failed ' + 'a password'",
        "nonce + ' failed '",
        "nonce + ' failed Error\\nmore'",
        "nonce + 'failed Error'",
        "'failed Error'",
        "'0' * 32 + ' passed'",
    ],
)
def test_nothing_that_code_writes_gets_into_its_grade(word: str) -> None:
    code = f"""
import __main__ as main, os
nonce = main.asked["nonce"]
os.write(main.told, ({word}).encode())
os._exit(0)
"""
    assert graded(code) == ("wrong", "its tests fail: ended before its tests")


@shut_in
@pytest.mark.parametrize("word", ["b' '", "main.asked['nonce'].encode() + b' passed\\n'"])
def test_no_more_than_a_verdict_is_read_of_what_code_writes(word: str) -> None:
    """All of it would be held in memory until the code ends, and this never does."""
    code = f"""
import __main__ as main, os, time
os.write(main.told, ({word}) * 100_000)
time.sleep(3600)
"""
    grade = Sandbox(wall_s=20).grade(code, "")
    assert (grade.outcome, grade.detail) == ("wrong", "its tests fail: ended before its tests")


@shut_in
def test_of_the_name_of_an_error_only_letters_are_told() -> None:
    for name, told in (("Not_2_Found", "Not__Found"), ("8", "_"), ("Fehlerü x", "Fehlerx")):
        raised = f"raise type({name!r}, (Exception,), {{}})"
        assert graded(raised) == ("wrong", f"its tests fail: {told}")


# ── Where it is not run ──────────────────────────────────────────────────────────────────────


def test_what_waits_for_ever_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What computes is ended by its processor's time; how long anything else takes hangs on the machine."""
    waits = tmp_path / "unshare"
    waits.write_text("#!/bin/sh\nexec sleep 3600\n")
    waits.chmod(0o700)
    monkeypatch.setattr(module, "which", finding(str(waits)))
    grade = Sandbox(wall_s=0.1).grade(GOOD, TESTS)
    assert (grade.outcome, grade.detail) == ("unknown", "not measured: no end within 0.1 s")


def test_without_isolation_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')"
    for there in (None, "/bin/false"):
        monkeypatch.setattr(module, "which", finding(there))
        grade = CELL.grade(code, "")
        assert (grade.outcome, grade.grader) == ("unknown", "sandbox@1")
        assert grade.detail.startswith("not measured: this system ")
        assert CELL.missing() is not None
    assert not ran.exists()


def test_too_long_a_text_is_not_run() -> None:
    assert CELL.grade("x" * 200_000, "").detail == "not measured: too long to be run"


def test_without_the_operators_word_nothing_is_run() -> None:
    expected = Grade(
        outcome="unknown", grader="python@1", detail="not measured: its tests were not run"
    )
    assert grade_reference(GOOD, TESTS, dataset="python") == expected
    with Grading() as grading:
        assert grading.grade_now(GOOD, TESTS, dataset="python") == expected
        assert grading.grade_now(None, TESTS, dataset="python").outcome == "withheld"


def test_code_is_what_stands_in_the_last_fence() -> None:
    assert code_of("```\na\n```\nbetter:\n```python\nb\n```") == "b\n"
    assert code_of("x = 1") == "x = 1"
    assert code_of("```" * 50_000) == "```" * 50_000


# ── The worker ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two problems of code, of which the model solves the first."""

    def replies(asked: Asked) -> Answer:
        code = GOOD if "sum" in str(asked.body["messages"]) else BAD
        return whole(f"Final_answer:\n```python\n{code}\n```")

    lines = [
        canonical({"id": each, "problem": f"Write add(a, b): the {each}.", "answer": TESTS})
        for each in ("sum", "total")
    ]
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    words = ("--domain", "python", "--policy", "io", "--log", "a.db")
    assert call("produce", "in.jsonl", *words).code == 0
    with serving(replies) as endpoint:
        for name, value in endpoint.env().items():
            monkeypatch.setenv(name, value)
        yield folder / "a.db"


def worked(path: Path, *more: str) -> Called:
    words = ("--backbone", "openai:check", "--until-idle", "--no-tables", "--log", str(path))
    called = call("worker", *words, *more)
    assert called.code == 0, called.err
    return called


def grades(path: Path) -> list[tuple[str, str]]:
    query = """
      select json_extract(body, '$.outcome'), json_extract(body, '$.grader') from records
      where kind = 'graded' order by episode"""
    with closing(sqlite3.connect(path)) as db:
        return list(db.execute(query))


@shut_in
def test_a_worker_that_may_run_code_grades_it(path: Path) -> None:
    worked(path, "--run-code")
    assert grades(path) == [("right", "sandbox@1"), ("wrong", "sandbox@1")]
    (found,) = call("analyse", "--json", "--log", path).json["runs"].values()
    assert (found["right"], found["commission"], found["coverage"]) == (1, 1, 1.0)
    verified = call("verify", "--log", path)
    assert verified.code == 0, verified.out + verified.err
    assert "only sandbox@1 can tell whether they are right" in verified.out


def test_a_worker_that_may_not_leaves_it_unmeasured(path: Path) -> None:
    worked(path)
    assert grades(path) == [("unknown", "python@1")] * 2
    (found,) = call("analyse", "--json", "--log", path).json["runs"].values()
    assert (found["undecided"], found["coverage"], found["accuracy"]) == (2, 0.0, None)
    assert call("verify", "--log", path).code == 0


def test_where_nobody_can_be_shut_in_a_worker_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "which", finding(None))
    called = worked(path, "--run-code")
    assert (
        "--run-code: nothing is run, and code is not measured: this system has no unshare"
        in called.err
    )
    assert grades(path) == [("unknown", "python@1")] * 2


def test_kafka_runs_no_code() -> None:
    words = ("--backbone", "rehearsal", "--run-code", "--log", "kafka://127.0.0.1:1")
    assert call("worker", *words).code == 2
