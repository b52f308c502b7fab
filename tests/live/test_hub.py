"""`models pull OWNER/REPO/FILE.gguf`: from a hub on loopback that speaks as the real one does."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.streams.cli.calling import process

pytestmark = pytest.mark.live

MODEL = b"GGUF" + bytes(range(256)) * 94_000
"""24 MB: the client keeps what came in pieces of 10."""
NAME = "owner/repo/sub/model.gguf"


@dataclass
class Hub:
    """One file of one repository, its moods, and what was asked."""

    named: str = sha256(MODEL).hexdigest()
    breaks: int = 0
    """Downloads that break off half-way."""
    asked: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    keys: list[str] = field(default_factory=list[str])
    """The keys that came with what was asked."""
    files: str = ""
    """The host that keeps the files, where it is another one."""
    url: str = ""

    def ranges(self) -> list[str]:
        """The ranges of all downloads."""
        return [wanted for method, _, wanted in self.asked if method == "GET"]


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.head(len(MODEL))

        def do_GET(self) -> None:
            start = int(self.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
            if not self.head(len(MODEL) - start, start):
                return
            hub.breaks, breaking = hub.breaks - 1, hub.breaks > 0
            self.wfile.write(MODEL[start : len(MODEL) // 2] if breaking else MODEL[start:])
            self.close_connection = breaking

        def head(self, size: int, start: int = 0) -> bool:
            hub.asked.append((self.command, self.path, self.headers.get("Range", "")))
            hub.keys += self.headers.get_all("Authorization", [])
            known = self.path == "/owner/repo/resolve/main/sub/model.gguf"
            moved = known and bool(hub.files)
            self.send_response(404 if not known else 302 if moved else 206 if start else 200)
            self.send_header("Content-Length", str(size if known and not moved else 0))
            if moved:
                self.send_header("Location", hub.files + self.path)
                self.send_header("X-Linked-ETag", f'"{hub.named}"')
            if known:
                self.send_header("ETag", f'"{hub.named}"')
                self.send_header("X-Repo-Commit", "0" * 40)
                self.send_header("X-Linked-Size", str(len(MODEL)))
                self.send_header("Content-Range", f"bytes {start}-{len(MODEL) - 1}/{len(MODEL)}")
            else:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.end_headers()
            return known and not moved

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@contextmanager
def listening() -> Generator[Hub]:
    made = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(made))
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with listening() as made:
        yield made


def pull(hub: Hub, folder: Path, name: str = NAME, **more: str) -> tuple[int, str, str]:
    """The command in a process of its own: the client reads its endpoint when it is loaded."""
    here = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hf"), "METALOGUE_HOME": str(folder)}
    done = process("models", "pull", name, cwd=folder, **here, **more)
    out, err = done.communicate(timeout=60)
    return done.returncode, out.decode().strip(), err.decode()


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "models").rglob("*.gguf"))


def test_a_file_is_kept_in_our_home_and_then_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    code, path, err = pull(hub, tmp_path)
    assert (code, path) == (0, str(tmp_path / "models" / "sub" / "model.gguf")), err
    assert Path(path).read_bytes() == MODEL
    assert hub.ranges() == [""]
    hub.url = "http://127.0.0.1:9"
    assert pull(hub, tmp_path)[:2] == (0, path)


def test_a_download_that_broke_off_goes_on_where_it_stood(hub: Hub, tmp_path: Path) -> None:
    hub.breaks = 1
    code, _, err = pull(hub, tmp_path)
    if code:  # some releases of the client go on by themselves
        assert code == 5, err
        assert "the same command goes on" in err.lower()
        assert not kept(tmp_path), "half a model is none"
        code, _, err = pull(hub, tmp_path)
    assert code == 0, err
    (path,) = kept(tmp_path)
    assert path.read_bytes() == MODEL
    first, second = hub.ranges()
    assert first == ""
    assert 0 < int(second.removeprefix("bytes=").rstrip("-")) <= len(MODEL) // 2


def test_what_is_not_what_the_hub_names_is_removed(hub: Hub, tmp_path: Path) -> None:
    hub.named = sha256(b"another").hexdigest()
    code, _, err = pull(hub, tmp_path)
    assert code == 5
    assert "its sha256 is" in err
    assert not kept(tmp_path)
    hub.named = sha256(MODEL).hexdigest()
    assert pull(hub, tmp_path)[0] == 0


def test_what_the_hub_does_not_have_is_said(hub: Hub, tmp_path: Path) -> None:
    code, out, err = pull(hub, tmp_path, "owner/repo/none.gguf")
    assert (code, out) == (5, "")
    assert "404" in err
    assert "llamacpp:PATH" in err


def test_a_file_of_another_host_is_fetched_there_without_the_key(hub: Hub, tmp_path: Path) -> None:
    """Hubs keep large files elsewhere: that redirect is meant, and the key is the hub's alone."""
    with listening() as between, listening() as files:
        hub.files, between.files = between.url, files.url
        code, path, err = pull(hub, tmp_path, HF_TOKEN="hf_never_to_be_seen")
        assert code == 0, err
        assert Path(path).read_bytes() == MODEL
        assert files.ranges() == [""]
        assert set(hub.keys) == {"Bearer hf_never_to_be_seen"}
        assert between.keys == files.keys == []
