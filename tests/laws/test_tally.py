"""What a record comes to does not depend on the order in which its records came, and leaves unknown unknown."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.episode import Completed, Embedded, Recalled
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import KnowledgeOmitted, KnowledgeReached, MonitorReported
from schemas.identity import address_order
from schemas.usage import Embedding, Usage, together, total
from streams.core.totals import EpisodeTotals

COUNTS = st.none() | st.integers(0, 10**6)
AMOUNTS = st.none() | st.floats(0, 1e6)
REPLIES = st.builds(
    Completed,
    asked=st.just("Complete"),
    text=st.just(""),
    finish=st.just("stop"),
    model=st.just("m"),
    attempts=st.integers(0, 9),
    prompt_tokens=COUNTS,
    completion_tokens=COUNTS,
    reasoning_tokens=COUNTS,
    cached_tokens=COUNTS,
    cost=AMOUNTS,
    seconds=AMOUNTS,
)


def shown(items: tuple[str, ...]) -> KnowledgeReached:
    return KnowledgeReached(
        round=1, role="thinker", source="0", result="composed", bullets=0, items=items
    )


TOOK = st.none() | st.builds(
    Embedding, attempts=st.integers(0, 9), tokens=COUNTS, cost=AMOUNTS, seconds=AMOUNTS
)
EMBEDDED = st.builds(
    Embedded,
    embedder=st.sampled_from("xy"),
    dimensions=st.just(0),
    vectors=st.just(()),
    took=TOOK,
)
ITEMS = st.lists(st.sampled_from("abcdef"), max_size=4).map(tuple)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    REPLIES,
    ITEMS.map(shown),
    ITEMS.map(lambda items: ExperienceShown(sort="path", items=items)),
    ITEMS.map(lambda items: KnowledgeOmitted(role="reasoner", items=items)),
    EMBEDDED,
    st.builds(Recalled, memory_version=st.just(0), items=st.just(()), took=TOOK),
    st.builds(MonitorReported, round=st.integers(0, 9), flag=st.just("NO"), source=st.just("0")),
)
ADDRESSES = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)


@given(st.dictionaries(ADDRESSES, EVENTS, max_size=12), st.randoms())
def test_a_tally_is_the_same_in_whatever_order_records_come(
    journal: dict[str, Event], random: Random
) -> None:
    arrived = list(journal.items())
    random.shuffle(arrived)
    kept = EpisodeTotals()
    for address, event in arrived:
        kept.take(address, event)
    whole = EpisodeTotals.of(journal)
    assert kept.usage(1.5) == whole.usage(1.5)
    assert (kept.items(), kept.embedder()) == (whole.items(), whole.embedder())
    assert kept.held_out() == whole.held_out()


@given(st.dictionaries(ADDRESSES, EVENTS, max_size=12))
def test_a_tally_is_what_reading_the_record_in_order_gives(journal: dict[str, Event]) -> None:
    events = [journal[address] for address in sorted(journal, key=address_order)]
    tally = EpisodeTotals.of({**journal, "opened": MonitorReported(round=0, flag="NO", source="0")})
    replies = total(event for event in events if isinstance(event, Completed))
    seconds = None if replies.seconds is None else 7.0
    took = [event.took for event in events if isinstance(event, Embedded | Recalled)]
    expected = structs.replace(replies, seconds=seconds, embedding=together(took))
    assert tally.usage(7.0) == expected
    shown = [
        event.items for event in events if isinstance(event, KnowledgeReached | ExperienceShown)
    ]
    assert tally.items() == tuple(dict.fromkeys(item for items in shown for item in items))
    held = [event.items for event in events if isinstance(event, KnowledgeOmitted)]
    assert tally.held_out() == tuple(dict.fromkeys(item for items in held for item in items))
    made = [event.embedder for event in events if isinstance(event, Embedded)]
    assert tally.embedder() == next(iter(made), None)


@given(st.lists(TOOK, max_size=6))
def test_what_vectors_took_is_known_only_where_every_part_is(took: list[Embedding | None]) -> None:
    whole = total([Usage(embedding=each) for each in took]).embedding
    known = [each for each in took if each is not None]
    assert whole == together(took)
    assert (whole is None) == (not known)
    if whole is not None:
        assert whole.attempts == sum(each.attempts for each in known)
        assert (whole.tokens is None) == any(each.tokens is None for each in known)
        assert (whole.cost is None) == any(each.cost is None for each in known)
