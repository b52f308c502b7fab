"""Measurements: what durability costs, and the recorded texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, NewLog, group
from streams.interfaces.cli.options import grouped
from streams.interfaces.cli.output import out, out_json, say

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# Each measurement prints the figures of one page or table of the documentation, so
# that whoever doubts one can run it again. They are commands, since a figure that
# comes of a script of somebody's cannot be checked.
bench_group = group("bench", "Measurements, each printed by one command.")


@bench_group.command()
def speed(json: Json = False) -> int:
    """Durable steps, waiting, bytes kept, replay.

    Steps beside a hand-written append, waiting beside plain asyncio tasks.
    """
    # What durability costs is only to be seen beside the same work without it.
    from streams.research.bench.speed import run

    return show(run(say), json=json)


@bench_group.command()
def rebuild(json: Json = False) -> int:
    """The folds over a log of a million events.

    Beside fetching and beside parsing its rows.
    """
    from streams.research.bench.rebuild import run

    return show(run(say), json=json)


@bench_group.command()
def million(
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="N,N…", help="How many problems each log holds.")
    ] = "10000,100000,1000000",
    plot: Annotated[
        Optional[str], typer.Option("--plot", metavar="FILE", help="Where it is drawn, as SVG.")
    ] = None,
    json: Json = False,
) -> int:
    """Commands on logs of up to a million problems.

    Time, memory and how both grow, for what reads all and for what need not.
    """
    from streams.interfaces.cli.bench.million import run

    return run(sizes, plot=plot, json=json)


@bench_group.command()
def recall(json: Json = False) -> int:
    """The three nearest lessons of 1 000 to 100 000.

    From the mirror and from LanceDB.
    """
    from streams.research.bench.recall import run

    return show(run(say), json=json)


@bench_group.command()
def bandit(
    out_file: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Where regret is drawn, as HTML.")
    ] = "regret.html",
    json: Json = False,
) -> int:
    """LinUCB: regret, cost of a choice, share of an episode."""
    from pathlib import Path

    from streams.interfaces.cli.places import folder_of
    from streams.research.bench.bandit import run

    # The folder is tried first: the measurement takes minutes, and its drawing comes last.
    drawn = Path(out_file)
    folder_of(str(drawn.parent), "--out")
    return show(run(drawn), json=json)


@bench_group.command()
def activation(json: Json = False) -> int:
    """Activation and relevance in a large graph memory.

    10 000 queries, 2 000 paths and 200 principles.
    """
    from streams.research.bench.activation import run

    return show(run(), json=json)


@bench_group.command()
def retrieval(
    data: Annotated[
        str, typer.Option("--data", metavar="PATH", help="HotpotQA items with their paragraphs.")
    ],
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="E", help="hashed, minilm or openai:MODEL.")
    ] = "hashed",
    index: Annotated[
        str | None,
        typer.Option(
            "--index", metavar="DIR", help="Folder that keeps the vectors for the next time."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Recall@3 of HotpotQA's supporting paragraphs.

    BM25, vector and hybrid.
    """
    from pathlib import Path

    from streams.interfaces.cli.errors import usage
    from streams.interfaces.cli.setup import Models, backbone_config, embedder_of
    from streams.research.bench.retrieval import run

    try:
        # The embedder is that of workers, with its cache: another one would
        # measure another product.
        maker = embedder_of(embedder, backbone_config(Models()))
        return show(run(Path(data), maker, None if index is None else Path(index)), json=json)
    except (OSError, ValueError) as error:
        raise usage(str(error), field="--data") from error


@bench_group.command()
def kafka(log: NewLog = None, json: Json = False) -> int:
    """A broker: appends, replay, answers, cost.

    Appends and replay beside plain aiokafka, answers one after another and at
    a steady rate, and what an episode costs one worker and two.
    """
    # A broker of its own is started unless one is named: figures of a shared
    # broker are those of its load.
    from streams.interfaces.cli.bench.kafka import run

    return show(run(log, say), json=json)


@bench_group.command("game24-recorded")
def game24_recorded(
    data: Annotated[
        str, typer.Option("--data", metavar="PATH", help="Folder with 24.csv and logs/.")
    ],
    json: Json = False,
) -> int:
    """Our checker over 10 000 recorded samples.

    Single accuracy, and any of 100.
    """
    from pathlib import Path

    from streams.interfaces.cli.errors import usage
    from streams.research.bench.game24_recorded import run

    try:
        return show(run(Path(data)), json=json)
    except (OSError, ValueError) as error:
        raise usage(str(error), field="--data") from error


# Each measurement names its figures itself, so that a new one needs no words here.
def show(figures: dict[str, object], *, json: bool) -> int:
    """Print figures by their names."""
    if json:
        out_json(figures)
    else:
        for name, figure in figures.items():
            out(f"{name:<30} {figure}")
    return 0


@bench_group.command("game24-curves")
def game24_curves(
    data: Annotated[
        str, typer.Option("--data", metavar="PATH", help="Folder with 24.csv and logs/.")
    ],
    json: Json = False,
) -> int:
    """What more samples bring, n = 1 to 100.

    Self-consistency and any-of-n over 10 000 recorded GPT-4 samples.
    """
    from pathlib import Path

    from streams.interfaces.cli.errors import usage
    from streams.research.bench.curves import EVERY, POINTS, curve, markdown, read

    try:
        # A program draws the curve itself and wants every point; a person reads a few in a table.
        points = curve(read(Path(data)), EVERY if json else POINTS)
    except (OSError, ValueError) as error:
        raise usage(str(error), field="--data") from error
    if json:
        out_json({"points": [asdict(point) for point in points]})
    else:
        out(markdown(points))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOptions:
    """Several runs beside each other."""

    # Without a default: dozens of runs have no place in a log that somebody works with.
    log: Annotated[str, typer.Option("--log", metavar="URL", help="A log of its own.")]
    problems: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=100, help="Problems a run.")
    ] = 100
    backbone: Annotated[str, typer.Option("--backbone", metavar="B", help="Who answers.")] = (
        "rehearsal:seed=7"
    )
    folder: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where the analysis goes.")
    ] = "analysis"


@bench_group.command("search")
@grouped
def search(*, sides: SideOptions, json: Json = False) -> int:
    """Search policies and ablations at 4 to 32 calls.

    On the simulator this is no evidence.
    """
    from streams.interfaces.cli.bench.beside import run
    from streams.research.bench.search_table import produce

    return run(produce, **asdict(sides), json=json)


@bench_group.command("strategies")
@grouped
def strategies(*, sides: SideOptions, json: Json = False) -> int:
    """Six ways of choosing strategies.

    On Game of 24, with reward curves; on the simulator this is no evidence.
    """
    from streams.interfaces.cli.bench.beside import run
    from streams.research.bench.strategies import produce

    return run(produce, **asdict(sides), json=json)
