"""The `policies` commands: what there is, and the contract suite on one of them."""

from __future__ import annotations

import asyncio
from typing import Any

from handlers.policies.base import Policy
from handlers.policies.registry import POLICIES
from schemas.identity import names_a_file
from schemas.settings import PROFILES
from streams.engine.policies import NoPolicy, find, installed
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.own_policies import given

LEARNS = {
    "labels": "learns from labels",
    "self": "learns from its own runs",
    "none": "learns nothing",
}


def show_all(*, json: bool) -> None:
    """``policies list``."""
    for policy in [*POLICIES.values(), *installed().values()]:
        # One that another distribution brings and that does not load is named, and hides no other.
        if isinstance(policy, str):
            say(f"{policy} [policy.broken]")
            continue
        if json:
            out_json(record(policy))
            continue
        asks = f"; asks {', '.join(policy.roles)}" if policy.roles else ""
        out(f"{policy.name}@{policy.version}  {policy.about}; {LEARNS[policy.learns]}{asks}")
        for name, values in settings_of(policy).items():
            service, paper = _text(values["service"]), _text(values["paper"])
            differs = "" if service == paper else f"   paper: {paper}"
            out(f"    {name} = {service}{differs}")


def record(policy: Policy[Any]) -> dict[str, Any]:
    """A policy as one JSON object; its settings with their values in each profile."""
    return {
        "name": policy.name,
        "version": policy.version,
        "about": policy.about,
        "learns": policy.learns,
        "confidence": policy.confidence_source,
        "roles": list(policy.roles),
        "settings": settings_of(policy),
    }


def settings_of(policy: Policy[Any]) -> dict[str, dict[str, Any]]:
    """Each setting's value by profile, and whether what is learned hangs on it."""
    # Resolved, and not read off the class, because each profile sets constants of its own.
    by_profile = {
        profile: policy.settings.resolve(profile, {}).model_dump(mode="json")
        for profile in PROFILES
    }
    learning = policy.settings.learning
    return {
        name: {profile: values[name] for profile, values in by_profile.items()}
        | {"learning": name in learning}
        for name in policy.settings.model_fields
    }


def _text(value: Any) -> str:
    import json

    # As --set takes it: a text without quotes, everything else as JSON.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check(name: str, *, json: bool) -> int:
    """``policies check``; the exit code."""
    from streams.research.trials.check import Finding, Suite

    # Put on the shelf first, because the suite finds it by its name, in other processes too.
    if names_a_file(name):
        given([name])
    try:
        policy = find(name)
    except NoPolicy as error:
        raise usage(str(error), field="POLICY", error="policy.unknown") from error
    found = asyncio.run(Suite(policy, name).run())
    failed = [each for each in found if not each.ok]

    def told(each: Finding) -> dict[str, Any]:
        return {
            "check": each.check,
            "ok": each.ok,
            "detail": each.detail,
            "address": each.address,
            "case": each.case,
        }

    if json:
        out_json({"policy": name, "ok": not failed, "checks": [told(each) for each in found]})
    else:
        for each in found:
            place = "" if each.address is None else f"at {each.address}: "
            out(f"{'ok  ' if each.ok else 'FAIL'}  {each.check:<13} {place}{each.detail}")
            if each.case is not None:
                out(f"                    with {each.case}")
        out(f"{name}: {len(found)} checks, {len(failed)} failed")
    return FAILED if failed else OK
