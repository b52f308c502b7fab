"""Settings of the whole process that a long-running worker makes once."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 200_000, 10, 50
"""Objects made and not let go before the collector looks: about what a thousand episodes in flight hold."""


def tune_collector() -> None:
    """Let the garbage collector look less often, and never again at what was loaded at start.

    Records are trees without cycles and die by reference counts; the default thresholds walk the
    thousands of episodes in flight again and again for nothing.
    """
    # What is garbage now would be frozen for good.
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
