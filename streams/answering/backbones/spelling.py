"""How a backbone is written on the command line: ``KIND``, ``KIND:WHAT``, and options.

``openai[:MODEL]``, ``anthropic:MODEL`` (and ``gemini``, ``bedrock``, ``azure``), ``llamacpp[:PATH or NAME]``,
``openvino[:PATH or NAME]``, ``recorded:PATH``, ``rehearsal[:seed=7,latency_ms=200]``; any of them may end in
``?name=value&name=value``. Only the module of the kind that is asked for is imported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from streams.answering.backbones.openai.endpoint import EndpointPool
    from streams.core.backbone import Backbone

_log = logging.getLogger(__name__)

KINDS = (
    *("openai", "anthropic", "gemini", "bedrock", "azure"),
    *("llamacpp", "openvino", "recorded", "rehearsal"),
)
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A backbone as it was written: its kind, what stands behind the colon, and its options."""

    kind: str
    what: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneConfig:
    """The other options of the command line that concern models; each kind of backbone takes those that it has."""

    model: str | None = None
    base_url: str | None = None
    max_connections: int | None = None
    environ: Mapping[str, str] | None = None
    """Where ``OPENAI_*`` and the providers' variables are looked up; left out, the process's environment."""
    key_source: str | None = None
    """What errors call the place of the key, such as ``OPENAI_API_KEY in .env:3``."""
    models: Path | None = None
    """The folder of pulled models, where ``llamacpp:NAME`` and ``openvino:NAME`` are looked up."""
    url_source: str | None = None
    """Where the endpoint was said, if by somebody whom the key was not entrusted to; it is not sent there."""
    place_of: Callable[[str], str | None] | None = None
    """Where a variable was set: ``environment``, a line of a file, or nowhere."""
    pool: EndpointPool | None = None
    """Shared by all backbones of a process, so that they are one to an endpoint."""


def parse(text: str) -> Spelling:
    """The parts of a spelling. Raises ``ValueError`` naming the kind or option that is wrong."""
    head, _, query = text.strip().partition("?")
    kind, _, what = head.partition(":")
    if kind not in KINDS:
        raise ValueError(f"no backbone {kind!r}; there are {', '.join(KINDS)}")
    pairs = query.split("&") if query else []
    if kind == "rehearsal":
        # It has no name or file, so what stands behind its colon are options too.
        pairs, what = [*(what.split(",") if what else []), *pairs], ""
    options: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{pair!r} in {text!r} is not NAME=VALUE")
        if name.strip() in options:
            raise ValueError(f"option {name.strip()} stands twice in {text!r}")
        options[name.strip()] = unquote(value.strip())
    return Spelling(kind, what, options)


def build(text: str, config: BackboneConfig | None = None) -> Backbone:
    """The backbone. Raises ``ValueError`` for a wrong spelling, ``SetupBroken`` as backbones do."""
    # Each kind imports its own modules here: most of them need an extra, and take seconds to load.
    spelled, config = parse(text), config or BackboneConfig()
    match spelled.kind:
        case "openai":
            return _openai(spelled, config)
        case "llamacpp":
            from streams.answering.backbones.llamacpp import LlamaCpp, Options

            options = Options(**_typed("llamacpp", Options, spelled.options))
            return LlamaCpp(_gguf(spelled.what, config.models), options)
        case "openvino":
            return _openvino(spelled, config)
        case "recorded":
            from streams.answering.backbones.recorded import Recorded

            _typed("recorded", None, spelled.options)
            if not spelled.what:
                raise ValueError("recorded needs a file: recorded:PATH")
            return Recorded(spelled.what)
        case "rehearsal":
            from streams.answering.backbones.rehearsal import Options as RehearsalOptions
            from streams.answering.backbones.rehearsal import Rehearsal

            return Rehearsal(RehearsalOptions.of(spelled.options))
        case _:
            from streams.answering.backbones.providers import Options as ProviderOptions
            from streams.answering.backbones.providers import ProviderBackbone

            values = _typed(spelled.kind, ProviderOptions, spelled.options)
            if config.max_connections is not None:
                values["max_connections"] = config.max_connections
            return ProviderBackbone(
                spelled.kind,
                spelled.what or config.model,
                options=ProviderOptions(**values),
                environ=config.environ,
                place_of=config.place_of,
                pool=config.pool,
            )


# ── The kinds ────────────────────────────────────────────────────────────────────────────────


def _openai(spelled: Spelling, config: BackboneConfig) -> Backbone:
    from streams.answering.backbones.openai import OpenAIBackbone, Options

    values = _typed("openai", Options, spelled.options)
    if config.max_connections is not None:
        values["max_connections"] = config.max_connections
    place: dict[str, Any] = {} if config.environ is None else {"environ": config.environ}
    told = {name: getattr(config, name) for name in ("key_source", "url_source", "pool")}
    place |= {name: value for name, value in told.items() if value is not None}
    return OpenAIBackbone(
        spelled.what or config.model, base_url=config.base_url, options=Options(**values), **place
    )


def _openvino(spelled: Spelling, config: BackboneConfig) -> Backbone:
    """OpenVINO; llama.cpp, which says so, for a file that OpenVINO cannot read."""
    from streams.answering.backbones.gguf import file_of
    from streams.answering.backbones.llamacpp import LlamaCpp
    from streams.answering.backbones.llamacpp import Options as LlamaOptions
    from streams.answering.backbones.openvino import OpenVino, Options, unreadable

    chosen = Options(**_typed("openvino", Options, spelled.options))
    path = file_of(_gguf(spelled.what, config.models), "openvino")
    # By its header, before anything is loaded: OpenVINO itself says it only after half a minute.
    strange = unreadable(path)
    if strange is None:
        return OpenVino(path, chosen)
    _log.warning("%s: OpenVINO cannot read it (%s): llama.cpp runs it instead", path.name, strange)
    return LlamaCpp(path, LlamaOptions(**chosen.room()))


def _gguf(what: str, models: Path | None) -> str | Path | None:
    """The file: by path, or by the name of a model that is known; none is the bundled one.

    Raises ``SetupBroken`` where a known model was not pulled yet.
    """
    from streams.answering.models import ggufs
    from streams.core.backbone import SetupBroken

    # Known names before paths: a file of the working directory that has such a name must not be
    # taken for the model that was meant.
    model = next((each for each in ggufs() if each.name == what), None)
    if model is None or models is None:
        return what or None
    path = model.path(models)
    if not path.is_file():
        raise SetupBroken("model", what, f"it is not here yet: metalogue models pull {what}")
    return path


def _typed(kind: str, options: Any, said: Mapping[str, str]) -> dict[str, Any]:
    """Options by the types of their defaults: true or false, whole numbers, numbers."""
    defaults = {} if options is None else {each.name: each.default for each in fields(options)}
    # By the defaults, so that a new option of a backbone can be written without a line here.
    known = {name: _TYPES[type(value)] for name, value in defaults.items() if type(value) in _TYPES}
    found: dict[str, Any] = {}
    for name, text in said.items():
        if name not in known:
            there = f"; it has {', '.join(sorted(known))}" if known else ""
            raise ValueError(f"{kind} has no option {name!r}{there}")
        wanted, reads = known[name]
        try:
            found[name] = reads(text)
        except (ValueError, KeyError):
            raise ValueError(f"{kind} option {name} must be {wanted}, not {text!r}") from None
    return found


_TYPES: dict[type, tuple[str, Callable[[str], Any]]] = {
    bool: ("true or false", lambda text: _BOOLEANS[text.casefold()]),
    int: ("a whole number", int),
    float: ("a number", float),
    str: ("text", str),
}
