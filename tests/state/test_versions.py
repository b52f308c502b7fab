"""Memory versions: newest revisions by number, earlier ones beside, and each made once when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from schemas.memory import Memory
from state.folds.versions import Versions, latest, pinned


def of(number: int, revision: int = 0) -> Memory:
    return Memory("s", number, (), {}, revision=revision)


def test_every_revision_is_the_one_that_was_pinned_however_it_is_asked_for_first() -> None:
    """Both former ones come from a snapshot; the first is asked for before the second is."""
    made: list[int] = []

    def later(revision: int) -> Callable[[], Memory]:
        def make() -> Memory:
            made.append(revision)
            return of(3, revision)

        return make

    versions = Versions()
    versions.later(3, 0, later(2))
    for revision in (0, 1):
        versions.former_later(3, revision, later(revision))
    for _ in range(2):
        assert versions.pinned(3, None).revision == versions.pinned(3, 0).revision == 0
        assert versions.pinned(3, 1).revision == 1
        assert versions.pinned(3, 2) is versions[3]
    assert sorted(made) == [0, 1, 2], "each once"
    assert [memory.revision for memory in versions.revisions(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        versions.pinned(3, 4)


def test_a_revision_is_known_from_its_own_on_and_a_version_alone_is_not_enough() -> None:
    versions = Versions()
    versions[0] = of(0)
    assert versions.has(0, None)
    assert not versions.has(0, 1)
    assert not versions.has(1, None)
    versions.later(
        1, 2, lambda: pytest.fail("it is made where it is read, and not where it is asked for")
    )
    assert [versions.has(1, revision) for revision in (None, 1, 2, 3)] == [True, True, True, False]


def test_a_revision_takes_its_version_s_place_and_the_numbers_stay_in_order() -> None:
    versions = Versions()
    for number in (2, 1, 3):
        versions[number] = of(number)
    versions.revise(of(2, 1))
    assert list(versions) == [1, 2, 3]
    assert (versions[2].revision, versions.latest.number, latest(versions).number) == (1, 3, 3)
    assert [memory.revision for memory in versions.revisions(2)] == [0, 1]
    assert [memory.revision for memory in versions.revisions(1)] == [0]
    versions.later(1, 5, lambda: of(1, 5))
    assert (len(versions), 1 in versions, versions[1].revision) == (3, True, 5)
    del versions[3]
    assert (list(versions), 3 in versions, versions.latest.number) == ([1, 2], False, 2)
    versions.later(3, 0, lambda: of(3))
    del versions[3]
    assert list(versions) == [1, 2]


def test_plain_tables_of_versions_have_no_revisions() -> None:
    table = {1: of(1), 4: of(4), 2: of(2)}
    assert latest(table).number == 4
    assert pinned(table, 2, 7) is table[2]
    versions = Versions()
    versions[2] = of(2)
    versions.revise(of(2, 1))
    assert pinned(versions, 2, 0).revision == 0


def test_what_a_snapshot_does_not_hold_as_it_was_is_asked_for() -> None:
    """Of newest versions those that miss their digest, and every earlier revision."""
    versions, asked = Versions(), list[tuple[str, int, int]]()
    held = {number: of(number, 1) for number in (1, 2)}
    for number in held:
        versions.later(number, 1, partial(held.__getitem__, number))
        versions.former_later(number, 0, partial(of, number))
    versions[3] = of(3)

    def again(scope: str, number: int, revision: int) -> Memory:
        asked.append((scope, number, revision))
        return replace(of(number, revision), embedder="as it was")

    scope = of(1).scope
    versions.checked({(scope, 1): held[1].state(), (scope, 2): "0f"}, again)
    assert (versions.revision(1), versions.revision(2), versions.revision(4)) == (1, 1, None)
    assert asked == [], "only who needs them"
    assert versions[1] is held[1]
    assert (versions[2].embedder, versions[2].revision) == ("as it was", 1)
    assert versions.pinned(1, None).embedder == versions.pinned(2, 0).embedder == "as it was"
    assert asked == [(scope, 2, 1), (scope, 1, 0), (scope, 2, 0)]
    assert (versions[3], versions.revision(3)) == (of(3), 0)
