"""Exact cosine similarity: float64, one fixed order of additions, no BLAS.

Libraries of linear algebra add in an order that hangs on the machine; whatever is decided on,
stated or hashed must not. ``math.fsum`` is correctly rounded, so its result hangs on no order.

Source: MC² eq. (16).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from operator import mul

# Nine decimals are far coarser than what the last bits of a product differ by, and far finer than
# what embedders tell apart. So similarities that mean the same are equal, and the tie goes by id.
DIGITS = 9
"""Decimals to which decisions compare similarities."""


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Cosine in [-1, 1]; 0 if a vector is zero. Raises ``ValueError`` for unequal lengths."""
    if len(left) != len(right):
        raise ValueError(f"vectors of {len(left)} and {len(right)} dimensions")
    scale = sqrt(fsum(map(mul, left, left))) * sqrt(fsum(map(mul, right, right)))
    if scale == 0.0:
        return 0.0
    return max(-1.0, min(1.0, fsum(map(mul, left, right)) / scale))


def rounded(similarity: float) -> float:
    """The similarity as decisions compare it; never a negative zero."""
    return round(similarity, DIGITS) + 0.0
