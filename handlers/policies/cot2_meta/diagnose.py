"""Diagnostics of trees whose answers can be judged: flow, repairs, audit, failure classes.

References never enter an episode; here ``right`` says afterwards what an answer is worth. What nobody can
judge is neither right nor wrong: it is counted by itself.

Source: CoT2-Meta § H.2 to H.4, tables 15, 19 to 21, 25; design/cot2_meta.md D11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from handlers.answers.alike import kinds
from handlers.learning.metrics import entropy_share
from handlers.policies.cot2_meta.trace import Tree, Twig

# Reports call this with trees that ``trace`` read off the log. Everything is counted in integers
# per tree and added up by whoever reports, so that unknown ones can leave each share by themselves.

Right: TypeAlias = Callable[[str | None], bool | None]
"""Whether an answer is right; none where nobody can say."""
Flow: TypeAlias = Literal["correct", "repaired", "over-pruned", "abstained", "incorrect", "unknown"]
Failure: TypeAlias = Literal["F1", "F2", "F3", "F4", "unclassified"]


def flow(tree: Tree, answer: str | None, right: Right) -> Flow:
    """Where an episode ended, from the root to its outcome (figure 5c)."""
    if answer is None:
        return "abstained"
    ending = right(answer)
    if ending is None:
        return "unknown"
    if ending:
        ended = tree.decided.node if tree.decided is not None else None
        mended = any(tree.nodes[node].repairs is not None for node in tree.path(ended))
        return "repaired" if mended else "correct"
    pruned = [twig for twig in tree.nodes.values() if twig.status == "pruned"]
    return "over-pruned" if any(right(twig.answer) is True for twig in pruned) else "incorrect"


@dataclass(frozen=True, slots=True)
class Repairs:
    """Over repaired trajectories: what was wrong and right before, and what the repair made of it."""

    wrong_before: int = 0
    rescued: int = 0
    right_before: int = 0
    hurt: int = 0
    unknown: int = 0
    """Repairs whose trajectory before or after nobody can judge: in no other count."""

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(
            self.wrong_before + other.wrong_before,
            self.rescued + other.rescued,
            self.right_before + other.right_before,
            self.hurt + other.hurt,
            self.unknown + other.unknown,
        )

    @property
    def rescue(self) -> float | None:
        """Made right, of those wrong before."""
        return self.rescued / self.wrong_before if self.wrong_before else None

    @property
    def harm(self) -> float | None:
        """Made wrong, of those right before."""
        return self.hurt / self.right_before if self.right_before else None

    @property
    def net(self) -> int:
        """Rescued minus hurt, in trajectories."""
        return self.rescued - self.hurt


def repairs(tree: Tree, right: Right) -> Repairs:
    """What repair did in one tree. A trajectory without an answer is not right."""
    found = Repairs()
    for twig in tree.nodes.values():
        if twig.repairs is None:
            continue
        before, after = right(tree.nodes[twig.repairs].answer), right(twig.answer)
        if before is None or after is None:
            found += Repairs(unknown=1)
        elif before:
            found += Repairs(right_before=1, hurt=not after)
        else:
            found += Repairs(wrong_before=1, rescued=after)
    return found


def parse_rates(trees: Iterable[Tree]) -> dict[str, float]:
    """Table 25: shares of oracle readings that came first, after the re-prompt, by default."""
    counts: Counter[str] = Counter()
    for tree in trees:
        counts.update(tree.parses)
    total = counts.total()
    return {name: counts[name] / total for name in ("first", "recovered", "defaulted") if total}


# ── Audit ────────────────────────────────────────────────────────────────────────────────────


def below(tree: Tree, node: str) -> list[Twig]:
    """A node and everything that grew under it, or was made by repairing that."""
    found: dict[str, Twig] = {}
    for at, twig in tree.nodes.items():
        if at == node or twig.parent in found or twig.repairs in found:
            found[at] = twig
    return [*found.values()]


def spared(tree: Tree, node: str, right: Right) -> bool | None:
    """Whether a pruned branch can still reach a right answer: looked for under the spared node alone.

    Unknown where the shadow run never went on with it, or came to an answer there that nobody can judge.
    Source: CoT2-Meta § G.2.
    """
    # Right answers elsewhere in the shadow tree say nothing of this branch: the primary
    # may have them too.
    grown = below(tree, node)
    judged = [right(twig.answer) for twig in grown if twig.answer is not None]
    if any(judged):
        return True
    reached = bool(judged) or len(grown) > 1
    return False if reached and None not in judged else None


@dataclass(frozen=True, slots=True)
class Audit:
    """Pruned branches that a relaxed shadow run went on with, and how many it brought to a right answer."""

    pruned: int
    brought_right: int
    unknown: int = 0
    """Those that it did not bring to an answer that somebody can judge: in no share."""

    @classmethod
    def of(cls, found: Iterable[bool | None]) -> Audit:
        """The audit of these branches."""
        each = [*found]
        known = [one for one in each if one is not None]
        return cls(len(known), sum(known), len(each) - len(known))

    @property
    def false_prune_rate(self) -> float | None:
        """Of the pruned branches, those that were worth going on with."""
        return self.brought_right / self.pruned if self.pruned else None

    @property
    def prune_precision(self) -> float | None:
        """The rest."""
        return 1 - self.brought_right / self.pruned if self.pruned else None


def top_leaves(tree: Tree, k: int) -> list[Twig]:
    """The k answered leaves of the highest value, first seen first among equals."""
    answered = [twig for twig in tree.leaves if twig.answer is not None]
    return sorted(answered, key=lambda twig: -(twig.value or 0.0))[:k]


def oracle_gap(pairs: Sequence[tuple[Tree, Tree]], right: Sequence[Right], k: int) -> float | None:
    """Share with a right leaf in the shadow's top k − share whose own top leaf was right (D11).

    Over the pairs of trees that can be judged; unknown without any.
    """
    each = [
        (_among(judge, top_leaves(relaxed, k)), _among(judge, top_leaves(tree, 1)))
        for (tree, relaxed), judge in zip(pairs, right, strict=True)
    ]
    # Both trees of a pair or neither: a share over other episodes than its counterpart
    # would be no gap.
    known = [shadow - own for shadow, own in each if shadow is not None and own is not None]
    return sum(known) / len(known) if known else None


def _among(right: Right, leaves: Iterable[Twig]) -> bool | None:
    """Whether one of these is right; unknown where none is and one cannot be judged."""
    judged = [right(leaf.answer) for leaf in leaves]
    return True if any(judged) else None if None in judged else False


def inverted(tree: Tree, right: Right) -> int:
    """Pairs of answered leaves in which the wrong one's v_proc exceeds the right one's."""
    scored = [(right(t.answer), t.v_proc) for t in tree.leaves if t.answer is not None]
    goods = [v for good, v in scored if good is True and v is not None]
    bads = [v for good, v in scored if good is False and v is not None]
    return sum(bad > good for bad in bads for good in goods)


def misjudged(tree: Tree, right: Right) -> bool | None:
    """F2: whether such a pair is there; unknown where there is none yet and a leaf cannot be judged."""
    if inverted(tree, right):
        return True
    answers = (twig.answer for twig in tree.leaves if twig.answer is not None)
    return None if any(right(answer) is None for answer in answers) else False


# ── Failure classes ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Failed:
    """An episode that came out wrong, with what its classes hang on."""

    tree: Tree
    right: Right
    spent: bool
    """Whether all calls were used."""
    stop_threshold: float = 0.9
    shadow_solves: bool | None = None
    baselines_fail: bool | None = None
    leaves: int = 3


def failure(case: Failed) -> Failure:
    """Table 15, in the order F2, F3, F4, F1 (D11); then a sheet for a human."""
    # Several may fit. The first names the failure, so that the classes add up to all failures.
    if inverted(case.tree, case.right):
        return "F2"
    if case.shadow_solves:
        return "F3"
    if case.baselines_fail and all(case.right(t.answer) is False for t in case.tree.nodes.values()):
        return "F4"
    # F1, the search was undecided: calls spent, answers apart in the top k, none
    # over the threshold.
    top = top_leaves(case.tree, case.leaves)
    counts = Counter(kinds([leaf.answer or "" for leaf in top]))
    apart = entropy_share([*counts.values()]) >= 0.5
    unsure = all((twig.value or 0.0) < case.stop_threshold for twig in case.tree.survivors)
    return "F1" if case.spent and apart and unsure else "unclassified"
