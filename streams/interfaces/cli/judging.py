"""``--judge``: a model is asked about answers that no grader could decide; what it says is recorded beside them."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from streams.core.backbone import BackboneError
from streams.interfaces.cli.draining import finished
from streams.interfaces.cli.expecting import is_told
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import Models, as_cli, world_of
from streams.interfaces.cli.spending import Spending
from streams.research.analysis.cases import chosen, read
from streams.research.analysis.verdicts import judge, undecided
from streams.views.words import plural

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


def judge_log(
    url: str | None, models: Models, backbone: str, spending: Spending | None = None
) -> None:
    """Have the undecided answers of a log judged, within what is left of totals. Raises a ``CliError``."""
    with closing(open_log(url, writes=True)) as log:
        judge_on(log, models, backbone, spending=spending)


def judge_on(
    log: SqliteLog,
    models: Models,
    backbone: str,
    run: str | None = None,
    spending: Spending | None = None,
) -> None:
    """The same, on an open log, or of a run alone. What was judged on it before costs nothing."""
    # The judge shares the totals of the worker before it: a limit is one of the command, and not
    # of each part.
    purse = spending or Spending(None)
    cases = chosen(read(log).cases(), run)
    put = undecided(cases)
    left = sum(case.standing == "undecided" for case in cases) - len(put)
    # No role keeps a backbone of its own: a judge is asked by one model alone, which is named in
    # its verdicts.
    judging = replace(models, backbone=backbone, roles=[])
    world = purse.add(world_of(judging, patient=False, totals=purse.left(), offering=()))
    # What was judged before is on the log, and is answered from there.
    new = sum(case.verdict is None for case in put)
    if new and is_told(world):
        say(f"expected: judge, {plural(new, 'answer')}: {new} to {2 * new} calls; tokens unknown")
    try:
        done = finished(world, judge(log, put, world, say))
    except BackboneError as error:
        raise as_cli(error) from error
    said = Counter(each.closed.answer or "unclear" for each in done)
    counts = ", ".join(f"{name} {said[name]}" for name in ("right", "wrong", "unclear"))
    made = world.calls_begun
    held = "" if not left else f"; {left} not put: without a reference, code, too long, or of a set"
    say(f"judged {plural(len(done), 'undecided answer')}: {counts}; {plural(made, 'call')}{held}")
