"""Group-relative policy optimisation over whole roll-outs: NumPy for reference, no training.

Arrays are roll-outs × tokens. Text that a tool returned is an observation and carries no gradient: it is
masked. Elementwise products and sums only.

Source: trainable graph memory, eq. (5), (11), (12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
CLIP = 0.2
"""ε of eq. (12)."""


def grpo_loss(
    new: Sequence[Sequence[float]],
    old: Sequence[Sequence[float]],
    advantages: Sequence[float],
    mask: Sequence[Sequence[float]],
    clip: float = CLIP,
) -> float:
    """-E min(r Â, clip(r, 1 - ε, 1 + ε) Â), mean over a roll-out's own tokens, then over roll-outs.

    ``new`` and ``old`` are log-probabilities of the tokens under π_θ and π_old given q̃. No KL term.
    Raises ``ValueError`` where a roll-out has no token of its own.
    """
    # A reference: no trainer calls it. The tests hold it against the loss of one token
    # in ``reinforce``, and exported roll-outs carry the masks and log-probabilities that
    # it is made of.
    own: Floats = np.asarray(mask, dtype=np.float64)
    count = own.sum(axis=1)
    if not np.all(count > 0):
        raise ValueError("a roll-out without a token of its own has no loss")
    ratio: Floats = np.exp(np.asarray(new, dtype=np.float64) - np.asarray(old, dtype=np.float64))
    gain = np.asarray(advantages, dtype=np.float64)[:, None]
    bounded = np.clip(ratio, 1 - clip, 1 + clip)
    token = -np.minimum(ratio * gain, bounded * gain)
    # The mean is taken per roll-out first: else a long one would weigh more than a short one.
    return float(((token * own).sum(axis=1) / count).mean())
