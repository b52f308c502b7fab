"""The `compare` command: policies on one file of problems, from the command line to a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import orjson

from streams.interfaces.cli.bench.recipe import Printed, Wanted, run
from streams.interfaces.cli.errors import CliError, usage
from streams.interfaces.cli.options import pairs
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import policy_of
from streams.producing.sources import NoSource, built_in, lines_of
from streams.research.bench.comparison import Named, comparison, files_of, named, settings_of
from streams.research.bench.plan import Options

if TYPE_CHECKING:
    from schemas.problem import Profile
    from streams.research.bench.recipe import Recipe

DEFAULT_LOG = "sqlite:compare.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is compared: the source, the policies and their settings, and over how many seeds."""

    source: str
    policies: str
    settings: Sequence[str] = ()
    seeds: int = 1
    profile: Profile = "service"
    data: str | None = None
    limit: int | None = None

    def recipe(self) -> Recipe:
        """The recipe of it. Raises a usage error for a policy, a setting or a source that cannot be."""
        # Each cell of the comparison, and each restart, reads the source again from its
        # beginning.
        if self.source == "-":
            raise usage(
                "standard input can be read once, and each policy and seed reads the problems anew",
                field="SOURCE",
                hint="Put the problems into a file.",
            )
        try:
            runs = named(self.policies)
        except ValueError as error:
            raise usage(str(error), field="--policies") from error
        said = pairs(self.settings, "--set")
        try:
            settings = settings_of(runs, said)
        except ValueError as error:
            raise usage(str(error), field="--set") from error
        self._check(runs, settings)
        return comparison(self.source, runs, settings, seeds=self.seeds, profile=self.profile)

    def _check(self, runs: Sequence[Named], settings: dict[str, dict[str, object]]) -> None:
        """Say beforehand that nobody could be right. Raises a usage error for what cannot be run or read."""
        for one in runs:
            try:
                policy_of(one.policy, self.profile, settings[one.run])
            except CliError as error:
                # This command has an option of its own, which names several at once.
                if error.field == "--policy":
                    error.field = "--policies"
                raise
        labelled = built_in(self.source)  # its answers lie elsewhere
        try:
            for line in lines_of(self.source, self.data):
                with suppress(ValueError):  # producing it says what is wrong with the line
                    record: Any = orjson.loads(line.raw)
                    labelled |= (
                        isinstance(record, dict)
                        and cast("dict[str, Any]", record).get("answer") is not None
                    )
                if labelled:
                    break
        except NoSource as error:
            raise usage(str(error), field="SOURCE", error="input.source") from error
        # A comparison pays for every policy on every problem. That nobody could tell them apart
        # afterwards is worth a warning before.
        if not labelled:
            say(
                f"{self.source}: no problem has an answer. Accuracy is known only of what a checker of its "
                "problem can decide, or --judge"
            )

    def words(self) -> tuple[str, ...]:
        """How the command line begins."""
        said = ["compare", self.source, "--policies", self.policies]
        said += [part for each in self.settings for part in ("--set", each)]
        said += ["--seeds", str(self.seeds)]
        # Only what differs from the default: the report repeats this line, and people paste it.
        said += [] if self.profile == "service" else ["--profile", self.profile]
        said += [] if self.data is None else ["--data", self.data]
        return tuple(said)

    def options(self) -> Options:
        """Which file is read, and how much of it."""
        return Options(files=files_of(self.source, self.data), problems=self.limit)


def compare(wanted: Wanted, printed: Printed) -> int:
    """Run it and print the report; the exit code of the work."""
    return run(replace(wanted, log=wanted.log or DEFAULT_LOG), printed)
