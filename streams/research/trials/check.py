"""The contract suite: every check that a policy must pass, ours or a user's own, in turn."""

# A policy of one's own is tried by `metalogue policies check`, and ours by the tests. The checks
# stand in this order because each needs what the one before it promises: what never concludes
# cannot be repeated, and what differs from run to run cannot be resumed. All runs are on the
# simulator and in memory: no key, no log, no call.

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from handlers.policies.base import Policy
from streams.research.trials import contract
from streams.research.trials.learning import closes_batches, learned_memory, reflection
from streams.research.trials.trial import CASES, Broken, Case, Trial, crashed, fresh, resumed
from streams.support.child import python, variables

LIMITS = range(1, 13)
STOPPED = 3
"""How many of the cases are stopped after every record: those of the first problem."""
HASH_SEEDS = ("1", "2")
PROCESS_S = 300.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one check."""

    check: str
    ok: bool
    detail: str
    address: str | None = None
    case: str | None = None


class Suite:
    """The checks of one policy. ``name`` is how another process finds it. Later checks use the runs
    of the first."""

    def __init__(self, policy: Policy[Any], name: str) -> None:
        self.policy, self.name = policy, name
        self.trials: list[Trial] = []

    async def run(self) -> list[Finding]:
        """Every check in turn; what nowhere concludes is checked no further."""
        first = await self._finding("concludes", self.concludes)
        if not first.ok:
            return [first]
        checks = {
            "roles": self.roles,
            "facts": self.facts,
            "deterministic": self.deterministic,
            "processes": self.processes,
            "resumes": self.resumes,
            "limits": self.limits,
            "verifies": self.verifies,
            "reflects": self.reflects,
        }
        if self.policy.learns != "none":
            checks["learns"] = self.learns
        return [first] + [await self._finding(name, check) for name, check in checks.items()]

    async def _finding(self, name: str, check: Callable[[], Awaitable[str]]) -> Finding:
        try:
            return Finding(name, True, await check())
        except Broken as error:
            return Finding(name, False, error.detail, error.address, error.case.name)

    # -- the checks: each says what it saw, or raises ``Broken`` -----------------------------------

    async def concludes(self) -> str:
        """Every run ends with a ``Conclusion``, however the model replies."""
        self.trials = [await fresh(self.policy, case) for case in CASES]
        for trial in self.trials:
            contract.concluded(trial)
        return f"{len(self.trials)} runs, with replies as asked and rough ones"

    async def roles(self) -> str:
        """It asks the roles that it declares, so that each can be given a backbone by name."""
        asked = set[str]().union(*(contract.asks_as_declared(self.policy, t) for t in self.trials))
        return f"asks {', '.join(sorted(asked)) or 'none'}, as declared"

    async def facts(self) -> str:
        """It states facts of known kinds, and they survive being written down."""
        counts = [contract.states_known_facts(t.case, t.journal) for t in self.trials]
        return f"{sum(counts)} facts, of known kinds, read back as written"

    async def deterministic(self) -> str:
        """The same world twice gives the same record."""
        for trial in self.trials:
            contract.alike(trial, await fresh(self.policy, trial.case), "in a second run")
        return f"{sum(len(t.journal) for t in self.trials)} records, alike in two runs"

    async def processes(self) -> str:
        """Nothing hangs on the order of sets or on what else a process did."""
        # The order of a set hangs on a seed that Python draws anew for each process: two runs in
        # one process would agree by luck.
        for seed in HASH_SEEDS:
            theirs = elsewhere(self.name, seed, self.trials[0].case)
            for trial, other in zip(self.trials, theirs, strict=True):
                where = f"in another process (PYTHONHASHSEED={seed})"
                contract.alike_elsewhere(trial, other, where)
        return f"alike in {len(HASH_SEEDS)} other processes with hash seeds of their own"

    async def resumes(self) -> str:
        """A log that stops after any record, and then goes on, ends with the same journal."""
        stops = 0
        for trial in self.trials[:STOPPED]:
            # After every record, for a worker may be killed
            # anywhere. With all cases it would take minutes.
            for after in range(len(trial.journal)):
                left = await crashed(self.policy, trial.case, after)
                when = f"going on after {after} records"
                contract.alike(trial, await resumed(self.policy, trial.case, left), when)
                stops += 1
        return f"the same journal after {stops} stops, one at every record"

    async def limits(self) -> str:
        """With C calls it makes at most C, asks no further, and says that a limit ended it."""
        for case in [trial.case for trial in self.trials[:STOPPED]]:
            for calls in LIMITS:
                trial = await fresh(self.policy, replace(case, calls=calls))
                contract.concluded(trial)
                contract.kept_limit(trial)
                contract.verified(self.policy, trial)
        return f"never above C calls, C from {LIMITS[0]} to {LIMITS[-1]}"

    async def verifies(self) -> str:
        """Over its record alone it comes to the same end."""
        for trial in self.trials:
            contract.verified(self.policy, trial)
        return f"{len(self.trials)} runs derived again, 0 model calls"

    async def reflects(self) -> str:
        """What it leaves to learn from is a pure function of its record; a batch of it can be closed."""
        for trial in self.trials:
            closes_batches(self.policy, trial.case)
            first, second = (reflection(self.policy, trial) for _ in range(2))
            if first != second:
                raise Broken(trial.case, "two reflections of one record differ")
        return f"{len(self.trials)} reflections, each the same twice"

    async def learns(self) -> str:
        """A batch's learning is deterministic and replays, and what it learned can be used."""
        memory = await learned_memory(self.policy, self.trials)
        for case in [replace(trial.case, memory=memory) for trial in self.trials[:STOPPED]]:
            trial = await fresh(self.policy, case)
            contract.concluded(trial)
            contract.verified(self.policy, trial)
        return f"{len(memory.items)} memory items from a batch, the same twice; used and verified"


def elsewhere(name: str, hash_seed: str, case: Case) -> list[dict[str, str]]:
    """The digests of the same runs in another process. Raises ``Broken`` if it fails there."""
    try:
        (theirs,) = digests_elsewhere([name], hash_seed)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Broken(case, f"fails in another process: {said[:200]}") from error
    except subprocess.TimeoutExpired as error:
        raise Broken(case, f"does not end within {PROCESS_S:.0f} s in another process") from error
    return theirs


def digests_elsewhere(names: Sequence[str], hash_seed: str) -> list[list[dict[str, str]]]:
    """The digests of every case's run, policy by policy, in one other process."""
    command = python("-m", "streams.research.trials.elsewhere", *names)
    environ = variables(PYTHONHASHSEED=hash_seed)
    done = subprocess.run(command, env=environ, capture_output=True, timeout=PROCESS_S, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()[-len(names) :]]
