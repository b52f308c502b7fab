"""Files, folders and texts of a command line: what is wrong with one is no defect of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from errno import EACCES, EDQUOT, EFBIG, ENOSPC
from pathlib import Path

from streams.interfaces.cli.errors import FAILED, CliError, usage

TEXT_CHARS = 10_000
"""A reason, or who somebody is, needs no more."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Bytes of the command line that are no UTF-8 come as these."""
_ENDLESS = re.compile(r"\d{19}")
_TOO_LARGE = re.compile(r"64.bit|sys\.maxsize")
NO_ROOM = (ENOSPC, EDQUOT, EFBIG)


def refused(error: OSError, field: str = "") -> CliError:
    """The error for people, naming the path."""
    return usage(f"{error.filename}: {error.strerror}", field=field, error="path")


def unnamed(error: OSError) -> CliError | None:
    """The error for people where the system names no path: a full disk under what was being written."""
    if error.errno not in NO_ROOM:
        return None
    hint = "Make room where the results go, then run the same command again."
    return CliError(str(error.strerror), error="disk.full", exit=FAILED, hint=hint)


def text_of(said: str | None, field: str) -> str | None:
    """A text that goes on record; a blank is none. Raises a usage error for one that is no UTF-8, or too long."""
    if len(said or "") > TEXT_CHARS:
        raise usage(f"longer than {TEXT_CHARS:,} characters", field=field)
    try:
        # Bytes of the command line that are no UTF-8 come as lone surrogates, which no record can
        # hold.
        (said or "").encode()
    except UnicodeEncodeError as error:
        raise usage("not UTF-8", field=field) from error
    # What nobody gave is unknown, and scripts and pages say so.
    return said if said and said.strip() else None


def unsayable(error: Exception, arguments: Sequence[str]) -> CliError | None:
    """The error for people where an argument is what no record and no output can say, if that was the fault."""
    # What is given and what went wrong have to agree: an argument alone may be a path, which may
    # have any bytes, or a problem, which may be any number.
    if "surrogates not allowed" in str(error):
        wrong, what = _SURROGATE, "not UTF-8"
    elif isinstance(error, OverflowError) or _TOO_LARGE.search(str(error)):
        wrong, what = _ENDLESS, "a number of more than 64 bits"
    else:
        return None
    before = ""
    for each in arguments:
        if wrong.search(each):
            name, equals, _ = each.partition("=")
            field = name if equals and name.startswith("--") else before
            return usage(what, field=field if field.startswith("--") else ascii(each)[:60])
        before = each
    return None


def folder_of(path: str, field: str) -> Path:
    """A folder to write to, made now: before there is anything to lose. Raises a usage error."""
    folder = Path(path)
    # mkdir would say that the file exists, and not what is wrong with that.
    if folder.exists() and not folder.is_dir():
        raise usage(f"{path} is a file", field=field, error="path", hint="Name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried now, although nothing is written yet: hours of work may lie between this check and
        # the first file.
        if not os.access(folder, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES), path)
    except OSError as error:
        raise refused(error, field) from error
    return folder


EVIDENCE = b'{"format":"metalogue evidence"'
"""How a file of evidence begins."""


def is_evidence(path: str) -> bool:
    """Whether there is a file of evidence at a path."""
    try:
        with open(path, "rb") as file:
            # By its first bytes, since people rename files; nothing of another one is read.
            return file.read(len(EVIDENCE)) == EVIDENCE
    except (OSError, ValueError):
        return False
