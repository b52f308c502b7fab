"""Names for the defects of policies: the same defect gets the same words each time."""

from __future__ import annotations

import re
import traceback

from streams.core.normalise import text
from streams.core.unkept import Unkept

_WHERE = re.compile(r"(?<=.) \([^()/]+\.py:\d+\)$")


def describe(error: Exception | SystemExit) -> str:
    """Type, text and innermost line of a defect; what a log would not take is said by itself."""
    if isinstance(error, Unkept):
        return str(error)
    try:
        said = str(error)
    except Exception as within:  # whoever wrote the error's text may have erred as well
        said = f"no text ({type(within).__name__})"
    frames = traceback.extract_tb(error.__traceback__)
    # Only the file's name: its folder differs between machines, and these words are
    # compared on replays.
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return text(f"{type(error).__name__}: {said}"[:300])[0] + where


def moved(one: str, other: str) -> bool:
    """Whether two texts tell of one defect, be it that its line stands elsewhere in another build."""
    return one != other and _WHERE.sub("", one) == _WHERE.sub("", other)
