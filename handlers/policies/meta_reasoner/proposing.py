"""What may become an arm for every problem: a strategy that rests on no number of the one it came from."""

from __future__ import annotations

import re

# An arm lives over all problems of its scope. Advice with a number of one problem in it would be
# chosen for others, and would pass that problem's numbers, perhaps its answer, on to them.
DIAGNOSIS = "The report read like the one that it was proposed for."
"""Where a proposal does not say when it is needed."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")


def is_bound(strategy: str, problem: str) -> bool:
    """Whether a strategy names a number that the problem names: then it is advice for that problem alone."""
    return not set(_NUMBER.findall(problem)).isdisjoint(_NUMBER.findall(strategy))
