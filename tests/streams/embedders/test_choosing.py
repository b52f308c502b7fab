"""Which embedder a memory gets: the one that is installed, and from then on the one that its log names."""

from __future__ import annotations

import asyncio

import pytest

from handlers.limits import UNBOUNDED
from schemas.events.episode import Recalled
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import pack
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders import choosing
from streams.answering.embedders.choosing import Embedders, usual
from streams.answering.embedders.hashed import HashedEmbedder, hashed
from streams.answering.world import World
from streams.core.backbone import SetupBroken
from streams.core.drive import Run

MINILM = "minilm-53aa5117-256"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no model is installed."""
    monkeypatch.setattr(choosing, "installed", lambda: None)


def test_a_new_memory_is_found_by_meaning_where_a_model_is_installed() -> None:
    assert usual(simulated=False).name == MINILM


def test_without_the_model_by_letters(bare: None) -> None:
    assert usual(simulated=False).name == "hashed-256"


def test_a_simulator_is_the_same_on_every_machine() -> None:
    assert usual(simulated=True).name == "hashed-256"


def recalled(held: str, here: Embedders | None) -> list[str]:
    """What a run recalls whose memory holds vectors of this embedder."""
    text = "Check the units."
    vector = pack(hashed(text)) if held == "hashed-256" else None
    item = MemoryItem("L1", "lesson", "r", text, text_digest(text), 1, vector=vector)
    memory = Memory("s", 1, (item,), embedder=held)
    world = World({"*": Rehearsal(Options())}, here.usual if here else HashedEmbedder())
    world.embedders = here
    run = Run("p/s/x", {}, 1, memory, world=world)
    question = Recall("Which units are meant?", ("r",), 1)
    answer = asyncio.run(world.answer(run, question, "asked", "0", UNBOUNDED))
    assert isinstance(answer, Recalled)
    return [name for name, _, _ in answer.items]


def test_a_log_goes_on_with_its_own_whatever_is_installed_by_now() -> None:
    """Begun by letters, and MiniLM is installed now: its vectors are not compared with those of the log."""
    assert recalled("hashed-256", Embedders(usual(simulated=False))) == ["L1"]


def test_one_that_was_named_is_not_exchanged_for_another() -> None:
    with pytest.raises(
        SetupBroken, match="holds vectors of minilm-53aa5117-256, this worker makes"
    ):
        recalled(MINILM, None)


def test_a_log_begun_by_meaning_goes_on_by_meaning_though_a_simulator_answers() -> None:
    assert recalled(MINILM, Embedders(usual(simulated=True))) == ["L1"]


def test_a_log_stops_where_its_own_is_not_to_be_had(bare: None) -> None:
    for held in (MINILM, "openai:text-embedding-3-small"):
        with pytest.raises(SetupBroken, match=f"holds vectors of {held}") as stopped:
            recalled(held, Embedders(usual(simulated=False)))
        assert "--role embedder=NAME" in str(stopped.value)
