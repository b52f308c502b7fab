"""The `demo-local` command: six word problems on a real model in this process, end to end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from streams.analysis.cases import Case, read
from streams.cli.demo.run import world_described
from streams.cli.live import watching
from streams.cli.opening import open_log
from streams.cli.output import out
from streams.cli.setup import Duty, Models
from streams.cli.working import work

PATH = "demo-local.db"
LOG = f"sqlite:{PATH}"
PROBLEMS = Path(__file__).with_name("local.jsonl")
BACKBONE = "llamacpp?max_tokens=64"
POLICIES, CALLS = ("cot", "self_consistency"), 5
TOGETHER = 8
"""Episodes in flight: the model decodes four replies at once."""
WIDTH = 16

HONEST = """\
The model is real and very small (135 million parameters; others have thousands of times as many): it
writes English and can hardly reckon. That it is wrong says little of a policy, and that it is right
may be luck. What is real: every token below was computed here, counted, recorded and can be verified."""


def demo() -> int:
    """Produce the problems for two policies, work on them, and print what came of it."""
    models = Models(backbone=BACKBONE)
    name = world_described(models)
    for policy in POLICIES:
        _produce(policy)
    duty = Duty(until_idle=True, max_concurrency=TOGETHER)
    with watching(LOG) as watch:
        code = work(LOG, models, duty, on_change=watch)
    with closing(open_log(LOG)) as log:
        for line in screen(list(read(log).cases()), name):
            out(line)
    return code


def _produce(policy: str) -> None:
    """What `metalogue produce local.jsonl --policy cot --call-limit 5` does; what is known is skipped."""
    from schemas.problem import Limits
    from streams.policies import find
    from streams.producing.produce import Plan, Producer
    from streams.producing.sources import lines_of

    plan = Plan(
        source=str(PROBLEMS), find=find, policy=policy, domain="words", limits=Limits(calls=CALLS)
    )
    with closing(open_log(LOG, create=True)) as log:
        Producer(log, plan).run(lines_of(str(PROBLEMS), None))


def screen(cases: Sequence[Case], name: str) -> Iterable[str]:
    """Each problem with its label and what each policy said, the sums, and how to go on."""
    yield f"Metalogue local demo: {len(cases)} episodes, {name}, log {LOG}"
    yield HONEST
    yield ""
    yield _columns("problem", "label", *POLICIES)
    for problem in dict.fromkeys(case.problem.id for case in cases):
        said = {case.opened.policy: case for case in cases if case.problem.id == problem}
        answers = [_answer(said[policy]) for policy in POLICIES if policy in said]
        yield _columns(problem, _label(next(iter(said.values()))), *answers)
    yield _columns("right", "", *(right_of(_of(cases, policy)) for policy in POLICIES))
    for policy in POLICIES:
        yield _spent(policy, _of(cases, policy))
    yield ""
    yield f"one answer      .venv/bin/metalogue show eggs --log {LOG}"
    yield f"prove the log   .venv/bin/metalogue verify --log {LOG}"
    yield f'your problem    .venv/bin/metalogue solve "What is 3 + 4?" --backbone {BACKBONE.split("?")[0]}'


def _of(cases: Sequence[Case], policy: str) -> list[Case]:
    return [case for case in cases if case.opened.policy == policy]


def _label(case: Case) -> str:
    """The reference, of aliases the first."""
    told = case.reference or ""
    return told if isinstance(told, str) else told[0]


def _answer(case: Case) -> str:
    answer = " ".join((case.closed.answer or "none").split())
    short = answer if len(answer) <= WIDTH - 5 else f"{answer[: WIDTH - 6]}…"
    mark = {"right": "✓", "wrong": "✗"}.get(case.outcome, "?")
    return f"{short} {mark}"


def right_of(cases: Sequence[Case]) -> str:
    """How many are right, and of how many nobody could say."""
    right, unknown = (sum(case.outcome == each for case in cases) for each in ("right", "unknown"))
    return f"{right} of {len(cases)}" + (f", {unknown} ?" if unknown else "")


def _spent(policy: str, cases: Sequence[Case]) -> str:
    from schemas.usage import total

    used = total(case.closed.usage for case in cases)
    seconds = "unknown" if used.seconds is None else f"{used.seconds:.0f} s in model calls"
    return f"{policy}: {used.calls} calls, {used.tokens} tokens, {used.cached_tokens} cached, {seconds}"


def _columns(*cells: str) -> str:
    return "  ".join(f"{cell:<{WIDTH}}" for cell in cells).rstrip()
