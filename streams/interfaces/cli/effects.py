"""The `effect` command: what a lesson or rule is worth, by its episodes without it."""

from __future__ import annotations

import asyncio
from typing import Any

from streams.core.backbone import BackboneError
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.finding import one_of
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.setup import Models, as_cli, need_prices, world_of
from streams.interfaces.cli.show.library import Library
from streams.replay.fork import CannotFork
from streams.research.analysis.cases import Case, read
from streams.research.analysis.effect import Effect, effect, limited
from streams.views.words import plural


def lesson(
    url: str | None,
    wanted: str,
    models: Models,
    *,
    scope: str | None,
    limit: int | None,
    json: bool,
) -> int:
    """Probe every episode that used the item, and say what it was worth."""
    library = Library.of(url)
    shelf = library.one(scope)
    name = one_of(wanted, shelf.ids()) or wanted
    # Newest first: an item that was reworded is meant as it stands now, and one that is gone from
    # memory can still be asked about, for earlier episodes used it.
    versions = sorted(shelf.memory.versions.items(), reverse=True)
    found_in = (item for _, memory in versions for item in memory.whole() if item.id == name)
    item = next(found_in, None)
    if item is None:
        raise shelf.no_such(name)
    log = open_log(url, writes=True)
    users = {use.episode for use in shelf.uses_of(item)}
    cases = [case for case in read(log).cases() if case.episode in users][:limit]
    if not cases:
        hint = "metalogue lessons list shows which lessons were used"
        raise usage(
            f"{wanted} was used in no episode yet", field="ID", error="lesson.unused", hint=hint
        )
    # Nobody waits behind this command as behind a worker: an endpoint that is away ends it.
    world = world_of(models, patient=False)
    try:
        # Before the first probe is paid for: each is bound by the limits of its episode.
        need_prices(world, "--price", limited(cases, world))
        found = asyncio.run(world.during(effect(log, cases, item.id, world)))
    except CannotFork as error:
        raise usage(str(error), field="ID") from error
    except BackboneError as error:
        raise as_cli(error) from error
    said = {"item": item.id, "scope": shelf.scope, "used": len(users), **found.said()}
    _tell(said, found, cases, json=json)
    return OK


def _tell(said: dict[str, Any], found: Effect, cases: list[Case], *, json: bool) -> None:
    simulated = any("SIMULATED" in case.opened.backbones for case in cases)
    if json:
        pairs = [
            {
                "episode": p.episode,
                "probe": p.probe.episode,
                "with": p.right_with,
                "without": p.right_without,
            }
            for p in found.pairs
        ]
        out_json({**said, "simulated": simulated, "pairs": pairs})
        return
    used = plural(said["used"], "episode")
    if said["episodes"] != said["used"]:
        used = f"{used}, of which these are {said['episodes']}"
    out(f"{said['item']}, used in {used} of {said['scope']}")
    if said["effect"] is None:
        out("nobody can judge their answers: the effect is unknown")
    else:
        low, high = said["interval"]
        out(
            f"right with it {said['right_with']}/{said['judged']}, without {said['right_without']}:"
            f" effect {said['effect']:+.1f} points, 95 % {low:+.1f} to {high:+.1f}, p {said['p']:.3g}"
        )
    out(f"calls a problem {said['calls_with']:.1f} with it, {said['calls_without']:.1f} without")
    tokens = found.spent.tokens
    told = "unknown" if tokens is None else f"{tokens:,}"
    out(f"probes made {found.spent.calls} calls, tokens {told}; reused {said['reused_calls']}")
    # Last, where a reader looks: a simulator never read the lesson that it is asked about.
    if simulated:
        out("SIMULATED: no model answered; this says nothing of the lesson.")
