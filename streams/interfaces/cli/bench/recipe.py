"""`bench run`: produce a recipe's cells, work on them to the end, and write what came of it.

Its state is the log: run again after a crash, it produces what is missing, resumes what is open, and
writes the same report. For that, nothing in a report may hang on when, how often or by how many workers
it was run, and each part of the work begins by asking the log what is there already. Stages come one
after the other since a matched run may spend only what the run that it is matched with has spent.
What no episode does (regrading, judging, side runs) comes when all are closed, and the report last of
all: it is read from the log alone and asks no model.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import orjson

from schemas.identity import names_a_file
from streams.answering.grading.grader import Grading
from streams.interfaces.cli.draining import finished
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.live import watching
from streams.interfaces.cli.opening import is_missing, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import folder_of
from streams.interfaces.cli.prompting import reworded
from streams.interfaces.cli.provenance import commit
from streams.interfaces.cli.setup import Models, WorkerConfig, world_of
from streams.interfaces.cli.spending import Spending
from streams.research.analysis.plots import Form, files
from streams.research.bench.asides import complete, has_asides, run_asides
from streams.research.bench.exports import exports, measured_csv, whole_latex
from streams.research.bench.forecast import forecast, lines
from streams.research.bench.guided import add_fits, has_fits
from streams.research.bench.matching import matched_limits
from streams.research.bench.pages import figures, html, markdown
from streams.research.bench.plan import (
    STAND_IN,
    Cell,
    Options,
    Planner,
    Source,
    by_the_recipe,
    sources,
    with_limits,
)
from streams.research.bench.recipe import BadRecipe, Recipe, load
from streams.research.bench.report import report
from streams.research.bench.results import Results, gather

if TYPE_CHECKING:
    from schemas.problem import Limits
    from streams.answering.grading.own import OwnGrader
    from streams.answering.world import Totals, World

DEFAULT_LOG = "sqlite:bench.db"
Printed: TypeAlias = Literal["page", "json", "csv", "latex"]
"""In which form a report is printed; its files hold every one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of the command line."""

    recipe: Recipe
    words: Sequence[str]
    """How the command line begins: the command, and on which data."""
    log: str | None
    models: Models
    options: Options
    limits: Limits
    out: str
    max_concurrency: int
    totals: Totals | None = None
    judge: str | None = None
    """Who is asked about answers that no grader can decide."""
    run_code: bool = False
    grader: OwnGrader | None = None
    """A grader of the user's own."""
    prompts: Sequence[str] = ()
    """Prompts in other words: of every run, or ``RUN=`` of one."""
    own: Sequence[str] = ()
    """The user's own policies, by file."""
    plan: bool = False
    """Whether only to say what would be done."""
    plots: Form | None = "svg"
    """How plots are kept; nothing draws none."""

    def command(self) -> str:
        """The command line that runs this again."""
        # It stands in the report, so that a reader can check a figure by running
        # it. What changes no figure is left out: the log, the folder, how many run
        # at a time, and what the whole may spend.
        models, options = self.models, self.options
        said: list[tuple[str, Any]] = [
            ("--backbone", models.backbone),
            *(("--role", each) for each in models.roles),
            *(("--offer", each) for each in models.offered),
            *(("--price", each) for each in models.prices),
            ("--model", models.model),
            ("--base-url", models.base_url),
            ("--tools", models.tools),
            ("--judge", self.judge),
            ("--run-code", self.run_code),
            ("--grader", self.grader and self.grader.spelled),
            *(("--policy", file) for file in self.own),
            *(("--prompts", each) for each in self.prompts),
            ("--reduced", options.stand_in),
            ("--limit", options.problems),
            ("--seeds", options.seeds),
            *((f"--{LIMITS[which]}-limit", most) for which, most in self.limits),
        ]
        words = ["metalogue", *self.words]
        for name, value in said:
            if value is not None and value is not False:
                words += [name] if value is True else [name, str(value)]
        return shlex.join(words)

    @property
    def said(self) -> Recipe:
        """The recipe within the limits of the command line, and in its words."""
        limits = self.limits.over(self.recipe.limits)
        # A run's own limit is part of its method: the command line can only lower it.
        runs = {
            name: run.model_copy(update={"limits": run.limits.within(self.limits)})
            for name, run in self.recipe.runs.items()
        }
        held = self.recipe.model_copy(update={"limits": limits, "runs": runs})
        return reworded(held, self.prompts)


def begun(recipe: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """How a command line that runs a recipe on these files begins."""
    data = (("--data", f"{name}={path}") for name, path in files.items())
    return ("bench", "run", recipe, *(part for each in data for part in each))


LIMITS = {"calls": "call", "tokens": "token", "cost": "cost", "seconds": "time"}


def located(given: Sequence[str]) -> dict[str, str]:
    """``NAME=PATH`` options; a hub's data set is fetched and becomes a file. Raises a ``CliError``."""
    from streams.interfaces.cli.config import load
    from streams.support.datasets.hub import NoHub, fetch, is_hub

    found: dict[str, str] = {}
    for each in given:
        name, equals, path = each.partition("=")
        if not equals or not path:
            raise usage(f"{each!r} is not NAME=PATH", field="--data")
        try:
            home = Path(load().home).expanduser() / "datasets"
            found[name] = str(fetch(path, home)) if is_hub(path) else path
        except NoHub as error:
            raise usage(str(error), field="--data", error="input.hub") from error
    # What the command line says goes before what the configuration says.
    ranks = load().game24_csv
    return ({"game24": ranks} if ranks else {}) | found


def run(wanted: Wanted, printed: Printed) -> int:
    """Run a recipe and write its report; the exit code of the work."""
    from streams.engine.policies import find

    recipe, log = wanted.said, wanted.log or DEFAULT_LOG
    world = world_of(wanted.models)
    try:
        found = sources(recipe, wanted.options)
        others = {name: world.terms(name).backbones for name in world.offered}
        planner = Planner(recipe, found, wanted.options, find, world.description, others)
        stages = planner.stages()
    except ValueError as error:
        raise usage(str(error), field="RECIPE", error="bench.recipe") from error
    for name in sorted(filter(names_a_file, planner.absent)):
        # A recipe may come from anywhere: only a person may say whose code runs.
        raise usage(
            f"{recipe.recipe}: {name!r:.200} names a file, and no recipe may name what runs",
            field="RECIPE",
            error="policy.unknown",
            hint="Give it on the command line: --policy FILE.py:NAME",
        )
    if wanted.plan:
        return _foretell(planner, log, judge=wanted.judge is not None, json=printed == "json")
    for source in found.values():
        if source.read is None:
            say(f"{recipe.recipe}: {source.name} is {source.note}")
    if not stages:
        hint = f"Or try it on Game of 24 in their place, as CI does: --reduced ({STAND_IN})"
        raise usage("no data set of this recipe is here", field="--data", hint=hint)
    # The last thing that can be refused, before the first that costs anything.
    folder, code = folder_of(wanted.out, "--out"), OK
    spending = Spending(wanted.totals)
    cells = [cell for stage in stages for cell in stage]
    refused = 0
    for stage in stages:
        refused += _produce(log, recipe, stage, cells, found)
        # What is held back holds no later stage back: what is there is reported, with its exit
        # code. One that was told to stop raises, for what comes after it rests on all of it.
        code = _work(log, wanted, spending) or code
    # What was compared is less than what was given.
    code = code or (FAILED if refused else OK)
    _complete_log(log, recipe, planner, wanted, spending)
    made = _reported(log, recipe, planner, wanted, world)
    written = write(made, folder, recipe.recipe, wanted.plots)
    where = "written " + " ".join(str(path) for path in written)
    if printed == "page":
        out(f"{markdown(made).rstrip()}\n\n{where}")
        return code
    # The other forms are for programs: where the files lie goes among the messages.
    if printed == "json":
        out_json(made)
    else:
        out((measured_csv(made) if printed == "csv" else whole_latex(made)).rstrip())
    say(where)
    return code


def _foretell(planner: Planner, log: str, *, judge: bool, json: bool) -> int:
    """Say what would be done, from the log as it is; no call is made, and no log."""
    # What is on the log already is not asked again, so a plan has to read it
    # to know what is left to pay.
    results = Results(())
    if not is_missing(log):
        with closing(open_log(log)) as opened:
            results = gather(opened, planner.cells(), planner.sources)
            complete(results, planner.recipe, opened.text)
    results.absent = frozenset(planner.absent)
    made = forecast(planner, results, judge=judge)
    if json:
        out_json(made)
    else:
        out("\n".join(lines(made)))
    return OK


def recipe_of(name: str) -> Recipe:
    """A recipe by its name or file. Raises a usage error for one that cannot be read."""
    try:
        return load(name)
    except BadRecipe as error:
        raise usage(str(error), field="RECIPE", error="bench.recipe") from error


def _produce(
    log: str,
    recipe: Recipe,
    stage: Sequence[Cell],
    cells: Sequence[Cell],
    found: Mapping[str, Source],
) -> int:
    """Announce the cells of a stage; what is there already is known and skipped. How many lines were refused."""
    from streams.interfaces.cli.producing import refusals, say_refused
    from streams.producing.produce import Producer

    refused = 0
    with closing(open_log(log, create=True)) as opened:
        for cell in stage:
            source, matched = found[cell.data], recipe.runs[cell.run].matched
            left_out = Counter[str]()
            lines = by_the_recipe(source.lines(), left_out)
            if matched is not None:
                # What the other run spent on a problem is this one's limit there: it is on the log
                # by now, since it was a cell of an earlier stage.
                limits = matched_limits(opened, matched, cell, cells)
                lines = with_limits(lines, limits, cell.plan.domain)
            told = refusals(source.name, log, dry=False)
            done = Producer(opened, cell.plan).run(lines)
            refused += len(done.refused)
            say_refused(opened, told, done.refused, dry=False)
            told.sum_up(taken=bool(done.produced or done.known))
            for name, count in sorted(left_out.items()):
                say(f"{source.name}: {count} lines name their {name}: here {cell.run} does")
    return refused


def _work(log: str, wanted: Wanted, spending: Spending) -> int:
    """Work on what was announced, within what the stages before it left of the totals."""
    config = WorkerConfig(
        until_idle=True,
        to_its_end=True,
        settle=True,
        max_concurrency=wanted.max_concurrency,
        totals=spending.left(),
        run_code=wanted.run_code,
        grader=wanted.grader,
    )
    if log.startswith("kafka://"):
        from streams.interfaces.cli.kafka_working import work as work_on_kafka

        return work_on_kafka(log, wanted.models, config, on_world=spending.add)
    from streams.interfaces.cli.bench.progress import chosen
    from streams.interfaces.cli.working import work

    with watching(log, chosen) as watch:
        return work(
            log,
            wanted.models,
            config,
            on_change=watch,
            on_start=lambda worker: spending.add(worker.world),
        )


def _complete_log(
    log: str, recipe: Recipe, planner: Planner, wanted: Wanted, spending: Spending
) -> None:
    """Add what no episode adds: other grades, a judge's words, side runs. Raises a ``CliError``."""
    # A worker grades by the user's grader as it goes; only what an earlier run of this log graded
    # otherwise is left. Grades on Kafka are the workers' alone: nobody else may write there.
    if wanted.grader is not None and not log.startswith("kafka://"):
        from streams.interfaces.cli.regrading import Told, graded_anew

        told = Told(wanted.grader.reference)
        with closing(open_log(log, writes=True)) as opened:
            done = graded_anew(opened, Grading(own=wanted.grader), told).done
        if done.given:
            changed = f"{len(done.changed)} outcomes changed"
            say(f"graded anew by {told.grader}: {done.given} answers, {changed}")
        for each in told.failed[:3]:
            say(f"{each} [grader.failed]")
    if wanted.judge is not None:
        from streams.interfaces.cli.judging import judge_log

        judge_log(log, wanted.models, wanted.judge, spending)
    if not has_asides(recipe):
        return
    from streams.core.backbone import BackboneError
    from streams.interfaces.cli.setup import as_cli

    # Side runs begin at episodes that are closed, so they come last; what they cost counts as well.
    world = spending.add(world_of(wanted.models, patient=False, totals=spending.left()))
    with closing(open_log(log, writes=True)) as opened:
        results = gather(opened, planner.cells(), planner.sources)
        try:
            count = finished(world, run_asides(opened, recipe, results, world))
        except BackboneError as error:
            raise as_cli(error) from error
    say(f"{recipe.recipe}: {count} side runs on the log")


# ── The report ───────────────────────────────────────────────────────────────────────────────


def _reported(
    log: str, recipe: Recipe, planner: Planner, wanted: Wanted, world: World
) -> dict[str, Any]:
    """The report, from the log as it is."""
    # Nothing in it hangs on when or how often this was run: one build makes one report of one log.
    provenance = {
        "command": wanted.command(),
        "backbones": planner.backbones,
        "seeds": list(planner.seeds),
        "changed": wanted.options.changed,
        "version": version("metalogue"),
        "commit": commit(),
        "embedder": world.embedder.name,
    }
    with closing(open_log(log)) as opened, Grading(own=wanted.grader) as grading:
        results = gather(opened, planner.cells(), planner.sources, grading.remembered())
        # What side runs tell stands beside the episodes that they began at. A policy
        # that is not here is named in the report: its cells are empty, and must not
        # look as if nobody had asked for them.
        results.absent = frozenset(planner.absent)
        complete(results, recipe, opened.text)
        if has_fits(recipe):
            finished(world, add_fits(results, world.embedder))
        return report(recipe, results, planner.sources, provenance)


def write(made: Mapping[str, Any], folder: Path, name: str, form: Form | None) -> list[Path]:
    """The report in three forms, and beside it a folder of its tables and plots. ``form``: of plots, if any."""
    # One report in all forms: none of them is computed anew, so that they cannot come to differ.
    data = orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"
    page = html(made, plots=form is not None).encode()
    texts = {f"{name}.md": markdown(made).encode(), f"{name}.json": data, f"{name}.html": page}
    parts = {file: text.encode() for file, text in exports(made)}
    parts |= {} if form is None else dict(files(figures(made), form))
    (folder / name).mkdir(exist_ok=True)
    for file, content in (texts | {f"{name}/{file}": each for file, each in parts.items()}).items():
        (folder / file).write_bytes(content)
    return [*(folder / file for file in texts), folder / name]
