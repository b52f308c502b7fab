"""The `analyse` command: diagnostics of runs from the log alone, as Markdown, JSON and HTML."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from streams.answering.grading.grader import Grading
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.own_graders import grader_of
from streams.interfaces.cli.places import folder_of
from streams.research.analysis.cases import Reading, chosen, read
from streams.research.analysis.figures import analysis
from streams.research.analysis.report import html, markdown

if TYPE_CHECKING:
    from streams.interfaces.cli.setup import Models
    from streams.runtime.embedded.log import SqliteLog


def analyse(
    run: str | None,
    *,
    log: str | None,
    folder: str,
    json: bool,
    models: Models | None = None,
    judge: str | None = None,
    grader: str | None = None,
) -> int:
    """Write the three files, and print the Markdown or the JSON. ``grader`` grades what no episode answered.

    With models, audit prunes first; with a judge, have it asked about what no grader could decide.
    """
    with closing(open_log(log)) as opened:
        place = folder_of(folder, "--out")
        if models is not None:
            shadows = _audit(opened, run, models)
            say(f"{shadows} shadow runs on the log")
        if judge is not None:
            from streams.interfaces.cli.judging import judge_on
            from streams.interfaces.cli.setup import Models

            judge_on(opened, Models(), judge, run)
        with Grading(own=grader_of(grader)) as grading:
            made = _analysis(read(opened, grading.remembered()), run)
    written = write(made, place)
    if json:
        out_json(made)
        return OK
    out(markdown(made).rstrip())
    out()
    out("written " + " ".join(str(path) for path in written))
    return OK


def _analysis(reading: Reading, run: str | None) -> dict[str, Any]:
    everything = list(reading.cases())
    cases = chosen(everything, run)
    if not cases:
        what = "no closed episode" if run is None else f"no closed episode of {run!r}"
        raise usage(what, field="RUN", error="run.unknown", hint="metalogue log stats")
    return analysis(cases, everything, reading.shadows, reading.steps(cases))


def _audit(log: SqliteLog, run: str | None, models: Models) -> int:
    import asyncio

    from streams.interfaces.cli.setup import world_of
    from streams.research.analysis.shadow import audit

    searched = [c for c in chosen(read(log).cases(), run) if c.opened.policy == "cot2_meta"]
    return len(asyncio.run(audit(log, searched, world_of(models, patient=False))))


def write(made: dict[str, Any], folder: Path) -> list[Path]:
    """The report in three forms."""
    data = orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"
    texts = {"md": markdown(made).encode(), "json": data, "html": html(made).encode()}
    paths = [folder / f"analysis.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_bytes(text)
    return paths
