"""The user's own policies, as the command line names them: by file, or by a list of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import usage
from streams.interfaces.cli.flags import ALLOW

if TYPE_CHECKING:
    from streams.engine.policies import OwnFile


def given(names: Sequence[str]) -> Sequence[str]:
    """Policies that records may name from now on: ``FILE.py:NAME`` each. Raises a usage error for another."""
    from streams.engine.policies import SHELF

    for name in names:
        SHELF.give(_own(name, "--policy"))
    return names


def listed(file: str) -> None:
    """Those of a list, one ``FILE.py:NAME`` a line, each file from the list's folder on. Raises a usage error."""
    from streams.engine.policies import SHELF

    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8"
        raise usage(f"{file}: {what}", field=ALLOW) from error
    for line in lines:
        # Lists are written by people, who say beside a line why it stands there.
        name = line.partition("#")[0].strip()
        if name:
            # From the folder of the list on, so that a list and its files can be moved together.
            SHELF.give(_own(name, ALLOW, Path(file).parent))


def _own(name: str, option: str, folder: Path | None = None) -> OwnFile:
    from streams.engine.policies import NoPolicy, OwnFile

    try:
        return OwnFile.of(name, folder)
    except NoPolicy as error:
        hint = "Here stands a policy of your own; ours and installed ones are known by themselves"
        raise usage(str(error), field=option, hint=hint) from error
