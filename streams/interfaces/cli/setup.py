"""From command-line words to backbones, limits and worlds."""

# What a command line, the environment and files say of models comes together here, and leaves as
# a `World`, which answers every question of the work. Each wrong spelling is told before the
# first call is paid for, with the option that says it.
#
# A cost is only limited where prices are known. An unknown price must not pass for nothing, since
# the limit would then never be met.

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.faults import first_fault
from schemas.identity import names_a_file
from streams.interfaces.cli.errors import SETUP, UNREACHABLE, CliError, usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from handlers.policies.base import Policy
    from schemas.price import Price
    from schemas.problem import Limits, Profile
    from schemas.settings import PromptWords
    from streams.answering.backbones.prices import PriceList
    from streams.answering.backbones.spelling import BackboneConfig
    from streams.answering.budgets import Budgets
    from streams.answering.embedders.port import Embedder
    from streams.answering.grading.own import OwnGrader
    from streams.answering.tools.port import Tools
    from streams.answering.world import Totals, World
    from streams.core.backbone import Backbone, BackboneError
    from streams.runtime.embedded.intake import Usual


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """How a worker goes about its work, and when it ends."""

    policy: str = "cot"
    until_idle: bool = False
    to_its_end: bool = False
    """Whether it is an error to be told to stop, for what comes next rests on all of it."""
    settle: bool = False
    max_concurrency: int = 256
    learning_limits: Limits | None = None
    totals: Totals | None = None
    run_code: bool = False
    """Whether answers that are code are run against their tests, shut in."""
    grader: OwnGrader | None = None
    """Who compares answers with references, in the place of all graders of ours."""
    prompts: Mapping[str, PromptWords] = field(default_factory=dict[str, Any])
    """What the prompts of ``policy`` say otherwise, for problems that leave theirs to the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models answer: one for all roles, and perhaps one of its own for some; and on what terms.

    ``limits`` hold for episodes whose problem has none of its own.
    """

    backbone: str | None = None
    roles: list[str] = field(default_factory=list[str])
    offered: list[str] = field(default_factory=list[str])
    """Backbones that problems may choose, as NAME=BACKBONE."""
    model: str | None = None
    base_url: str | None = None
    max_connections: int | None = None
    prices: list[str] = field(default_factory=list[str])
    price_list: str | None = None
    """The file of one."""
    budgets: list[str] = field(default_factory=list[str])
    limits: Limits | None = None
    tools: str | None = None

    @classmethod
    def of(cls, backbones: list[str], roles: list[str], **more: Any) -> Models:
        """From words such as ``openai:m`` and ``judge=openai:n``. Raises a usage error for two without role."""
        ours = [each for each in backbones if _FOR_ROLE.match(each)]
        rest = [each for each in backbones if each not in ours]
        if len(rest) > 1:
            hint = f"Name the role of one of them: --backbone ROLE={rest[1]}"
            raise usage(
                f"two backbones for the same roles: {', '.join(rest)}",
                field="--backbone",
                hint=hint,
            )
        return cls(backbone=rest[0] if rest else None, roles=[*ours, *roles], **more)


EMBEDDER = "embedder"
"""Who makes vectors: named like a role, and no model's."""
_FOR_ROLE = re.compile(r"[A-Za-z_][\w-]*=")
"""How a backbone for one role begins; options of a backbone come behind a colon or question mark."""


def world_of(
    models: Models,
    *,
    patient: bool = True,
    totals: Totals | None = None,
    offering: Collection[str | None] | None = None,
) -> World:
    """The world of a worker. Raises a ``CliError`` where a backbone's spelling is wrong.

    ``offering`` are the names that anybody may choose, where not all: no other backbone is made.
    """
    from streams.answering.embedders.choosing import AUTO, Embedders, installed
    from streams.answering.embedders.hashed import HashedEmbedder
    from streams.answering.world import World
    from streams.interfaces.cli.config import load

    named, offered = _named(models), offered_by(models)
    if offering is not None:
        offered = {name: each for name, each in offered.items() if name in offering}
    embedder = named.pop(EMBEDDER, None) or load().embedder
    config = backbone_config(models)
    built = built_of(named, offered, config)
    simulated = any(built[spelling].simulated for spelling in named.values())
    chosen = embedder_of(embedder, config, simulated=simulated)
    world = World(
        {role: built[name] for role, name in named.items()},
        chosen,
        offered={name: built[spelling] for name, spelling in offered.items()},
        patient=patient,
        totals=totals,
        prices=prices_of(models),
        price_list=price_list_told(models),
        limits=models.limits,
    )
    world.budgets = budgets_of(models)
    if embedder == AUTO:
        # Only where nobody named one: each memory then keeps the embedder that its vectors were
        # made by.
        world.embedders = Embedders(chosen)
    tools = tools_wanted(models)
    if tools is not None:
        # Nobody named an embedder, so that a corpus may have been indexed by another than is
        # chosen now.
        others = (HashedEmbedder(), installed()) if embedder == AUTO else ()
        world.tools = tools_of(
            tools, chosen, *(each for each in others if each and each.name != chosen.name)
        )
    return world


def built_of(
    named: Mapping[str, str], offered: Mapping[str, str], config: BackboneConfig
) -> dict[str, Backbone]:
    """Backbones by their spelling, for roles and as they are offered. Raises a ``CliError`` that names the option."""
    from streams.answering.backbones.spelling import build
    from streams.core.backbone import BackboneError

    # One a spelling, not one a role: roles that share a backbone share its connections and
    # limits.
    built: dict[str, Backbone] = {}
    wanted = [
        ("--backbone" if role == "*" else f"--role {role}", each) for role, each in named.items()
    ]
    wanted += [(f"--offer {name}", each) for name, each in offered.items()]
    for option, spelling in wanted:
        try:
            built[spelling] = built.get(spelling) or build(spelling, config)
        except ValueError as error:
            raise usage(str(error), field=option) from error
        except BackboneError as error:
            told = as_cli(error)
            # Whoever runs a command may never have heard of what a file offers.
            told.field = told.field or ("" if option == "--backbone" else option)
            raise told from error
    return built


def _named(models: Models) -> dict[str, str]:
    """Backbones by role, and ``*`` for all others. Raises a usage error."""
    from schemas.settings import meant
    from streams.engine.policies import SHELF
    from streams.interfaces.cli.config import load

    named: dict[str, str] = {}
    for each in models.roles:
        role, equals, backbone = each.partition("=")
        if not equals:
            raise usage(f"{each!r} is not ROLE=BACKBONE", field="--role")
        named[role] = backbone
    # A role that no policy asks would never be heard of again, and another model would answer for
    # it. Roles are looked for only where some are named: to know them means to load every policy.
    known = set[str]()
    if named.keys() - {EMBEDDER}:
        known = {role for policy in SHELF.all() for role in policy.roles}
    for role in sorted(named.keys() - known - {EMBEDDER}):
        hint = "metalogue policies list shows which roles each policy asks"
        what = f"no policy asks a role {role!r}; {meant(role, known | {EMBEDDER})}"
        raise usage(what, field="--role", error="role.unknown", hint=hint)
    default = models.backbone or load().backbone
    if not default and (models.model or models.base_url):
        default = "openai"  # a model or an address was named, which only this one takes
    if not default:
        raise usage(
            "no backbone",
            field="--backbone",
            hint="Give one: --backbone openai:MODEL, or --backbone rehearsal to try without a model",
        )
    return named | {"*": default}


def offered_by(models: Models) -> dict[str, str]:
    """Backbones that problems may choose, by name. Raises a usage error for what is not NAME=BACKBONE."""
    from pydantic import TypeAdapter, ValidationError

    from schemas.problem import Name
    from streams.interfaces.cli.config import load

    offered: dict[str, str] = {}
    for each in models.offered:
        name, _, backbone = each.partition("=")
        try:
            TypeAdapter(Name).validate_python(name)
        except ValidationError:
            backbone = ""
        if not backbone or name in offered:
            again = "is named twice" if name in offered else "is not NAME=BACKBONE"
            hint = (
                "Such as --offer mini=openai:gpt-4o-mini; a name has letters, digits, '.', '_', '-'"
            )
            raise usage(f"{each!r} {again}", field="--offer", hint=hint)
        offered[name] = backbone
    return load().offers | offered


def tools_wanted(models: Models | None = None) -> str | None:
    """The tools of the command line, else those that are configured."""
    from streams.interfaces.cli.config import load

    return (models and models.tools) or load().tools


def usual_settings(config: WorkerConfig, world: World) -> Usual:
    """What a worker sets for its policy where nobody else did."""
    from streams.engine.policies import find
    from streams.engine.prompts.catalogue import usual_of

    policy, around = find(config.policy), world.around
    return lambda problem: usual_of(
        policy, problem.profile, around, config.prompts, problem.settings
    )


def policy_of(
    given: str | None, profile: Profile = "service", values: Mapping[str, Any] | None = None
) -> Policy[Any]:
    """The policy of that name, else the configured one. Raises a usage error for it or a setting."""
    from schemas.settings import BadSetting
    from streams.engine.policies import NoPolicy, find
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.own_policies import given as give

    # An empty name is a variable that was not set: the problems would go under a policy of no name.
    name = load().policy if given is None else given
    if names_a_file(name):
        give([name])
    try:
        policy = find(name)
        settings = policy.resolve(profile, values or {})
        # Prompts may name roles that this policy does not ask: nobody would ever read these
        # words.
        if settings.prompts:
            from streams.engine.prompts.catalogue import need_known

            need_known(policy, settings)
    except NoPolicy as error:
        hint = "metalogue policies list names all; FILE.py:NAME is one of your own"
        raise usage(str(error), field="--policy", error="policy.unknown", hint=hint) from error
    except BadSetting as error:
        hint = "metalogue policies list shows the settings of each"
        raise usage(str(error), field="--set", error="policy.setting", hint=hint) from error
    return policy


def episodes_in_flight() -> int:
    """How many episodes a worker drives at once, where the command line does not say."""
    from streams.interfaces.cli.config import load

    return load().max_concurrency


def embedder_of(spelling: str, config: BackboneConfig, *, simulated: bool = False) -> Embedder:
    """Who makes vectors. Raises a ``CliError`` where its spelling or set-up is wrong."""
    from streams.answering.embedders.spelling import build
    from streams.core.backbone import BackboneError

    try:
        return build(spelling, config, simulated=simulated)
    except ValueError as error:
        raise usage(str(error), field="--role embedder") from error
    except BackboneError as error:
        raise as_cli(error) from error


def tools_of(spelling: str, embedder: Embedder, *others: Embedder) -> Tools:
    """What policies may call. Raises a usage error for a spelling that is wrong.

    ``others`` are tried in turn where a corpus has vectors by another embedder.
    """
    from streams.answering.tools.spelling import build

    try:
        return build(spelling, embedder)
    except ValueError as error:
        for each in others:
            with suppress(ValueError):
                return build(spelling, each)
        raise usage(str(error), field="--tools") from error


def prices_of(models: Models) -> dict[str, Price]:
    """Prices by model. Raises a usage error for one that cannot be read."""
    from streams.answering.backbones.prices import book_of
    from streams.interfaces.cli.config import load

    found = price_list_of(models)
    listed = {} if found is None else found.prices
    try:
        return book_of({**listed, **load().prices}, models.prices)
    except ValueError as error:
        raise usage(str(error), field="--price") from error


def price_list_of(models: Models) -> PriceList | None:
    """The price list that was named, if one was. Raises a usage error for one that cannot be read."""
    from streams.answering.backbones.prices import list_of
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.places import refused

    path = models.price_list or load().price_list
    if path is None:
        return None
    try:
        return list_of(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise refused(error, "--prices") from error
    except ValueError as error:  # not UTF-8 either
        hint = "A list has a name, a date and prices, each as MODEL: IN,OUT[,CACHED]"
        raise usage(f"{path}: {error}", field="--prices", hint=hint) from error


def price_list_told(models: Models) -> str | None:
    """Which list it is, by name and date, with the models whose prices were given otherwise."""
    from streams.answering.backbones.prices import book_of
    from streams.interfaces.cli.config import load

    found = price_list_of(models)
    if found is None:
        return None
    own = {**book_of(load().prices), **book_of({}, models.prices)}
    return found.told + (f"; of their own: {', '.join(sorted(own))}" if own else "")


def budgets_of(models: Models) -> Budgets | None:
    """Budgets of tenants, if there are any. Raises a usage error for one that cannot be read."""
    from streams.interfaces.cli.config import load

    configured = load().budgets
    if not configured and not models.budgets:
        return None
    from schemas.budget import book_of
    from streams.answering.budgets import Budgets
    from streams.runtime.embedded.log import now_ms

    try:
        return Budgets(book_of(configured, models.budgets), now_ms)
    except ValueError as error:
        raise usage(str(error), field="--budget") from error


def need_budget_prices(world: World) -> None:
    """Raises a usage error where a tenant's cost is limited and nobody knows what a call costs."""
    budgets = world.budgets
    if budgets is not None and any(each.cost is not None for each in budgets.limits.values()):
        need_prices(world, "--budget")


def backbone_config(models: Models) -> BackboneConfig:
    """What the command line, the environment and ``.env`` say of endpoints."""
    from streams.answering.backbones.openai.endpoint import EndpointPool
    from streams.answering.backbones.spelling import BackboneConfig
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.config_sources import ENVIRONMENT, environment, place_of
    from streams.interfaces.cli.models import home

    key, url = place_of("OPENAI_API_KEY"), place_of("OPENAI_BASE_URL")
    # A file that came with the folder may not choose where a key of the environment is sent.
    # Whether it does is found out when something is sent; here is noted who said so.
    foreign = key == ENVIRONMENT and url not in (None, ENVIRONMENT) and not models.base_url
    return BackboneConfig(
        model=models.model,
        base_url=models.base_url,
        max_connections=models.max_connections or load().max_connections,
        environ=environment(),
        key_source=None if key is None else f"OPENAI_API_KEY in {key}",
        url_source=f"OPENAI_BASE_URL in {url}" if foreign else None,
        models=home(),
        place_of=place_of,
        pool=EndpointPool(),
    )


def need_prices(world: World, option: str, choices: Iterable[str | None] | None = None) -> None:
    """Raises a usage error where a cost is limited and nobody knows what a call costs.

    ``choices`` are those that problems may have made of the backbones that are offered; all where none is given.
    """
    # What is not offered is told of where it is looked for.
    known = [None, *world.offered]
    wanted = [each for each in (known if choices is None else choices) if each in known]
    unpriced = [name for each in wanted for name in world.terms(each).grant.unpriced]
    if unpriced:
        name = unpriced[0]
        raise usage(f"no price is known for {name}", field=option, hint=price_hint(name))


def price_hint(backbone: str) -> str:
    """How to say what a model costs."""
    model = backbone.partition(":")[2] or backbone
    said = f"Say what a million tokens cost: --price {model}=IN,OUT"
    return f"{said}. Or limit calls or tokens: --call-limit, --token-limit"


def limits_of(
    calls: int | None, tokens: int | None, cost: float | None, seconds: float | None
) -> Limits:
    """Limits of an episode as given. Raises a usage error for one that is not positive."""
    from pydantic import ValidationError

    from schemas.problem import Limits

    try:
        return Limits(calls=calls, tokens=tokens, cost=cost, seconds=seconds)
    except ValidationError as error:
        field, what = first_fault(error)
        names = {"calls": "--call-limit", "tokens": "--token-limit", "cost": "--cost-limit"}
        raise usage(what, field=names.get(field, "--time-limit")) from error


def as_cli(error: BackboneError, open_episodes: int | None = None) -> CliError:
    """A broken set-up or a dead endpoint as the process's end."""
    from streams.core.backbone import NotRecorded, SetupBroken, Unreachable

    left = "" if open_episodes is None else f"; {open_episodes} episodes stay open"
    again = f"No problem was closed or charged{left}. "
    match error:
        case SetupBroken(code="price"):
            hint = again + price_hint(error.where.partition(", ")[0])
            return usage(f"{error.detail} for {error.where}", error="model.price", hint=hint)
        case SetupBroken(code="offer"):
            return usage(
                error.detail,
                error="backbone.unknown",
                field="--set backbone",
                hint=f"Offer it: --offer {error.where}=BACKBONE",
            )
        case SetupBroken():
            hint = again + "Mend it, then the same command again: it goes on."
            return CliError(
                error.detail, error=f"model.{error.code}", exit=SETUP, where=error.where, hint=hint
            )
        case Unreachable():
            # An endpoint that is away, one that fails and one that has too many to answer: each
            # needs another hand, and only who answered can be told apart from who did not.
            tried, code, detail = error.tried, "unreachable", error.detail
            mend = "Start the endpoint, then the same command again."
            took = f"{tried.attempts} attempts in {tried.seconds:.0f} s"
            if tried.silence == "busy":
                code, detail = "busy", f"it puts us off, {detail}; {took}"
                mend = "The same command later, or a worker, which waits as long as it takes."
                if tried.pause_s:
                    detail += f", and it asks for a pause of {ceil(tried.pause_s)} s"
            elif tried.silence == "error":
                code, detail = "failing", f"it answers that it fails, {detail}; {took}"
                mend = "Look at the endpoint, then the same command again."
            return CliError(
                detail,
                error=f"model.{code}",
                exit=UNREACHABLE,
                where=error.where,
                hint=again + mend,
            )
        case NotRecorded():
            hint = again + "Record that reply, or use another backbone."
            return CliError(str(error), error="model.not_recorded", exit=SETUP, hint=hint)
        case _:
            return CliError(str(error), error="model.error", exit=SETUP, hint=again)
