"""What roles and policies declare, beside the words of prompts, as one page: ``python -m tests.handlers.declared``.

A number, a name or an argument that is left out of a declaration is seen in a diff of ``declared.txt``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from handlers.limits import Ledger
from handlers.policies.base import Around, Policy, Task
from handlers.policies.registry import POLICIES
from handlers.roles.role import Role
from schemas.asking import OutOfLimit
from schemas.questions import Complete
from schemas.settings import PROFILES, PolicySettings
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelRequest
from tests.handlers.roles.every import roles
from tests.scripted import Driver

PAGE = Path(__file__).with_name("declared.txt")
WORDS = {"about", "instructions", "note"}
"""Held by the page of prompts."""
CALLS = (24, 4)
"""Limits of episodes: one that goes far, and one whose last call closes it."""
SERIES = (None, 3, 40)
"""Sizes of series for which a window is told."""


def said(value: Any) -> Any:
    """A value as JSON holds it; of a declaration what is not as it usually is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: said(getattr(value, each.name))
            for each in fields(value)
            if each.init and each.name not in WORDS and not usual(each, getattr(value, each.name))
        }
    if isinstance(value, dict):
        return {str(key): said(each) for key, each in cast("dict[object, object]", value).items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, cast("set[object]", value)))
    if isinstance(value, (list, tuple)):
        return [said(each) for each in cast("list[object]", value)]
    return "a function" if callable(value) else value


def usual(field: Any, value: Any) -> bool:
    """Whether a field of a declaration is as it is where nobody says anything."""
    if field.default is not MISSING:
        return bool(value is field.default or (not callable(value) and value == field.default))
    return field.default_factory is not MISSING and value == field.default_factory()


def of_role(role: Role) -> str:
    """Who is asked how, with which sections, and for which fields."""
    return json.dumps(said(role), ensure_ascii=False, sort_keys=True)


def of_policy(policy: Policy[Any]) -> Iterator[str]:
    """What a policy declares, and what its settings are, may be and come to in either profile."""
    declared = {**said(policy), "settings": policy.settings.__name__, "about": policy.about}
    yield json.dumps(declared, ensure_ascii=False, sort_keys=True)
    both = [policy.resolve(profile, {}) for profile in PROFILES]
    schema = policy.settings.model_json_schema()["properties"]
    for name in policy.settings.model_fields:
        values = [getattr(each, name) for each in both]
        bounds = {k: v for k, v in schema[name].items() if k not in ("title", "default")}
        kept = "kept apart" if name in policy.settings.learning else ""
        yield f"  {name}: {json.dumps(said(values))} {json.dumps(bounds, sort_keys=True)} {kept}".rstrip()
    for profile, settings in zip(PROFILES, both, strict=True):
        told = {
            "window": [policy.window(settings, size) for size in SERIES],
            "reads": policy.reads(settings),
            "unlearnable": policy.unlearnable(settings),
            "live_batches": policy.live_batches(settings),
            "most_calls": policy.most_calls(settings),
            "usual": [policy.usual(profile, Around(tools)) for tools in (False, True)],
            "rule_constants": policy.rule_constants(settings),
        }
        yield f"  {profile}: {json.dumps(said(told), ensure_ascii=False, sort_keys=True)}"
        for template, sampling in sorted(asked(policy, settings)):
            yield f"  {profile} asks {template}: {sampling}"


def asked(policy: Policy[Any], settings: PolicySettings) -> set[tuple[str, str]]:
    """How replies are drawn in episodes of the simulator, by template."""
    model = Rehearsal(Options(seed=7))

    def reply(question: Complete) -> str:
        request = ModelRequest(question.messages(), question.sampling, 7, question.draw)
        return model.reply(request).text

    task = Task("n1", "4 5 6 10", "game24", 7)
    found: set[tuple[str, str]] = set()
    for calls in CALLS:
        driver = Driver(reply)
        with suppress(OutOfLimit):
            driver.drive(policy.solve(task, settings), Ledger(calls=calls))
        questions = (question for _, question in driver.asked if isinstance(question, Complete))
        found |= {
            (q.template.name, json.dumps(said(q.sampling), sort_keys=True)) for q in questions
        }
    return found


def page() -> str:
    """Roles by their templates, then policies."""
    asked = sorted({f"{role.template.name}: {of_role(role)}" for role in roles()})
    worked = [line for name in sorted(POLICIES) for line in of_policy(POLICIES[name])]
    return "\n".join([*asked, *worked, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
