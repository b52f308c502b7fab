"""``python -m tests.mutation``: draw small wrong changes, try each, and say which ones no test noticed.

What was tried is kept under ``.mutation`` and not tried again while no file of the tree changes, so a run that was
broken off, or whose time was up, goes on when it is started again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from streams.research.analysis.intervals import wilson
from tests.mutation.changes import PLACES, Change, draw, files
from tests.mutation.known import KNOWN, Known
from tests.mutation.touching import Map, by_import, digest, soonest
from tests.mutation.trying import LATE, Copies, Verdict, attempt, run

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutation"
UNCHANGING = Path(__file__).parent / "unchanging.toml"
MOST_S = 40.0
"""So long may the tests of one change take together, where there are many: the soonest of each file come first."""
NEAR = 3
"""Test files that are tried where imports alone say what is near."""

Say = Callable[[str], None]


def unchanging(path: Path = UNCHANGING) -> dict[tuple[str, ...], str]:
    """Changes that change nothing, with the reason: (path, function, line's text, before, after)."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    names = ("path", "function", "source", "before", "after")
    entries: list[dict[str, str]] = read.get("change", [])
    return {tuple(each[name] for name in names): each["reason"] for each in entries}


def identity(change: Change) -> tuple[str, ...]:
    """By what ``unchanging.toml`` names a change."""
    return change.path, change.function, change.source, change.before, change.after


def tree_digest(root: Path) -> str:
    """What tells this state of the code and its tests from any other."""
    paths = files(root, ("schemas", "handlers", "state", "streams", "tests"))
    told = "\n".join(f"{path} {digest(root / path)}" for path in paths)
    return sha256(told.encode()).hexdigest()[:16]


class Verdicts:
    """What was found out so far about changes of one state of the tree."""

    def __init__(self, path: Path, tree: str) -> None:
        self.path, self.tree = path, tree
        self.found: dict[str, Verdict] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            kept: dict[str, Any] = json.loads(line)
            of, key = kept.pop("tree"), kept.pop("key")
            if of == tree:
                self.found[key] = Verdict(**kept)

    def add(self, change: Change, verdict: Verdict) -> None:
        """Remember at once: the next run begins after it."""
        self.found[change.key] = verdict
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            told = {"tree": self.tree, "key": change.key, **asdict(verdict)}
            out.write(json.dumps(told) + "\n")


def report(
    drawn: Sequence[Change], verdicts: dict[str, Verdict], reasons: dict[tuple[str, ...], str]
) -> list[str]:
    """The lines that say which share was noticed, and what survived by place."""
    nothing = [each for each in drawn if identity(each) in reasons]
    tried = [each for each in drawn if each.key in verdicts and each not in nothing]
    survived = [each for each in tried if verdicts[each.key].word != "noticed"]
    said: list[str] = []
    for place in sorted({place_of(each.path) for each in survived}):
        said.append(f"survived in {place}:")
        for each in (one for one in survived if place_of(one.path) == place):
            none = "; no test touches it" if verdicts[each.key].word == "untouched" else ""
            said.append(f"  {each} [{each.kind}{none}]")
    said += [f"changes nothing: {each} ({reasons[identity(each)]})" for each in nothing]
    left = len(drawn) - len(tried) - len(nothing)
    if tried:
        share = 1 - len(survived) / len(tried)
        low, high = wilson(share, len(tried))
        said.append(
            f"{len(tried) - len(survived)} of {len(tried)} wrong changes noticed: {share:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%})"
        )
    if left:
        said.append(f"{left} of {len(drawn)} not tried yet: run it again, and it goes on")
    return said


def place_of(path: str) -> str:
    """The place that a file belongs to."""
    return next((p for p in PLACES if path == p or path.startswith(f"{p}/")), path)


def try_all(
    drawn: Iterable[Change],
    copies: Copies,
    tests_of: Callable[[Change], list[tuple[str, float]]],
    verdicts: Verdicts,
    *,
    workers: int,
    until: float,
    say: Say = print,
) -> None:
    """Try each change that was not tried yet, as long as there is time."""

    def one(change: Change) -> None:
        if time.monotonic() > until:
            return
        known = tests_of(change)
        tests = soonest(known, MOST_S)
        usual = sum(taken for test, taken in known if test in set(tests))
        with copies.one() as copy:
            verdict = attempt(copy, change.path, change.text, tests, usual)
        if verdict.word != "late":  # it is tried again when the machine has time
            verdicts.add(change, verdict)
        say(f"{verdict.word:9} {change}  ({verdict.seconds:.0f} s) {verdict.by}")

    waiting = [each for each in drawn if each.key not in verdicts.found]
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(one, waiting):
            pass


def changed_files(root: Path, base: str) -> list[str]:
    """The files of our places that differ from a commit, or from where a branch left it."""
    words = ["git", "diff", "--name-only", "--diff-filter=d", f"{base}...HEAD"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True)
    listed = set(done.stdout.splitlines()) & set(files(root, PLACES))
    return sorted(listed)


def sampled(options: argparse.Namespace, until: float) -> int:
    """Mutants of places, tried by the map."""
    drawn = draw(ROOT, files(ROOT, options.places.split() or PLACES), options.seed, options.n)
    verdicts = Verdicts(KEPT / "verdicts.jsonl", f"{tree_digest(ROOT)} {options.tests}")
    reasons = unchanging()
    waiting = [each for each in drawn if identity(each) not in reasons]
    if any(each.key not in verdicts.found for each in waiting):
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            copies = Copies(ROOT, Path(folder), options.workers)
            with copies.one() as copy:
                known = Map(copy, KEPT / "touching", options.tests.split() or ("tests",))
                stale = known.load()
                for done in known.make(stale, options.workers):
                    print(f"map: {done} of {len(stale)} test files", flush=True)

            def tests_of(change: Change) -> list[tuple[str, float]]:
                near = by_import(ROOT, change.path, NEAR)
                return known.touching(change) or known.of(near)

            try_all(waiting, copies, tests_of, verdicts, workers=options.workers, until=until)
    print("\n".join(report(drawn, verdicts.found, reasons)))
    return 0


def nearby(options: argparse.Namespace, until: float) -> int:
    """A few mutants of changed files, tried on the test files nearest by imports: soon, and without a map.

    A survivor is told, and fails nothing: its line may be touched by tests further away.
    """
    paths = changed_files(ROOT, options.changed)
    if not paths:
        print(f"no file of {' '.join(PLACES)} differs from {options.changed}")
        return 0
    drawn = draw(ROOT, paths, options.seed, options.n)
    verdicts = Verdicts(KEPT / "nearby.jsonl", tree_digest(ROOT))
    near = {path: by_import(ROOT, path, NEAR) for path in {each.path for each in drawn}}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = Copies(ROOT, Path(folder), options.workers)
        with copies.one() as copy:
            wanted = sorted({each for found in near.values() for each in found})
            fit, broken = sound(copy, wanted)
        if broken and not fit:
            print(f"{', '.join(sorted(broken))}: fails in a copy, so nothing can be told")
            return 2
        if not fit:
            print("there was no time for the tests near them, or there are none")
            return 0

        def tests_of(change: Change) -> list[tuple[str, float]]:
            return [(each, MOST_S / NEAR) for each in near[change.path] if each in fit]

        try_all(drawn, copies, tests_of, verdicts, workers=options.workers, until=until)
    print(f"tried on the {NEAR} test files nearest by imports: others may notice what survived")
    print("\n".join(report(drawn, verdicts.found, unchanging())))
    return 0


def sound(copy: Path, tests: Sequence[str]) -> tuple[set[str], set[str]]:
    """The test files that pass while nothing is changed, and those that fail; what takes too long is neither."""
    if not tests or run(copy, tests, MOST_S)[0] == 0:
        return set(tests), set()
    said = {each: run(copy, [each], MOST_S / NEAR) for each in tests}
    late = {each for each, (_, words) in said.items() if words.startswith(LATE)}
    fit = {each for each, (code, _) in said.items() if code == 0}
    return fit, set(tests) - fit - late


def known_ones(options: argparse.Namespace, until: float) -> int:
    """The wrong changes that people made, each on the test that is to notice it: 1 where one does not."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = Copies(ROOT, Path(folder), options.workers)
        with copies.one() as copy:
            code, said = run(copy, sorted({each.test for each in KNOWN}), 600)
            if code:
                print(f"the unchanged tests do not pass: {said[-1500:]}")
                return 2

        def one(each: Known) -> Verdict | None:
            if time.monotonic() > until:
                return None
            with copies.one() as copy:
                text = (copy / each.path).read_text(encoding="utf-8")
                verdict = attempt(copy, each.path, each.applied(text), [each.test], 60)
            print(f"{verdict.word:9} {each.source}: {each.what}  {verdict.by}", flush=True)
            return verdict

        with ThreadPoolExecutor(options.workers) as pool:
            found = [*pool.map(one, KNOWN)]
    noticed = sum(each is not None and each.word == "noticed" for each in found)
    left = found.count(None)
    print(
        f"{noticed} of {len(KNOWN)} known wrong changes noticed"
        + f", {left} not tried" * bool(left)
    )
    return int(noticed < len(KNOWN))


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0, and 1 where a known wrong change is not noticed or nothing can be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--n", type=int, default=100, help="how many changes are drawn")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--places", default="", help="files and folders; all of ours without it")
    parser.add_argument("--tests", default="", help="files and folders of tests; all without it")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--minutes", type=float, default=28.0, help="when no more are begun")
    parser.add_argument("--changed", metavar="COMMIT", help="a few, of files that differ from it")
    parser.add_argument("--known", action="store_true", help="those that people made")
    options = parser.parse_args(words)
    until = time.monotonic() + 60 * options.minutes
    if options.known:
        return known_ones(options, until)
    if options.changed:
        return nearby(options, until)
    return sampled(options, until)


if __name__ == "__main__":
    sys.exit(main())
