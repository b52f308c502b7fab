"""A broker that wants to know who asks, and that encrypts: the node's own script, with more listeners."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.live.kafka_here import broker
from tests.ports import free_port

USER, PASSWORD, STORE = "ann", "open-sesame-7", "store-word-7"
PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL", "SSL")
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'


@dataclass(frozen=True)
class Secured:
    """Where each protocol is served, and whom its certificate is trusted by."""

    ports: dict[str, int]
    ca: Path

    def environ(self, protocol: str, password: str = PASSWORD) -> dict[str, str]:
        """What a user sets to connect."""
        found = {"SECURITY_PROTOCOL": protocol}
        if protocol.startswith("SASL"):
            found |= {"SASL_USERNAME": USER, "SASL_PASSWORD": password}
        if protocol.endswith("SSL"):
            found |= {"SSL_CA": str(self.ca)}
        return {f"METALOGUE_KAFKA__{name}": value for name, value in found.items()}


def secured(folder: Path) -> Secured:
    """Start the broker of a folder with listeners for every protocol."""
    ports, store = free_ports(), folder / "keys.p12"
    ca = certificate(store)
    served = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    plain, controller = "PLAINTEXT://127.0.0.1:@PORT@", "CONTROLLER://127.0.0.1:@CONTROLLER@"
    lines = [
        f"listeners={plain},{controller},{served}",
        f"advertised.listeners={plain},{served}",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        + ",".join(f"{name}:{name}" for name in PROTOCOLS),
        "inter.broker.listener.name=PLAINTEXT",
        "sasl.enabled.mechanisms=PLAIN",
        *(
            f"listener.name.{n}.plain.sasl.jaas.config={JAAS}"
            for n in ("sasl_ssl", "sasl_plaintext")
        ),
        f"ssl.keystore.location={store}",
        f"ssl.keystore.password={STORE}",
        f"ssl.key.password={STORE}",
        "ssl.keystore.type=PKCS12",
    ]
    more = folder / "more.properties"
    more.write_text("\n".join(lines) + "\n")
    broker(folder, "start", KAFKA_LOCAL_MORE=str(more))
    return Secured(ports, ca)


def free_ports() -> dict[str, int]:
    """A port for each protocol."""
    return {name: free_port() for name in PROTOCOLS}


def certificate(store: Path) -> Path:
    """A key pair for this machine, made by keytool; its certificate in a file of its own."""
    common = ("-keystore", str(store), "-storepass", STORE, "-alias", "broker")
    made = ("-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", "-dname", "CN=127.0.0.1")
    names = ("-ext", "san=ip:127.0.0.1", "-validity", "2")
    subprocess.run(["keytool", *made, *names, *common], check=True, capture_output=True)
    ca = store.with_suffix(".pem")
    told = subprocess.run(
        ["keytool", "-exportcert", "-rfc", *common], check=True, capture_output=True
    )
    ca.write_bytes(told.stdout)
    return ca
