"""The keys of subjects: a file of its own, apart from the log that is sealed with them.

Each subject has one key, drawn at random, from which two are made: one seals its records (AES-256-GCM), one makes
the names that would else be digests of its texts (HMAC-SHA-256). Whoever erases a subject destroys its key, and
with it the only place where its name stands. A file is of one log alone: both hold the same token.

What must never happen: that a record is sealed with a key that is not yet on disk, or that a process goes on
with a key that another destroyed. So a key is committed before it is given out, and those held in memory count
only while the file is as it was when they were read.

Source: deploy/decisions/0027-keys-per-subject.md.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import time
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES, NONCE_BYTES = 32, 12
MARK_CHARS = 12
"""As many hexadecimal digits as any digest of ours has."""
JUST_NOW_NS = 100_000_000
"""A file that was written within this time may have been written again without another time."""
TABLES = """
begin immediate;
create table if not exists log(token text not null);
create table if not exists subjects(name text primary key, mark text not null unique, key blob not null);
commit;
"""
PRAGMAS = "pragma synchronous=full; pragma secure_delete=on; pragma busy_timeout=30000;"


class NoKeys(Exception):
    """The keys of a log are not where they should be, are another log's, or lack a subject; the message says which."""


class Keys:
    """The keys of one log. Raises ``NoKeys`` where the file is not that log's."""

    def __init__(self, path: Path, token: str) -> None:
        self.path, self.token = path, token
        self._held: dict[str, tuple[AESGCM, bytes]] = {}
        self._as_read: tuple[int, int, int] | None = None
        if not path.is_file():
            raise NoKeys(f"its keys are not at {path}")
        with self._file() as db:
            found = db.execute("select token from log").fetchone()
        if found != (token,):
            raise NoKeys(f"{path} holds another log's keys")

    @classmethod
    def begun(cls, path: Path) -> Keys:
        """A new file of keys, which only its owner may read. Raises ``NoKeys`` where there is one already."""
        try:
            # Making the file and finding that there was none are one step, so that no two logs get
            # the same keys.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise NoKeys(f"{path} is there already, and keys are of one log alone") from None
        except OSError as error:
            raise NoKeys(f"{path}: {error.strerror}") from error
        token = secrets.token_hex(16)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript(PRAGMAS + TABLES)
            db.execute("insert into log values (?)", (token,))
        return cls(path, token)

    # -- subjects ----------------------------------------------------------------------------------

    def known(self, name: str) -> str | None:
        """The mark of a subject, if it has a key."""
        with self._file() as db:
            found = db.execute("select mark from subjects where name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def of(self, name: str) -> str:
        """The mark of a subject. One that is new gets its key now."""
        with self._file() as db:
            # The mark is drawn and not made of the name, so nobody can try names against a log. Two
            # processes that meet a subject at once both draw; the row of the first counts, and both
            # read it back.
            made = (name, f"subject-{secrets.token_hex(8)}", secrets.token_bytes(KEY_BYTES))
            db.execute("insert or ignore into subjects values (?, ?, ?)", made)
            found = db.execute("select mark from subjects where name = ?", (name,)).fetchone()
        return str(found[0])

    def shred(self, mark: str) -> None:
        """Destroy a subject's key, and its name with it. Nothing that was sealed with it can be read again."""
        with self._file() as db:
            db.execute("delete from subjects where mark = ?", (mark,))
            db.execute("vacuum")  # or free pages of the file would still hold it
        self._held.clear()

    # -- sealing -----------------------------------------------------------------------------------

    def holds(self, mark: str) -> bool:
        """Whether a subject has its key still."""
        return self._key(mark) is not None

    def seal(self, mark: str, said: bytes, where: str) -> str:
        """What is said of a subject, as only its key opens it, and only ``where`` it stands. Raises ``NoKeys``."""
        # A nonce that is used twice under one key would give both texts away; at random, 96 bits do
        # not meet.
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._need(mark)[0].encrypt(nonce, said, where.encode("utf-8", "surrogatepass"))
        return b64encode(nonce + sealed).decode()

    def open(self, mark: str, sealed: str, where: str) -> bytes | None:
        """What was sealed; nothing where the key is gone, or where this is not what was sealed there."""
        from cryptography.exceptions import InvalidTag

        key = self._key(mark)
        if key is None:
            return None
        try:
            raw = b64decode(sealed, validate=True)
            about = where.encode("utf-8", "surrogatepass")
            return key[0].decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], about)
        except (InvalidTag, ValueError):
            return None

    def digest(self, mark: str, said: bytes) -> str:
        """A digest that takes the subject's key to make, so that no text is guessed from it. Raises ``NoKeys``."""
        return hmac.digest(self._need(mark)[1], said, "sha256").hex()[:MARK_CHARS]

    def _need(self, mark: str) -> tuple[AESGCM, bytes]:
        key = self._key(mark)
        if key is None:
            raise NoKeys(f"{self.path} has no key of {mark}: it was erased, or never begun")
        return key

    def _key(self, mark: str) -> tuple[AESGCM, bytes] | None:
        try:
            stat = os.stat(self.path)
        except OSError as error:
            raise NoKeys(f"its keys are not at {self.path}: {error.strerror}") from error
        # A file that was written just now may be written again without looking any different.
        too_new = time.time_ns() - stat.st_mtime_ns < JUST_NOW_NS
        now = None if too_new else (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if now is None or now != self._as_read:
            self._held.clear()
            self._as_read = now
        if mark not in self._held:
            with self._file() as db:
                found = db.execute("select key from subjects where mark = ?", (mark,)).fetchone()
            if found is None:
                return None
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            # Two keys of one: what seals must never be what names, since names are shown.
            seals = AESGCM(hmac.digest(found[0], b"seal", "sha256"))
            self._held[mark] = seals, hmac.digest(found[0], b"name", "sha256")
        return self._held[mark]

    @contextmanager
    def _file(self) -> Generator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
                db.executescript(PRAGMAS)
                yield db
        except sqlite3.Error as error:
            raise NoKeys(f"{self.path}: {error}") from error
