"""Where a provider is and who asks: from the environment, where its own tools look for it too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streams.answering.backbones.openai.options import Site, names_host, shown
from streams.answering.backbones.providers.kinds import AZURE, BEDROCK, Provider
from streams.core.backbone import SetupBroken

ENVIRONMENT = "environment"
"""What a place is called that is no file."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}")
AWS_KEYS = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
}
PlaceOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A provider, its address, and the key for it. ``signing`` is what requests to AWS are signed with."""

    provider: Provider
    site: Site
    signing: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def find_access(
    provider: Provider, model: str | None, environ: Mapping[str, str], place_of: PlaceOf | None
) -> Access:
    """What the environment says. Raises ``SetupBroken`` where no call could succeed with it."""
    if not model:
        name = "the deployment" if provider.name == AZURE else "MODEL"
        detail = f"no model was chosen: --backbone {provider.name}:{name}"
        raise SetupBroken("model", provider.name, detail)
    url, signing = _address(provider, environ), dict[str, str]()
    variable = next((name for name in provider.keys if environ.get(name, "").strip()), None)
    if variable is None:
        wanted = " or ".join(provider.keys)
        if provider.name == BEDROCK:
            wanted = "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise SetupBroken("auth", provider.name, f"no key: set {wanted}")
    key, place = environ[variable].strip(), place_of and place_of(variable)
    if not (key.isascii() and key.isprintable()):
        detail = f"the key from {variable} holds what no HTTP header can carry"
        raise SetupBroken("auth", shown(url), detail)
    if variable == AWS_KEYS["aws_secret_access_key"]:
        # Keys of AWS sign requests and are never sent; only a bearer token goes along as it stands.
        known = {name: environ.get(each, "").strip() for name, each in AWS_KEYS.items()}
        if not known["aws_access_key_id"]:
            raise SetupBroken("auth", BEDROCK, "no key: set AWS_ACCESS_KEY_ID beside its secret")
        signing = {name: value for name, value in known.items() if value}
    if place == ENVIRONMENT and place_of is not None and url != provider.official:
        # The key is a person's and the address may be a stranger's: whoever wrote a file of the
        # working directory must not be able to lead the key of the environment to a host of his.
        named = place_of(provider.address)
        if named not in (None, ENVIRONMENT):
            raise SetupBroken(
                "auth",
                urlsplit(url).netloc.rpartition("@")[2],
                f"the key from {variable} is not sent there: {provider.address} in {named} is a file of the "
                f"working directory; say the address in the environment, {provider.address}",
            )
    source = f"key from {variable}" + (f" in {place}" if place else "")
    return Access(
        provider=provider,
        site=Site(url=url, key=key, key_source=source, model=model),
        signing=signing,
    )


def _address(provider: Provider, environ: Mapping[str, str]) -> str:
    said = environ.get(provider.address, "").strip()
    if not said and provider.name == BEDROCK:
        region = region_of(environ)
        # It becomes part of a host's name and so may be nothing but a region: the requests carry a key.
        if region is None or not _REGION.fullmatch(region):
            what = "no region" if region is None else f"{region[:40]!r} is no region"
            raise SetupBroken("model", BEDROCK, f"{what}: set AWS_REGION, such as us-east-1")
        return f"https://bedrock-runtime.{region}.amazonaws.com"
    url = (said or provider.official).rstrip("/")
    if not url:
        detail = f"no address: set {provider.address}, such as https://NAME.openai.azure.com"
        raise SetupBroken("model", provider.name, detail)
    if not url.startswith(("http://", "https://")):
        detail = f"{provider.address} must begin with http:// or https://"
        raise SetupBroken("model", provider.name, detail)
    if not names_host(url):
        detail = f"{provider.address} names no host and port that there can be"
        raise SetupBroken("model", provider.name, detail)
    return url


def region_of(environ: Mapping[str, str]) -> str | None:
    """The region of AWS that is set."""
    return next((environ[name].strip() for name in REGIONS if environ.get(name, "").strip()), None)
