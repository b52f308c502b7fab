"""The `bench local --reading` command: asks what was not asked yet, then reads what is there.

One way puts each problem to the model bare, with no role and no log, so its replies are kept in a file of
lines. The others are ordinary runs of a policy on logs of their own. All ask the same model greedily, so
that a difference between them is the prompt's, the grammar's or the reader's.
"""

from __future__ import annotations

import asyncio
import io
import os
import time
from collections.abc import Mapping
from contextlib import closing, redirect_stdout
from pathlib import Path

import msgspec

from schemas.questions import Sampling
from streams.core.backbone import ModelRequest
from streams.interfaces.cli.errors import CliError, usage
from streams.interfaces.cli.main import main
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import folder_of
from streams.interfaces.cli.setup import Models, backbone_config
from streams.research.analysis.cases import read
from streams.research.bench import reading
from streams.research.bench.reading import CAP, COT, FREE, PLAIN, Arm, ReadReply

TOGETHER = 16
POLICY = "greedy"
"""`cot` at temperature 0: the same prompt, the same reader."""
LOGS = {COT: "cot.db", FREE: "cot-free.db"}
CHATS = "plain.jsonl"
GRAMMARS = ("llamacpp", "openvino")
"""What holds replies to a grammar, unless it is told not to."""


def ways(backbone: str | None, model: str) -> dict[str, str]:
    """Each way with its backbone; without a grammar only where there is one to leave out."""
    threads = len(os.sched_getaffinity(0))
    chosen = (
        backbone
        or f"llamacpp:{model}?slots={TOGETHER}&context=1024&max_tokens={CAP}&threads={threads}"
    )
    found = {PLAIN: chosen, COT: chosen}
    if chosen.startswith(GRAMMARS):
        joined = "&" if "?" in chosen else "?"
        found[FREE] = f"{chosen}{joined}constrained=false"
    return found


def run(
    data: str,
    *,
    folder: str,
    backbone: str | None,
    model: str,
    limit: int,
    minutes: float,
    json: bool,
) -> int:
    """Ask until the time is up, and print what there is; another call goes on."""
    from streams.support.datasets.source import open_source

    place, end = folder_of(folder, "--out"), time.monotonic() + 60 * minutes
    try:
        # Each problem with its reference, by the id that a log knows it by.
        items = list(open_source(f"{reading.DATASET}:1-{limit}", path=data))
    except ValueError as error:
        raise usage(str(error), field="--data") from error
    problems = {str(i["id"]): (str(i["problem"]), str(i.get("answer"))) for i in items}
    place.mkdir(parents=True, exist_ok=True)
    chosen = ways(backbone, model)
    for name, spelling in chosen.items():
        # One deadline for all ways: what the first ones take, the last one lacks,
        # and goes on with later.
        left = end - time.monotonic()
        if left <= 0:
            break
        say(f"{name}: {spelling}")
        if name == PLAIN:
            asyncio.run(_chat(spelling, problems, place / CHATS, end))
        else:
            _chain(spelling, data, limit, f"{place}/{LOGS[name]}", left)
    arms = {name: _arm(name, place, problems) for name in chosen}
    references = {name: reference for name, (_, reference) in problems.items()}
    found = reading.figures(arms, references)
    missing = sum(len(problems) - len(arm) for arm in arms.values())
    if json:
        out_json({"backbones": chosen, "missing": missing, **found})
        return 0
    out(reading.markdown(found))
    if missing:
        out(f"\n{missing} replies are missing yet: the same command goes on.")
    return 0


async def _chat(
    spelling: str, problems: Mapping[str, tuple[str, str]], kept: Path, end: float
) -> None:
    """Put each problem bare that was not put yet; each reply is kept as it comes."""
    from streams.answering.backbones.spelling import build

    known, greedy = _chats(kept), Sampling(temperature=0.0, max_tokens=CAP)
    turns, backbone = asyncio.Semaphore(TOGETHER), build(spelling, backbone_config(Models()))

    async def put(name: str, problem: str, reference: str) -> None:
        async with turns:
            # The time may have run out while this problem waited for its turn.
            if time.monotonic() >= end:
                return
            reply = await backbone.complete(
                ModelRequest(messages=(("user", problem),), sampling=greedy, seed=0)
            )
            tokens = (reply.prompt_tokens, reply.completion_tokens)
            said = reading.plain_said(name, reply.text, reply.finish, reference, tokens)
            with kept.open("ab") as file:
                # A line that broke off before stays a line of its own.
                file.write(b"\n" + msgspec.json.encode(said) + b"\n")

    try:
        await asyncio.gather(
            *(put(name, *each) for name, each in problems.items() if name not in known)
        )
    finally:
        await backbone.close()


def _chain(spelling: str, data: str, limit: int, log: str, seconds: float) -> None:
    """Produce and work by the ordinary commands; what is known is skipped, what is open goes on."""
    source = f"{reading.DATASET}:1-{limit}"
    made = ["produce", source, "--data", data, "--policy", POLICY, "--log", log, "--json"]
    worked = ["worker", "--backbone", spelling, "--until-idle", "--no-tables", "--log", log]
    flight = ["--max-concurrency", str(TOGETHER), "--total-time", f"{seconds:.0f}"]
    # Whoever ran out of time ends with 4: the same command goes on with what is open.
    for arguments, fine in ((made, (0,)), ([*worked, *flight], (0, 4))):
        with redirect_stdout(io.StringIO()):
            code = main(arguments)
        if code not in fine:
            raise CliError(f"{' '.join(arguments)}: exit {code}", error="bench.failed", exit=code)


def _arm(name: str, place: Path, problems: Mapping[str, tuple[str, str]]) -> Arm:
    """What this way said of these problems so far."""
    found: dict[str, ReadReply] = {}
    if name == PLAIN:
        found = _chats(place / CHATS)
    elif (path := place / LOGS[name]).exists():
        with closing(open_log(f"sqlite:{path}")) as log:
            found = {case.problem.id: reading.cot_said(case) for case in read(log).cases()}
    # An earlier call may have asked more problems than this one is limited to.
    return {problem: found[problem] for problem in problems if problem in found}


def _chats(kept: Path) -> dict[str, ReadReply]:
    """The replies that were kept; a line that broke off is none."""
    found: dict[str, ReadReply] = {}
    for line in filter(None, kept.read_bytes().splitlines() if kept.exists() else ()):
        try:
            said = msgspec.json.decode(line, type=ReadReply)
        except msgspec.DecodeError:
            continue
        found[said.id] = said
    return found
