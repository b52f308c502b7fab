"""Settings of a policy: what a profile begins with, what is set over it, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from schemas.problem import Profile
from schemas.settings import PROMPTS_BYTES, BadSetting, PolicySettings, meant, near


class Settings(PolicySettings):
    paper: ClassVar[Mapping[str, Any]] = {"rounds": 9, "parameters": {"judge": {"top_p": 1.0}}}
    learning: ClassVar[frozenset[str]] = frozenset({"rounds"})
    caps: ClassVar[frozenset[str]] = frozenset({"reasoner", "judge"})

    rounds: int = 3
    share: float = 0.5


CAPPED = {"reasoner": {"max_tokens": 8_192}, "judge": {"max_tokens": 8_192}}
PATIENT = {"*": {"timeout_s": 1_800.0}}


@pytest.mark.parametrize(
    ("profile", "given", "rounds", "parameters"),
    [
        ("service", {}, 3, CAPPED),
        ("service", {"rounds": 4}, 4, CAPPED),
        ("paper", {}, 9, PATIENT | {"judge": {"top_p": 1.0}}),
        ("paper", {"rounds": 1}, 1, PATIENT | {"judge": {"top_p": 1.0}}),
        (
            "service",
            {"parameters": {"judge": {"temperature": 0}, "other": {"max_tokens": 1}}},
            3,
            CAPPED
            | {"judge": {"max_tokens": 8_192, "temperature": 0.0}, "other": {"max_tokens": 1}},
        ),
        (
            "service",
            {"parameters": {"judge": {"max_tokens": None}}},
            3,
            CAPPED | {"judge": {"max_tokens": None}},
        ),
        ("paper", {"parameters": {"*": {"timeout_s": 5}}}, 9, {"*": {"timeout_s": 5.0}}),
    ],
)
def test_what_is_set_comes_over_the_profiles_own(
    profile: Profile, given: dict[str, Any], rounds: int, parameters: dict[str, Any]
) -> None:
    found = Settings.resolve(profile, given)
    assert (found.rounds, dict(found.parameters)) == (rounds, parameters)
    assert found.share == 0.5
    assert found.prompts == {}


def test_a_role_is_asked_with_its_own_over_everybodys() -> None:
    given = {"*": {"temperature": 1, "top_p": 0.5}, "judge": {"temperature": 0}}
    found = Settings.resolve("paper", {"parameters": given})
    assert found.asked("judge") == {"timeout_s": 1_800.0, "temperature": 0.0, "top_p": 0.5}
    assert found.asked("monitor") == {"timeout_s": 1_800.0, "temperature": 1.0, "top_p": 0.5}
    assert Settings().asked("judge") == {}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"round": 1}, "settings.round: no such setting; did you mean 'rounds'?"),
        ({"zzzz": 1}, "settings.zzzz: no such setting; there are backbone, parameters, prompts, rounds, share"),
        ({"rounds": "many"}, "settings.rounds: Input should be a valid integer"),
        ({"share": float("nan")}, "settings.share: Input should be a finite number"),
        ({"parameters": 3}, "settings.parameters: Input should be a valid dictionary"),
        ({"parameters": {"judge": 3}}, "settings.parameters.judge: Input should be a valid dict"),
        (
            {"parameters": {"judge": {"heat": 1}}},
            "settings.parameters.judge.heat: no such setting",
        ),
        ({"parameters": {"judge": {"temperature": -0.1}}}, "temperature: Input should be greater"),
        ({"parameters": {"judge": {"temperature": float("inf")}}}, "should be a finite number"),
        ({"parameters": {"judge": {"top_p": 0}}}, "top_p: Input should be greater than 0"),
        ({"parameters": {"judge": {"top_p": 1.1}}}, "top_p: Input should be less than or equal"),
        ({"parameters": {"judge": {"max_tokens": 0}}}, "max_tokens: Input should be greater than 0"),
        ({"parameters": {"judge": {"timeout_s": 0}}}, "timeout_s: Input should be greater than 0"),
        ({"prompts": {"judge": {"instruction": "x"}}}, "settings.prompts.judge.instruction: no such"),
        ({"prompts": {"judge": {"closing": "x" * 16_385}}}, "at most 16384 characters"),
        ({"prompts": {"j": {"sections": {str(at): "x" for at in range(65)}}}}, "at most 64 items"),
        (
            {"prompts": {str(at): {"closing": "x" * 16_000} for at in range(5)}},
            "settings.prompts: must have at most 65,536 bytes in all",
        ),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_by_name(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(BadSetting) as refused:
        Settings.resolve("service", given)
    assert wrong in str(refused.value)
    assert str(refused.value).startswith("settings.")


def test_the_bounds_themselves_are_allowed() -> None:
    fits = {"temperature": 0, "top_p": 1, "max_tokens": 1, "timeout_s": 0.1}
    assert Settings.resolve("service", {"parameters": {"x": fits}}).asked("x") == fits
    long = {"closing": "x" * 16_384, "reply": {str(at): "" for at in range(64)}}
    assert Settings.resolve("service", {"prompts": {"judge": long}}).prompts["judge"] == long
    shell = len(b'{"p":{"closing":""},"q":{"closing":""},"r":{"closing":""},"s":{"closing":""}}')
    texts = [16_384, 16_384, 16_384, PROMPTS_BYTES - shell - 3 * 16_384]
    whole = {name: {"closing": "x" * size} for name, size in zip("pqrs", texts, strict=True)}
    assert Settings.resolve("service", {"prompts": whole}).prompts == whole
    whole["s"]["closing"] += "x"
    with pytest.raises(BadSetting, match="at most"):
        Settings.resolve("service", {"prompts": whole})


def test_settings_are_values() -> None:
    found = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        found.rounds = 4


@pytest.mark.parametrize(
    ("profile", "given", "kept"),
    [
        ("service", {}, {}),
        ("service", {"rounds": 4, "share": 0.1}, {"rounds": 4}),
        ("paper", {"share": 0.1}, {"profile": "paper"}),
        ("service", {"prompts": {}}, {}),
        ("service", {"prompts": {"a": {}}}, {"prompts": {"a": {}}}),
    ],
)
def test_what_is_learned_hangs_on_learning_settings_and_changed_prompts(
    profile: Profile, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert Settings.learning_values(profile, given) == kept


# ── Misspelled words ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("roudns", ["rounds", "share"], "did you mean 'rounds'?"),
        ("ROUNDS", ["rounds"], "did you mean 'rounds'?"),
        ("rounds", ["Rounds"], "did you mean 'Rounds'?"),
        ("mc3", ["mc2", "mcr"], "did you mean 'mcr' or 'mc2'?"),
        ("aaaa", ["aaab", "aaac", "aaad", "aaae"], "did you mean 'aaae' or 'aaad' or 'aaac'?"),
        ("zzz", ["rounds"], ""),
        ("x" * 256, ["x" * 255], f"did you mean '{'x' * 255}'?"),
        ("x" * 257, ["x" * 256], ""),
        ("x", [], ""),
    ],
)
def test_a_misspelled_word_is_told_what_it_may_mean(word: str, known: list[str], said: str) -> None:
    assert near(word, known) == said
    assert meant(word, known) == (said or f"there are {', '.join(sorted(known)) or 'none'}")
