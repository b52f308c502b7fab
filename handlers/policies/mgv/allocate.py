"""How a shared limit is shared out: inversely to ease, in whole calls, within each member's own limit.

Source: MGV Algorithm 2 line 12, App. B.1; largest remainder and caps are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

FLOOR = 0.05
"""The least ease that counts: what seems to come without any would else take all."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A member's claim on a limit: its ease in (0, 1], and what it may spend itself."""

    name: str
    ease: float
    own: int


def weights(eases: Sequence[float]) -> list[Fraction]:
    """w = 1 / max(FLOOR, ease), exactly, so that shares hang on no rounding."""
    return [
        1 / max(Fraction(FLOOR), Fraction(round(ease, 9)).limit_denominator(10**9))
        for ease in eases
    ]


def allocate(total: int, claims: Sequence[Claim]) -> list[int]:
    """Each member's calls, in the order of the claims; they sum to what may be spent of the total.

    By largest remainder, ties by name; what exceeds a member's own limit goes to the others by the
    same rule; while the total covers it, a zero takes one from the largest (ties: highest ease).
    """
    share = dict(
        zip((claim.name for claim in claims), weights([c.ease for c in claims]), strict=True)
    )
    granted: dict[str, int] = {}
    left = min(total, sum(claim.own for claim in claims))
    waiting: list[Claim] = list(claims)
    # Whoever reaches his own limit leaves with it, and what he cannot use is shared out again among
    # the others. Each turn somebody leaves or all is granted, so it ends.
    while waiting:
        parts = _by_remainder(left, [(claim.name, share[claim.name]) for claim in waiting])
        full = [claim for claim in waiting if parts[claim.name] >= claim.own]
        if not any(parts[claim.name] > claim.own for claim in full):
            granted |= parts
            break
        granted |= {claim.name: claim.own for claim in full}
        left -= sum(claim.own for claim in full)
        waiting = [claim for claim in waiting if claim.name not in granted]
    # While someone has two or more, nobody who may spend one has none: a share of zero is no
    # attempt at all, and one call more or less of a large share changes little.
    for claim in sorted(claims, key=lambda each: each.name):
        if granted[claim.name] == 0 and claim.own > 0:
            giver = max(claims, key=lambda each: (granted[each.name], each.ease, each.name))
            if granted[giver.name] < 2:
                break
            granted[giver.name] -= 1
            granted[claim.name] = 1
    return [granted[claim.name] for claim in claims]


def equal_shares(total: int, claims: Sequence[Claim]) -> list[int]:
    """The same for each, as if all came with the same ease."""
    return allocate(total, [Claim(claim.name, 1.0, claim.own) for claim in claims])


def _by_remainder(total: int, claims: Sequence[tuple[str, Fraction]]) -> dict[str, int]:
    whole = sum((weight for _, weight in claims), Fraction(0))
    quotas = {name: total * weight / whole for name, weight in claims}
    parts = {name: int(quota) for name, quota in quotas.items()}
    order = sorted(parts, key=lambda name: (parts[name] - quotas[name], name))
    for name in order[: total - sum(parts.values())]:
        parts[name] += 1
    return parts
