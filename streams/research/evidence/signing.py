"""Signatures under evidence: Ed25519, by the library `cryptography` (extra ``sign``), with keys in PEM files."""

# The library is loaded only where something is signed or verified: most
# installations never do either. A key has no owner here. Whose it is must
# be known from elsewhere, which is why `is_signed` takes the name of a
# key that the caller trusts, and never that which a file says of itself.

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

KIND = "ed25519:"
CONTEXT = b"metalogue evidence 1\n"
"""Stands before what is signed: a signature under anything else of the same key is none under evidence."""


class BadKey(ValueError):
    """A key cannot be read, or is of another kind."""


def private_key(pem: bytes) -> Ed25519PrivateKey:
    """The key to sign with, from an unencrypted PEM file. Raises ``BadKey``."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey("no private key in PEM without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey("not an Ed25519 key")
    return key


def public_key(pem: bytes) -> str:
    """The name of the key in a PEM file, public or private. Raises ``BadKey``."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    # Whoever has only the private file at hand need not make a public one first.
    if b"PRIVATE KEY" in pem:
        return name_of(private_key(pem).public_key())
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey("no public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey("not an Ed25519 key")
    return name_of(key)


def name_of(key: Ed25519PublicKey) -> str:
    """A public key in full, as text."""
    return KIND + b64encode(key.public_bytes_raw()).decode()


def signed(key: Ed25519PrivateKey, said: bytes) -> str:
    """The signature under what is said."""
    return KIND + b64encode(key.sign(CONTEXT + said)).decode()


def is_signed(name: str, said: bytes, signature: str) -> bool:
    """Whether the key of this name signed what is said."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(_raw(name))
        key.verify(_raw(signature), CONTEXT + said)
    except (InvalidSignature, ValueError):
        return False
    return True


def _raw(text: str) -> bytes:
    if not text.startswith(KIND):
        raise ValueError(f"not {KIND}…")
    return b64decode(text[len(KIND) :], validate=True)
