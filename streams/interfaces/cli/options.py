"""Options that several commands share, alone and in groups.

A group is a dataclass whose fields are options. ``@grouped`` shows its options to typer one by one and
hands the command the dataclass, so that what belongs together is declared once and travels together.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeVar, get_type_hints

import typer

from streams.interfaces.cli import keys
from streams.interfaces.cli.errors import usage
from streams.interfaces.cli.own_policies import given

if TYPE_CHECKING:
    from schemas.problem import Limits
    from streams.answering.world import Totals
    from streams.interfaces.cli.setup import Models

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

R = TypeVar("R")

Backbone = Annotated[
    Optional[str],
    typer.Option(
        "--backbone",
        metavar="B",
        help="openai[:MODEL], llamacpp[:PATH], openvino[:PATH], recorded:PATH, rehearsal",
    ),
]
MaxConcurrency = Annotated[
    Optional[int], typer.Option("--max-concurrency", metavar="N", min=1, help="Episodes in flight.")
]
Reason = Annotated[
    Optional[str], typer.Option("--reason", metavar="TEXT", help="Why, for the record.")
]
By = Annotated[Optional[str], typer.Option("--by", metavar="WHO", help="Who decided it.")]
Policy = Annotated[
    Optional[str],
    typer.Option("--policy", metavar="NAME", help="A policy's name, or FILE.py:NAME."),
]
Own = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="FILE.py:NAME",
        help="A policy of your own that the log names.",
        # Given while the line is parsed: the log that the command opens may name this policy.
        callback=given,
    ),
]
"""For commands that replay: what it is given, names in the log may stand for."""
Prompts = Annotated[
    Optional[str],
    typer.Option(
        "--prompts", metavar="DIR|FILE", help="Prompts in other words: metalogue prompts edit."
    ),
]
Keys = Annotated[
    Optional[str],
    typer.Option(
        "--keys",
        metavar="FILE",
        help="Begin a log with keys of subjects, in this file.",
        callback=keys.given,
    ),
]
Typed = Annotated[
    Optional[str],
    typer.Option(
        "--answer-type",
        metavar="TYPE|JSON",
        help="number, expression, choice, yes_no, text, json or code.",
    ),
]
Tenant = Annotated[
    Optional[str],
    typer.Option("--tenant", metavar="NAME", help="Whose it is: memory and budget."),
]
Subject = Annotated[
    Optional[str],
    typer.Option(
        "--subject", metavar="NAME", help="Whom it is about: what is said of them can be erased."
    ),
]
RunPrompts = Annotated[
    list[str],
    typer.Option(
        "--prompts", metavar="[RUN=]DIR|FILE", help="Prompts in other words, of all runs or one."
    ),
]
Set = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="A setting of the policy.")
]
Tools = Annotated[
    Optional[str],
    typer.Option(
        "--tools", metavar="T", help="What policies may call: corpus:FOLDER, mcp:COMMAND, mcp:URL."
    ),
]
RunCode = Annotated[
    bool,
    typer.Option(
        "--run-code", help="Run answers that are code against their tests, shut in: no network."
    ),
]
Judge = Annotated[
    Optional[str],
    typer.Option(
        "--judge", metavar="B", help="Ask this backbone about answers that no grader can decide."
    ),
]
GraderOption = Annotated[
    Optional[str],
    typer.Option(
        "--grader",
        metavar="FILE.py:NAME",
        help="A grader of your own, in a file or installed, in the place of ours.",
    ),
]
Otlp = Annotated[
    Optional[str], typer.Option("--otlp", metavar="URL", help="Send spans to this collector.")
]


OtlpText = Annotated[
    bool, typer.Option("--otlp-text", help="Prompts and replies go along with the spans.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which models answer."""

    backbone: Annotated[
        list[str],
        typer.Option(
            "--backbone",
            metavar="[ROLE=]B",
            help="openai[:MODEL], llamacpp[:PATH], openvino[:PATH], recorded:PATH, rehearsal.",
        ),
    ] = field(default_factory=list[str])
    role: Annotated[
        list[str], typer.Option("--role", metavar="ROLE=B", help="A backbone for one role.")
    ] = field(default_factory=list[str])
    offer: Annotated[
        list[str],
        typer.Option(
            "--offer", metavar="NAME=B", help="A backbone that problems may choose: backbone=NAME."
        ),
    ] = field(default_factory=list[str])
    model: Annotated[
        Optional[str], typer.Option("-m", "--model", metavar="MODEL", help="Model at the endpoint.")
    ] = None
    base_url: Annotated[
        Optional[str],
        typer.Option("--base-url", metavar="URL", help="Endpoint (OPENAI_BASE_URL)."),
    ] = None
    max_connections: Annotated[
        Optional[int],
        typer.Option("--max-connections", metavar="N", min=1, help="Model calls in flight."),
    ] = None
    prices: Annotated[
        Optional[str],
        typer.Option("--prices", metavar="FILE", help="A price list with a name and a date."),
    ] = None
    price: Annotated[
        list[str],
        typer.Option("--price", metavar="MODEL=IN,OUT[,CACHED]", help="Cost of a million tokens."),
    ] = field(default_factory=list[str])

    @property
    def names_any(self) -> bool:
        """Whether the command line says anything of models."""
        # Prices and connections do not count: they say how a model is asked, and not that one
        # should be.
        return bool(self.backbone or self.role or self.offer or self.model or self.base_url)

    def models(
        self,
        limits: Limits | None = None,
        tools: str | None = None,
        budgets: Sequence[str] = (),
    ) -> Models:
        """The models that they name. Raises a usage error for two of the same roles."""
        from streams.interfaces.cli.setup import Models

        return Models.of(
            self.backbone,
            self.role,
            offered=self.offer,
            model=self.model,
            base_url=self.base_url,
            max_connections=self.max_connections,
            prices=self.price,
            price_list=self.prices,
            limits=limits,
            tools=tools,
            budgets=list(budgets),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """The limits of an episode."""

    call_limit: Annotated[
        Optional[int], typer.Option("--call-limit", metavar="N", min=1, help="Calls an episode.")
    ] = None
    token_limit: Annotated[
        Optional[int], typer.Option("--token-limit", metavar="N", min=1, help="Tokens an episode.")
    ] = None
    cost_limit: Annotated[
        Optional[float], typer.Option("--cost-limit", metavar="COST", help="Cost an episode.")
    ] = None
    time_limit: Annotated[
        Optional[float], typer.Option("--time-limit", metavar="SECONDS", help="Seconds an episode.")
    ] = None

    def limits(self) -> Limits:
        """Them as limits. Raises a usage error for one that is not positive."""
        # Late, because --help reads this module and must not wait for pydantic.
        from streams.interfaces.cli.setup import limits_of

        return limits_of(self.call_limit, self.token_limit, self.cost_limit, self.time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalOptions:
    """The totals that a process may spend before it pauses."""

    total_calls: Annotated[
        Optional[int], typer.Option("--total-calls", metavar="N", min=1, help="Calls of this run.")
    ] = None
    total_tokens: Annotated[
        Optional[int],
        typer.Option("--total-tokens", metavar="N", min=1, help="Tokens of this run."),
    ] = None
    total_cost: Annotated[
        Optional[float], typer.Option("--total-cost", metavar="COST", help="Cost of this run.")
    ] = None
    total_time: Annotated[
        Optional[float],
        typer.Option("--total-time", metavar="SECONDS", help="Seconds of this run."),
    ] = None

    def totals(self) -> Totals:
        """Them as totals. Raises a usage error for one that could never be reached, or is spent before it is begun."""
        from streams.answering.world import Totals

        for name, total in (("--total-cost", self.total_cost), ("--total-time", self.total_time)):
            # Nothing is more than what is no number: a worker would spend without an end.
            if total is not None and not 0 < total < math.inf:
                raise usage("must be a number above 0", field=name)
        # Totals bound the process and not an episode: they are no part of what goes on record
        # with one.
        return Totals(self.total_calls, self.total_tokens, self.total_cost, self.total_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """How to work on a problem, where it does not say so itself."""

    policy: Policy = None
    settings: Set = field(default_factory=list[str])
    prompts: Prompts = None
    profile: Annotated[
        Literal["service", "paper"], typer.Option("--profile", help="Whose constants.")
    ] = "service"
    domain: Annotated[
        Optional[str], typer.Option("--domain", metavar="NAME", help="What kind of problem.")
    ] = None
    answer_type: Typed = None
    memory: Annotated[str, typer.Option("--memory", metavar="NAME", help="Name of the memory.")] = (
        "main"
    )
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Every random choice follows from it.")
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesOptions:
    """Whose a source's problems are, and in which order they are worked on and learned from."""

    tenant: Annotated[
        Optional[str],
        typer.Option("--tenant", metavar="NAME", help="Whose they are: memory and budget."),
    ] = None
    subject: Subject = None
    priority: Annotated[
        Optional[int],
        typer.Option("--priority", metavar="N", min=-9, max=9, help="The higher goes first; 0."),
    ] = None
    timing: Annotated[
        Literal["barrier", "streaming"],
        typer.Option("--timing", help="Whether a batch waits for what the last one taught."),
    ] = "barrier"
    walk: Annotated[
        int, typer.Option("--pass", metavar="N", min=1, help="Which walk over the source.")
    ] = 1
    series: Annotated[
        Optional[str], typer.Option("--series", metavar="NAME", help="Name of the series.")
    ] = None
    order: Annotated[
        Literal["released", "shuffled"],
        typer.Option("--order", help="As they come, or shuffled by the seed."),
    ] = "released"
    perturb: Annotated[
        Optional[Literal["S5", "S6"]],
        typer.Option(
            "--perturb", help="S5: shuffled options, other LaTeX. S6: degraded OCR lines."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a source is read."""

    limit: Annotated[
        Optional[int], typer.Option("--limit", metavar="N", min=1, help="At most N lines.")
    ] = None
    data: Annotated[
        Optional[str], typer.Option("--data", metavar="PATH", help="File of a built-in set.")
    ] = None
    follow: Annotated[bool, typer.Option("--follow", help="Take lines of - as they come.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, append nothing.")] = False


def grouped(command: Callable[..., R]) -> Callable[..., R]:
    """A command whose groups of options typer sees one by one."""
    # Read here, when the command is declared, because the annotations are texts and typer would
    # not find the names of another module in them.
    kinds = _kinds(command)
    groups = {
        name: kind for name, kind in kinds.items() if isinstance(kind, type) and is_dataclass(kind)
    }

    @wraps(command)
    # typer knows options one by one only. They are gathered here again, so that no command has to
    # hand a dozen of them on.
    def flat(**given: Any) -> R:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        return command(**given)

    # typer asks for signature and annotations, and each must tell of the same parameters: it
    # reads types from the one and defaults from the other.
    parameters = list(_flattened(command, kinds))
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _kinds(owner: Any) -> dict[str, Any]:
    return {k: v for k, v in get_type_hints(owner, include_extras=True).items() if k != "return"}


def _flattened(command: Callable[..., Any], kinds: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """The command's own parameters, and in the place of a group its fields."""
    for name, parameter in inspect.signature(command).parameters.items():
        kind = kinds[name]
        # A command has options of its own beside those of groups; help lists all of them in this
        # order.
        if not is_dataclass(kind):
            yield parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        options = _kinds(kind)
        for each in fields(kind):
            default = each.default
            if each.default_factory is not MISSING:
                default = each.default_factory()
            elif default is MISSING:  # a field without a default is an option that must be given
                default = inspect.Parameter.empty
            yield inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=options[each.name],
            )


def pairs(values: Iterable[str], option: str) -> dict[str, Any]:
    """``NAME=VALUE`` options; a value that is JSON is read as JSON, else as text."""
    from schemas.written import Twice, loads

    found: dict[str, Any] = {}
    for each in values:
        name, equals, value = each.partition("=")
        # `--set =5` and `--set grounding` are typing errors, and no text is meant by them.
        if not equals or not name:
            raise usage(f"{each!r} is not NAME=VALUE", field=option)
        try:
            found[name] = loads(value)
        # JSON that names a key twice says two things at once, and json would keep the last
        # without a word.
        except Twice as error:
            raise usage(f"{name}: {error}", field=option) from error
        except ValueError:
            found[name] = value
    return found
