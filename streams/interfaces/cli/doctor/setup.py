"""The doctor's look at this machine: Python, packages, what hides what, configuration, endpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

from streams.interfaces.cli.doctor.checks import Check, fail, ok, warn
from streams.interfaces.cli.errors import CliError

PYTHONS = ((3, 11), (3, 13))
OURS = ("schemas", "handlers", "state", "streams")
NEEDED = (
    *("faust-streaming", "aiokafka", "lancedb", "numpy", "orjson", "pydantic"),
    *("pydantic-settings", "PyYAML", "rich", "typer"),
)
EXTRAS = {
    "openai": ("openai",),
    "local": ("xllamacpp", "safetensors", "tokenizers"),
    "openvino": ("openvino", "openvino_genai", "openvino_tokenizers"),
    "math": ("sympy", "math_verify"),
    "web": ("starlette", "jinja2", "uvicorn"),
    "otel": ("opentelemetry",),
    "export": ("pyarrow", "duckdb"),
    "datasets": ("datasets",),
    "sign": ("cryptography",),
    "erasure": ("cryptography",),
}
ROOT = Path(__file__).resolve().parents[4]


def checks() -> Iterator[Check]:
    """Every check of the machine."""
    yield _python()
    yield _packages()
    yield _extras()
    yield _models()
    yield from _shadows()
    yield from _configuration()


def _python() -> Check:
    here, said = sys.version_info[:2], sys.version.split()[0]
    if PYTHONS[0] <= here <= PYTHONS[1]:
        return ok("python", f"{said}, {sys.executable}")
    known = " to ".join(".".join(map(str, each)) for each in PYTHONS)
    return fail("python", f"{said}; Metalogue runs on {known}", "make setup PYTHON=python3.12")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages() -> Check:
    missing = [name for name in NEEDED if _installed(name) is None]
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", "make setup")
    return ok(
        "packages", f"metalogue {_installed('metalogue') or 'not installed, run from source'}"
    )


def _extras() -> Check:
    here = [name for name, modules in EXTRAS.items() if all(map(find_spec, modules))]
    absent = [name for name in EXTRAS if name not in here]
    return ok("extras", f"present: {', '.join(here) or 'none'}; not: {', '.join(absent) or 'none'}")


def _models() -> Check:
    """Which models can run in this process; none is needed for an endpoint."""
    from streams.answering.models import WHEELS, ggufs
    from streams.interfaces.cli.models import home

    here = [wheel.name for wheel in WHEELS if wheel.file() is not None]
    absent = [f"metalogue models pull {wheel.name}" for wheel in WHEELS if wheel.name not in here]
    with suppress(CliError):  # a wrong configuration has a check of its own
        here += [model.name for model in ggufs() if model.path(home()).is_file()]
    return ok("models", "; ".join((f"in this process: {', '.join(here) or 'none'}", *absent)))


def _shadows() -> Iterator[Check]:
    found = [*_hiding(), *_hidden(), *_others()]
    yield from found or [ok("shadowing", f"{', '.join(OURS)} are Metalogue's")]


def _hiding() -> Iterator[Check]:
    """Packages of ours that something else stands in for."""
    for name in OURS:
        spec = find_spec(name)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin is None or ROOT not in origin.parents:
            detail = f"{name} is {origin or 'not found'}, not Metalogue's"
            yield fail("shadowing", detail, "Rename it, or start Metalogue from elsewhere")


def _hidden() -> Iterator[Check]:
    """Files where you work that ours hide: an own policy would import ours instead."""
    folders = dict.fromkeys(Path(entry or ".").resolve() for entry in (os.getcwd(), *sys.path))
    for folder in folders:
        for name in OURS:
            for path in (folder / name / "__init__.py", folder / f"{name}.py"):
                if path.is_file() and ROOT not in path.parents and folder != ROOT:
                    hint = f"import {name} means Metalogue's; rename yours if a policy imports it"
                    yield warn("shadowing", f"{path} is hidden", hint)


def _others() -> Iterator[Check]:
    """Other distributions that install a package of the same name."""
    installed = packages_distributions()
    for name in OURS:
        others = sorted({each for each in installed.get(name, ()) if each.lower() != "metalogue"})
        if others:
            hint = "Keep them apart: uninstall it here, or give Metalogue its own environment"
            yield warn("shadowing", f"{name} is also installed by {', '.join(others)}", hint)


def _configuration() -> Iterator[Check]:
    from streams.interfaces.cli.config import endpoint, load

    try:
        load()
        yield ok("config", "every setting is known; see metalogue config show")
    except CliError as error:
        place = ": ".join(part for part in (error.where, error.field) if part)
        yield fail("config", f"{place}: {error.detail}", error.hint)
    found = endpoint()
    url, model, key = (found[f"OPENAI_{name}"] for name in ("BASE_URL", "MODEL", "API_KEY"))
    said = f"key from {key['source']}" if key["value"] else "no key"
    where = url["value"] or "the official endpoint"
    detail = f"openai: {where}, model {model['value'] or 'not set'}, {said}"
    if key["value"] or url["value"]:
        yield ok("endpoint", detail)
    else:
        todo = (
            "Needed for --backbone openai only: set OPENAI_API_KEY, or OPENAI_BASE_URL of a server"
        )
        yield ok("endpoint", f"{detail}. {todo}")
