"""Figures of trees: actions by depth, flow, repairs, parsing, audit, failure classes.

Source: CoT2-Meta § H.2, tables 15, 19, 21, 25, figure 5; design/cot2_meta.md D11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from handlers.learning import metrics
from handlers.policies.cot2_meta.diagnose import (
    Audit,
    Failed,
    Failure,
    Repairs,
    failure,
    flow,
    misjudged,
    oracle_gap,
    parse_rates,
    repairs,
    spared,
)
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.trace import Tree, actions_by_depth, tree_of
from streams.research.analysis.cases import Case, Shadow

Shadows: TypeAlias = Callable[[str], Sequence[Shadow]]


def tree_figures(
    cases: Sequence[Case], everything: Sequence[Case], shadows: Shadows
) -> dict[str, Any]:
    """Everything that the trees of a run tell."""
    trees = [(case, tree_of(case.trace)) for case in cases]
    actions: dict[int, Counter[str]] = {}
    for case, _ in trees:
        for depth, counts in actions_by_depth(case.trace).items():
            actions.setdefault(depth, Counter()).update(counts)
    mended = sum((repairs(tree, case.judged) for case, tree in trees), Repairs())
    flows = Counter(flow(tree, case.closed.answer, case.judged) for case, tree in trees)
    return {
        "actions_by_depth": {str(depth): dict(actions[depth]) for depth in sorted(actions)},
        "flow": dict(flows),
        "repairs": {
            "wrong_before": mended.wrong_before,
            "right_before": mended.right_before,
            "unknown": mended.unknown,
            "rescue_rate": mended.rescue,
            "hurt_rate": mended.harm,
            "net": mended.net,
        },
        "parsed": sum(tree.parses.total() for _, tree in trees),
        "parse_rates": parse_rates(tree for _, tree in trees),
        "fallback_share": sum(case.closed.ended_by == "fallback" for case in cases) / len(cases),
        "utility": utility_of(cases),
        "pruning": pruning(trees, shadows),
        "failures": failures(trees, everything, shadows),
    }


def settings_of(case: Case) -> Cot2Settings:
    """The settings that an episode ran under."""
    return Cot2Settings.resolve(case.problem.profile, case.problem.settings)


def utility_of(cases: Sequence[Case]) -> float | None:
    """Mean utility U of the answers whose outcome is known, by the cost of overconfidence that was set (D14)."""
    known = [
        metrics.utility(
            None if case.outcome == "withheld" else case.outcome == "right",
            case.closed.confidence,
            settings_of(case).overconfidence_cost,
        )
        for case in cases
        if case.outcome != "unknown"
    ]
    return sum(known) / len(known) if known else None


def pruning(trees: Sequence[tuple[Case, Tree]], shadows: Shadows) -> dict[str, Any]:
    """Pruned nodes, those with a right answer already, and the audit by shadow runs on the log."""
    pruned = [
        (case, twig)
        for case, tree in trees
        for twig in tree.nodes.values()
        if twig.status == "pruned"
    ]
    runs = [(case, tree, shadows(case.episode)) for case, tree in trees]
    audit = Audit.of(under(case, each) for case, _, found in runs for each in found)
    # The first shadow run alone is the relaxed search: in it nothing at all is pruned. In later
    # ones the prunes before theirs still stand.
    audited = [(case, tree, found[0]) for case, tree, found in runs if found]
    pairs = [(tree, tree_of(shadow.trace)) for _, tree, shadow in audited]
    judges = [case.judged for case, _, _ in audited]
    leaves = settings_of(trees[0][0]).audit_leaves
    known = [oracle_gap([pair], [judge], leaves) for pair, judge in zip(pairs, judges, strict=True)]
    worth = [case.judged(twig.answer) for case, twig in pruned if twig.answer is not None]
    return {
        "pruned": len(pruned),
        "pruned_right": sum(each is True for each in worth),
        "pruned_unknown": sum(each is None for each in worth),
        "shadow_runs": audit.pruned + audit.unknown,
        "shadow_unknown": audit.unknown,
        "false_prune_rate": audit.false_prune_rate,
        "prune_precision": audit.prune_precision,
        "oracle_gap": oracle_gap(pairs, judges, leaves),
        "oracle_gap_of": len(known) - known.count(None),
    }


def under(case: Case, shadow: Shadow) -> bool | None:
    """Whether a shadow run found a right answer under the node that it spared, not just anywhere."""
    return spared(tree_of(shadow.trace), shadow.node, case.judged)


Rivals: TypeAlias = Mapping[tuple[str, int | None], bool]
"""By problem and limit of calls, whether another policy solved it; missing where none was tried."""


def rivals(everything: Iterable[Case]) -> Rivals:
    """What the other policies make of each problem at each limit, of those that could be graded."""
    found: dict[tuple[str, int | None], bool] = {}
    for case in everything:
        if case.opened.policy != "cot2_meta" and case.outcome != "unknown":
            key = case.about, case.opened.limits.calls
            found[key] = found.get(key, False) or case.outcome == "right"
    return found


def failures(
    trees: Sequence[tuple[Case, Tree]], everything: Sequence[Case], shadows: Shadows
) -> dict[str, int]:
    """Wrong episodes by class; *unknown* is what the shadow runs or baselines that would tell it are missing for."""
    others = rivals(everything)
    # Withheld counts as wrong here: a search that gives no
    # answer has failed as much as one that gives another.
    found = Counter(
        failed_as(case, tree, others, shadows) or "unknown"
        for case, tree in trees
        if case.outcome in ("wrong", "withheld")
    )
    return dict(sorted(found.items()))


def failed_as(case: Case, tree: Tree, others: Rivals, shadows: Shadows) -> Failure | None:
    """A failure's class in the order F2, F3, F4, F1; unknown where an earlier class cannot be ruled out.

    Baselines are the other policies at the same limit of calls. Source: CoT2-Meta table 15; design/cot2_meta.md D11.
    """
    settings = settings_of(case)
    misjudging = misjudged(tree, case.judged)
    audit = Audit.of(under(case, shadow) for shadow in shadows(case.episode))
    pruned = sum(twig.status == "pruned" for twig in tree.nodes.values())
    solved = others.get((case.about, case.opened.limits.calls))
    found = failure(
        Failed(
            tree,
            case.judged,
            spent=case.closed.ended_by in ("budget", "closed", "abstained"),
            stop_threshold=settings.stop_threshold,
            shadow_solves=audit.brought_right > 0,
            baselines_fail=None if solved is None else not solved,
            leaves=settings.audit_leaves,
        )
    )
    # Classes are asked for in this order, so a class counts only where each earlier one was looked
    # for and not found: an audit that lacks shadow runs can rule F3 out no more.
    ruled_out = {
        "F2": True,
        "F3": misjudging is False,
        "F4": misjudging is False and (audit.pruned >= pruned or not pruned),
    }
    last = ruled_out["F4"] and solved is not None
    return found if ruled_out.get(found, last) else None
