"""Settings that came later change no text of earlier logs, or these could be neither verified nor gone on with."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.mc2.settings import Mc2Settings
from schemas.identity import text_digest
from schemas.problem import Profile
from streams.engine.scopes import settings_text


@pytest.mark.parametrize(
    ("profile", "said", "known"),
    [
        ("service", {}, "77e25e4fd83d"),
        ("paper", {}, "e78c6833a1cf"),
        ("paper", {"patches": "again"}, "857b47974be3"),
    ],
)
def test_resolved_settings_are_the_text_that_logs_of_mc2_at_14_hold(
    profile: Profile, said: dict[str, Any], known: str
) -> None:
    assert text_digest(settings_text(Mc2Settings.resolve(profile, said))) == known


@pytest.mark.parametrize(
    ("profile", "said", "graded"),
    [
        ("service", {}, False),
        ("paper", {}, True),
        ("paper", {"unjudged": "unknown"}, False),
        ("service", {"unjudged": "C"}, True),
    ],
)
def test_what_nobody_judged_is_graded_as_the_profile_says_unless_it_is_said(
    profile: Profile, said: dict[str, Any], graded: bool
) -> None:
    assert Mc2Settings.resolve(profile, said).grades_unjudged is graded
