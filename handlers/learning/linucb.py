"""LinUCB by rank-one updates: ridge regression for each arm and an uncertainty bonus.

Every sum runs along the first axis, row after row in one fixed order; libraries of linear algebra
add in an order that hangs on the machine.

Source: Meta-Reasoner eq. (2), (3); Li et al. 2010, Algorithm 1.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from math import fsum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

DIGITS = 9
"""Decimals to which scores are compared."""

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


def total(values: Vector) -> float:
    """The sum of a vector, correctly rounded."""
    return fsum(values.tolist())


def times(matrix: Matrix, x: Vector) -> Vector:
    """A symmetric matrix times a vector."""
    product: Vector = (matrix * x[:, None]).sum(axis=0)
    return product


def rank_one(inverse: Matrix, x: Vector) -> Matrix:
    """(A + xxᵀ)⁻¹ from A⁻¹. Source: Sherman and Morrison 1950."""
    v = times(inverse, x)
    updated: Matrix = inverse - v[:, None] * v[None, :] / (1.0 + total(x * v))
    return updated


class Ridge:
    """One arm's regression: A⁻¹ and b, from A = λI and b = 0 on."""

    __slots__ = ("b", "inverse")

    def __init__(self, dims: int, ridge: float) -> None:
        self.inverse: Matrix = np.eye(dims) / ridge
        self.b: Vector = np.zeros(dims)

    def add(self, x: Vector, reward: float) -> None:
        """A := A + xxᵀ, b := b + r·x."""
        self.inverse = rank_one(self.inverse, x)
        self.b = self.b + reward * x

    @property
    def theta(self) -> Vector:
        """θ = A⁻¹b: the ridge solution of all (x, r)."""
        return times(self.inverse, self.b)


class LinUcb:
    """The regressions of several arms, laid out so that all are scored at once.

    xᵀA⁻¹x needs half of a symmetric matrix only; the halves of all arms lie side by side.
    """

    def __init__(self, dims: int, ridge: float, exploration: float) -> None:
        self.dims, self.ridge, self.exploration = dims, ridge, exploration
        self.arms: list[Ridge] = []
        self._rows = (dims + 1) // 2
        row, column = np.triu_indices(dims)
        self._half: NDArray[np.intp] = row * dims + column
        self._weight: Vector = np.where(row == column, 1.0, 2.0)
        self._stack: Matrix = np.empty((self._rows, 0, len(row) // self._rows))
        self._room: Matrix = np.empty_like(self._stack)
        self._theta: Matrix = np.empty((dims, 0))

    def grow(self, known: Ridge | None = None) -> int:
        """One arm more; its place."""
        arm = known or Ridge(self.dims, self.ridge)
        self.arms.append(arm)
        half = self._halved(arm)[:, None, :]
        self._stack = np.concatenate((self._stack, half), axis=1)
        self._room = np.empty_like(self._stack)
        self._theta = np.concatenate((self._theta, arm.theta[:, None]), axis=1)
        return len(self.arms) - 1

    def add(self, place: int, x: Vector, reward: float) -> None:
        """Credit a reward to an arm."""
        arm = self.arms[place]
        arm.add(x, reward)
        self._stack[:, place, :] = self._halved(arm)
        self._theta[:, place] = arm.theta

    def scores(self, x: Vector) -> list[float]:
        """xᵀθ + c √(xᵀA⁻¹x) of every arm, rounded. Source: Meta-Reasoner eq. (3)."""
        weight = (x[:, None] * x).ravel().take(self._half) * self._weight
        np.multiply(self._stack, weight.reshape(self._rows, 1, -1), out=self._room)
        spread = self._room.sum(axis=0).T.copy().sum(axis=0)
        mean = (self._theta * x[:, None]).sum(axis=0)
        bonus = self.exploration * np.sqrt(np.maximum(spread, 0.0))
        return [round(score, DIGITS) + 0.0 for score in (mean + bonus).tolist()]

    def _halved(self, arm: Ridge) -> Matrix:
        return arm.inverse.ravel().take(self._half).reshape(self._rows, -1)


def dual_score(
    rows: Sequence[Vector], rewards: Sequence[float], x: Vector, ridge: float, exploration: float
) -> float:
    """The same score from the Gram matrix of an arm's pulls: K = XXᵀ, k = Xx.

    xᵀθ = kᵀ(λI + K)⁻¹r and xᵀA⁻¹x = (xᵀx − kᵀ(λI + K)⁻¹k)/λ: smaller while pulls are fewer than
    dimensions.
    """
    k = np.array([total(row * x) for row in rows])
    inverse = _gram_inverse(rows, ridge)
    solved = times(inverse, k) if rows else k
    mean = total(solved * np.array(rewards, dtype=np.float64))
    spread = (total(x * x) - total(solved * k)) / ridge
    return round(mean + exploration * float(np.sqrt(max(spread, 0.0))), DIGITS) + 0.0


def _gram_inverse(rows: Sequence[Vector], ridge: float) -> Matrix:
    """(λI + XXᵀ)⁻¹, grown by a row and a column for each pull."""
    inverse: Matrix = np.empty((0, 0))
    for at, row in enumerate(rows):
        u = np.array([total(row * other) for other in rows[:at]])
        v = times(inverse, u) if at else u
        left = ridge + total(row * row) - total(u * v)
        grown = np.empty((at + 1, at + 1))
        grown[:at, :at] = inverse + v[:, None] * v[None, :] / left
        grown[:at, at] = grown[at, :at] = -v / left
        grown[at, at] = 1.0 / left
        inverse = grown
    return inverse


# ── As kept ──────────────────────────────────────────────────────────────────────────────────


def packed(values: Vector) -> str:
    """Base64 of little-endian float64."""
    return b64encode(values.astype("<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> Vector:
    """The numbers of a packed vector."""
    return np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(np.float64)


def kept(arm: Ridge) -> tuple[str, str]:
    """A regression as two texts: the upper half of A⁻¹, which is symmetric to the bit, and b."""
    half = arm.inverse[np.triu_indices(len(arm.b))]
    return packed(half), packed(arm.b)


def restored(inverse: str, b: str) -> Ridge:
    """The regression that was kept."""
    vector = unpacked(b)
    arm = Ridge(len(vector), 1.0)
    row, column = np.triu_indices(len(vector))
    arm.inverse = np.empty((len(vector), len(vector)))
    arm.inverse[row, column] = arm.inverse[column, row] = unpacked(inverse)
    arm.b = vector
    return arm
