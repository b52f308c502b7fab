"""A recipe that nobody wrote: some policies on one file of problems, made in memory for `metalogue compare`.

What it measures and how its report is made are those of any recipe; it has no paper, so that each two of
its runs stand beside each other instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.identity import names_a_file
from schemas.problem import Profile
from streams.producing.sources import built_in
from streams.research.bench.recipe import Data, Recipe, Runs

_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.+)")


@dataclass(frozen=True, slots=True)
class Named:
    """A policy of a comparison, and what its run is called."""

    run: str
    policy: str


def named(policies: str) -> list[Named]:
    """``mc2,sc5=self_consistency``: each policy, called by its own name or by what stands before ``=``.

    Raises ``ValueError`` for one that is empty, for two runs of one name, and for fewer than two.
    """
    found: list[Named] = []
    for each in policies.split(","):
        policy = each.strip()
        if label := _LABEL.fullmatch(policy):
            one = Named(*label.groups())
        else:  # a policy of one's own is called by the name in its file
            one = Named(policy.rpartition(":")[2] if names_a_file(policy) else policy, policy)
        if not one.policy:
            raise ValueError(f"{policies!r:.200} names nothing between two commas")
        # Two runs of one name would share a row, and one of them would be lost without a word.
        if one.run in {other.run for other in found}:
            raise ValueError(
                f"two runs are called {one.run!r:.200}; give one a name of its own: NAME={one.policy:.200}"
            )
        found.append(one)
    if len(found) < 2:
        raise ValueError("one policy alone is compared with nothing; name at least two")
    return found


def settings_of(runs: Sequence[Named], said: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of each run, from ``RUN.NAME: value``. Raises ``ValueError`` for one of no run."""
    found: dict[str, dict[str, Any]] = {one.run: {} for one in runs}
    for key, value in said.items():
        # From the right, for a run may have a dot in its name, and a setting has none.
        run, dot, name = key.rpartition(".")
        if not dot or run not in found:
            raise ValueError(
                f"{key!r:.200} is a setting of no run; say whose it is: RUN.NAME=VALUE, "
                f"with RUN of {', '.join(found)}"
            )
        found[run][name] = value
    return found


def name_of(source: str) -> str:
    """What a data set is called by: its file's name, or its own, without signs that a name may not have."""
    # The name becomes that of files and of a memory, which take fewer signs than a path does.
    stem = source.replace(":", "-") if built_in(source) else Path(source).stem
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64]
    return plain or "problems"


def comparison(
    source: str,
    runs: Sequence[Named],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    seeds: int,
    profile: Profile,
) -> Recipe:
    """The recipe: each run on the source, for seeds 0 up to ``seeds`` less 1."""
    name = name_of(source)
    return Recipe(
        recipe=name,
        about=f"{', '.join(one.run for one in runs)} on {source}",
        profile=profile,
        seeds=tuple(range(seeds)),
        data={name: Data(source=source if built_in(source) else "jsonl")},
        runs={one.run: Runs(policy=one.policy, settings=dict(settings[one.run])) for one in runs},
    )


def files_of(source: str, data: str | None) -> dict[str, str]:
    """Where the source is read: a file by the set's name, or a built-in set's own file by its reader's."""
    if not built_in(source):
        return {name_of(source): source}
    return {} if data is None else {source.partition(":")[0]: data}
