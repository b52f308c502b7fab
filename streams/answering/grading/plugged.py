"""The process in which a grader of somebody's own runs: what it prints, breaks or never ends is nobody else's.

Its first line says what was loaded, or why nothing was; each further line answers a question. The grader's own
output goes nowhere. Its parent kills it at the time limit; memory is limited here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from handlers.answers.own import DETAIL_CHARS, Given, Grader, Nonsense, checked, read

MEMORY_BYTES = 2 << 30
ENDS_S = 60
"""It ends by itself after so long over one answer, where its parent is no more to kill it."""


def from_file(path: str, attribute: str) -> tuple[Grader, str]:
    """The grader in a file, and its digest: just the bytes that the digest names are run."""
    content = Path(path).read_bytes()
    name = f"metalogue_grader_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise Nonsense(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.append(str(Path(path).resolve().parent))
    # Not imported by its path: the file could be changed between being read for its digest and
    # being run.
    exec(compile(content, path, "exec"), module.__dict__)
    return checked(getattr(module, attribute, None), f"{path}:{attribute}"), _digest(content)


def from_module(module: str, attribute: str) -> tuple[Grader, str]:
    """The grader of an installed package, and the digest of its module's file."""
    found = import_module(module)
    content = Path(found.__file__).read_bytes() if found.__file__ else b""
    return checked(getattr(found, attribute, None), f"{module}:{attribute}"), _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def decided(grader: Grader, asked: dict[str, Any]) -> dict[str, Any]:
    """What a grader says, or how it failed."""
    try:
        references = tuple(asked.pop("references"))
        outcome, why = read(grader.grade(Given(references=references, **asked)))
    except Nonsense as error:
        return {"failed": str(error)}
    except BaseException as error:  # its own doing, an exit among it
        return {"failed": f"raised {_told(error)}"}
    return {"outcome": outcome, "detail": why}


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:DETAIL_CHARS]


def serve(sort: str, place: str, attribute: str) -> None:
    """Load a grader (``file`` or ``module``) and answer until standard input ends."""
    with suppress(ValueError, OSError):  # not every system can
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # Answers go out where nothing else can print: what a grader says on its standard output, even while
    # its file is loaded, would be read as one of them.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        grader, digest = (from_file if sort == "file" else from_module)(place, attribute)
    except BaseException as error:  # whatever its file does
        said = str(error) if isinstance(error, Nonsense) else f"{place}: {_told(error)}"
        print(json.dumps({"failed": said}), file=out, flush=True)
        return
    hello = {"name": grader.name, "version": grader.version, "unlabelled": grader.unlabelled}
    print(json.dumps({**hello, "source": digest}), file=out, flush=True)
    for line in sys.stdin:
        signal.alarm(ENDS_S)
        print(json.dumps(decided(grader, json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:4])
