"""The `evidence` command: every figure of a page derived anew from the logs that it names, with no model."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.interfaces.cli.errors import DIVERGED, OK, CliError, usage
from streams.interfaces.cli.output import complain, out, out_json
from streams.interfaces.cli.places import refused
from streams.research.analysis import cases
from streams.research.analysis.plots import MISSING, THEMES, can_draw, drawn
from streams.research.evidence import summary as summaries
from streams.research.evidence.figures import Bank, Beside, figures, finished
from streams.research.evidence.page import END, Block, NoEnd, blocks, plot_of, renewed, tables_of
from streams.research.evidence.segments import BadSegment, Segments
from streams.runtime.embedded.log import SqliteLog
from streams.views.words import plural

SHOWN = 6
"""Lines of a difference that are printed."""


def parts_of(page: Path) -> list[Block]:
    """The parts of a page that are derived. Raises a usage error where it has none that can be told apart."""
    try:
        return list(blocks(page))
    except NoEnd as error:
        hint = f"<!-- evidence: {END} --> ends a part"
        raise usage(f"{page}: {error}", field="PAGE", hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        hint = "Name one: metalogue evidence PAGE"
        raise usage(f"no page at {page}", field="PAGE", hint=hint) from error


def evidence(page: str, *, write: bool, json: bool, plots: str | None = None) -> int:
    """Derive and compare, or ``write``, the tables of a page; 3 where one differs. ``plots``: where they are drawn."""
    if plots is not None and not can_draw():
        raise usage(MISSING, field="--plots")
    path = Path(page)
    shown = parts_of(path)
    asked = {block.folder: block for block in shown if block.folder.suffix != summaries.ENDING}
    if not asked:
        raise usage(f"{page} names no logs", field="PAGE", hint="<!-- evidence: FOLDER -->")
    try:
        if len(asked) == 1:
            read = {folder: derive(block) for folder, block in asked.items()}
        else:
            # Logs share nothing, and each takes a core for seconds. A process that is spawned
            # inherits neither threads nor open logs of this one.
            with ProcessPoolExecutor(mp_context=get_context("spawn")) as others:
                found = others.map(derive, asked.values())
                read = dict(zip(asked, found, strict=True))
        banked = {folder.name: each.banks for folder, each in read.items()}
        beside = {folder.name: each.beside for folder, each in read.items()}
        for block in shown:
            if block.folder not in asked:
                text = summaries.table_of(block.folder, banked, beside)
                read[block.folder] = Derived(text, ())
    except BadSegment as error:
        raise CliError(str(error), error="log.segment", exit=DIVERGED) from error
    derived = {folder: each.tables for folder, each in read.items()}
    if plots is not None:
        _draw(Path(plots), asked.values(), read)
    if write:
        # What was written is read again and compared, so that --write cannot leave a page that
        # the next call finds wrong.
        path.write_text(renewed(path, derived), encoding="utf-8")
        shown = list(blocks(path))
    return _told(page, shown, read, json=json)


def _told(page: str, shown: Sequence[Block], read: Mapping[Path, Derived], *, json: bool) -> int:
    """Say what was derived and what of the page differs from it; the exit code."""
    derived = {folder: each.tables for folder, each in read.items()}
    count = sum(folder.suffix != summaries.ENDING for folder in read)
    diverged = [where for each in read.values() for where in each.diverged]
    odd = [block for block in shown if block.tables != derived[block.folder]]
    if json:
        differing = {"differ": [str(block.folder) for block in odd], "diverged": diverged}
        out_json({"logs": count, **differing, "model_calls": 0})
        return DIVERGED if odd or diverged else OK
    for folder, tables in derived.items():
        out(f"{folder.name}\n\n{tables}")
    for block in odd:
        before, now = block.tables.splitlines(), derived[block.folder].splitlines()
        lines = [
            f"  {line}"
            for line in difflib.unified_diff(before, now, lineterm="", n=0)
            if not line.startswith(("---", "+++", "@@"))
        ]
        told = f"{block.folder.name}: {page} says (-) what its log does not (+)"
        complain("\n".join([told, *lines[:SHOWN]]))
    for where in diverged[:SHOWN]:
        complain(f"{where} would go another way now: metalogue verify says how")
    if odd or diverged:
        # Places that diverge count as failure although every figure agrees: the page would then
        # say what this build would not do any more.
        said = f"{len(odd)} of {plural(len(shown), 'part')} with other figures than {page}"
        out(f"{said}, {len(diverged)} places diverge, 0 model calls")
        return DIVERGED
    out(f"{plural(count, 'log')}, every figure of {page} derived again, 0 model calls")
    return OK


def _draw(place: Path, asked: Iterable[Block], read: Mapping[Path, Derived]) -> None:
    """A plot of each bank of chains, and of each log's runs on a bank that the page shows too; light and dark."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        for block in asked:
            mine = read[block.folder]
            plots = [("", bank.dataset, plot_of(bank)) for bank in mine.banks]
            bank_of = None if block.bank is None else read.get(block.bank)
            known = () if bank_of is None else bank_of.banks
            plots += [
                ("runs", held.dataset, plot_of(bank, held.runs))
                for held in mine.beside
                for bank in known
                if (bank.name, bank.dataset) == (held.name, held.dataset)
            ]
            for kind, dataset, plot in plots:
                name = "-".join(filter(None, (block.folder.name, kind, dataset)))
                for theme in THEMES:
                    (place / f"{name}-{theme}.svg").write_bytes(drawn(plot, theme))
    except OSError as error:
        raise refused(error, "--plots") from error


@dataclass(frozen=True, slots=True)
class Derived:
    """Results from one log: its tables, and where this build would act otherwise than the log says."""

    tables: str
    diverged: tuple[str, ...]
    banks: tuple[Bank, ...] = ()
    beside: tuple[Beside, ...] = ()


def derive(block: Block) -> Derived:
    """The tables of the log whose segments lie in a part's folder, its runs held against what the part says."""
    with ExitStack() as opened:
        log, segments = _restored(block.folder, opened)
        chains, larger = (
            None if folder is None else chains_in(folder, tuple(Segments(folder).hashes().values()))
            for folder in (block.bank, block.larger)
        )
        found = figures(log, chains, larger)
        tables = tables_of(found, segments, block)
        return Derived(tables, found.diverged, found.banks, found.beside)


# Several runs are held against the chains of one log: it is restored and read once for all of them. The hashes
# are part of what is asked for, so that nobody is told of bytes that are not there any more.
@lru_cache(maxsize=4)
def chains_in(folder: Path, hashes: tuple[str, ...]) -> tuple[cases.Case, ...]:
    """The finished episodes of the log in a folder. Raises ``BadSegment``."""
    with ExitStack() as opened:
        return tuple(finished(cases.read(_restored(folder, opened)[0])))


def _restored(folder: Path, opened: ExitStack) -> tuple[SqliteLog, Segments]:
    """A log of the segments in a folder. Raises ``BadSegment`` where there is none."""
    segments = Segments(folder)
    if not segments.files():
        raise BadSegment(f"{folder}: no segment of a log is there")
    place = opened.enter_context(TemporaryDirectory())
    log = opened.enter_context(closing(SqliteLog(f"{place}/log.db", create=True)))
    segments.restore(log)
    return log, segments
