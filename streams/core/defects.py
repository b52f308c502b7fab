"""Names for the defects of policies: the same defect gets the same words each time."""

from __future__ import annotations

import re
import traceback

from streams.core.normalise import text
from streams.core.unkept import Unkept

_WHERE = re.compile(r"(?<=.) \([^()/]+\.py:\d+\)$")


def describe(error: Exception) -> str:
    """Type, text and innermost line of a defect; what a log would not take is said by itself."""
    if isinstance(error, Unkept):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return text(f"{type(error).__name__}: {_said(error)}"[:300])[0] + where


def _said(error: Exception) -> str:
    try:
        return str(error)
    except Exception as within:  # whoever wrote the error's text may have erred as well
        return f"no text ({type(within).__name__})"


def moved(one: str, other: str) -> bool:
    """Whether two texts tell of one defect, be it that its line stands elsewhere in another build."""
    return one != other and _WHERE.sub("", one) == _WHERE.sub("", other)
