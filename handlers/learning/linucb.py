"""LinUCB by rank-one updates: ridge regression for each arm and an uncertainty bonus.

Every sum runs along the first axis, row after row in one fixed order; libraries of linear algebra
add in an order that hangs on the machine.

Source: Meta-Reasoner eq. (2), (3); Li et al. 2010, Algorithm 1.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from math import fsum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# A regression is kept in one of two forms. ``Ridge`` holds A⁻¹ and b, d² numbers whatever was
# pulled; ``Dual`` holds the pulls, which takes less while they are fewer than dimensions. Either
# gives the same scores once these are rounded, so an arm may change its form, and ``bandits``
# picks the one that costs less. The inverse is updated, never solved for anew: a solver's last
# bits hang on the machine.

DIGITS = 9
"""Decimals to which scores are compared."""
PART = 128
"""Rows of a matrix that are multiplied at a time."""
ROOM = 16
"""Pulls that a regression in its dual form has room for before it grows."""

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


def total(values: Vector) -> float:
    """The sum of a vector, correctly rounded."""
    return fsum(values.tolist())


def times(matrix: Matrix, x: Vector) -> Vector:
    """A vector times a matrix: of a symmetric one that is the matrix times the vector."""
    product: Vector = (matrix * x[:, None]).sum(axis=0)
    return product


def _in_parts(matrix: Matrix, x: Vector) -> Vector:
    """The same for large ones: so many rows at a time as a core's cache holds, in one fixed order."""
    columns: int = matrix.shape[1]
    product = np.zeros(columns)
    for at in range(0, len(matrix), PART):
        product += times(matrix[at : at + PART], x[at : at + PART])
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
        # All arms are copied, but only when one joins; scores are wanted in every round, and are
        # taken over one block.
        arm = known or Ridge(self.dims, self.ridge)
        self.arms.append(arm)
        half = self._halved(arm)[:, None, :]
        self._stack = np.concatenate((self._stack, half), axis=1)
        self._room = np.empty_like(self._stack)
        self._theta = np.concatenate((self._theta, arm.theta[:, None]), axis=1)
        return len(self.arms) - 1

    def drop(self, place: int) -> None:
        """Forget an arm; those behind it move up."""
        del self.arms[place]
        self._stack = np.delete(self._stack, place, axis=1)
        self._room = np.empty_like(self._stack)
        self._theta = np.delete(self._theta, place, axis=1)

    def add(self, place: int, x: Vector, reward: float) -> None:
        """Credit a reward to an arm."""
        arm = self.arms[place]
        arm.add(x, reward)
        self._stack[:, place, :] = self._halved(arm)
        self._theta[:, place] = arm.theta

    def scores(self, x: Vector) -> list[float]:
        """xᵀθ + c √(xᵀA⁻¹x) of every arm, rounded. Source: Meta-Reasoner eq. (3)."""
        # Entries off the diagonal stand for two of the whole matrix and so weigh double.
        weight = (x[:, None] * x).ravel().take(self._half) * self._weight
        np.multiply(self._stack, weight.reshape(self._rows, 1, -1), out=self._room)
        spread = self._room.sum(axis=0).T.copy().sum(axis=0)
        mean = (self._theta * x[:, None]).sum(axis=0)
        # In exact arithmetic xᵀA⁻¹x is never negative; rounding may bring it just below 0.
        bonus = self.exploration * np.sqrt(np.maximum(spread, 0.0))
        return [round(score, DIGITS) + 0.0 for score in (mean + bonus).tolist()]

    def _halved(self, arm: Ridge) -> Matrix:
        return arm.inverse.ravel().take(self._half).reshape(self._rows, -1)


class Dual:
    """One arm's regression kept by its pulls: the columns X, their rewards r, and (λI + XᵀX)⁻¹.

    The same regression as ``Ridge``, and smaller while pulls are fewer than dimensions: one more of n pulls
    takes n(n + d) products instead of d². With k = Xᵀx: xᵀθ = kᵀ(λI + XᵀX)⁻¹r and
    xᵀA⁻¹x = (xᵀx − kᵀ(λI + XᵀX)⁻¹k)/λ.
    """

    __slots__ = ("_columns", "_inverse", "_rewards", "_seen", "_weights", "count", "ridge")

    def __init__(self, dims: int, ridge: float) -> None:
        self.ridge, self.count = ridge, 0
        self._columns: Matrix = np.empty((dims, ROOM))
        self._inverse: Matrix = np.empty((ROOM, ROOM))
        self._rewards: Vector = np.empty(ROOM)
        self._weights: Vector = np.empty(0)
        self._seen: tuple[Vector, Vector, Vector] | None = None
        """The context that was scored last with its products: whoever was scored is credited next."""

    def add(self, x: Vector, reward: float) -> None:
        """One more pull in the context x."""
        # The inverse of the bordered matrix follows from the old one by its Schur complement
        # ``left``, which is at least λ, so it is never divided by 0.
        n = self.count
        if n == len(self._rewards):
            self._grow(2 * n)
        k, solved = self._solved(x)
        left = self.ridge + total(x * x) - total(k * solved)
        inverse, scaled = self._inverse, solved / np.sqrt(left)
        inverse[:n, :n] += scaled[:, None] * scaled[None, :]
        inverse[:n, n] = inverse[n, :n] = -solved / left
        inverse[n, n] = 1.0 / left
        self._columns[:, n] = x
        self._rewards[n] = reward
        self.count, self._seen = n + 1, None
        self._weights = _in_parts(inverse[: n + 1, : n + 1], self._rewards[: n + 1])

    def score(self, x: Vector, exploration: float) -> float:
        """xᵀθ + c √(xᵀA⁻¹x), rounded as scores are compared. Source: Meta-Reasoner eq. (3)."""
        k, solved = self._solved(x)
        spread = (total(x * x) - total(k * solved)) / self.ridge
        score = total(k * self._weights) + exploration * float(np.sqrt(max(spread, 0.0)))
        return round(score, DIGITS) + 0.0

    def copy(self) -> Dual:
        """Another one of the same pulls, which goes on alone."""
        made = Dual.__new__(Dual)
        made.ridge, made.count = self.ridge, self.count
        made._columns, made._inverse = self._columns, self._inverse
        made._rewards, made._weights, made._seen = self._rewards, self._weights, self._seen
        made._grow(self.count + ROOM)
        return made

    def _solved(self, x: Vector) -> tuple[Vector, Vector]:
        """k = Xᵀx, and (λI + XᵀX)⁻¹k."""
        if self._seen is None or self._seen[0] is not x:
            k = _in_parts(self._columns[:, : self.count], x)
            self._seen = x, k, _in_parts(self._inverse[: self.count, : self.count], k)
        return self._seen[1:]

    def _grow(self, room: int) -> None:
        """Room for so many pulls."""
        n = self.count
        columns, inverse = np.empty((len(self._columns), room)), np.empty((room, room))
        rewards = np.empty(room)
        columns[:, :n], inverse[:n, :n] = self._columns[:, :n], self._inverse[:n, :n]
        rewards[:n] = self._rewards[:n]
        self._columns, self._inverse, self._rewards = columns, inverse, rewards


class DualUcb:
    """The regressions of several arms in their dual form: for contexts of many dimensions and few pulls."""

    def __init__(self, dims: int, ridge: float, exploration: float) -> None:
        self.dims, self.ridge, self.exploration = dims, ridge, exploration
        self.arms: list[Dual] = []
        self._own: list[bool] = []
        """Whether an arm is this one's alone, or others know it too."""

    def grow(self, known: Dual | None = None) -> int:
        """One arm more, which may be known elsewhere: it is not changed there. Its place."""
        self.arms.append(known or Dual(self.dims, self.ridge))
        self._own.append(known is None)
        return len(self.arms) - 1

    def drop(self, place: int) -> None:
        """Forget an arm; those behind it move up."""
        del self.arms[place], self._own[place]

    def add(self, place: int, x: Vector, reward: float) -> None:
        """Credit a reward to an arm."""
        # What is known elsewhere lies in a cache that other episodes score with: it is copied
        # before the first pull that is this one's alone.
        if not self._own[place]:
            self.arms[place], self._own[place] = self.arms[place].copy(), True
        self.arms[place].add(x, reward)

    def scores(self, x: Vector) -> list[float]:
        """The score of every arm, rounded. Source: Meta-Reasoner eq. (3)."""
        return [arm.score(x, self.exploration) for arm in self.arms]


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
    # The ridge is in the inverse already; the one given here is overwritten with it.
    vector = unpacked(b)
    arm = Ridge(len(vector), 1.0)
    row, column = np.triu_indices(len(vector))
    arm.inverse = np.empty((len(vector), len(vector)))
    arm.inverse[row, column] = arm.inverse[column, row] = unpacked(inverse)
    arm.b = vector
    return arm
