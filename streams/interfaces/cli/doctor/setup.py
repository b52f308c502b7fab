"""The doctor's look at this machine: Python, packages, what hides what, configuration, endpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from itertools import product
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
    here, said = sys.version_info[:2], sys.version.split()[0]
    if PYTHONS[0] <= here <= PYTHONS[1]:
        yield ok("python", f"{said}, {sys.executable}")
    else:
        known = " to ".join(".".join(map(str, each)) for each in PYTHONS)
        todo = "make setup PYTHON=python3.12"
        yield fail("python", f"{said}; Metalogue runs on {known}", todo)
    yield from _installed()
    yield from _shadows()
    yield from _configuration()


def _installed() -> Iterator[Check]:
    """Which packages are here, which extras, and which models can run in this process."""
    from streams.answering.models import WHEELS, ggufs
    from streams.interfaces.cli.models import home

    versions: dict[str, str] = {}
    for name in (*NEEDED, "metalogue"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    if missing := [name for name in NEEDED if name not in versions]:
        yield fail("packages", f"missing: {', '.join(missing)}", "make setup")
    else:
        ours = versions.get("metalogue") or "not installed, run from source"
        yield ok("packages", f"metalogue {ours}")
    # Extras are looked for by their modules, which nothing here imports: some take seconds to load.
    extras = [name for name, modules in EXTRAS.items() if all(map(find_spec, modules))]
    absent = ", ".join(name for name in EXTRAS if name not in extras)
    yield ok("extras", f"present: {', '.join(extras) or 'none'}; not: {absent or 'none'}")
    # No model is needed for an endpoint, so one that is absent is no fault.
    models = [wheel.name for wheel in WHEELS if wheel.file() is not None]
    pulls = [f"metalogue models pull {wheel.name}" for wheel in WHEELS if wheel.name not in models]
    with suppress(CliError):  # a wrong configuration has a check of its own
        models += [model.name for model in ggufs() if model.path(home()).is_file()]
    yield ok("models", "; ".join((f"in this process: {', '.join(models) or 'none'}", *pulls)))


def _shadows() -> Iterator[Check]:
    """What hides Metalogue's packages, and what they hide: their names are words that others use too."""
    found: list[Check] = []
    # Something else stands in for ours: it would be imported instead, with
    # errors that explain nothing.
    for name in OURS:
        spec = find_spec(name)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin is None or ROOT not in origin.parents:
            detail = f"{name} is {origin or 'not found'}, not Metalogue's"
            todo = "Rename it, or start Metalogue from elsewhere"
            found.append(fail("shadowing", detail, todo))
    # Files where you work that ours hide: an own policy would import ours instead.
    folders = dict.fromkeys(Path(entry or ".").resolve() for entry in (os.getcwd(), *sys.path))
    for folder, name in product(folders, OURS):
        for path in (folder / name / "__init__.py", folder / f"{name}.py"):
            if path.is_file() and ROOT not in path.parents and folder != ROOT:
                todo = f"import {name} means Metalogue's; rename yours if a policy imports it"
                found.append(warn("shadowing", f"{path} is hidden", todo))
    # Another distribution with a package of the same name: the one installed
    # last lies over the other.
    installed = packages_distributions()
    for name in OURS:
        others = sorted({each for each in installed.get(name, ()) if each.lower() != "metalogue"})
        if others:
            todo = "Keep them apart: uninstall it here, or give Metalogue its own environment"
            found.append(
                warn("shadowing", f"{name} is also installed by {', '.join(others)}", todo)
            )
    yield from found or [ok("shadowing", f"{', '.join(OURS)} are Metalogue's")]


def _configuration() -> Iterator[Check]:
    """What is configured, and how the endpoint would be reached."""
    from streams.interfaces.cli.config import endpoint, load

    try:
        load()
        yield ok("config", "every setting is known; see metalogue config show")
    except CliError as error:
        place = ": ".join(part for part in (error.where, error.field) if part)
        yield fail("config", f"{place}: {error.detail}", error.hint)
    # Of a key only its source is told: what the doctor says is pasted into reports of faults.
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
