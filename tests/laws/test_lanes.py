"""No setting makes a policy open more lanes at once than a worker holds: limits of calls are met only after that."""

from __future__ import annotations

import pytest

from handlers.policies.base import Task
from handlers.policies.registry import POLICIES
from schemas.asking import All
from schemas.settings import MOST_LANES, BadSetting

HUGE = 1_000_000_000


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_no_whole_number_of_a_setting_opens_lanes_without_end(name: str) -> None:
    policy = POLICIES[name]
    numbers = [
        each
        for each, value in policy.settings.resolve("service", {}).model_dump().items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    for each in numbers:
        try:
            settings = policy.settings.resolve("service", {each: HUGE})
        except BadSetting:
            continue
        work = policy.solve(Task("q", "What is 1 + 1?", "default", 1), settings)
        asked = next(work)
        assert not isinstance(asked, All) or len(asked.branches) <= MOST_LANES
        work.close()


def test_what_is_refused_says_the_most() -> None:
    with pytest.raises(BadSetting, match=r"samples.*less than or equal to 1000"):
        POLICIES["self_consistency"].settings.resolve("service", {"samples": HUGE})
