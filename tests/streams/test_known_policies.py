"""Which policy a name stands for: one of ours, or a file that was given, told by its place or by its digest."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.registry import POLICIES
from streams.engine.policies import NoPolicy, OwnFile, Shelf, find_recorded

TEXT = "from handlers.policies.registry import POLICIES\nX = POLICIES['cot']\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder, more in (("one", "# 1\n"), ("two", "# 2\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.py").write_text(TEXT + more)
    return tmp_path


def shelf(*names: str) -> Shelf:
    made = Shelf()
    for name in names:
        made.give(OwnFile.of(name))
    return made


def version(path: str) -> str:
    return f"2+{sha256(Path(path).read_bytes()).hexdigest()[:12]}"


def test_a_file_is_known_by_any_path_to_it(here: Path) -> None:
    known = shelf("one/p.py:X")
    for name in ("one/p.py:X", "./one/p.py:X", f"{here}/one/p.py:X", "two/../one/p.py:X"):
        found = known.find(name)
        assert (found.name, found.version) == (name, version("one/p.py"))
    for name in ("p.py:X", "one/p.py:Y", "two/p.py:X", "/one/p.py:X", "one/p.py:", ".py:X"):
        with pytest.raises(NoPolicy):
            known.find(name)


def test_a_version_is_known_wherever_its_file_lies(here: Path) -> None:
    known = shelf("one/p.py:X", "two/p.py:X")
    for name, path in (("gone/p.py:X", "one/p.py"), ("p.py:X", "two/p.py"), ("q.py:X", "one/p.py")):
        found = known.find(f"{name}@{version(path)}")
        assert (found.name, found.version) == (name, version(path))
        assert find_recorded(known.find, name, version(path)).version == version(path)
    for wrong in ("p.py:X@1+0", f"p.py:Y@{version('one/p.py')}", "p.py:X@"):
        with pytest.raises(NoPolicy, match="no record may name what runs"):
            known.find(wrong)


def test_a_record_s_own_version_comes_before_what_lies_in_its_place(here: Path) -> None:
    """Edited since, and the old file given too: the old one is what the record was made with."""
    known = shelf("one/p.py:X", "two/p.py:X")
    assert find_recorded(known.find, "one/p.py:X", version("two/p.py")).version == version(
        "two/p.py"
    )
    assert find_recorded(known.find, "one/p.py:X", "1+0").version == version("one/p.py")
    with pytest.raises(NoPolicy):
        find_recorded(known.find, "gone.py:X", "1+0")


def test_a_file_is_run_once_and_as_it_was_read(here: Path) -> None:
    Path("p.py").write_text(TEXT + "with open('ran', 'a') as ran:\n    ran.write('.')\n")
    known = shelf("p.py:X", "./p.py:X")
    before = version("p.py")
    assert known.find("p.py:X").version == before
    Path("p.py").write_text("raise SystemExit\n")
    for name in ("p.py:X", "./p.py:X", f"p.py:X@{before}", f"else.py:X@{before}"):
        assert known.find(name).version == before
    assert Path("ran").read_text() == "."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import absent_module_of_nobody\n", "ModuleNotFoundError: "),
        ("X = 3\n", "expected a Policy, found int"),
        ("", "expected a Policy, found NoneType"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("def X(:\n", "SyntaxError: "),
        (b"\xff", "SyntaxError: "),
        (b"X = 1\0", "null bytes"),
    ],
)
def test_a_file_that_is_none_says_why(here: Path, text: str | bytes, why: str) -> None:
    Path("p.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(NoPolicy, match=why):
        shelf("p.py:X").find("p.py:X")


@given(st.text(max_size=40))
def test_no_name_finds_what_was_not_given(name: str) -> None:
    if name not in POLICIES:
        with pytest.raises(NoPolicy) as refused:
            shelf("one/p.py:X").find(name)
        assert len(str(refused.value)) < 2_000
