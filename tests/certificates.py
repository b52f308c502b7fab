"""An authority and what it signs, made for one test; and a server that speaks TLS with it."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.hostile import Hostile, Talk

HERE = "127.0.0.1"
YEAR = timedelta(days=365)
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """How a server speaks with it."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.certificate, self.key)
        return made


class Authority:
    """Signs for whom it is asked to, from a year ago to ``ends``; nobody trusts it unless told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("authority")
        until = datetime.now(UTC) + YEAR
        public = self._key.public_key()
        made = (
            self._built(self._name, public, until)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(_SIGNS, critical=True)
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(_pem(made.sign(self._key, hashes.SHA256())))

    def signs(self, host: str = HERE, *, ends: timedelta = YEAR, itself: bool = False) -> Pair:
        """A pair for a host; ``itself`` has it signed by its own key instead."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = datetime.now(UTC) + ends
        made = self._built(_named(host), key.public_key(), until, host if itself else None)
        names: list[x509.GeneralName] = [x509.DNSName(host)]
        if host[0].isdecimal():
            names = [x509.IPAddress(ipaddress.ip_address(host))]
        by = key if itself else self._key
        # Since Python 3.13 a certificate must name its signer's key to be trusted (RFC 5280, section 4.2.1.1).
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = made.add_extension(signer, critical=False)
        name = f"{host}.{int(ends.total_seconds())}.{itself}"
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.certificate.write_bytes(_pem(made.sign(by, hashes.SHA256())))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def _built(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePublicKey,
        until: datetime,
        by: str | None = None,
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name if by is None else _named(by))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - 2 * YEAR)
            .not_valid_after(until)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


@contextmanager
def secure(talk: Talk, pair: Pair) -> Generator[Hostile]:
    """A server that speaks TLS, for the length of a block."""
    server = Hostile(talk, pair.context())
    try:
        yield server
    finally:
        server.close()
