"""The inside of the sandbox: shuts the world out, then becomes a Python that runs an answer against its tests.

Started by ``streams.answering.grading.sandbox`` in namespaces of its own (users, mounts, processes, network). It
makes a root of nothing but the system's libraries and this Python, both read-only, and a small folder in memory;
lets go of every right that it had there; and sets its limits. Only then does it say that it is ready.
"""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import sys
from pathlib import Path

_MS_REC, _MS_BIND, _MS_PRIVATE = 1 << 14, 1 << 12, 1 << 18
_MS_NOSUID, _MS_NODEV = 2, 4
_CLONE_NEWUSER = 0x10000000
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_READ_ONLY = 1 | 2 | 4
"""Of a mount: read-only, no set-user-id, no devices."""

SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
READY = b"ready\n"
RUN = """\
import io, json, os, sys
told = os.dup(1)
nothing = os.open("/tmp/out", os.O_WRONLY | os.O_CREAT)
os.dup2(nothing, 1); os.dup2(nothing, 2)
asked = json.load(sys.stdin)
letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
names = {"__name__": "answer"}
try:
    exec(compile(asked["answer"], "answer", "exec"), names)
    exec(compile(asked["tests"], "tests", "exec"), names)
    said = "passed"
except BaseException as error:
    name = type(error).__name__
    said = "failed " + ("".join(each for each in name if each in letters)[:73] or "_")
os.write(told, (asked["nonce"] + " " + said + "\\n").encode())
os._exit(0)
"""


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "users")]


_libc = ctypes.CDLL(None, use_errno=True)


def main(folder: str, cpu_s: int, memory_bytes: int, file_bytes: int) -> None:
    """Never returns: the process becomes the one that runs the code, or ends where it cannot be shut in."""
    root = Path(folder)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", str(root), "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    python = os.path.realpath(sys.executable)
    for shown in map(Path, dict.fromkeys((*SYSTEM, os.path.realpath(sys.base_prefix)))):
        inside = root / shown.relative_to("/")
        if not shown.exists() or inside.exists():
            continue
        inside.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(shown.lstat().st_mode):
            # On most systems /bin is a link to a folder that is shown as well.
            inside.symlink_to(os.readlink(shown))
            continue
        inside.mkdir()
        _mount(str(shown), str(inside), None, _MS_BIND | _MS_REC)
        _set_read_only(inside, _AT_RECURSIVE)
    mine = root / "tmp"
    mine.mkdir()
    _mount("tmpfs", str(mine), "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={file_bytes},mode=777")
    _set_read_only(root, 0)
    # The old root is put under the new one and taken away: nothing outside has a path any more.
    os.chdir(root)
    _called("syscall", ctypes.c_long(_PIVOT_ROOT[os.uname().machine]), b".", b".")
    _called("umount2", b".", _MNT_DETACH)
    os.chdir("/tmp")
    for which, most in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        # Before the rights are gone, and as hard limits: what runs here cannot raise them again.
        resource.setrlimit(which, (most, most))
    _called("unshare", _CLONE_NEWUSER)  # nobody's user, who has no rights to what was set up
    # Only now: whoever does not read this knows that the cell could not be shut, and that nothing
    # ran.
    os.write(1, READY)
    os.execve(python, [python, "-I", "-S", "-c", RUN], {"HOME": "/tmp", "LANG": "C.UTF-8"})


def _set_read_only(where: Path, how: int) -> None:
    attr = _MountAttr(_READ_ONLY, 0, 0, 0)
    # By number: the C library has a function for it on new systems only.
    call = ctypes.c_long(_MOUNT_SETATTR)
    _called("syscall", call, _AT_FDCWD, str(where).encode(), how, ctypes.byref(attr), 32)


def _mount(what: str, where: str, kind: str | None, flags: int, data: str = "") -> None:
    named = None if kind is None else kind.encode()
    _called("mount", what.encode(), where.encode(), named, ctypes.c_ulong(flags), data.encode())


def _called(name: str, *arguments: object) -> None:
    """Call the C library. Raises ``OSError``."""
    if getattr(_libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
