"""Arms as the `lessons` commands show them: strategies that a bandit chooses from, with what they brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schemas.memory import Memory
from streams.interfaces.cli.show.page import Page
from streams.views.words import clean, count, one_line, pad, plural

if TYPE_CHECKING:
    from streams.interfaces.cli.show.library import ScopeHistory

# An arm stays a mapping as its policy keeps it. Its fields are those of the policy that learned it,
# and of whatever build that was, so each is read with a default.
Arm = Mapping[str, Any]


def arms_in(memory: Memory) -> Sequence[Arm]:
    """The arms of a memory version, by birth; none where its policy learns none."""
    found: Sequence[Arm] = memory.learned.get("arms", ())
    return found


def arm_of(memory: Memory, wanted: str) -> Arm | None:
    """The arm of this id, if the version holds one."""
    return next((arm for arm in arms_in(memory) if arm["id"] == wanted), None)


def mean_of(arm: Arm) -> float | None:
    """Mean of what retirement looks at; unknown without a pull."""
    pulls: int = arm.get("pulls", 0)
    return arm.get("rated", 0.0) / pulls if pulls else None


def as_json(scope: str, arm: Arm) -> dict[str, Any]:
    """An arm as a line of JSON."""
    return {
        "id": arm["id"],
        "scope": scope,
        "kind": "arm",
        "name": arm.get("name"),
        "origin": arm.get("origin"),
        "parent": arm.get("parent"),
        "when": arm.get("when"),
        "text": arm.get("text"),
        "retired": bool(arm.get("retired")),
        "said": arm.get("word"),
        "pulls": arm.get("pulls", 0),
        "mean": mean_of(arm),
    }


def list_arms(page: Page, shelf: ScopeHistory, memory: Memory) -> None:
    """A line for each arm of a scope."""
    arms = arms_in(memory)
    # Retired arms stay in the list: a person may want one back, and needs its id for that.
    retired = sum(bool(arm.get("retired")) for arm in arms)
    out = f", {retired} retired" if retired else ""
    live = len(arms) - retired
    page.line((shelf.scope, "strong"), f"   {plural(live, 'arm')}{out}, version {memory.name}")
    page.line((f"{'id':<5} {'origin':<9} {'pulls':>6} {'mean':>5}  {'':<8} does", "dim"))
    for arm in arms:
        mean = mean_of(arm)
        page.line(
            (pad(arm["id"], 5), "strong"),
            f" {pad(arm.get('origin', ''), 9)} {count(arm.get('pulls', 0)):>6} ",
            f"{'' if mean is None else f'{mean:.2f}':>5}  ",
            (pad("retired" if arm.get("retired") else "", 8), "warn"),
            f" {pad(one_line(clean(arm.get('text', ''))), page.width - 39)}",
        )


def single_arm(shelf: ScopeHistory, arm: Arm) -> Page:
    """One arm in full."""
    page, mean = Page(), mean_of(arm)
    after = f" after {arm['parent']}" if arm.get("parent") else ""
    name = f" {clean(arm['name'])}" if arm.get("name") else ""
    page.line((arm["id"], "strong"), f"{name}  arm, {arm.get('origin', '')}{after}")
    page.line((shelf.scope, "dim"))
    if arm.get("retired"):
        # Who decided it matters to whoever thinks of restoring it.
        why = "as a person said" if arm.get("word") else "since what it brought stayed low"
        page.line(("retired", "warn"), f"   {why}; nobody chooses it until it is restored")
    page.line()
    for label, said in (("when  ", arm.get("when")), ("do    ", arm.get("text"))):
        page.wrapped(f"{label}{clean(said or '')}", indent=2)
    page.line()
    brought = "nothing is known of it" if mean is None else f"mean {mean:.2f}"
    page.line(("pulled  ", "dim"), f"{plural(arm.get('pulls', 0), 'time')}, {brought}")
    return page
