"""Commands that work: produce, worker, solve."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.cli.app import Json, NewLog, Policy, Set, app
from streams.cli.common import FLAGS, log_url
from streams.cli.errors import usage

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

Backbone = Annotated[
    Optional[str],
    typer.Option(
        "--backbone", metavar="B", help="openai[:MODEL], recorded:PATH, rehearsal[:seed=7,…]"
    ),
]
Backbones = Annotated[
    list[str],
    typer.Option(
        "--backbone",
        metavar="[ROLE=]B",
        help="openai[:MODEL], recorded:PATH, rehearsal[:seed=7,…]; ROLE=B for one role.",
    ),
]
Prices = Annotated[
    list[str],
    typer.Option("--price", metavar="MODEL=IN,OUT[,CACHED]", help="Cost of a million tokens."),
]
ToolsOption = Annotated[
    Optional[str],
    typer.Option(
        "--tools", metavar="T", help="What policies may call: corpus:FOLDER, mcp:COMMAND, mcp:URL."
    ),
]
Role = Annotated[
    list[str], typer.Option("--role", metavar="ROLE=B", help="A backbone for one role.")
]
Model = Annotated[Optional[str], typer.Option("-m", "--model", help="Model at the endpoint.")]
BaseUrl = Annotated[Optional[str], typer.Option("--base-url", help="Endpoint (OPENAI_BASE_URL).")]
Connections = Annotated[
    Optional[int], typer.Option("--max-connections", min=1, help="Model calls in flight.")
]
CallLimit = Annotated[Optional[int], typer.Option("--call-limit", min=1, help="Calls an episode.")]
TokenLimit = Annotated[
    Optional[int], typer.Option("--token-limit", min=1, help="Tokens an episode.")
]
CostLimit = Annotated[Optional[float], typer.Option("--cost-limit", help="Cost an episode.")]
TimeLimit = Annotated[Optional[float], typer.Option("--time-limit", help="Seconds an episode.")]
Profile = Annotated[str, typer.Option("--profile", help="service or paper.")]
Otlp = Annotated[
    Optional[str], typer.Option("--otlp", metavar="URL", help="Send spans to this collector.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Every random choice follows from it.")]


@app.command()
def produce(
    source: Annotated[
        str, typer.Argument(help="A JSONL file, - or a set such as game24:901-1000.")
    ],
    log: NewLog = None,
    policy: Policy = None,
    domain: Annotated[Optional[str], typer.Option("--domain", help="What kind of problem.")] = None,
    limit: Annotated[Optional[int], typer.Option("--limit", min=1, help="At most N lines.")] = None,
    seed: Seed = 0,
    settings: Set = [],  # noqa: B006 - typer copies it
    profile: Profile = "service",
    timing: Annotated[str, typer.Option("--timing", help="barrier or streaming.")] = "barrier",
    walk: Annotated[int, typer.Option("--pass", min=1, help="Which walk over the source.")] = 1,
    series: Annotated[Optional[str], typer.Option("--series", help="Name of the series.")] = None,
    memory: Annotated[str, typer.Option("--memory", help="Name of the memory.")] = "main",
    order: Annotated[
        str, typer.Option("--order", help="released or shuffled by the seed.")
    ] = "released",
    perturb: Annotated[
        Optional[str],
        typer.Option(
            "--perturb", help="S5: shuffled options, other LaTeX. S6: degraded OCR lines."
        ),
    ] = None,
    data: Annotated[Optional[str], typer.Option("--data", help="File of a built-in set.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Take lines of - as they come.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, append nothing.")] = False,
    call_limit: CallLimit = None,
    token_limit: TokenLimit = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    json: Json = False,
) -> int:
    """Produce a source of problems to the problems topic; refused lines become dead letters."""
    from streams.cli.producing import produce as run
    from streams.cli.setup import limits_of

    return run(
        source,
        log=log,
        options={
            "policy": policy,
            "domain": domain,
            "profile": one_of(profile, ("service", "paper"), "--profile"),
            "timing": one_of(timing, ("barrier", "streaming"), "--timing"),
            "order": one_of(order, ("released", "shuffled"), "--order"),
            "perturb": perturb and one_of(perturb, ("S5", "S6"), "--perturb"),
            "seed": seed,
            "walk": walk,
            "series": series,
            "memory": memory,
            "limits": limits_of(call_limit, token_limit, cost_limit, time_limit),
        },
        settings=settings,
        limit=limit,
        data=data,
        follow=follow,
        dry_run=dry_run,
        json=json,
    )


def one_of(value: str, known: tuple[str, ...], option: str) -> str:
    """The value if it is known. Raises a usage error that lists what is."""
    if value not in known:
        raise usage(f"{value!r} is not one of {', '.join(known)}", field=option)
    return value


@app.command()
def worker(
    log: NewLog = None,
    backbone: Backbones = [],  # noqa: B006
    role: Role = [],  # noqa: B006
    model: Model = None,
    base_url: BaseUrl = None,
    policy: Policy = None,
    max_concurrency: Annotated[
        Optional[int], typer.Option("--max-concurrency", min=1, help="Episodes in flight.")
    ] = None,
    max_connections: Connections = None,
    price: Prices = [],  # noqa: B006
    tools: ToolsOption = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing can move.")
    ] = False,
    settle: Annotated[
        bool, typer.Option("--settle", help="Void what never arrived, close partial windows.")
    ] = False,
    call_limit: CallLimit = None,
    token_limit: TokenLimit = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    total_calls: Annotated[Optional[int], typer.Option("--total-calls", min=1)] = None,
    total_tokens: Annotated[Optional[int], typer.Option("--total-tokens", min=1)] = None,
    total_cost: Annotated[Optional[float], typer.Option("--total-cost")] = None,
    total_time: Annotated[Optional[float], typer.Option("--total-time")] = None,
    learning_call_limit: Annotated[
        Optional[int],
        typer.Option("--learning-call-limit", min=1, help="Calls a learning episode."),
    ] = None,
    no_tables: Annotated[bool, typer.Option("--no-tables", help="Start no projector.")] = False,
    metrics: Annotated[
        Optional[str],
        typer.Option("--metrics", metavar="HOST:PORT", help="Serve /metrics /livez /readyz."),
    ] = None,
    otlp: Otlp = None,
) -> int:
    """Work on admitted problems until stopped; what was begun is resumed."""
    from streams.cli.live import watching
    from streams.cli.setup import Models, limits_of
    from streams.cli.working import work
    from streams.world import Totals

    models = Models.of(
        backbone,
        role,
        model=model,
        base_url=base_url,
        max_connections=max_connections,
        prices=price,
        limits=limits_of(call_limit, token_limit, cost_limit, time_limit),
        tools=tools,
    )
    url = log_url(log)
    if url.startswith("kafka://"):
        from streams.cli.kafka_working import refuse
        from streams.cli.kafka_working import work as work_on_kafka

        refuse(metrics, otlp)
        return work_on_kafka(
            url,
            models,
            policy=default_policy(policy),
            until_idle=until_idle,
            settle=settle,
            max_concurrency=max_concurrency or episodes_in_flight(),
            learning_limits=limits_of(learning_call_limit, None, None, None),
            totals=Totals(total_calls, total_tokens, total_cost, total_time),
        )
    with watching(log) as watch:
        return work(
            log,
            models,
            policy=default_policy(policy),
            until_idle=until_idle,
            settle=settle,
            max_concurrency=max_concurrency or episodes_in_flight(),
            learning_limits=limits_of(learning_call_limit, None, None, None),
            totals=Totals(total_calls, total_tokens, total_cost, total_time),
            on_change=watch,
            tables=not no_tables,
            metrics=metrics,
            otlp=otlp,
        )


def default_policy(given: str | None) -> str:
    """The policy of records that name none. Raises a usage error where there is no such policy."""
    from streams.cli.config import load
    from streams.policies import NoPolicy, find

    name = given or load().policy
    try:
        return find(name).name
    except NoPolicy as error:
        raise usage(str(error), field="--policy", error="policy.unknown") from error


def episodes_in_flight() -> int:
    """How many episodes a worker drives at once, where the command line does not say."""
    from streams.cli.config import load

    return load().max_concurrency


@app.command()
def solve(
    problem: Annotated[str, typer.Argument(help="The problem's text, or - to read it.")],
    log: NewLog = None,
    policy: Policy = None,
    backbone: Backbones = [],  # noqa: B006
    role: Role = [],  # noqa: B006
    model: Model = None,
    base_url: BaseUrl = None,
    max_connections: Connections = None,
    price: Prices = [],  # noqa: B006
    tools: ToolsOption = None,
    domain: Annotated[Optional[str], typer.Option("--domain")] = None,
    memory: Annotated[str, typer.Option("--memory", help="Name of the memory.")] = "main",
    settings: Set = [],  # noqa: B006
    profile: Profile = "service",
    seed: Seed = 0,
    call_limit: CallLimit = None,
    token_limit: TokenLimit = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    json: Json = False,
) -> int:
    """Solve one problem now and print its answer; the episode stays on the log."""
    from streams.cli.setup import Models, limits_of
    from streams.cli.solving import solve as run

    models = Models.of(
        backbone,
        role,
        model=model,
        base_url=base_url,
        max_connections=max_connections,
        prices=price,
        tools=tools,
    )
    return run(
        problem,
        log=log,
        models=models,
        policy=default_policy(policy),
        domain=domain or "default",
        memory=memory,
        settings=settings,
        profile=one_of(profile, ("service", "paper"), "--profile"),
        seed=seed,
        limits=limits_of(call_limit, token_limit, cost_limit, time_limit),
        json=json or FLAGS.json,
    )
