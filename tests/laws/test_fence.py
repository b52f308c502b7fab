"""Laws of the claim fence: of several who take themselves for the owner, one is believed.

Each claimant has a connection of its own, as a process would.

Source: design/architecture.md#what-flows (the fence).
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.limits import Ledger
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.identity import digest
from state.journal import Fenced
from streams.core.drive import Run, drive
from streams.runtime.embedded.log import SqliteLog, Writer
from tests.laws.programs import Program, policy, programs
from tests.laws.worlds import EPISODE, MEMORY, Paced, replay

CLAIM, ASK, LAND, TAKE = "claim", "ask", "land", "take"
ACTS = st.tuples(st.sampled_from([CLAIM, ASK, ASK, LAND, LAND, TAKE]), st.integers(0, 5))


@contextmanager
def file_of_a_log() -> Generator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "law.db")
        SqliteLog(path, create=True).close()
        yield path


def connect(path: Path) -> SqliteLog:
    """A connection as another process has it; the machine itself never stops here."""
    log = SqliteLog(path)
    log.db.execute("pragma synchronous=off")
    return log


@dataclass
class Owner:
    """Acts on its own memory: what it read after its claim, and its own answers since."""

    log: SqliteLog
    name: str
    writer: Writer = field(init=False)
    known: dict[str, str] = field(init=False)
    stated: int = 0
    position: int = 0
    fenced: bool = False

    def __post_init__(self) -> None:
        self.writer = self.log.claim(self.name)
        self.known = {
            at: said.text
            for at, said in self.log.journal(EPISODE).items()
            if isinstance(said, Completed)
        }
        self.position = self.log.position("intake", "problems")

    def ask(self, luck: int) -> None:
        """An answer that hangs on all answers before it, and on chance."""
        at = str(len(self.known))
        text = digest([luck, self.name, at])
        because = digest(list(self.known.values()))
        event = Completed(asked=f"Complete {because}", text=text, finish="stop", model=self.name)
        self.writer.state("events", EPISODE, at, event)
        self.writer.send("answers", at, text.encode())
        self.known[at] = text
        self.stated += 1

    def take(self) -> None:
        """Read one more problem: the position moves with whatever is said next."""
        self.position += 1
        self.writer.advance("intake", "problems", self.position)

    def land(self) -> None:
        self.writer.flush()


@given(st.lists(ACTS, min_size=1, max_size=40))
@settings(max_examples=80)
def test_what_is_accepted_never_contradicts_itself(acts: list[tuple[str, int]]) -> None:
    with file_of_a_log() as path:
        reader = connect(path)
        logs = [connect(path)]
        owners = [Owner(logs[0], "w0")]
        stale = 0
        for luck, (act, who) in enumerate(acts):
            owner = owners[who % len(owners)]
            latest = owners[-1]
            before = reader.end(), reader.position("intake", "problems")
            match act:
                case "claim":
                    logs.append(connect(path))
                    owners.append(Owner(logs[-1], f"w{len(owners)}"))
                case "ask" if not owner.fenced:
                    owner.ask(luck)
                case "take" if not owner.fenced:
                    owner.take()
                case "land" if not owner.fenced:
                    waiting, moves = owner.stated, bool(owner.writer.positions)
                    try:
                        owner.land()
                    except Fenced:
                        assert owner is not latest
                        owner.fenced = True
                        stale += waiting
                        assert before == (reader.end(), reader.position("intake", "problems"))
                    else:
                        assert owner is latest or not (waiting or moves)
                        assert reader.end() == before[0] + waiting
                        at = owner.position if moves else before[1]
                        assert reader.position("intake", "problems") == at
                    owner.stated = 0
                case _:
                    pass
        said = reader.journal(EPISODE)
        assert list(said) == [str(n) for n in range(len(said))]
        so_far: list[str] = []
        for event in said.values():
            assert isinstance(event, Completed)
            assert event.asked == f"Complete {digest(so_far)}", (
                "it was said by one who knew another past"
            )
            so_far.append(event.text)
        sent = [value.decode() for _, _, _, value in reader.messages("answers")]
        assert sent == so_far
        assert reader.counter("stale") == stale
        assert reader.counter("repeated") == 0
        for log in (*logs, reader):
            log.close()


async def contend(
    program: Program, path: Path, claims: list[int], order: list[int]
) -> tuple[list[str], list[SqliteLog]]:
    """Several workers run one episode in one loop; each claims at its turn, and answers by chance."""
    logs: list[SqliteLog] = []
    tasks: list[asyncio.Task[str]] = []
    worlds: list[Paced] = []
    due = sorted(claims)
    turn = 0
    while due or not all(task.done() for task in tasks):
        while due and due[0] <= turn:
            due.pop(0)
            log = connect(path)
            writer = log.claim(f"w{len(logs)}")
            worlds.append(Paced([*order, len(logs)], chancy=True))
            worlds[-1].luck = iter(range(1000 * len(logs), 1000 * len(logs) + 999))
            run = Run(EPISODE, log.journal(EPISODE), 7, MEMORY, "events", writer, worlds[-1])
            tasks.append(asyncio.create_task(drive(policy(program), run, Ledger())))
            logs.append(log)
        turn += 1
        await asyncio.sleep(0)
        worlds[(order[turn % len(order)] + turn // len(order)) % len(worlds)].release()
        for world in worlds[-1:]:
            world.release()
    results: list[str] = []
    for task in tasks:
        error = task.exception()
        assert error is None or isinstance(error, Fenced), error
        if error is None:
            results.append(task.result())
    return results, logs


@given(
    programs(least=2),
    st.lists(st.integers(1, 30), max_size=3),
    st.lists(st.integers(0, 99), min_size=1, max_size=8),
)
@settings(max_examples=60)
def test_of_several_workers_on_one_episode_the_record_tells_one_story(
    program: Program, claims: list[int], order: list[int]
) -> None:
    with file_of_a_log() as path:
        results, logs = asyncio.run(contend(program, path, [0, *claims], order))
        logs[-1].claim("end")  # what the last owner stated without an answer after it is restated
        journal: dict[str, Event] = logs[-1].journal(EPISODE)
        again = replay(program, journal)
        if again.error is not None:  # only facts at the very end were lost with their owner
            run = Run(EPISODE, journal, 7, MEMORY, "events", logs[-1].claim("last"), Paced())
            last = asyncio.run(_finish(program, run))
            assert last in results
        else:
            assert again.result in results
        assert logs[-1].counter("repeated") == 0
        for log in logs:
            log.close()


async def _finish(program: Program, run: Run) -> str:
    return await drive(policy(program), run, Ledger())
