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
    for policy in [*POLICIES.values(), *_installed()]:
        if json:
            out_json(record(policy))
        else:
            _show(policy)


def _installed() -> list[Policy[Any]]:
    """Policies that other distributions bring; one that does not load is named."""
    found: list[Policy[Any]] = []
    for each in installed().values():
        if isinstance(each, str):
            say(f"{each} [policy.broken]")
        else:
            found.append(each)
    return found


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


def _show(policy: Policy[Any]) -> None:
    asks = f"; asks {', '.join(policy.roles)}" if policy.roles else ""
    out(f"{policy.name}@{policy.version}  {policy.about}; {LEARNS[policy.learns]}{asks}")
    for name, values in settings_of(policy).items():
        service, paper = _text(values["service"]), _text(values["paper"])
        differs = "" if service == paper else f"   paper: {paper}"
        out(f"    {name} = {service}{differs}")


def _text(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check(name: str, *, json: bool) -> int:
    """``policies check``; the exit code."""
    from streams.research.trials.check import Finding, Suite

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
            _line(each.check, each.ok, each.detail, each.address, each.case)
        out(f"{name}: {len(found)} checks, {len(failed)} failed")
    return FAILED if failed else OK


def _line(check: str, ok: bool, detail: str, address: str | None, case: str | None) -> None:
    place = "" if address is None else f"at {address}: "
    out(f"{'ok  ' if ok else 'FAIL'}  {check:<13} {place}{detail}")
    if case is not None:
        out(f"                    with {case}")
