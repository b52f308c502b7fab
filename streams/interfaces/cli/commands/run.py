"""Commands that work: produce, worker, solve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, NewLog, app
from streams.interfaces.cli.opening import log_url
from streams.interfaces.cli.options import (
    GraderOption,
    Judge,
    Keys,
    LimitOptions,
    MaxConcurrency,
    ModelOptions,
    Otlp,
    OtlpText,
    PolicyOptions,
    Prompts,
    ReadOptions,
    RunCode,
    SeriesOptions,
    Subject,
    Tenant,
    Tools,
    TotalOptions,
    grouped,
)

if TYPE_CHECKING:
    from streams.answering.world import Totals
    from streams.interfaces.cli.setup import WorkerConfig

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@app.command()
@grouped
def produce(
    *,
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A JSONL file, - or a set such as game24:901-1000."),
    ],
    log: NewLog = None,
    way: PolicyOptions,
    learning: SeriesOptions,
    reading: ReadOptions,
    limits: LimitOptions,
    keys: Keys = None,
    json: Json = False,
) -> int:
    """Put problems on the log; refused lines become dead letters."""
    # Nothing is worked on here: what is on the log waits for whichever worker
    # comes, today or next week.
    from streams.interfaces.cli.producing import produce as run

    return run(source, log, way, learning, reading, limits=limits.limits(), json=json)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Options that say what a worker does and when it ends."""

    policies: Annotated[
        list[str],
        typer.Option(
            "--policy",
            metavar="NAME",
            help="A policy, or FILE.py:NAME that problems may name; the first is that of the rest.",
        ),
    ] = field(default_factory=list[str])
    budgets: Annotated[
        list[str],
        typer.Option(
            "--budget",
            metavar="TENANT=calls=N,tokens=N,cost=X",
            help="What a tenant may spend on a day; * for the rest.",
        ),
    ] = field(default_factory=list[str])
    prompts: Prompts = None
    tools: Tools = None
    max_concurrency: MaxConcurrency = None
    otlp_text: OtlpText = False
    run_code: RunCode = False
    grader: GraderOption = None
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing can move.")] = (
        False
    )
    settle: Annotated[
        bool, typer.Option("--settle", help="Void what never arrived, close partial windows.")
    ] = False
    learning_call_limit: Annotated[
        Optional[int],
        typer.Option("--learning-call-limit", metavar="N", min=1, help="Calls a learning episode."),
    ] = None

    def config(self, totals: Totals) -> WorkerConfig:
        """Them as a worker's. Raises a usage error for a policy, a grader or a prompt that cannot be used."""
        from streams.interfaces.cli.own_graders import grader_of
        from streams.interfaces.cli.prompting import given_to
        from streams.interfaces.cli.setup import (
            WorkerConfig,
            episodes_in_flight,
            limits_of,
            policy_of,
        )

        # Each is loaded now, although only problems name them: a file that cannot be loaded must
        # end the worker at its start, and not park the first episode that asks for it.
        named = [policy_of(name).name for name in self.policies] or [policy_of(None).name]
        return WorkerConfig(
            policy=named[0],
            until_idle=self.until_idle,
            settle=self.settle,
            max_concurrency=self.max_concurrency or episodes_in_flight(),
            learning_limits=limits_of(self.learning_call_limit, None, None, None),
            totals=totals,
            run_code=self.run_code,
            grader=grader_of(self.grader),
            prompts=given_to(named[0], self.prompts),
        )


@app.command()
@grouped
def worker(
    *,
    log: NewLog = None,
    answering: ModelOptions,
    wanted: WorkerOptions,
    limits: LimitOptions,
    totals: TotalOptions,
    judge: Judge = None,
    keys: Keys = None,
    no_tables: Annotated[bool, typer.Option("--no-tables", help="Start no projector.")] = False,
    metrics: Annotated[
        Optional[str],
        typer.Option("--metrics", metavar="HOST:PORT", help="Serve /metrics /livez /readyz."),
    ] = None,
    otlp: Otlp = None,
) -> int:
    """Work on problems until stopped; what was begun is resumed."""
    from streams.interfaces.cli.live import watching
    from streams.interfaces.cli.spending import Spending
    from streams.interfaces.cli.working import need_end, work

    models, url = answering.models(limits.limits(), wanted.tools, wanted.budgets), log_url(log)
    config = wanted.config(totals.totals())
    # Refused at once: a worker may run for days before it would notice that
    # it has no end to judge at.
    if judge is not None:
        need_end(url, until_idle=wanted.until_idle)
    # On Kafka workers are many: what one process does for the whole log, such
    # as sending spans, is not theirs.
    if url.startswith("kafka://"):
        from streams.interfaces.cli.kafka_working import refuse
        from streams.interfaces.cli.kafka_working import work as work_on_kafka

        refuse(otlp)
        return work_on_kafka(url, models, config, metrics=metrics)
    # A judge's calls come after the worker's and out of the same totals, so
    # both are added up in one place.
    spending = Spending(config.totals)
    with watching(log) as watch:
        code = work(
            log,
            models,
            config,
            on_change=watch,
            on_start=lambda worker: spending.add(worker.world),
            tables=not no_tables,
            metrics=metrics,
            otlp=otlp,
            texts=wanted.otlp_text,
        )
    if judge is not None:
        from streams.interfaces.cli.judging import judge_log

        judge_log(log, models, judge, spending)
    return code


@app.command()
@grouped
def solve(
    *,
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="The problem's text, or - to read it.")
    ],
    log: NewLog = None,
    way: PolicyOptions,
    answering: ModelOptions,
    tools: Tools = None,
    limits: LimitOptions,
    subject: Subject = None,
    tenant: Tenant = None,
    keys: Keys = None,
    json: Json = False,
) -> int:
    """Solve one problem now and print its answer.

    The episode stays on the log.
    """
    # The problem goes through the log as any other does, so that it can be
    # shown, verified and forked.
    from streams.interfaces.cli.solving import Whose
    from streams.interfaces.cli.solving import solve as run

    models = answering.models(tools=tools)
    whose = Whose(tenant, subject)
    return run(problem, log, way, models, limits=limits.limits(), whose=whose, json=json)
