"""The configuration: names, types and defaults. Importing this costs pydantic-settings."""

from __future__ import annotations

from typing import Annotated, Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from schemas.budget import book_of as budgets_of
from schemas.problem import Name, Statement
from streams.answering.backbones.prices import book_of
from streams.interfaces.cli.config_sources import DOTENV, PREFIX, yaml_path

LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "trace", "none", "off")
Count = Annotated[PositiveInt, Field(le=(1 << 31) - 1)]
"""How many of something: a number of more digits bounds nobody, and JSON has no place for it."""
SCHEMES = ("sqlite:", "kafka://", "jsonl:")


class Kafka(BaseModel):
    """Settings of the runtime on Kafka."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_ms: Count = 20_000
    """After how long a silent worker's partitions go to the others."""
    max_ready: Count = 2_000
    """How many problems a worker admits beyond those it has slots for; what is more stays on the topic, as lag."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How clients connect."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """How clients say who they are."""
    sasl_username: str | None = None
    """Who they are."""
    sasl_password: str | None = None
    """Their password; never shown."""
    ssl_ca: str | None = None
    """File of the authorities that brokers are trusted by."""
    ssl_certificate: str | None = None
    """File of the client's own certificate."""
    ssl_key: str | None = None
    """File of that certificate's key."""
    web_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Where a worker serves /livez, /readyz and /metrics, to this machine alone; elsewhere by --metrics."""


class Dashboard(BaseModel):
    """Settings of the dashboard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listen: str = "127.0.0.1:8790"
    """Where it listens, as HOST:PORT."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Names that it is reached by, with commas between them; needed where it listens everywhere."""
    token: str | None = None
    """Who gives it may send dead letters on again and judge answers; without one the dashboard only reads."""

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def part(cls, said: object) -> object:
        """Names with commas between them, as a variable holds them; a list of the YAML file as it is."""
        if not isinstance(said, str):
            return said
        return [each.strip() for each in said.split(",") if each.strip()]


class Config(BaseSettings):
    """Everything that may stand in the environment, ``.env`` or the YAML file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_file=DOTENV,
        env_file_encoding="utf-8",
        # `METALOGUE_LOG=` in a shell is how people unset a variable for one command.
        env_ignore_empty=True,
        extra="ignore",  # strangers are refused by name in `config`, which knows their places
        frozen=True,
    )

    log: str = "sqlite:metalogue.db"
    """The event log: sqlite:PATH, kafka://HOST:PORT or jsonl:PATH."""
    keys: str | None = None
    """The file for the keys of subjects of a log that is begun, so that what is said of them can be erased."""
    policy: str = "cot"
    """The policy of problems that name none."""
    backbone: str | None = None
    """What answers for a model: openai[:MODEL], recorded:PATH, rehearsal[:seed=7] and others."""
    offers: dict[Name, str] = {}
    """Backbones that problems may choose, beside that one: NAME: BACKBONE."""
    embedder: str = "auto"
    """What makes vectors: auto (minilm where it is installed), hashed, minilm or openai:MODEL."""
    tools: str | None = None
    """What policies that call tools call: corpus:FOLDER, mcp:COMMAND or mcp:URL."""
    max_concurrency: Count = 256
    """Episodes in flight."""
    max_connections: Count = 64
    """Model calls in flight per endpoint."""
    prices: dict[str, str] = {}
    """What a million tokens of a model cost: MODEL: IN,OUT[,CACHED]."""
    price_list: str | None = None
    """A file with a list of prices, its name and its date."""
    budgets: dict[str, str] = {}
    """What the problems of a tenant may spend on a day of UTC: TENANT: calls=N,tokens=N,cost=X; * for the rest."""
    statements: dict[str, Statement] = {}
    """How the problems of a domain of one's own are put: DOMAIN: what is to be done, the form of the answer."""
    prompts: str | None = None
    """Prompts in other words: a file that metalogue prompts edit wrote, or a folder of them."""
    game24_csv: str | None = None
    """The published list of Game of 24 puzzles, for their ranks."""
    home: str = "~/.local/state/metalogue"
    """Where local imports of clusters are kept."""
    display: Literal["full", "plain", "none"] = "full"
    """How progress is shown."""
    kafka: Kafka = Kafka()
    """The runtime on Kafka."""
    dashboard: Dashboard = Dashboard()
    """The dashboard."""

    @field_validator("log")
    @classmethod
    def need_log(cls, url: str) -> str:
        """Raises a ``ValueError`` for what names no event log."""
        # In other programs LOG is a level. A file that is called `debug` would be made without
        # this.
        if url.lower() in LEVELS:
            raise ValueError("this is a level, and here stands the event log to work on")
        if not url.startswith(SCHEMES) and not url.endswith(".db"):
            raise ValueError("this names no event log")
        return url

    @field_validator("prices", "budgets")
    @classmethod
    def need_readable(cls, said: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        """Raises a ``ValueError`` for a price or budget that cannot be read."""
        # They are read where they are needed, much later. They are tried here as well, so that a
        # wrong one is told with its place before any work begins.
        if info.field_name == "prices":
            book_of(said)
        else:
            budgets_of(said)
        return said

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """First wins: the environment, then ``.env``, then the YAML file."""
        # Files of secrets are left out: `config_sources`, which knows the places of all others,
        # could not say where such a value stands.
        yaml = YamlConfigSettingsSource(settings_cls, yaml_file=yaml_path())
        # Without `init_settings` tests and programs could not give values themselves.
        return (init_settings, env_settings, dotenv_settings, yaml)


def free_names() -> tuple[str, ...]:
    """How names begin that users make up, such as models."""
    fields = Config.model_fields.items()
    # Only a dict takes names that users make up; every other name must be one of ours.
    return tuple(f"{name}." for name, field in fields if get_origin(field.annotation) is dict)


def names(model: type[BaseModel] = Config, before: str = "") -> list[str]:
    """Every setting with its dotted name, nested ones after the group that holds them."""
    found: list[str] = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += [before + name, *names(inner, f"{before}{name}.")]
        else:
            found.append(before + name)
    return found


def leaves() -> list[str]:
    """The settings that hold a value themselves."""
    known = names()
    return [name for name in known if not any(other.startswith(f"{name}.") for other in known)]
