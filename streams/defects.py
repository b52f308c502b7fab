"""What a policy's own defect is called: the same words each time it happens."""

from __future__ import annotations

import traceback


def describe(error: Exception) -> str:
    """Type, text and innermost line of a defect."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}"[:300] + where
