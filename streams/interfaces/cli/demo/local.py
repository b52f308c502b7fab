"""The `demo-local` command: word problems on a real model in this process, end to end.

The model is the larger one that is known by name. OpenVINO runs it where it is installed, as it is the faster,
else llama.cpp. One plain chain of thought and `mc2` work on the same problems at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.answering.models import ggufs
from streams.interfaces.cli.demo.run import prepare, world_described
from streams.interfaces.cli.errors import SETUP, CliError
from streams.interfaces.cli.live import watching
from streams.interfaces.cli.models import Source, brought, home
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, say
from streams.interfaces.cli.setup import Models, WorkerConfig
from streams.interfaces.cli.working import work
from streams.research.analysis.cases import RIGHT, Case, read
from streams.research.analysis.statistics import mcnemar
from streams.runtime.embedded.queries import counts, episodes
from streams.support.extras import install
from streams.views.words import plural

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

PATH = "demo-local.db"
LOG = f"sqlite:{PATH}"
PROBLEMS = Path(__file__).with_name("local.jsonl")
MODEL = "qwen2.5-coder-1.5b"
POLICIES, CALLS = ("cot", "mc2"), 9
"""Nine calls are three rounds of `mc2`."""
SETTINGS: dict[str, dict[str, Any]] = {"mc2": {"guidance": "none"}}
"""What a few problems teach is of no use to any of them, and would take as long again."""
TOGETHER = 16
"""Episodes in flight: as many replies are decoded at once."""
EXPECTED_S, LONGEST_S = 70, 140
"""Seconds a problem on two idle cores: as measured, and when the demo stops though problems are open."""
WIDTH = 16
HONEST = """\
The model is real and small: what it gets wrong says little of a policy, and a few problems cannot tell two
policies apart. What is real: every token was computed here, counted and recorded, and can be verified."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The state of this demo's log: its closed episodes, how many are open, and seconds by episode."""

    cases: Sequence[Case]
    open: int
    seconds: dict[str, float]


def demo(limit: int, source: Source = "hub", backbone: str | None = None) -> int:
    """Say what it takes, bring the model, produce, work, and print what came of it; the exit code."""
    from schemas.problem import Limits
    from streams.answering.world import Totals
    from streams.engine.policies import find
    from streams.producing.produce import Plan, Producer
    from streams.producing.sources import lines_of

    chosen = backbone or runner()
    # What it takes is said before the first byte is fetched, while a person can still stop it.
    for line in plan(limit, chosen):
        say(line)
    if backbone is None:
        brought(next(each for each in ggufs() if each.name == MODEL), source)
    models = Models(backbone=chosen)
    name = world_described(models)
    prepare(PATH, name, afresh=False)
    # What `metalogue produce local.jsonl --policy cot --call-limit 9` does;
    # what is known is skipped.
    with closing(open_log(LOG, create=True)) as log:
        for policy in POLICIES:
            announced = Plan(
                source=str(PROBLEMS),
                find=find,
                policy=policy,
                domain="words",
                values=SETTINGS.get(policy, {}),
                limits=Limits(calls=CALLS),
            )
            Producer(log, announced).run(islice(lines_of(str(PROBLEMS), None), limit))
    # What `metalogue worker --until-idle --total-time N` does, watched.
    totals = Totals(None, None, None, float(limit * LONGEST_S))
    config = WorkerConfig(until_idle=True, max_concurrency=TOGETHER, totals=totals)
    with watching(LOG) as watch:
        try:
            code = work(LOG, models, config, on_change=watch)
        except CliError as error:
            if error.error != "budget.spent":
                raise
            # The time that it may take is up: what was answered is shown, and another run goes on.
            code = error.exit
    with closing(open_log(LOG)) as log:
        ran = ran_of(log)
    for line in screen(ran, name, chosen):
        out(line)
    return code


def plan(limit: int, backbone: str) -> Iterable[str]:
    """What is about to be taken: bytes, memory, minutes."""
    model = next(each for each in ggufs() if each.name == MODEL)
    if MODEL in backbone:
        here = "are here already" if model.path(home()).is_file() else "will be fetched"
        yield f"{model.about}; {model.bytes / 1e6:,.0f} MB, which {here}. It takes up to 4 GB of memory."
    else:
        yield f"The model is {backbone}."
    expected, longest = (limit * each / 60 for each in (EXPECTED_S, LONGEST_S))
    yield (
        f"{plural(limit, 'problem')} by {' and '.join(POLICIES)}: about {expected:.0f} minutes on two idle cores, "
        f"more on busy ones; it stops after {longest:.0f}, and goes on when it is run again."
    )


def runner() -> str:
    """Who runs the model: the faster one that is installed. Raises a ``CliError`` where none is."""
    from streams.answering.backbones import llamacpp, openvino
    from streams.core.backbone import SetupBroken

    # By trying and not by asking which packages are there: one that is
    # installed may still not load here.
    for kind, need in (("openvino", openvino.need_library), ("llamacpp", llamacpp.need_library)):
        with suppress(SetupBroken):
            need()
            return f"{kind}:{MODEL}"
    hint = f"In a checkout: make demo-local. Else: {install('openvino', 'local')}"
    raise CliError(
        "nothing is installed that runs a model", error="model.extra", exit=SETUP, hint=hint
    )


# ── What it shows ────────────────────────────────────────────────────────────────────────────


def ran_of(log: SqliteLog) -> Ran:
    """What the log has now."""
    cases = [case for case in read(log).cases() if case.opened.policy in POLICIES]
    took = {episode: ms / 1000 for episode, ms in episodes.took_ms(log).items()}
    return Ran(cases, counts.kinds(log)["episode.opened"] - len(cases), took)


def screen(ran: Ran, name: str, backbone: str) -> Iterable[str]:
    """Each problem with its label and what each policy said, the sums, and how to go on."""
    cases = ran.cases
    yield f"Metalogue local demo: {plural(len(cases), 'episode')}, {name}, log {LOG}"
    yield HONEST
    yield ""
    yield _columns("problem", "label", *POLICIES)
    for problem in dict.fromkeys(case.problem.id for case in cases):
        said = {case.opened.policy: case for case in cases if case.problem.id == problem}
        answers: list[str] = []
        for policy in POLICIES:
            if (case := said.get(policy)) is None:
                answers.append("open")
                continue
            answer = " ".join((case.closed.answer or "none").split())
            short = answer if len(answer) <= WIDTH - 5 else f"{answer[: WIDTH - 6]}…"
            mark = {"right": "✓", "wrong": "✗"}.get(case.outcome, "?")
            answers.append(f"{short} {mark}")
        label = next(iter(said.values())).reference or ""
        label = label if isinstance(label, str) else label[0]  # of aliases the first
        yield _columns(problem, label, *answers)
    for title, cells in sums(ran).items():
        yield _columns(title, "", *cells)
    yield ""
    yield from verdict(cases)
    if ran.open:
        yield f"{plural(ran.open, 'episode')} still open: run it again, and it goes on."
    yield ""
    # Where no episode closed in time there is still a command to paste: the
    # first problem of the file.
    first = cases[0].problem.id if cases else "eggs"
    yield f"one answer      .venv/bin/metalogue show {first} --log {LOG}"
    yield f"prove the log   .venv/bin/metalogue verify --log {LOG}"
    yield f'your problem    .venv/bin/metalogue solve "What is 3 + 4?" --backbone {backbone}'


def sums(ran: Ran) -> dict[str, list[str]]:
    """By what is counted: how many are right, and what each policy spent on them. Unknown stays unknown."""
    from schemas.usage import total

    groups = [[case for case in ran.cases if case.opened.policy == each] for each in POLICIES]
    # From opened to closed on average, though others were decoded meanwhile: the time that a person
    # would have waited, and not the time that an episode kept the machine busy.
    took = [[ran.seconds[c.episode] for c in group if c.episode in ran.seconds] for group in groups]
    used = [total(case.closed.usage for case in group) for group in groups]
    return {
        "right": [right_of(group) for group in groups],
        "calls": [f"{each.calls}" for each in used],
        "tokens in": [_count(each.prompt_tokens) for each in used],
        "tokens out": [_count(each.completion_tokens) for each in used],
        "seconds each": [f"{sum(s) / len(s):.0f}" if s else "unknown" for s in took],
    }


def verdict(cases: Sequence[Case]) -> Iterable[str]:
    """What the problems that both policies closed say of the two, in words and with its p-value."""
    from schemas.usage import total

    by = {each: {c.problem.id: c for c in cases if c.opened.policy == each} for each in POLICIES}
    plain, other = (by[each] for each in POLICIES)
    both = [problem for problem in plain if problem in other]
    if not both:
        yield "No problem was closed by both yet."
        return
    pairs = [(RIGHT.get(plain[each].outcome), RIGHT.get(other[each].outcome)) for each in both]
    # A problem that nobody can grade says nothing of either policy, so it is in no pair.
    told = [pair for pair in pairs if None not in pair]
    left = len(pairs) - len(told)
    alone, other_alone = told.count((True, False)), told.count((False, True))
    p = mcnemar(alone, other_alone)
    unknown = f" that both were graded on ({left} more are undecided)" if left else ""
    yield (
        f"Of {plural(len(told), 'problem')}{unknown} only {POLICIES[0]} had {alone} right, "
        f"only {POLICIES[1]} {other_alone} (McNemar's p = {p:.2f}): "
        f"{'no difference is shown' if p > 0.05 else 'they differ'}."
    )
    spent, more = (total(by[each][one].closed.usage for one in both).tokens for each in POLICIES)
    # Tokens and not seconds: both policies shared the machine, and each waited for the other.
    if spent and more is not None:
        yield f"For that {POLICIES[1]} took {more / spent:.1f} times the tokens."


def right_of(cases: Sequence[Case]) -> str:
    """How many are right, and of how many nobody could say."""
    right, unknown = (sum(case.outcome == each for case in cases) for each in ("right", "unknown"))
    return f"{right} of {len(cases)}" + (f", {unknown} ?" if unknown else "")


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def _columns(*cells: str) -> str:
    return "  ".join(f"{cell:<{WIDTH}}" for cell in cells).rstrip()
