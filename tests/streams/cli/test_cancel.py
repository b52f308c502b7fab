"""`metalogue cancel`: a problem that waits or runs is taken out, and whoever looks is told so."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import metalogue
import pytest
from metalogue import Client

from schemas.events.episode import EpisodeAdopted, EpisodeOpened
from schemas.problem import Limits
from state.folds.state import State
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.policies import find
from streams.interfaces.dashboard import listing
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from streams.telemetry.counts import Counts
from tests.pace import soon
from tests.pupil import Numbers
from tests.streams.cli.calling import call, work
from tests.streams.cli.test_foreign_messages import shown


@pytest.fixture
def waiting(folder: Path) -> Path:
    """A log whose only problem was admitted, and is not worked on."""
    path = folder / "a.db"
    rows = b'{"id": "q1", "problem": "What is 7 * 8?"}\n'
    call("produce", "-", "--follow", "--policy", "cot", "--log", path, given=rows)
    with closing(SqliteLog(path)) as log:
        worker = Worker(log, World({"*": Numbers(iter(()))}, HashedEmbedder(16)), find)

        async def admit() -> None:
            assert len(list(worker.intake.take())) == 1
            await worker.writer.commit()

        asyncio.run(admit())
    return path


def test_it_is_cancelled_by_its_problems_id_and_says_by_whom_and_why(waiting: Path) -> None:
    done = call("cancel", "q1", "--reason", "asked twice", "--by", "ann", "--log", waiting)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(": cancelled\n")
    assert call("cancel", "q1", "--log", waiting).out.endswith(": cancelled already\n")
    assert "cancelled by ann   asked twice" in call("show", "q1", "--log", waiting).out
    told = call("show", "q1", "--json", "--log", waiting).json
    assert (told["status"], told["ended_by"]) == ("cancelled", "asked twice")
    work(waiting)
    assert call("consume", "--log", waiting).out == ""
    stats = call("log", "stats", "--json", "--log", waiting).json
    assert (stats["parked"], stats["cancelled"]) == (0, 1), "so that the sums add up"


def test_lists_of_the_dashboard_tell_it_from_what_waits(waiting: Path) -> None:
    call("cancel", "q1", "--log", waiting)
    with closing(SqliteLog(waiting)) as log:
        for state, names in (("cancelled", ["q1"]), ("waiting", []), ("running", [])):
            leaf = listing.episodes(log, State(), {"state": state}, listing.NEWEST)
            assert [line.name for line in leaf.lines] == names
            assert {line.state for line in leaf.lines} <= {"cancelled"}


def test_it_is_none_of_those_that_are_to_be_closed(waiting: Path) -> None:
    """``closed 1/2`` stood there for good, and nowhere why."""
    call("produce", "-", "--follow", "--log", waiting, given=b'{"id": "q2", "problem": "1 + 1?"}\n')
    call("cancel", "q1", "--log", waiting)
    work(waiting)
    with closing(Counts(waiting)) as counts:
        figures = counts.read_all()
        assert (figures.closed, figures.total) == (1, 1)
    assert "1 cancelled" in shown(waiting).get("/").text


def test_what_waits_is_found_by_its_policy(waiting: Path) -> None:
    """The list named its policy, and showed nothing where that one was asked for."""
    with closing(SqliteLog(waiting)) as log:
        for policy, names in (("cot", ["q1"]), ("mc2", [])):
            leaf = listing.episodes(log, State(), {"policy": policy}, listing.NEWEST)
            assert [line.name for line in leaf.lines] == names


def test_what_has_ended_is_told_by_its_place_and_the_rest_is_cancelled(waiting: Path) -> None:
    work(waiting)
    done = call("cancel", "q1", "--log", waiting)
    assert (done.code, done.out) == (1, "")
    assert "the episode has ended [episode.ended, exit 1]" in done.err


def test_scripts_are_told_as_json_what_could_not_be_cancelled(waiting: Path) -> None:
    work(waiting)
    done = call("cancel", "q1", "--json", "--log", waiting)
    assert (done.code, json.loads(done.err)["error"]) == (1, "episode.ended")


def test_an_unknown_id_cancels_nothing(waiting: Path) -> None:
    done = call("cancel", "q1", "q2", "--log", waiting)
    assert done.code == 2
    assert call("show", "q1", "--json", "--log", waiting).json["status"] == "open"


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_reason_is_none(waiting: Path, blank: str) -> None:
    """It stood on record as a reason, and `ended_by` was an empty text."""
    assert call("cancel", "q1", "--reason", blank, "--by", blank, "--log", waiting).code == 0
    said = call("show", "q1", "--json", "--log", waiting).json
    assert (said["status"], said["ended_by"]) == ("cancelled", None)
    with closing(SqliteLog(waiting)) as log:
        (word,) = log.records(kinds=("episode.adopted",))
        assert isinstance(word.event, EpisodeAdopted)
        assert word.event.reason is None
        assert (word.event.by or " ").strip()


def test_another_process_that_waits_for_the_answer_is_told(waiting: Path) -> None:
    async def wait() -> str:
        async with Client(f"sqlite:{waiting}", policy="cot") as client, asyncio.timeout(soon(30.0)):
            handle = await client.submit("What is 7 * 8?", id="q1")
            done = await asyncio.to_thread(call, "cancel", "q1", "--log", waiting)
            assert done.code == 0
            with pytest.raises(metalogue.Error) as caught:
                await handle.answer()
            again = await client.submit("What is 7 * 8?", id="q1")
            with pytest.raises(metalogue.Error) as late:
                await again.answer()
            assert caught.value.code == late.value.code
            return caught.value.code

    assert asyncio.run(wait()) == "cancelled"


def test_a_member_of_a_set_ends_with_its_set(waiting: Path) -> None:
    """Its calls are those of all members: no record could tell what belongs to whom."""
    with closing(SqliteLog(waiting)) as log:
        (episode,) = {each.episode for each in log.records(kinds=["problem.admitted"])}
        opened = EpisodeOpened(
            policy="cot",
            policy_version="1",
            settings="",
            limits=Limits(),
            seed=0,
            memory_version=0,
            backbones="",
            within="s/x/1",
        )
        log.publish(commands=[(episode, "opened", opened)])
    done = call("cancel", "q1", "--log", waiting)
    assert done.code == 1
    assert "it is worked on together with others, in s/x/1 [episode.in_set" in done.err
