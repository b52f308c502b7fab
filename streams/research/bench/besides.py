"""Costs of a recipe beside its episodes: learning, queries beside them, audits of prunes, and a judge.

Each is a row of the forecast: how much is left at most, and how much that is as what is on the log went.
"""

# `rows` has one row for each kind of cost, in the recipe's order. How much one takes is told by
# those that are on the log already; where there is none it is unknown, and only the bound is said.
# All of it is paid for as episodes are, so the forecast adds it to their sum.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from handlers.policies.baselines.trusted import SPARE
from handlers.policies.cot2_meta.settings import Cot2Settings
from schemas.events.episode import EpisodeOpened
from schemas.events.search import NodePruned
from schemas.usage import Usage
from streams.replay.differ import paid
from streams.research.analysis.cases import Case
from streams.research.analysis.verdicts import PURPOSE as JUDGING
from streams.research.bench.asides import PURPOSE as BESIDE
from streams.research.bench.plan import Cell, Planner
from streams.research.bench.report import learning
from streams.research.bench.results import Results

SPENT = ("calls", "tokens", "cost")
JUDGED_CALLS = 2
"""Calls of a verdict at most: a question, and once again where the reply was not read."""


@dataclass(slots=True)
class Beside:
    """Side runs of one kind: what those that are made spent, and how many calls the others take at most."""

    run: str
    what: str
    made: list[Usage] = field(default_factory=list[Usage])
    lacking: int = 0
    most: int = 0
    """Calls of one of them."""

    def row(self) -> dict[str, Any]:
        """As the forecast says it. Without one that is made, what the others take is unknown."""
        return {
            "run": self.run,
            "what": self.what,
            "made": len(self.made),
            "lacking_at_most": self.lacking,
            "calls_at_most": self.lacking * self.most,
            **expected(self.made, self.lacking),
        }


def expected(made: Sequence[Usage], left: int) -> dict[str, float | None]:
    """What is left to spend, if so many more go as those that are made went; unknown without one of them."""
    found: dict[str, float | None] = {}
    for name in SPENT:
        spent = [getattr(usage, name) for usage in made]
        known = [float(each) for each in spent if each is not None]
        # Nothing left costs nothing, whether or not anybody knows what one would have cost.
        found[name] = 0.0 if not left else round(left * fmean(known), 6) if known else None
    return found


def rows(planner: Planner, results: Results, *, judge: bool) -> Iterator[dict[str, Any]]:
    """Everything that comes beside the episodes of a recipe."""
    recipe, cells = planner.recipe, planner.cells()
    forks: dict[str, list[tuple[EpisodeOpened, Usage]]] = {}
    for journal in results.reading.journals.values():
        opened = journal.get("opened")
        if isinstance(opened, EpisodeOpened) and opened.parent and "closed" in journal:
            forks.setdefault(opened.parent, []).append((opened, paid(journal)))
    for name, run in recipe.runs.items():
        mine = [cell for cell in cells if cell.run == name]
        if mine and planner.find(run.policy).learns != "none":
            yield _learning(planner, results, name, mine)
        if mine and run.audit:
            yield _audited(planner, results, name, forks).row()
        if run.beside is not None and any(cell.run == run.beside for cell in cells):
            one = Beside(name, f"beside {run.beside}", most=SPARE)
            alike = sum(
                other.policy == run.policy and other.beside == run.beside
                for other in recipe.runs.values()
            )
            _count(one, planner, results, run.beside, forks, (BESIDE, run.policy), alike)
            yield one.row()
    if judge:
        one = Beside("judge", "of undecided answers", most=JUDGED_CALLS)
        for name in dict.fromkeys(cell.run for cell in cells):
            _count(one, planner, results, name, forks, (JUDGING, None), 1)
        yield one.row()


def _closed(planner: Planner, results: Results, name: str) -> tuple[list[Case], int]:
    """The closed episodes of a run, and how many problems are left to it."""
    cells = [cell for cell in planner.cells() if cell.run == name]
    cases = [o.case for (run, _), group in results.groups.items() if run == name for o in group]
    return cases, max(0, sum(planner.sources[c.data].problems for c in cells) - len(cases))


def _count(
    one: Beside,
    planner: Planner,
    results: Results,
    name: str,
    forks: Mapping[str, Sequence[tuple[EpisodeOpened, Usage]]],
    kind: tuple[str, str | None],
    alike: int,
) -> None:
    """Add the side runs of a run's episodes that are of this kind, of which so many rows share a policy."""
    purpose, policy = kind
    cases, left = _closed(planner, results, name)
    one.lacking += left
    for case in cases:
        made = [
            usage
            for opened, usage in forks.get(case.episode, ())
            if opened.purpose == purpose and policy in (None, opened.policy)
        ]
        # A run beside another asks about every answer; a
        # judge only about those that no grader could decide.
        wanted = case.closed.answer is not None if policy else case.standing == "undecided"
        # Rows with the same policy share its side runs:
        # each episode brings one to each of the rows.
        one.made += made[:1]
        one.lacking += wanted and len(made) < alike


def _audited(
    planner: Planner,
    results: Results,
    name: str,
    forks: Mapping[str, Sequence[tuple[EpisodeOpened, Usage]]],
) -> Beside:
    """A shadow run for each prune: as many as were pruned, or as there can be nodes, one a call."""
    run = planner.recipe.runs[name]
    settings = Cot2Settings.resolve(planner.recipe.profile, run.settings)
    granted = run.limits.over(planner.recipe.limits).calls
    own = min(x for x in (settings.primary_calls, granted, 1 << 20) if x is not None)
    one = Beside(name, "audits what it pruned", most=2 * own + settings.fallback_samples)
    cases, left = _closed(planner, results, name)
    one.lacking = own * left
    for case in cases:
        at = {at for at, event in case.trace.events if isinstance(event, NodePruned)}
        # By the address of the prune, for an audit has no name of its own among side runs.
        made = [usage for opened, usage in forks.get(case.episode, ()) if opened.at in at]
        one.made += made
        one.lacking += max(0, len(at) - len(made))
    return one


def _learning(
    planner: Planner, results: Results, name: str, cells: Sequence[Cell]
) -> dict[str, Any]:
    """What a run's memory takes for what is left, as it went so far. No limit of episodes holds for it."""
    cases, left = _closed(planner, results, name)
    spent = learning(results, cells)
    said: dict[str, float | None] = {"calls": 0.0, "tokens": 0.0}
    for which in said if left else ():
        known = bool(cases) and spent[which] is not None
        said[which] = round(left * spent[which] / len(cases), 6) if known else None
    most, cost = (None, None) if left else (0, 0.0)
    return {"run": name, "what": "learns", "calls_at_most": most, **said, "cost": cost}


def told(row: Mapping[str, Any]) -> str:
    """A row as people read it."""
    counted = ""
    if "made" in row:
        counted = f"{row['made']:,} made, at most {row['lacking_at_most']:,} to make; "
    return f"{row['run']} {row['what']}: {counted}"
