"""How to install what an extra needs, in words that work wherever this runs: our own name is on no index."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

_OF: Final = re.compile(r"""^([^;]{1,200});.{0,200}\bextra\s{0,4}==\s{0,4}['"]([\w-]{1,60})['"]""")


@cache
def needed(extra: str) -> tuple[str, ...]:
    """The requirements of an extra, as the installed distribution states them; none where it states none."""
    try:
        stated = requires("metalogue") or []
    except PackageNotFoundError:
        return ()
    found = (_OF.match(each) for each in stated)
    return tuple(each[1].strip() for each in found if each is not None and each[2] == extra)


def install(*extras: str) -> str:
    """The command that installs what these extras need: ``pip install 'openai>=3.0' 'aiohttp>=3.11'``."""
    # The requirements themselves, since ``pip install 'metalogue[…]'`` would look
    # for us on an index.
    named = dict.fromkeys(each for extra in extras for each in needed(extra))
    if not named:
        return f"pip install 'metalogue[{','.join(extras)}]'"
    return "pip install " + " ".join(f"'{each}'" for each in named)
