"""The contract's runs in a process of their own: a line for each policy, its records' digests by case."""

from __future__ import annotations

import asyncio
import json
import sys

from schemas.identity import names_a_file
from streams.engine.policies import SHELF, OwnFile, find
from streams.research.trials.contract import digests
from streams.research.trials.trial import CASES, fresh


async def main(name: str) -> list[dict[str, str]]:
    """The digests of every case's run."""
    if names_a_file(name):
        # Another process knows nothing of the command
        # line's own files: each is put on the shelf again.
        SHELF.give(OwnFile.of(name))
    policy = find(name)
    return [digests(await fresh(policy, case)) for case in CASES]


if __name__ == "__main__":
    for named in sys.argv[1:]:
        # A line for each at the end of what is printed: a policy may print something itself before.
        print(json.dumps(asyncio.run(main(named))))
