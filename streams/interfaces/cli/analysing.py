"""The `analyse` command: diagnostics of runs from the log alone, as Markdown, JSON and HTML."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from streams.answering.grading.grader import Grading
from streams.core.backbone import BackboneError
from streams.interfaces.cli.draining import finished
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.judging import judge_on
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.own_graders import grader_of
from streams.interfaces.cli.places import folder_of
from streams.interfaces.cli.setup import Models, as_cli, world_of
from streams.research.analysis.cases import chosen, read
from streams.research.analysis.figures import analysis
from streams.research.analysis.report import html, markdown
from streams.research.analysis.shadow import audit

if TYPE_CHECKING:
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
    # What a model is asked stays on the log: on one that can only be read it would be paid for and lost.
    writes = models is not None or judge is not None
    with closing(open_log(log, writes=writes)) as opened:
        # The folder is made before anything is asked of a model: a place that cannot be written
        # must not cost calls.
        place = folder_of(folder, "--out")
        if models is not None:
            audit_on(opened, models, run)
        if judge is not None:
            judge_on(opened, Models(), judge, run)
        with Grading(own=grader_of(grader)) as grading:
            # Read after the audit and the judge, for what they put on the log counts in this
            # report already.
            reading = read(opened, grading.remembered())
            everything = list(reading.cases())
            cases = chosen(everything, run)
            if not cases:
                what = "no closed episode" if run is None else f"no closed episode of {run!r}"
                raise usage(what, field="RUN", error="run.unknown", hint="metalogue log stats")
            made = analysis(cases, everything, reading.shadows, reading.steps(cases))
    written = write(made, place)
    if json:
        out_json(made)
        return OK
    out(markdown(made).rstrip())
    out()
    out("written " + " ".join(str(path) for path in written))
    return OK


def audit_on(log: SqliteLog, models: Models, run: str | None) -> None:
    """Run a shadow for every prune on an open log, or of a run alone. Raises a ``CliError``."""
    # Only this policy prunes, so that only its episodes have something a shadow run can look for.
    cases = chosen(read(log).cases(), run)
    searched = [each for each in cases if each.opened.policy == "cot2_meta"]
    world = world_of(models, patient=False)
    try:
        audited = finished(world, audit(log, searched, world))
    except BackboneError as error:
        raise as_cli(error) from error
    say(f"{len(audited)} shadow runs on the log")


def write(made: dict[str, Any], folder: Path) -> list[Path]:
    """The report in three forms."""
    data = orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"
    texts = {"md": markdown(made).encode(), "json": data, "html": html(made).encode()}
    paths = [folder / f"analysis.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_bytes(text)
    return paths
