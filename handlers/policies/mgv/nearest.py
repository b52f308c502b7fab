"""The cases nearest to a query: found roughly in bulk, then compared exactly in a fixed order.

No BLAS: products by element and sums over the first axis, in single precision, only choose the
candidates; what decides are cosines in double precision, rounded to 1e-9, ties by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from handlers.learning.cosine import cosine, rounded
from schemas.vectors import unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 64
"""Up to so many cases all are compared exactly."""
MARGIN = 1e-4
"""By how much a rough similarity may be off."""


class Vectors:
    """Packed vectors by name."""

    def __init__(self, packed: Sequence[tuple[str, str | None]]) -> None:
        self.packed = [(name, vector) for name, vector in packed if vector]

    def nearest(self, query: Sequence[float], top: int) -> list[tuple[str, float]]:
        """The ``top`` names of highest cosine with that cosine, best first; ties by name."""
        few = range(len(self.packed)) if len(self.packed) <= FEW else self._candidates(query, top)
        scored = [
            (self.packed[at][0], rounded(cosine(query, unpack(self.packed[at][1])))) for at in few
        ]
        scored.sort(key=lambda hit: (-hit[1], hit[0]))
        return scored[:top]

    @cached_property
    def _columns(self) -> NDArray[np.float32]:
        """A row for each dimension, a column of length one for each vector."""
        import numpy as np

        rows = np.array([unpack(vector) for _, vector in self.packed], dtype=np.float32)
        lengths = np.sqrt((rows * rows).sum(axis=1))
        lengths[lengths == 0] = 1.0
        # Dimension by dimension in memory, as they are added up below.
        return np.ascontiguousarray((rows / lengths[:, None]).T)

    def _candidates(self, query: Sequence[float], top: int) -> list[int]:
        """Places of all that might be among the nearest."""
        import numpy as np

        columns = self._columns
        asked = np.array(query, dtype=np.float32)
        length = float(np.sqrt((asked * asked).sum())) or 1.0
        total = np.zeros(columns.shape[1], dtype=np.float32)
        for at in np.flatnonzero(asked):
            total += columns[at] * (asked[at] / length)
        # Everything within the margin of the last place takes part: single precision
        # may have swapped it.
        edge = np.partition(total, -top)[-top] if top < len(total) else total.min()
        return [int(at) for at in np.flatnonzero(total >= edge - MARGIN)]
