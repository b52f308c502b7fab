"""What every log keeps, whoever writes it: statements about records, texts and messages.

A case is a context that yields a recorder and a way to read back what it made durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from schemas.events.base import Event
from state.journal import Recorder
from tests.laws.events import ANY_EVENT


@dataclass
class Kept:
    """A recorder, and what a reader finds afterwards."""

    recorder: Recorder
    journal: Callable[[str], dict[str, Event]]
    text: Callable[[str], str | None]
    message: Callable[[str, str], bytes | None]


Case: TypeAlias = Callable[[], AbstractContextManager[Kept]]
NAMES = st.sampled_from(["p/d/a/0", "p/d/b/0", "b/s/1"])
ADDRESSES = st.sampled_from(["opened", "0", "1", "1.0.0", "closed"])
SAID = ANY_EVENT.filter(lambda event: event.kind not in ("partition.claimed", "episode.closed"))
"""What an episode says as it goes: a claim is its owner's, and after its closing it may say nothing more."""
STATED = st.lists(st.tuples(NAMES, ADDRESSES, SAID, st.booleans()), max_size=12)
SENT = st.lists(st.tuples(st.sampled_from("ab"), st.binary(max_size=4)), max_size=8)
TEXTS = st.lists(st.sampled_from(["one text", "another", "é\U0001f600"]), max_size=5)


def the_first_record_of_an_address_wins(
    case: Case, stated: list[tuple[str, str, Event, bool]]
) -> None:
    """In one commit and across several."""
    expected: dict[str, dict[str, Event]] = {}

    async def run(kept: Kept) -> None:
        for episode, address, event, commit in stated:
            kept.recorder.state("events", episode, address, event)
            expected.setdefault(episode, {}).setdefault(address, event)
            if commit:
                await kept.recorder.commit()
        await kept.recorder.commit()

    with case() as kept:
        asyncio.run(run(kept))
        for episode, journal in expected.items():
            assert kept.journal(episode) == journal
        assert kept.journal("p/d/nobody/0") == {}


def a_message_is_sent_once_by_its_key(case: Case, sent: list[tuple[str, bytes]]) -> None:
    """What is sent again under the same key is not seen again."""

    async def run(kept: Kept) -> None:
        for key, value in sent:
            kept.recorder.send("answers", key, value)
            await kept.recorder.commit()

    with case() as kept:
        asyncio.run(run(kept))
        first = dict(reversed(sent))
        for key in "ab":
            assert kept.message("answers", key) == first.get(key)
            assert kept.message("problems", key) is None


def a_text_is_kept_once_under_its_digest(case: Case, texts: list[str]) -> None:
    """However often it is kept."""

    async def run(kept: Kept) -> None:
        for text in texts:
            kept.recorder.keep(f"d{len(text)}", text)
        await kept.recorder.commit()

    with case() as kept:
        asyncio.run(run(kept))
        for text in texts:
            assert kept.text(f"d{len(text)}") == text
        assert kept.text("d0") is None
