"""From command-line words to backbones, limits and worlds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streams.cli.errors import SETUP, UNREACHABLE, CliError, usage

if TYPE_CHECKING:
    from schemas.problem import Limits
    from streams.backbones.port import BackboneError
    from streams.backbones.spelling import Wishes
    from streams.world import Totals, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models answer: one for all roles, and perhaps one of its own for some."""

    backbone: str | None = None
    roles: list[str] = field(default_factory=list[str])
    model: str | None = None
    base_url: str | None = None
    max_connections: int | None = None


def world_of(models: Models, *, patient: bool = True, totals: Totals | None = None) -> World:
    """The world of a worker. Raises a ``CliError`` where a backbone's spelling is wrong."""
    from streams.backbones.port import Backbone, BackboneError
    from streams.backbones.spelling import build
    from streams.cli.config import load
    from streams.cli.messages import log_as_asked
    from streams.embedders.hashed import HashedEmbedder
    from streams.world import World

    named = dict(_role(each) for each in models.roles)
    named["*"] = models.backbone or load().backbone or _default(models)
    log_as_asked()
    wishes = wishes_of(models)
    built: dict[str, Backbone] = {}
    for spelling in dict.fromkeys(named.values()):
        try:
            built[spelling] = build(spelling, wishes)
        except ValueError as error:
            raise usage(str(error), field="--backbone") from error
        except BackboneError as error:
            raise as_cli(error) from error
    return World(
        {role: built[name] for role, name in named.items()},
        HashedEmbedder(),
        patient=patient,
        totals=totals,
    )


def wishes_of(models: Models) -> Wishes:
    """What the command line, the environment and ``.env`` say of endpoints."""
    from streams.backbones.spelling import Wishes
    from streams.cli.config import load
    from streams.cli.config_sources import environment, place_of

    key = place_of("OPENAI_API_KEY")
    return Wishes(
        model=models.model,
        base_url=models.base_url,
        max_connections=models.max_connections or load().max_connections,
        environ=environment(),
        key_source=None if key is None else f"OPENAI_API_KEY in {key}",
    )


def need_prices(world: World, option: str) -> None:
    """Raises a usage error where a cost is limited and nobody knows what a call costs."""
    for backbone in world.backbones.values():
        if not getattr(backbone, "priced", False):
            raise usage(
                f"no price is known for {backbone.name}",
                field=option,
                hint="Limit calls or tokens instead: --call-limit, --token-limit",
            )


def _default(models: Models) -> str:
    if models.model or models.base_url:
        return "openai"
    raise usage(
        "no backbone",
        field="--backbone",
        hint="Give one: --backbone openai:MODEL, or --backbone rehearsal to try without a model",
    )


def _role(each: str) -> tuple[str, str]:
    role, equals, backbone = each.partition("=")
    if not equals:
        raise usage(f"{each!r} is not ROLE=BACKBONE", field="--role")
    return role, backbone


def limits_of(
    calls: int | None, tokens: int | None, cost: float | None, seconds: float | None
) -> Limits:
    """Limits of an episode as given. Raises a usage error for one that is not positive."""
    from pydantic import ValidationError

    from schemas.problem import Limits

    try:
        return Limits(calls=calls, tokens=tokens, cost=cost, seconds=seconds)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        names = {"calls": "--call-limit", "tokens": "--token-limit", "cost": "--cost-limit"}
        name = names.get(str(first["loc"][0]), "--time-limit")
        raise usage(first["msg"], field=name) from error


def as_cli(error: BackboneError, open_episodes: int | None = None) -> CliError:
    """A broken set-up or a dead endpoint as the process's end."""
    from streams.backbones.port import NotRecorded, SetupBroken, Unreachable

    left = "" if open_episodes is None else f"; {open_episodes} episodes stay open"
    again = f"No problem was closed or charged{left}. "
    match error:
        case SetupBroken():
            hint = again + "Mend it and start the worker again: it resumes."
            return CliError(
                error.detail, error=f"model.{error.code}", exit=SETUP, where=error.where, hint=hint
            )
        case Unreachable():
            hint = again + "Start the endpoint, then the same command again."
            return CliError(
                error.detail,
                error="model.unreachable",
                exit=UNREACHABLE,
                where=error.where,
                hint=hint,
            )
        case NotRecorded():
            hint = again + "Record that reply, or use another backbone."
            return CliError(str(error), error="model.not_recorded", exit=SETUP, hint=hint)
        case _:
            return CliError(str(error), error="model.error", exit=SETUP, hint=again)
