"""Facts of tree search in a few words."""

from __future__ import annotations

from schemas.events.base import Event
from schemas.events.search import (
    ConfidenceStated,
    FrontierScored,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
    ThoughtJudged,
    ThoughtsKept,
    ValueBackedUp,
)
from streams.views.words import two

Saying = tuple[str, str, str]
"""Who, what, and the tone of it."""


def searched(fact: Event) -> Saying | None:
    """A fact of tree search in words; none for any other."""
    match fact:
        case FrontierScored():
            best = dict(fact.scores)[fact.chosen]
            return "frontier", f"{fact.chosen} at {best:.2f}, first of {len(fact.scores)}", "dim"
        case NodeExpanded():
            children = ", ".join(
                f"{child.node} {child.strategy} {two(child.value)}"
                if child.repeats is None
                else f"{child.node} repeats {child.repeats}"
                for child in fact.children
            )
            return "expanded", f"{fact.node} → {children or 'nothing new'}", ""
        case NodePruned():
            return "pruned", f"{fact.node} at {fact.value:.2f}", "bad"
        case NodeRepaired():
            change = f"{fact.before:.2f} → {two(fact.value)}, kept the {fact.kept}"
            return "repaired", f"{fact.node} from step {fact.step} as {fact.into}: {change}", "warn"
        case SearchDecided():
            said = f"{fact.action} {fact.node or 'nothing'} at {two(fact.value)}"
            return "search", f"{said}, trust {two(fact.confidence)}, {fact.calls} calls", "good"
        case _:
            return _assessed(fact)


def _assessed(fact: Event) -> Saying | None:
    """What a node was found to be worth, by whichever voice."""
    match fact:
        case OracleScored():
            low = f", step {fact.low} is low" if fact.low is not None else ""
            rewards = " ".join(map(two, fact.rewards))
            return "oracle", f"{rewards}: {two(fact.value)}{low}{_read(fact.parse)}", ""
        case ConfidenceStated():
            return "confidence", f"{two(fact.value)}{_read(fact.parse)}", ""
        case ThoughtJudged():
            # A judgement that could not be read leaves a number that the search goes on with.
            # Nobody gave it, so no screen shows it as a value.
            known = fact.parse != "defaulted"
            return "judge", f"{two(fact.value if known else None)}{_read(fact.parse)}", ""
        case ThoughtsKept():
            return "kept", f"{' '.join(fact.kept)}, of {len(fact.values)}", ""
        case ValueBackedUp():
            path = ", ".join(f"{node} {mean:.2f}" for node, _, mean in fact.path)
            return "backed up", path, "dim"
        case _:
            return None


def _read(parse: str) -> str:
    return "" if parse == "first" else f" ({parse})"
